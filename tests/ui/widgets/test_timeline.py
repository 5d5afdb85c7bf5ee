"""The timeline and its list widget."""

from dataclasses import replace
from typing import Any

import pytest
from textual.app import ComposeResult

from tests.ui.kit import ThemedApp, in_plain
from tests.ui.widgets.transcript_kit import NOON, Library, Talk
from tui_app.events import RowKind
from tui_app.session.views.entries import Body, Entry, EntryState
from tui_app.ui.colours.palette import Tone
from tui_app.ui.timeline import Timeline, TimelineFilter, timeline_row
from tui_app.ui.transcript.entries import Rail
from tui_app.ui.widgets.lists import Row, RowList
from tui_app.ui.words.glyphs import UNICODE


class Side(ThemedApp):
    def __init__(self, entries: list[Entry]) -> None:
        super().__init__()
        self.entries = entries
        self.jumps: list[Entry] = []

    def compose(self) -> ComposeResult:
        yield Timeline()

    def on_mount(self) -> None:
        self.timeline.set_entries(self.entries)
        self.timeline.shown = TimelineFilter.ALL
        self.timeline.focus()

    @property
    def timeline(self) -> Timeline:
        return self.query_one(Timeline)

    def on_timeline_jump(self, event: Timeline.Jump) -> None:
        self.jumps.append(event.entry)


def shown(timeline: RowList) -> list[str]:
    return [timeline.render_line(y).text.rstrip() for y in range(timeline.size.height)]


def sample() -> list[Entry]:
    talk = Talk(Library())
    talk.add("user", "Why does the import fail when it is Sunday?")
    talk.add("tool", 'grep "sunday" · 3 hits', tokens=212)
    talk.add("assistant", "", body=Body(text=""))
    talk.add("tool", "run_command pytest", tokens=2_312, state="failed")
    talk.add("assistant", "It is", tokens=1_100)
    talk.add("compaction", "203 messages became a summary · 91.5k → 6.2k · 40 of 41 facts · 1 lost")
    talk.add("checkpoint", "checkpoint 003  sunday-import")
    talk.add("model", "one → two")
    talk.add("error", "Refused.", state="failed")
    talk.add("notice", "quiet")
    return talk.entries


async def test_rows_read_like_a_log_book() -> None:
    app = Side(sample())
    async with app.run_test(size=(35, 14)):
        assert shown(app.timeline) == [
            "Timeline  all ▾",
            "● Why does the import fail when… 2",
            '│  ✱ "sunday"                 0.2k',
            "│  $ pytest         ✗ failed  2.3k",
            "│  answer                     1.1k",
            "⊖ Conversation compacted",
            "  91.5k → 6.2k · 40 of 41",
            "◇ checkpoint 003 sunday-import",
            "◆ model one → two            12:00",
            "✗ Refused.                   12:00",
            "",
            "",
            "",
            "",
        ]


async def test_sub_agents_have_rows_among_the_moments_while_they_work() -> None:
    talk = Talk(Library())
    talk.add("user", "Look both ways.")
    talk.add("tool", "read_file sky.txt", tokens=120)
    talk.add("tool", "fork Look up.", state="running")
    talk.add("tool", "explore Look around.", tokens=40)
    working = [
        replace(entry, at_work=True, calls=calls)
        for entry, calls in zip(talk.entries[2:], (3, 0), strict=True)
    ]
    app = Side([*talk.entries[:2], *working])
    async with app.run_test(size=(35, 6)):
        app.timeline.shown = TimelineFilter.MOMENTS
        assert shown(app.timeline)[1:5] == [
            "● Look both ways.                3",
            "⇉ Look up.                 3 calls",
            "◈ Look around.",
            "",
        ]
        app.timeline.replace(replace(working[0], at_work=False))
        assert shown(app.timeline)[2:4] == ["◈ Look around.", ""]


async def test_enter_and_click_ask_to_jump() -> None:
    entries = sample()
    app = Side(entries)
    async with app.run_test(size=(35, 14)) as pilot:
        await pilot.press("home", "down", "enter")
        await pilot.click(Timeline, offset=(3, 6))
        assert [entry.kind for entry in app.jumps] == ["tool", "compaction"]
        await pilot.click(Timeline, offset=(3, 13))
        await pilot.click(Timeline, offset=(3, 0))
        assert len(app.jumps) == 2


async def test_follows_the_end_until_scrolled() -> None:
    talk = Talk(Library())
    for number in range(100):
        talk.add("user", f"prompt {number}")
    app = Side(talk.entries)
    async with app.run_test(size=(35, 10)) as pilot:
        assert "prompt 99" in shown(app.timeline)[-1]
        app.timeline.append(Entry(seq=500, kind="user", time=NOON, title="newest"))
        await pilot.pause()
        assert "newest" in shown(app.timeline)[-1]
        await pilot.press("home")
        app.timeline.append(Entry(seq=501, kind="user", time=NOON, title="unseen"))
        await pilot.pause()
        assert "prompt 0" in shown(app.timeline)[1]
        await pilot.press("end")
        assert "unseen" in shown(app.timeline)[-1]
        app.timeline.append(Entry(seq=502, kind="user", time=NOON, title="again"))
        await pilot.pause()
        assert "again" in shown(app.timeline)[-1]


async def test_replace_changes_rows_in_place() -> None:
    talk = Talk(Library())
    talk.add("tool", "run_command", state="running")
    talk.add("compaction", "", state="running")
    talk.add("user", "next")
    app = Side(talk.entries)
    async with app.run_test(size=(35, 10)):
        assert shown(app.timeline)[1:4] == [
            "│  $ run_command           running",
            "⊖ Compacting",
            "● next",
        ]
        app.timeline.replace(Entry(seq=1, kind="tool", time=NOON, title="run_command", tokens=8))
        app.timeline.replace(Entry(seq=2, kind="compaction", time=NOON, title="9k → 1k"))
        app.timeline.replace(Entry(seq=99, kind="user", time=NOON, title="unknown"))
        assert shown(app.timeline)[1:5] == [
            "│  $ run_command                 8",
            "⊖ Conversation compacted",
            "  9k → 1k",
            "● next",
        ]


async def test_what_runs_is_the_last_row_until_it_has_ended() -> None:
    app = Side(sample()[:3])
    running = made("compaction", "background · 40%", "running")
    async with app.run_test(size=(35, 10)) as pilot:
        timeline = app.timeline
        timeline.running = running
        timeline.append(Entry(seq=90, kind="user", time=NOON, title="and now"))
        await pilot.pause()
        assert shown(timeline)[3:6] == [
            "● and now",
            "⊖ Compacting · background      40%",
            "",
        ]
        await pilot.press("end", "enter")
        assert [entry.title for entry in app.jumps] == ["and now"], "it goes on behind the last row"
        timeline.shown = TimelineFilter.COMPACTIONS
        assert shown(timeline)[1:3] == ["⊖ Compacting · background      40%", ""]
        timeline.shown = TimelineFilter.ERRORS
        assert "Compacting" not in "".join(shown(timeline))
        timeline.shown = TimelineFilter.COMPACTIONS
        timeline.running = None
        await pilot.pause()
        assert shown(timeline)[1] == "No compactions. f shows others."


def made(kind: RowKind, title: str, state: EntryState = "ok", **more: Any) -> Entry:
    return Entry(seq=1, kind=kind, time=NOON, title=title, state=state, **more)


STATES = [
    (made("tool", "ls", "running"), "│ ✱ ls running"),
    (made("tool", "ls", tokens=8), "│ ✱ ls 8"),
    (made("tool", "ls", "failed"), "│ ✱ ls ✗ failed"),
    (made("tool", "ls", "interrupted"), "│ ✱ ls ✗ interrupted"),
    (made("hook", "a", "cancelled"), "│ a ✗ cancelled"),
    (made("rewrite", "1 old result trimmed · 9k", "undone"), "◦ 1 old result trimmed undone"),
    (made("compaction", "", "running"), "⊖ Compacting"),
    (made("compaction", "", "undone"), "⊖ Compaction undone"),
    (made("compaction", "", "cancelled"), "⊖ Compaction cancelled 12:00"),
    (made("compaction", "", "discarded"), "⊖ Compaction discarded 12:00"),
    (made("compaction", "busy", "vetoed"), "⊖ Compaction vetoed: busy 12:00"),
    (made("compaction", "vetoed", "vetoed"), "⊖ Compaction vetoed 12:00"),
    (made("model", "a → b"), "◆ model a → b 12:00"),
    (made("model", "policy a → b"), "◆ policy a → b 12:00"),
    (made("clear", ""), "· conversation cleared 12:00"),
    (made("truncation", "Request truncated: 3"), "⊖ Request truncated: 3 12:00"),
    (made("user", "hello", left=True), "● hello rewound"),
    (made("user", "hello", "failed"), "● hello not sent"),
]


@pytest.mark.parametrize(("entry", "words"), STATES)
async def test_every_state_is_said_in_words(entry: Entry, words: str) -> None:
    app = Side([entry])
    async with app.run_test(size=(35, 4)):
        assert shown(app.timeline)[1].split() == words.split()


async def test_a_compaction_by_the_provider_says_so() -> None:
    app = Side(
        [
            Entry(
                seq=1,
                kind="compaction",
                time=NOON,
                title="1 message became a summary · 9k → 1k · by the provider",
            )
        ]
    )
    async with app.run_test(size=(35, 4)):
        assert shown(app.timeline)[2] == "  9k → 1k · by the provider"


async def test_the_mark_stays_on_its_row_whatever_comes_or_changes_above_it() -> None:
    entries = sample()
    app = Side(entries)
    async with app.run_test(size=(35, 20)) as pilot:
        timeline = app.timeline
        timeline.running = replace(entries[5], seq=-1, title="manual", state="running")
        await pilot.press("end")
        timeline.append(replace(entries[1], seq=99, title="ls"))
        await pilot.pause()
        assert timeline.cursor == timeline.count - 1, "the running row"
        timeline.replace(replace(entries[5], state="cancelled"))
        assert timeline.cursor == timeline.count - 1
        timeline.running = None
        timeline.cursor = timeline.count - 1
        timeline.replace(entries[5])
        await pilot.pause()
        await pilot.press("enter")
        await pilot.pause()
        assert [entry.title for entry in app.jumps] == ["ls"]


async def test_f_and_a_click_on_the_title_show_one_kind_of_rows() -> None:
    app = Side(sample())
    async with app.run_test(size=(35, 14)) as pilot:
        seen = {}
        for _ in TimelineFilter:
            head, *rows = shown(app.timeline)
            seen[head.split()[1]] = [row.split() for row in rows if row]
            await pilot.press("f")
        assert list(seen) == ["all", "compactions", "errors", "tree", "moments"]
        assert [row[0] for row in seen["compactions"]] == ["⊖", "91.5k", "◇"]
        assert [row[1] for row in seen["errors"]] == ["$", "Refused."]
        moments = ["Why", "Conversation", "→", "checkpoint", "model", "Refused."]
        assert [row[1] for row in seen["moments"]] == moments
        assert seen["moments"][0][-1] == "2", "tools that the prompt has led to"
        assert shown(app.timeline)[0].endswith("all ▾")
        await pilot.click(Timeline, offset=(3, 0))
        assert shown(app.timeline)[0].endswith("compactions ▾")
        assert app.jumps == []


async def test_a_filter_keeps_the_marked_row_and_jumps_to_what_is_shown() -> None:
    app = Side(sample())
    async with app.run_test(size=(35, 14)) as pilot:
        app.timeline.shown = TimelineFilter.MOMENTS
        await pilot.press("home", "f")
        assert app.timeline.cursor == 0
        await pilot.press("f")
        assert app.timeline.cursor is None
        await pilot.press("f", "home", "enter")
        assert [entry.title for entry in app.jumps] == ["run_command pytest"]


async def test_what_happens_under_a_filter_is_listed_only_where_it_fits() -> None:
    app = Side([])
    async with app.run_test(size=(35, 6)) as pilot:
        await pilot.press("f")
        running = Entry(seq=1, kind="tool", time=NOON, title="ls", state="running")
        app.timeline.append(running)
        app.timeline.append(Entry(seq=2, kind="compaction", time=NOON, title="9k → 1k"))
        assert [row[:3] for row in shown(app.timeline)[1:]] == ["⊖ C", "  9", "", "", ""]
        await pilot.press("f")
        app.timeline.replace(replace(running, state="failed"))
        assert shown(app.timeline)[1].split() == ["│", "✱", "ls", "✗", "failed"]


async def test_plain_rows_have_no_drawing() -> None:
    app = Side(sample())
    async with app.run_test(size=(35, 14)):
        text = in_plain("".join(shown(app.timeline)))
        assert not [c for c in text if "\u2500" <= c <= "\u257f"]
        assert "@ Conversation compacted" in text


class Numbers(ThemedApp):
    def __init__(self) -> None:
        super().__init__()
        self.painted: set[int] = set()
        self.chosen: list[int] = []

    def compose(self) -> ComposeResult:
        yield RowList(self.row)

    def row(self, index: int) -> Row:
        self.painted.add(index)
        return Row(f"row {index}", right="x" * 6)

    def on_row_list_selected(self, event: RowList.Selected) -> None:
        self.chosen.append(event.index)


async def test_ten_thousand_rows_paint_only_what_is_visible() -> None:
    app = Numbers()
    async with app.run_test(size=(30, 10)) as pilot:
        rows = app.query_one(RowList)
        rows.set_count(10_000)
        rows.focus()
        await pilot.press("up", "up", "enter", "home", "pagedown", "enter")
        assert app.chosen == [9_998, 10]
        assert len(app.painted) < 60


async def test_a_shorter_list_moves_the_cursor() -> None:
    app = Numbers()
    async with app.run_test(size=(30, 10)) as pilot:
        rows = app.query_one(RowList)
        rows.set_count(20)
        rows.focus()
        await pilot.press("end")
        rows.set_count(3)
        assert rows.cursor == 2
        rows.set_count(0)
        await pilot.press("up", "down", "enter")
        assert rows.cursor is None
        assert app.chosen == []


async def test_the_right_part_leaves_a_narrow_row_first() -> None:
    app = Numbers()
    async with app.run_test(size=(12, 4)):
        rows = app.query_one(RowList)
        rows.set_count(1)
        assert shown(rows)[0] == "row 0"


async def test_a_filter_that_finds_nothing_says_so() -> None:
    app = Side(sample()[:2])
    async with app.run_test(size=(35, 14)) as pilot:
        app.timeline.shown = TimelineFilter.COMPACTIONS
        await pilot.pause()
        assert shown(app.timeline)[1] == "No compactions. f shows others."
        app.timeline.append(sample()[5])
        await pilot.pause()
        assert "No compactions" not in "".join(shown(app.timeline))


async def test_an_empty_timeline_says_nothing_of_filters() -> None:
    app = Side([])
    async with app.run_test(size=(35, 14)):
        assert shown(app.timeline)[1] == ""


def test_what_has_left_is_one_level_quieter_and_the_newest_prompt_has_the_accent() -> None:
    prompt = Entry(seq=2, kind="user", time=NOON, title="Why?")
    done = Entry(seq=9, kind="compaction", time=NOON, title="7 messages became a summary · 9k → 1k")
    rows = [
        timeline_row(prompt, 0, 1.0, sunk=True),
        timeline_row(prompt, 0, 1.0),
        timeline_row(prompt, 0, 1.0, newest=True),
        timeline_row(done, 0, 1.0),
    ]
    assert [(row.component, row.leads) for row in rows] == [
        ("timeline--detail", ((1, "timeline--left"),)),
        ("timeline--user", ((1, "timeline--detail"),)),
        ("timeline--user", ((1, "timeline--newest"),)),
        ("timeline--user", ((1, "timeline--newest"),)),
    ]


def test_the_rail_tells_pinned_shortened_and_never_sent_apart() -> None:
    rail = Rail(seen=frozenset({2, 3, 9}), shortened=frozenset({3}), since=3, known=9)
    entry = Entry(seq=2, kind="user", time=NOON, title="Why?")
    assert rail.sign(entry, UNICODE) == ("┃", Tone.RAIL)
    assert rail.sign(replace(entry, pinned=True), UNICODE) == ("▪", Tone.USER)
    assert rail.sign(replace(entry, seq=3), UNICODE) == ("◦", Tone.DIM)
    assert rail.sign(replace(entry, excluded=True), UNICODE) == ("×", Tone.DIM)
    assert rail.sign(replace(entry, kind="shell", private=True), UNICODE) == ("×", Tone.DIM)
    assert rail.sign(replace(entry, seq=1), UNICODE) == ("", Tone.RAIL), "it has left"
    assert rail.sees(replace(entry, seq=9, kind="compaction")), "its summary is what the model sees"
    replaced = replace(entry, seq=5, kind="compaction", title="9 messages became a summary · 9k → 2k")
    assert rail.sign(replaced, UNICODE) == ("", Tone.RAIL), "the summary of a later one stands in its place"
    assert rail.sees(replace(replaced, state="failed"))
