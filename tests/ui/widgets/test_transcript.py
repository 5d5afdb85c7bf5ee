"""The transcript widget: opening, navigating, folding, following the end."""

import json
import re
from threading import Event

import pytest
from hypothesis import given
from hypothesis import strategies as st
from textual.app import ComposeResult
from textual.geometry import Offset, Region
from textual.pilot import Pilot
from textual.selection import SELECT_ALL
from textual.strip import Strip
from textual.theme import BUILTIN_THEMES
from textual.widgets import Static

from tests.ui.kit import ThemedApp
from tests.ui.widgets import transcript_kit
from tests.ui.widgets.transcript_kit import (
    ANSWER,
    NOON,
    Library,
    Stage,
    Talk,
    long_talk,
    row_with,
    rows,
    stage_of,
    written,
)
from tui_app.session.views.entries import Body, Entry
from tui_app.ui.colours import code_colours
from tui_app.ui.colours.code_colours import code_spans, language_of
from tui_app.ui.colours.palette import PLAIN_PALETTE, Palette, Tone
from tui_app.ui.timeline import Timeline, timeline_row
from tui_app.ui.transcript.entries import Wording, distance, estimate, pieces
from tui_app.ui.transcript.excerpts import clip, readable_args
from tui_app.ui.transcript.layout import Spot
from tui_app.ui.transcript.lines import Painter
from tui_app.ui.transcript.pieces import (
    PIECE_CHARS,
    ChangePiece,
    KeysPiece,
    MarkdownPiece,
    RowPiece,
    text_pieces,
)
from tui_app.ui.transcript.transcript import Transcript
from tui_app.ui.words.glyphs import PLAIN, UNICODE
from tui_app.ui.words.text import clean

SIZE = (80, 24)


async def test_opens_at_the_end_and_asks_only_for_what_is_visible() -> None:
    library, entries = long_talk(3_000)
    app = Stage(library, entries)
    async with app.run_test(size=SIZE):
        assert "second" in rows(app.transcript)[-1]
        assert set(library.asked) <= {entry.seq for entry in entries[-12:]}


@pytest.mark.parametrize(
    ("width", "words"),
    [
        (40, "@== 203 messages - 91.5k -> 6.2k ="),
        (60, "@== 203 messages - 91.5k -> 6.2k - 41 of 41 facts ="),
        (80, "@== 203 messages became a summary - 91.5k -> 6.2k - 41 of 41 facts ="),
    ],
)
async def test_a_compaction_keeps_its_figures_where_there_is_little_room(width: int, words: str) -> None:
    title = "203 messages became a summary · 91.5k → 6.2k · 41 of 41 facts · import.py edited 3×"
    app = stage_of(lambda talk: talk.add("compaction", title))
    async with app.run_test(size=(width, 24)) as pilot:
        app.transcript.plain = True
        await pilot.pause()
        shown = rows(app.transcript)
        assert any(row.startswith(words) for row in shown), shown
        assert any("import.py edited 3x" in row for row in shown)


@pytest.mark.parametrize("width", [80, 34, 20])
@pytest.mark.parametrize(
    ("lines", "loud"),
    [
        ("7 of 12 lines sourced · 5 not in the log", "5 not in the log"),
        ("11 of 12 lines sourced · 1 not in the log", "1 not in the log"),
        ("12 of 12 lines sourced", ""),
    ],
)
async def test_lines_not_in_the_log_stand_out(lines: str, loud: str, width: int) -> None:
    said = f"9 messages became a summary · 9k → 1k · 2 of 2 facts · 1 fact added by Plimsoll · {lines} · by x"
    app = stage_of(lambda talk: talk.add("compaction", said))
    async with app.run_test(size=(width, 24)):
        amber = Palette.of(app.transcript).style(Tone.WARNING).color
        lines = [app.transcript.render_line(y) for y in range(24)]
        seen = [part.text for line in lines for part in line if part.style and part.style.color == amber]
        assert [word for word in " ".join(seen).split() if word.strip("⊖━")] == loud.split()


async def test_shows_each_kind_in_its_words() -> None:
    app = stage_of(
        lambda talk: talk.add("user", "Why?"),
        lambda talk: talk.add("tool", 'grep "sunday" · 3 hits', tokens=212),
        lambda talk: talk.add("tool", "run_command pytest", tokens=2_312, state="failed"),
        lambda talk: talk.add("assistant", "Because", body=Body(text="Because **so**.", thinking="a\nb")),
        lambda talk: talk.add(
            "compaction", "203 messages became a summary · 91.5k → 6.2k · 40 of 41 facts · 1 lost"
        ),
        lambda talk: talk.add("compaction", "9 messages became a summary · 91.5k → 6.2k", state="undone"),
        lambda talk: talk.add("model", "one → two"),
        lambda talk: talk.add(
            "error", "The key was refused.", body=Body(text="The key was refused.\nSet it.\nraw")
        ),
    )
    async with app.run_test(size=(80, 30)):
        shown = "\n".join(rows(app.transcript))
        for expected in (
            "┃ ▐ Why?",
            '┃ ✱ grep "sunday"  3 hits',
            "0.2k",
            "┃ $ pytest",
            "✗ failed  2.3k",
            "▸ thinking · 2 lines",
            "Because so.",
            "⊖━━ 203 messages became a summary · 91.5k → 6.2k · 40 of 41 facts ━━",
            "┃   1 lost",
            "ctrl+o shows the summary · /undo",
            "undone: the full history is back",
            "◆ one → two",
            "✗ The key was refused.",
            "Set it.",
        ):
            assert expected in shown
        assert "raw" not in shown
        assert "**" not in shown


async def test_enter_opens_a_tool_row_and_closes_it_again() -> None:
    body = Body(text="line one\nline two", args='{"pattern": "sunday"}')
    app = stage_of(lambda talk: talk.add("tool", "grep", body=body))
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press("up", "enter")
        assert [row.strip("┃ ▸│") for row in rows(app.transcript)[:4]] == [
            "✱ grep", "pattern: sunday", "line one", "line two",
        ]  # fmt: skip
        await pilot.press("enter")
        assert rows(app.transcript)[1] == ""


async def test_click_opens_a_tool_row() -> None:
    app = stage_of(lambda talk: talk.add("tool", "grep", body=Body(text="found")))
    async with app.run_test(size=SIZE) as pilot:
        await pilot.click(Transcript, offset=(4, 0))
        assert "found" in rows(app.transcript)[1]


async def test_long_output_is_clipped_and_counted() -> None:
    body = Body(text="\n".join(f"row {n}" for n in range(1_000)))
    app = stage_of(lambda talk: talk.add("tool", "cat", body=body))
    async with app.run_test(size=(80, 410)) as pilot:
        await pilot.press("up", "enter")
        shown = [row.strip("┃ ▸│") for row in rows(app.transcript)]
        assert shown[301] == "… 600 more lines are not shown"
        assert shown[300] == "row 299"
        assert shown[302] == "row 900"


async def test_enter_and_ctrl_o_open_details_and_u_undoes() -> None:
    app = stage_of(lambda talk: talk.add("compaction", "9k → 1k"))
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press("up", "enter", "ctrl+o", "u")
        assert [message.wanted for message in app.heard] == ["details", "details", "undo"]
        app.transcript.replace(Entry(seq=1, kind="compaction", time=NOON, title="9k → 1k", state="undone"))
        await pilot.press("u")
        assert app.heard[-1].why_not.startswith("This is already undone.")


async def test_the_cursor_marks_one_entry_only_while_focused() -> None:
    app = stage_of(lambda talk: talk.add("user", "one"), lambda talk: talk.add("user", "two"))
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press("up")
        assert [y for y, row in enumerate(rows(app.transcript)) if row.startswith(("┃▸", "┃│"))] == [4]
        await pilot.press("up")
        assert [y for y, row in enumerate(rows(app.transcript)) if row.startswith(("┃▸", "┃│"))] == [1]
        app.set_focus(None)
        await pilot.pause()
        assert not [row for row in rows(app.transcript) if row.startswith(("┃▸", "┃│"))]


async def test_new_lines_are_counted_only_while_reading_above() -> None:
    library, entries = long_talk()
    app = Stage(library, entries)
    async with app.run_test(size=SIZE) as pilot:
        transcript = app.transcript
        transcript.append(Entry(seq=900, kind="notice", time=NOON, title="seen"))
        assert transcript.unread == 0
        assert "seen" in rows(transcript)[-1]
        await pilot.press("pageup")
        before = rows(transcript)
        transcript.append(Entry(seq=901, kind="user", time=NOON, title="a\nb", chars=3))
        assert transcript.unread == 4, "half a line, two lines and half a line"
        assert rows(transcript)[:-1] == before[:-1]
        assert "↓ 4 new lines" in rows(transcript)[-1]
        await pilot.press("end")
        assert transcript.unread == 0


async def test_jump_puts_an_entry_on_top() -> None:
    library, entries = long_talk()
    app = Stage(library, entries)
    async with app.run_test(size=SIZE):
        app.transcript.jump_to(entries[30].seq)
        assert "prompt 10" in "".join(rows(app.transcript)[:3])
        assert app.transcript.cursor_entry == entries[30]
        app.transcript.jump_to(123_456)
        assert app.transcript.cursor_entry == entries[30]


async def test_older_rows_do_not_end_the_wait_at_the_beginning_of_an_answer() -> None:
    library, entries = long_talk()
    long_answer = "\n\n".join(f"line {number}" for number in range(60))
    library.bodies[entries[-1].seq] = Body(text=long_answer)
    older, newer = entries[:60], entries[60:]
    app = Stage(library, newer)
    async with app.run_test(size=SIZE) as pilot:
        app.transcript.show_beginning(newer[-1].seq)
        assert not app.transcript.follows
        app.transcript.prepend(older)
        await pilot.pause()
        app.transcript.append(Talk(library).add("user", "And then?"))
        assert app.transcript.follows


async def test_paging_up_to_the_start_passes_every_line_once() -> None:
    library, entries = long_talk(20)
    app = Stage(library, entries)
    async with app.run_test(size=(60, 200)) as pilot:
        app.transcript.action_first()
        await pilot.resize_terminal(60, 20)
        pages = [rows(app.transcript)]
        app.transcript.action_last()
        await pilot.pause()
        pages = [rows(app.transcript)]
        while app.transcript.scroll_y > 0:
            await pilot.press("pageup")
            pages.insert(0, rows(app.transcript))
        seen = pages[0]
        for page in pages[1:]:
            overlap = max(n for n in range(1, len(page) + 1) if seen[-n:] == page[:n])
            seen += page[overlap:]
        prompts = [row.split()[3] for row in seen if "prompt" in row]
        assert prompts == [f"{number}" for number in range(20)]


async def test_resize_keeps_the_entry_at_the_top() -> None:
    library, entries = long_talk()
    app = Stage(library, entries)
    async with app.run_test(size=(100, 30)) as pilot:
        app.transcript.jump_to(entries[60].seq)
        await pilot.pause()
        for width in (50, 72, 120, 100):
            await pilot.resize_terminal(width, 24)
            assert "prompt 20" in "".join(rows(app.transcript)[:3]), width


async def test_a_resize_at_the_end_stays_at_the_end() -> None:
    library, entries = long_talk()
    app = Stage(library, entries)
    async with app.run_test(size=(100, 30)) as pilot:
        await pilot.resize_terminal(40, 12)
        assert "second" in rows(app.transcript)[-1]


async def test_plain_mode_has_words_and_no_drawing() -> None:
    table = "| a | b |\n|---|---|\n| ├── | ⠋ |\n\n> quote\n\n- item"
    app = stage_of(
        lambda talk: talk.add("user", "Why?"),
        lambda talk: talk.add("tool", "tree", body=Body(text="├── a\n│   └── b")),
        lambda talk: talk.add("assistant", "x", body=Body(text=table, thinking="hm")),
        lambda talk: talk.add("compaction", "9k to 1k"),
    )
    async with app.run_test(size=SIZE) as pilot:
        app.transcript.plain = True
        app.transcript.jump_to(2)
        await pilot.press("enter")
        shown = "\n".join(rows(app.transcript))
        assert "You:" in shown
        assert "Model:" in shown
        assert "@== 9k to 1k ==" in shown
        assert not [c for c in shown if "\u2500" <= c <= "\u257f" or "\u2800" <= c <= "\u28ff"]
        await pilot.press("p")


async def test_untrusted_text_never_reaches_the_screen_raw() -> None:
    bad = "[/x] [red]\x1b]8;;http://evil\x07link\x1b\\ \x1b[2J\x00 \u202eabc &#x202e; <script>"
    app = stage_of(
        lambda talk: talk.add("user", bad, body=Body(text=bad)),
        lambda talk: talk.add("tool", bad, body=Body(text=bad, args=bad)),
        lambda talk: talk.add("assistant", bad, body=Body(text=bad, thinking=bad)),
        lambda talk: talk.add("compaction", bad),
        lambda talk: talk.add("error", bad, body=Body(text=bad)),
    )
    async with app.run_test(size=(80, 50)) as pilot:
        app.transcript.jump_to(2)
        await pilot.press("enter")
        app.transcript.jump_to(3)
        await pilot.press("enter")
        strips = [app.transcript.render_line(y) for y in range(50)]
        shown = "".join(strip.text for strip in strips)
        assert "[/x] [red]" in shown
        assert "<script>" in shown
        assert not [c for c in shown if ord(c) < 32 or 127 <= ord(c) < 160 or c == "\u202e"]
        assert not [segment for strip in strips for segment in strip if segment.style and segment.style.link]


@pytest.mark.parametrize("theme", ["textual-light", "textual-dark", "nord", "solarized-light"])
async def test_text_stands_out_in_every_theme(theme: str) -> None:
    assert theme in BUILTIN_THEMES
    app = stage_of(
        lambda talk: talk.turn(1),
        lambda talk: talk.add("compaction", "9k → 1k"),
        lambda talk: talk.add("error", "refused"),
    )
    async with app.run_test(size=(80, 40)) as pilot:
        app.theme = theme
        await pilot.pause()
        for y in range(40):
            for segment in app.transcript.render_line(y):
                words = segment.text.strip("┃│▐▗▝▄▀━▸ ")
                if segment.text.strip() and segment.style:
                    least = 4.4 if words and not words.endswith(":00") and not words[0].isdigit() else 2.9
                    # A half line in the prompt's background carries no text.
                    least = 0 if set(segment.text) <= set("▄▀") else least
                    assert _contrast(segment.style) >= least, (segment.text, segment.style)


def _contrast(style) -> float:
    def light(colour) -> float:
        parts = [part / 255 for part in colour.get_truecolor()]
        linear = [part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    one, other = sorted((light(style.color), light(style.bgcolor)))
    return (other + 0.05) / (one + 0.05)


async def test_replace_shows_the_new_state_in_place() -> None:
    library = Library()
    talk = Talk(library)
    talk.add("tool", "run_command pytest", state="running")
    talk.add("user", "meanwhile")
    app = Stage(library, talk.entries)
    async with app.run_test(size=SIZE):
        assert "running" in rows(app.transcript)[0]
        app.transcript.replace(Entry(seq=1, kind="tool", time=NOON, title="run_command pytest", tokens=500))
        assert rows(app.transcript)[0].endswith("0.5k")
        app.transcript.replace(Entry(seq=77, kind="tool", time=NOON, title="unknown"))
        assert "unknown" not in "".join(rows(app.transcript))


async def test_clear_empties_the_window() -> None:
    library, entries = long_talk()
    app = Stage(library, entries)
    async with app.run_test(size=SIZE) as pilot:
        app.transcript.set_entries(())
        await pilot.press("up", "down", "enter", "pageup", "home", "end", "u")
        assert rows(app.transcript) == [""] * 24


# The parts of an entry, and how much of a huge one is shown.


WORDING = Wording(glyphs=UNICODE)


def entry(kind, **values) -> Entry:
    return Entry(**{"seq": 1, "kind": kind, "time": NOON, "title": "title", **values})


def texts(row: Entry, body: Body, *, width: int = 60, expanded: bool = False, before: Entry | None = None):
    painter = Painter(PLAIN_PALETTE, UNICODE, width)
    parts = pieces(row, before, body, WORDING, expanded=expanded)
    return [written(line) for part in parts for line in part.lines(painter)]


@pytest.mark.parametrize(
    "kind", ["system", "tool", "hook", "truncation", "model", "checkpoint", "clear", "notice"]
)
def test_rows_stand_close_together(kind: str) -> None:
    assert distance(entry(kind), entry("tool")) == 0
    assert distance(entry("user"), entry(kind)) == 1


def test_a_hook_opens_to_what_it_printed() -> None:
    row = entry("hook", title="postTool hook make ended with exit code 2", state="failed")
    folded = texts(row, Body(text=""))
    assert len(folded) == 1
    assert "failed" in folded[0]
    opened = texts(row, Body(text="one\n\x1b[2Jtwo"), expanded=True)
    assert [line.strip() for line in opened[1:]] == ["one", "two"]
    assert "(no output)" in texts(row, Body(text=""), expanded=True)[1]


@pytest.mark.parametrize(
    "row",
    [
        entry("user", chars=5),
        entry("assistant", chars=5),
        entry("tool"),
        entry("compaction"),
        entry("error"),
        entry("model"),
        entry("system"),
        entry("hook"),
        entry("notice"),
        entry("clear"),
        entry("truncation"),
        entry("checkpoint"),
    ],
    ids=lambda row: row.kind,
)
def test_the_estimate_of_a_short_entry_is_near(row: Entry) -> None:
    shown = texts(row, Body(text="short\nhint" if row.kind == "error" else "short"), before=entry("user"))
    assert abs(estimate(row, entry("user"), 60) - len(shown)) <= 1


@pytest.mark.parametrize("state", ["failed", "cancelled", "discarded", "vetoed", "running"])
def test_a_compaction_says_how_it_ended(state) -> None:
    first, second = texts(entry("compaction", state=state, title="no answer"), Body(text=""))
    assert first == f"⊖ Compaction {state} · no answer"
    assert "undoes" not in second


def test_only_the_call_that_is_asked_about_is_in_the_colour_of_the_question() -> None:
    rows = [
        pieces(row, None, Body(text=""), WORDING, expanded=False)
        for row in (
            entry("tool", title="write_file a", state=state) for state in ("asking", "waiting", "running")
        )
    ]
    assert [row[-1].tone for row in rows] == [Tone.WARNING, Tone.TOOL, Tone.TOOL]
    assert [row[-1].right for row in rows] == ["waits for you", "waits for you", "running"]


@pytest.mark.parametrize("title", ["", "cancelled"])
def test_a_cancelled_compaction_says_that_nothing_changed(title: str) -> None:
    first, second = texts(entry("compaction", state="cancelled", title=title), Body(text=""))
    assert first == "⊖ Compaction cancelled. Nothing changed."
    assert second == "ctrl+o shows details"


def test_the_reason_of_a_compaction_may_hold_the_word_for_its_end() -> None:
    row = entry("compaction", state="failed", title="the request failed")
    assert texts(row, Body(text=""))[0] == "⊖ Compaction failed · the request failed"


def test_the_last_error_says_what_can_be_done_next() -> None:
    told = pieces(
        entry("error", title="The key was refused."), None, Body(text=""), Wording(UNICODE), expanded=False
    )
    assert not any(isinstance(piece, KeysPiece) for piece in told)
    *_, keys = pieces(
        entry("error", title="The key was refused. Use /retry."), None, Body(text=""), Wording(UNICODE),
        expanded=False, last=True,
    )  # fmt: skip
    assert isinstance(keys, KeysPiece)
    assert keys.hints == (("ctrl+o", "shows details"), ("ctrl+l", "picks another model")), (
        "nothing is said twice"
    )
    changed = Wording(UNICODE, keymap={"chat.details": "f7", "chat.compact": "f9"})
    body = Body(text="", actions=("compact",))
    *_, keys = pieces(entry("error", title="Too long."), None, body, changed, expanded=False, last=True)
    assert isinstance(keys, KeysPiece)
    assert keys.hints[:2] == (("f7", "shows details"), ("f9", "compacts the conversation"))


def test_red_is_the_sign_of_an_error_alone() -> None:
    title, hint = pieces(
        entry("error", title="The key was refused. Set another one."), None, Body(text=""), Wording(UNICODE),
        expanded=False,
    )  # fmt: skip
    assert (title.text, title.tone, title.sign_tone) == ("The key was refused.", Tone.TEXT, Tone.ERROR)
    assert (hint.text, hint.tone) == ("Set another one.", Tone.DIM)


async def test_what_can_be_done_next_leaves_an_error_that_something_follows() -> None:
    app = stage_of(lambda talk: talk.add("error", "The key was refused."))
    async with app.run_test(size=(80, 30)) as pilot:
        assert "/retry" in "\n".join(rows(app.transcript))
        app.transcript.append(entry("user", title="Again", seq=99))
        await pilot.pause()
        assert "/retry" not in "\n".join(rows(app.transcript))


def test_a_long_error_is_said_once() -> None:
    words = "The provider refused the request. " * 12
    title = f"{words[:200]}…"
    shown = texts(entry("error", title=title), Body(text=words))
    assert " ".join(line.strip() for line in shown) == f"✗ {words.strip()}"


def test_further_lines_of_an_error_are_said_behind_the_first() -> None:
    shown = texts(entry("error", title="It broke."), Body(text="It broke.\nTry again."))
    assert shown == ["✗ It broke.", "Try again."]
    assert texts(entry("error", title="It broke."), Body(text="")) == ["✗ It broke."]


def test_an_interrupted_answer_says_so() -> None:
    assert texts(entry("assistant", state="interrupted", chars=4), Body(text="half"))[-1] == ("✗ interrupted")


def test_a_narrow_row_drops_its_right_part_before_its_title() -> None:
    row = entry("tool", title="run_command pytest", tokens=2_312, state="failed")
    assert texts(row, Body(text=""), width=24) == ["$ pytest"]


def test_an_open_tool_without_output_says_so() -> None:
    assert texts(entry("tool"), Body(text=" "), expanded=True)[-1] == "  (no output)"
    assert texts(entry("tool", state="running"), Body(text=""), expanded=True)[-1] == "  (still running)"


def test_numbered_lines_stand_below_each_other() -> None:
    shown = texts(entry("tool"), Body(text="9\tnine\n10\t\tten"), expanded=True)
    assert shown[-2:] == ["  9   nine", "  10      ten"]


def test_arguments_are_readable() -> None:
    assert (
        readable_args('{"path": "a.py", "content": "x\\ny", "n": 3}') == "path: a.py\ncontent: \nx\ny\nn: 3"
    )
    assert readable_args("not json") == "not json"
    assert readable_args("[1]") == "[1]"
    assert readable_args("[" * 100_000) == "[" * 100_000


@given(st.text(alphabet="ab\n", max_size=300), st.integers(8, 100), st.one_of(st.none(), st.integers(4, 20)))
def test_clipping_keeps_head_and_tail(text: str, chars: int, lines: int | None) -> None:
    head, note, tail = clip(text, chars, lines)
    assert text.startswith(head)
    assert text.endswith(tail)
    assert len(head) + len(tail) <= max(chars, len(text) if not note else chars)
    if lines is not None:
        assert (head + "\n" + tail).count("\n") + (not tail) <= lines + 1
    if not note:
        assert head == text


def test_the_notes_count_what_is_left_out() -> None:
    assert clip("x" * 1_000_000, 60_000, 400)[1] == "940,000 more characters are not shown"
    assert clip("a\n" * 999 + "a", 60_000, 400)[1] == "600 more lines are not shown"
    assert clip("x" * 500_000 + "\n\n", 60_000, 400)[1] == "440,002 more characters are not shown"
    assert clip("x" * 60_001, 60_000, 400)[1] == "1 more character is not shown"


@given(
    st.text(alphabet="a\n\r\t\x1b[31m\x07", max_size=300),
    st.integers(8, 100),
    st.one_of(st.none(), st.integers(4, 20)),
)
def test_what_is_kept_is_clean_however_much_is_left_out(text: str, chars: int, lines: int | None) -> None:
    head, note, tail = clip(text, chars, lines, wash=clean)
    for kept in (head, tail):
        assert clean(kept) == kept
    assert note or (head, tail) == (clean(text), "")
    assert "-" not in note


def test_lines_of_megabytes_are_not_counted() -> None:
    text = "\x1b[31mred\x1b[0m\n" * 300_000
    head, note, tail = clip(text, 60_000, 400, wash=clean)
    assert (head.count("\n"), tail.count("\n")) == (299, 99)
    assert re.fullmatch(r"3,8\d\d,\d{3} more characters are not shown", note), note


@given(st.lists(st.sampled_from(["a", "\n", "b" * 700, "c\n" * 90]), max_size=30).map("".join))
def test_plain_pieces_hold_the_text_exactly(text: str) -> None:
    parts = list(text_pieces(text, Tone.TEXT))
    assert "".join(part.join + part.text for part in parts) == "\n" + text
    assert all(len(part.text) <= PIECE_CHARS for part in parts)


def test_plain_signs_are_ascii() -> None:
    assert all(sign.isascii() for sign in PLAIN)
    assert all(UNICODE)
    assert (PLAIN.fork, PLAIN.merge, PLAIN.branch, PLAIN.pipe, PLAIN.model) == ("+", "=", "|-", "|", "=")
    assert PLAIN.gauge_half == PLAIN.gauge_full, "half a cell that is used is used"


@given(st.text(alphabet="ab …", min_size=1, max_size=60), st.integers(8, 60))
def test_a_plain_row_says_with_three_dots_that_it_was_cut(title: str, width: int) -> None:
    (line,) = RowPiece("", title, Tone.TEXT).lines(Painter(PLAIN_PALETTE, PLAIN, width, plain=True))
    spelled = title.replace("…", "...").rstrip()
    assert line.text == spelled or (line.text.endswith("...") and len(line.text) <= width)


def test_plain_answers_keep_the_signs_of_who_wrote_them() -> None:
    painter = Painter(PLAIN_PALETTE, PLAIN, 20, plain=True)
    lines = MarkdownPiece("wait… " * 6).lines(painter)
    assert " ".join(line.text for line in lines).split() == ["wait…"] * 6


@pytest.mark.parametrize(("state", "said"), [("ok", "rewound"), ("failed", "✗ failed  rewound")])
def test_a_tool_that_was_left_behind_says_so_however_it_ended(state: str, said: str) -> None:
    (line,) = texts(entry("tool", state=state, left=True), Body(text=""))
    assert line.endswith(said)


# The newest line stays visible when other widgets grow or shrink.


class Neighbours(ThemedApp):
    """A transcript and a timeline above a row that appears and disappears."""

    def __init__(self, talk: Talk) -> None:
        super().__init__()
        self.talk = talk

    def compose(self) -> ComposeResult:
        yield Transcript(self.talk.library)
        yield Timeline()
        yield Static("row\nrow\nrow", id="row")

    def on_mount(self) -> None:
        for widget in (self.query_one(Transcript), self.query_one(Timeline)):
            widget.styles.height = "1fr"
            widget.set_entries(self.talk.entries)
        self.query_one("#row").styles.height = "auto"


async def test_a_neighbour_that_comes_and_goes_is_no_scrolling() -> None:
    talk = Talk(Library())
    for number in range(80):
        talk.add("user", f"prompt {number}")
    app = Neighbours(talk)
    async with app.run_test(size=(60, 30)) as pilot:
        transcript, timeline = app.query_one(Transcript), app.query_one(Timeline)
        for number in range(6):
            app.query_one("#row").display = number % 2 == 0
            await pilot.pause()
            transcript.append(entry := talk.add("user", f"another {number}"))
            timeline.append(entry)
            await pilot.pause()
            assert transcript.unread == 0
            assert transcript.scroll_offset.y == transcript.max_scroll_y
            assert timeline.scroll_offset.y == timeline.max_scroll_y


# The answer being written.


LONG = ANSWER * 12


def finished(seq: int, text: str) -> Entry:
    return Entry(seq=seq, kind="assistant", time=NOON, title=text[:20], chars=len(text))


async def test_streamed_text_appears_and_hands_over_without_a_change() -> None:
    library, entries = long_talk(3)
    app = Stage(library, entries)
    async with app.run_test(size=SIZE):
        app.transcript.live_start()
        for start in range(0, len(LONG), 7):
            app.transcript.live_append(LONG[start : start + 7], thinking="hm\n" if not start else "")
        app.transcript.live_end()
        before = rows(app.transcript)
        assert "second" in before[-1]
        library.bodies[500] = Body(text=LONG, thinking="hm\n")
        app.transcript.append(finished(500, LONG))
        assert rows(app.transcript) == before


async def test_appending_paints_nothing_until_the_frame(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tui_app.ui.transcript.transcript.monotonic", lambda: 0.0)
    library, entries = long_talk(1)
    app = Stage(library, entries)
    async with app.run_test(size=SIZE):
        app.transcript.live_start()
        app.transcript.live_flush()
        before = [row.strip("┃") for row in rows(app.transcript)]
        for word in ("many ", "small ", "pieces"):
            app.transcript.live_append(word)
        assert [row.strip("┃") for row in rows(app.transcript)] == before
        app.transcript.live_flush()
        assert "many small pieces" in "".join(rows(app.transcript))


async def test_reading_above_is_not_disturbed_and_lines_are_counted() -> None:
    library, entries = long_talk()
    app = Stage(library, entries)
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press("pageup", "pageup")
        before = rows(app.transcript)[:-1]
        app.transcript.live_start()
        app.transcript.live_append("one\n\ntwo\n\nthree")
        app.transcript.live_flush()
        assert rows(app.transcript)[:-1] == before
        assert app.transcript.unread == 6
        app.transcript.live_append("\n\nfour")
        app.transcript.live_flush()
        assert app.transcript.unread == 8


async def test_entries_that_arrive_meanwhile_stand_before_the_answer() -> None:
    library = Library()
    app = Stage(library, [])
    async with app.run_test(size=SIZE):
        app.transcript.live_append("still going")
        app.transcript.append(Entry(seq=1, kind="tool", time=NOON, title="grep"))
        app.transcript.live_flush()
        shown = [row.strip("┃ ") for row in rows(app.transcript) if row.strip("┃ ")]
        assert shown == ["✱ grep", "still going"]


def edit(**values: object) -> Body:
    return Body(text="Edited.", args=json.dumps(values))


def test_an_opened_edit_shows_what_it_takes_out_and_puts_in() -> None:
    row = entry("tool", title="edit_file a.py · +2 -1")
    body = edit(path="a.py", old_text="if not day:\n    pass", new_text="if day is None:", every=True)
    found = pieces(row, None, body, Wording(UNICODE), expanded=True)
    changes = [each for each in found if isinstance(each, ChangePiece)]
    assert [(each.text, each.tone, each.path) for each in changes] == [
        ("if not day:\n    pass", Tone.REMOVED, "a.py"),
        ("if day is None:", Tone.ADDED, "a.py"),
    ]
    painter = Painter(PLAIN_PALETTE, UNICODE, 60)
    lines = [written(line) for each in found for line in each.lines(painter)]
    assert lines[1:6] == [
        "  path: a.py",
        "-   if not day:",
        "-       pass",
        "+   if day is None:",
        "  every: true",
    ]
    # The offset of each in the searched text.
    told = readable_args(body.args)
    assert all(told[each.start :].startswith(each.text) for each in changes)


@pytest.mark.parametrize(
    ("title", "body", "least"),
    [
        ("write_file a.py · new file", edit(path="a.py", content="x = 1\n" * 300), 2),
        ("edit_file a.py", edit(path="a.py", old_text="", new_text="x"), 1),
        ("read_file a.py", edit(path="a.py", new_text="x"), 0),
        ("edit_file a.py", edit(path="a.py", old_text="x" * 3_000, new_text="y"), 0),
        ("edit_file a.py", edit(path="a.py", old_text="x\n" * 300, new_text="y\n" * 300), 0),
        ("edit_file a.py", Body(text="", args="[1]"), 0),
        ("edit_file a.py", Body(text="", args="no json"), 0),
        ("edit_file a.py", Body(text="", args='{"path": 1, "new_text": 2}'), 1),
    ],
)
def test_what_is_no_change_or_too_much_is_shown_as_it_is(title: str, body: Body, least: int) -> None:
    found = pieces(entry("tool", title=title), None, body, Wording(UNICODE), expanded=True)
    changes = [each for each in found if isinstance(each, ChangePiece)]
    assert len(changes) >= least
    assert bool(changes) is bool(least)
    assert all(len(each.text) <= 1_300 for each in changes)


def test_code_of_a_change_has_the_colours_of_code() -> None:
    spans = code_spans("python", ["def f():  # why", '    return "x" + 1'])
    assert [[(start, stop, kind) for start, stop, kind in row] for row in spans] == [
        [(0, 3, "keyword"), (10, 15, "comment")],
        [(4, 10, "keyword"), (11, 12, "string"), (12, 13, "string"), (13, 14, "string"), (17, 18, "number")],
    ]
    text = code_spans("python", ['"""one', "two", 'three"""'])
    assert [row[0].style for row in text] == ["string"] * 3
    assert code_spans("", ["def f"]) == code_spans(language_of("a.txt"), ["def f"]) == [[]]
    assert code_spans("python", ["x" * 501]) == [[]]
    assert code_spans("python", ["def f"] * 2_000) == [[]] * 2_000


def test_what_an_edit_needs_is_loaded_before_it_is_opened(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    loaded = Event()

    def load(path: str, _lines: list[str]) -> None:
        asked.append(path)
        loaded.set()

    monkeypatch.setattr(code_colours, "_LOADED", set())
    monkeypatch.setattr(code_colours, "_DELAY_S", 0.0)
    monkeypatch.setattr(code_colours, "code_spans", load)
    for title in ("read_file c.go", "edit_file notes", "edit_file a.py · +1", "edit_file b.py"):
        pieces(entry("tool", title=title), None, Body(text=""), Wording(UNICODE), expanded=False)
    assert loaded.wait(5)
    assert asked == ["python"]


async def test_what_is_being_written_has_a_mark_behind_its_last_word() -> None:
    app = Stage(Library(), [])
    async with app.run_test(size=SIZE):
        app.transcript.live_append("still going")
        app.transcript.live_flush()
        assert app.transcript.render_line(0).text.rstrip().endswith("still going▍")
        app.transcript.live_append(" on\n\nand on")
        app.transcript.live_flush()
        shown = "".join(app.transcript.render_line(y).text for y in range(SIZE[1]))
        assert shown.count("▍") == 1
        assert "and on▍" in shown
        app.transcript.live_end()
        app.transcript.live_flush()
        assert "▍" not in "".join(app.transcript.render_line(y).text for y in range(SIZE[1]))


async def test_rows_that_stay_are_not_painted_while_an_answer_grows_below(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    painted: set[int] = set()

    class Seen(Transcript):
        def render_lines(self, crop: Region) -> list[Strip]:
            painted.update(crop.line_range)
            return super().render_lines(crop)

    monkeypatch.setattr(transcript_kit, "Transcript", Seen)
    app = Stage(*long_talk(100))
    async with app.run_test(size=SIZE) as pilot:
        app.transcript.scroll_lines(-60)
        app.transcript.live_append("it begins ")
        await pilot.pause()
        for number in range(60):
            painted.clear()
            app.transcript.live_append(f"\n\nparagraph {number}")
            app.transcript.live_flush()
            await pilot.pause()
            # The row that counts new lines; the few cells of the scroll bar are not transcript rows.
            assert painted <= {SIZE[1] - 1}
        assert app.transcript.unread >= 120


async def test_an_answer_without_a_finished_entry_goes_with_the_next_prompt() -> None:
    app = Stage(Library(), [])
    async with app.run_test(size=SIZE):
        app.transcript.live_append("half an ans")
        app.transcript.live_end()
        assert "half an ans" in rows(app.transcript)[0]
        app.transcript.append(Entry(seq=1, kind="user", time=NOON, title="again", chars=5))
        assert "half" not in "".join(rows(app.transcript))


async def test_an_empty_answer_leaves_no_trace() -> None:
    app = Stage(Library(), [])
    async with app.run_test(size=SIZE):
        app.transcript.live_start()
        app.transcript.live_end()
        assert rows(app.transcript) == [""] * 24


async def test_a_control_sequence_in_two_portions_is_still_removed() -> None:
    app = Stage(Library(), [])
    async with app.run_test(size=SIZE):
        for portion in ("red \x1b", "[31", "mtext"):
            app.transcript.live_append(portion)
            app.transcript.live_flush()
        app.transcript.live_end()
        assert rows(app.transcript)[0].strip("┃ ") == "red text"


async def test_thinking_is_counted_folded_and_opens() -> None:
    library = Library()
    talk = Talk(library)
    talk.add("user", "Why?")
    app = Stage(library, talk.entries)
    async with app.run_test(size=SIZE) as pilot:
        app.transcript.live_append(thinking="first\nsecond")
        app.transcript.live_flush()
        assert "▸ thinking · 2 lines" in rows(app.transcript)[3]
        await pilot.press("up", "enter")
        assert "second" in rows(app.transcript)[5]


async def test_a_resize_while_streaming_stays_at_the_end() -> None:
    app = Stage(Library(), [])
    async with app.run_test(size=SIZE) as pilot:
        app.transcript.live_append(LONG)
        app.transcript.live_flush()
        await pilot.resize_terminal(50, 16)
        app.transcript.live_append("the end")
        app.transcript.live_flush()
        assert "the end" in rows(app.transcript)[-1]


# Selecting with the mouse returns the original text.


PROSE = "The quick brown fox jumps over the lazy dog and then it runs far away into the deep dark wood."


async def drag(pilot: Pilot, start: tuple[int, int], end: tuple[int, int]) -> str | None:
    await pilot.mouse_down(Transcript, offset=start)
    await pilot.hover(Transcript, offset=end)
    await pilot.mouse_up(Transcript, offset=end)
    await pilot.pause()
    return pilot.app.screen.get_selected_text()


async def test_wrapped_lines_are_joined_again() -> None:
    app = stage_of(lambda talk: talk.add("user", "x", body=Body(text=PROSE)))
    async with app.run_test(size=(40, 12)) as pilot:
        last = max(y for y, row in enumerate(rows(app.transcript)) if row)
        assert last > 2
        assert await drag(pilot, (2, 1), (38, last)) == PROSE


async def test_a_part_of_one_line() -> None:
    app = stage_of(lambda talk: talk.add("user", "x", body=Body(text="one 日本 two")))
    async with app.run_test(size=(40, 12)) as pilot:
        assert await drag(pilot, (8, 1), (10, 1)) == "日本"
        chosen = next(each for each in app.transcript.render_line(1) if each.text == "日本")
        assert chosen.style is not None
        assert chosen.style.color is not None
        assert chosen.style.color != chosen.style.bgcolor


async def test_ornament_is_not_copied() -> None:
    app = stage_of(
        lambda talk: talk.add("user", "x", body=Body(text="ask")),
        lambda talk: talk.add("tool", 'grep "a"', tokens=212),
    )
    async with app.run_test(size=(60, 12)) as pilot:
        y = row_with(app.transcript, "grep")
        assert await drag(pilot, (0, 0), (57, y)) == 'ask\n\ngrep "a"'


async def test_whole_answers_are_copied_as_markdown() -> None:
    library, entries = long_talk(2)
    app = Stage(library, entries)
    async with app.run_test(size=(60, 40)) as pilot:
        app.screen.selections = {app.transcript: SELECT_ALL}
        await pilot.pause()
        text = app.screen.get_selected_text()
        assert text is not None
        assert text.count("```python") == 2
        assert text.startswith("prompt 0\n\ngrep 0 · 3 hits\n\nanswer 0\n")


async def test_two_clicks_select_a_word_and_three_an_entry() -> None:
    library, entries = long_talk(2)
    app = Stage(library, entries)
    async with app.run_test(size=(60, 40)) as pilot:
        place = (4, row_with(app.transcript, "answer 1"))
        await pilot.click(Transcript, offset=place, times=2)
        await pilot.pause()
        assert app.screen.get_selected_text() == "answer"
        await pilot.click(Transcript, offset=place, times=3)
        await pilot.pause()
        assert app.screen.get_selected_text() == library.bodies[6].text.strip()


async def test_a_path_is_one_word() -> None:
    app = stage_of(lambda talk: talk.add("user", "x", body=Body(text="see src/a-b.py:12, (日本語)!")))
    async with app.run_test(size=(60, 12)) as pilot:
        for column, word in ((12, "src/a-b.py:12"), (25, "日本語"), (4, "see")):
            await pilot.click(Transcript, offset=(column, 1), times=2)
            await pilot.pause()
            assert app.screen.get_selected_text() == word


CODE = "Run this:\n\n```make\nall:\n\tcc -o app\tmain.c  # quick\n\t\techo done\n```\n\nEND"


async def test_tabs_stay_tabs() -> None:
    app = stage_of(lambda talk: talk.add("assistant", "x", body=Body(text=CODE)))
    async with app.run_test(size=(60, 16)) as pilot:
        first, last = row_with(app.transcript, "all:"), row_with(app.transcript, "echo")
        copied = await drag(pilot, (2, first), (50, last))
        assert copied == "all:\n\tcc -o app\tmain.c  # quick\n\t\techo done"
        app.screen.selections = {app.transcript: SELECT_ALL}
        assert app.screen.get_selected_text() == CODE


async def test_a_selection_survives_scrolling_through_unmeasured_entries() -> None:
    library, entries = long_talk()
    app = Stage(library, entries)
    async with app.run_test(size=(60, 20)) as pilot:
        y = row_with(app.transcript, "answer 39")
        assert await drag(pilot, (4, y), (13, y)) == "answer 39"
        await pilot.press("pageup", "pageup", "home", "end")
        assert app.screen.get_selected_text() == "answer 39"


async def test_the_highlight_lies_on_content_only() -> None:
    app = stage_of(lambda talk: talk.add("tool", 'grep "a"', tokens=212))
    async with app.run_test(size=(60, 12)) as pilot:
        await drag(pilot, (0, 0), (57, 0))
        app.transcript.selection_updated(app.transcript.text_selection)
        colour = app.screen.get_component_rich_style("screen--selection").bgcolor
        marked = [s.text for s in app.transcript.render_line(0) if s.style and s.style.bgcolor == colour]
        assert "".join(marked) == 'grep "a"'


async def test_other_entries_clear_a_selection() -> None:
    library, entries = long_talk(2)
    app = Stage(library, entries)
    async with app.run_test(size=(60, 20)) as pilot:
        await drag(pilot, (2, 2), (11, 2))
        app.transcript.set_entries(entries[:1])
        await pilot.pause()
        assert app.transcript.text_selection is None


@pytest.mark.parametrize("spot", [Spot(0, 0, 0), Spot(9_999, 700, 40), Spot(3, 0, 12_000)])
def test_rows_and_spots_are_the_same_thing(spot: Spot) -> None:
    assert Spot.at_row(spot.row) == spot
    assert spot.row < Spot(spot.slot, spot.piece, spot.line + 1).row < Spot(spot.slot + 1, 0, 0).row
    assert Offset(0, spot.row).y == spot.row


# Rewound rows, and the row of a rewind that was undone.


def said(row: Entry) -> str:
    painter = Painter(PLAIN_PALETTE, UNICODE, 80)
    parts = pieces(row, None, Body(text=""), Wording(glyphs=UNICODE), expanded=False)
    return " ".join(line.text for part in parts for line in part.lines(painter))


def listed(row: Entry) -> str:
    found = timeline_row(row, 0, 1.0)
    return f"{found.text}  {found.right}"


@pytest.mark.parametrize("state", ["failed", "denied", "interrupted"])
def test_a_call_that_went_wrong_says_both_once_it_is_left_behind(state) -> None:
    row = entry("tool", state=state, left=True)
    assert f"✗ {state}  rewound" in said(row)
    assert f"✗ {state} · rewound" in listed(row)


def test_an_error_says_that_it_was_left_behind() -> None:
    assert "rewound" in said(entry("error", state="failed", left=True))
    assert "rewound 12:00" in listed(entry("error", state="failed", left=True))
    assert "rewound" not in said(entry("error", state="failed"))


@pytest.mark.parametrize("title", ['Rewound to before "hello"', ""])
def test_a_rewind_that_was_taken_back_says_so(title: str) -> None:
    row = entry("clear", title=title, state="undone")
    assert said(row).endswith("· undone")
    assert "undone" not in said(entry("clear", title=title))
    assert listed(row).endswith("undone 12:00")


async def test_the_scroll_bar_goes_when_the_conversation_just_fits() -> None:
    library, entries = long_talk(3)
    async with Stage(library, entries).run_test(size=(80, 60)) as pilot:
        transcript = pilot.app.query_one(Transcript)
        await pilot.pause()
        lines = transcript.virtual_size.height
        for change in (-2, 0, -1, 0, 3, -1, 1, -2, 0):
            await pilot.resize_terminal(80, lines + change)
            await pilot.pause()
            assert transcript.virtual_size.height == lines
            assert transcript.show_vertical_scrollbar is (change < 0), change


async def test_the_scroll_bar_goes_when_a_closed_row_makes_room() -> None:
    body = Body(text="one\ntwo\nthree")
    app = stage_of(lambda talk: talk.turn(1), lambda talk: talk.add("tool", "grep ferry", body=body))
    async with app.run_test(size=(80, 60)) as pilot:
        transcript = pilot.app.query_one(Transcript)
        await pilot.press("up")
        lines = transcript.virtual_size.height
        await pilot.resize_terminal(80, lines)
        for shown in (True, False, True, False):
            await pilot.press("enter")
            await pilot.pause()
            assert (transcript.virtual_size.height > lines) is shown
            assert transcript.show_vertical_scrollbar is shown
