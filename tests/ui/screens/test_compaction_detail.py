"""The compaction details: header, tabs, undo and redo, and text without markup."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from threading import get_ident

import pytest
from rich.style import Style
from textual.app import ComposeResult
from textual.pilot import Pilot
from textual.widgets import OptionList, Static, TabbedContent, TextArea

from tests.conversation.test_audit import INVENTED, RULE, claude
from tests.ui.kit import ThemedApp
from tui_app.conversation.audits.audit import Audit, audit
from tui_app.conversation.audits.transcript import recorded_file
from tui_app.conversation.work import BringBack, EditSummary, Restate
from tui_app.events import NOT_IN_LOG, CompactionComplete, Fact, Origin
from tui_app.session.event_heads import Head
from tui_app.session.figures.compaction_diff import Difference
from tui_app.session.views.entries import Entry
from tui_app.ui.colours.palette import PLAIN_PALETTE, Palette, Tone
from tui_app.ui.context.sent_page import Replacement, sent_page
from tui_app.ui.dialogs.compaction import CompactionDetail, CompactionView, SummaryEditor
from tui_app.ui.dialogs.details import DetailsScreen, unchanged_text
from tui_app.ui.dialogs.questions import ConfirmDialog
from tui_app.ui.dialogs.sent import SentText, SentView, SourceText
from tui_app.ui.keyboard import stray_keys
from tui_app.ui.transcript.lines import Painter
from tui_app.ui.words.compaction_words import (
    diff_lines,
    fact_options,
    message_lines,
    number_lines,
    ranked,
    sizes,
    summary_text,
    unmarked,
    where,
)
from tui_app.ui.words.glyphs import UNICODE

FACTS = (
    Fact(kind="rule", text='"never touch [/x] the importer"', source="you, 12:04"),
    Fact(kind="command", text="full pytest log", source="#142", state="recoverable"),
    Fact(kind="detail", text="batch size 250", source="#87", state="lost"),
)
DONE = CompactionComplete(
    job="j",
    outcome="success",
    trigger="background",
    model="gpt-5-mini",
    title="sunday import",
    summary="# Intent\n[bold]not bold[/x] \x1b[31mred\n- `import.py`",
    removed=((1, 180), (184, 184)),
    tokens_before=91_500,
    tokens_after=6_200,
    messages_before=212,
    messages_after=9,
    tokens_removed=85_300,
    messages_removed=203,
    retention=0.98,
    facts=FACTS,
    checkpoint_path="checkpoints/003-sunday-import.md",
    duration_s=4.1,
    cost_usd=0.004,
)
SOURCED = replace(DONE, lines=17, lines_sourced=14, claims_marked=2)
RESULTS = [Head(seq=number, type="tool.result", tokens={"tool_results": 120}) for number in range(1, 6)]
LINES = [
    *(Difference("-", head, f"read {head.seq}", 120) for head in RESULTS[:4]),
    Difference(" ", RESULTS[4], "read 5", 120),
]
VIEW = CompactionView(done=DONE, seq=212, time=1_760_000_000, diff=lambda: LINES)


class Host(ThemedApp):
    def __init__(self, view: CompactionView) -> None:
        super().__init__()
        self._view = view
        self.results: list[object] = []

    def compose(self) -> ComposeResult:
        yield Static("behind", markup=False)

    def on_mount(self) -> None:
        self.push_screen(CompactionDetail(self._view), self.results.append)


@pytest.mark.parametrize(
    ("view", "key", "results"),
    [
        (VIEW, "u", [Restate(True, VIEW.seq)]),
        (VIEW, "r", []),
        (replace(VIEW, undone=True), "r", [Restate(False, VIEW.seq)]),
        (replace(VIEW, undone=True), "u", []),
        (replace(VIEW, can_undo=False), "u", []),
        (replace(VIEW, done=replace(DONE, outcome="failed", reason="The model gave no answer.")), "u", []),
        (VIEW, "escape", [None]),
    ],
)
async def test_undo_and_redo_only_when_they_mean_something(
    view: CompactionView, key: str, results: list[object]
) -> None:
    app = Host(view)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press(key)
        assert app.results == results


@pytest.mark.parametrize(
    ("view", "key", "said"),
    [
        (VIEW, "r", "it is applied already"),
        (replace(VIEW, undone=True), "u", "it is undone already"),
        (replace(VIEW, can_undo=False), "u", "only the latest compaction, and not in a read-only session"),
        (replace(VIEW, done=replace(DONE, outcome="failed")), "u", "it changed nothing"),
    ],
)
async def test_why_it_is_not_undone_is_said(view: CompactionView, key: str, said: str) -> None:
    app = Host(view)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press(key)
        await pilot.pause()
        assert isinstance(app.screen, CompactionDetail)
        assert str(app.screen.key_row.render()).endswith(said)


EDITABLE = replace(VIEW, can_edit=True)


async def test_the_summary_gets_other_words() -> None:
    app = Host(EDITABLE)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("e")
        assert isinstance(app.screen, SummaryEditor)
        await pilot.press(*"My ", "tab", "enter")
        assert app.results == [EditSummary(VIEW.seq, "My # Intent\n[bold]not bold[/x] red\n- `import.py`")]


async def test_only_what_the_model_sees_is_edited() -> None:
    app = Host(VIEW)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("e", "right_square_bracket")
        await pilot.pause()
        await pilot.press("home", "enter")
        assert isinstance(app.screen, CompactionDetail)
        assert app.results == []


@pytest.mark.parametrize("size", [(120, 40), (80, 24), (40, 12)])
async def test_an_editor_throws_nothing_away_by_one_key(
    size: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stray_keys, "QUIET_S", 0.0)
    app = Host(replace(EDITABLE, original="As written."))
    async with app.run_test(size=size) as pilot:
        await pilot.press("e")
        await pilot.pause()
        assert app.screen.query_one("#dialog-hints").region.bottom <= size[1]
        await pilot.press("x", "escape", "escape")
        assert isinstance(app.screen, ConfirmDialog)
        await pilot.press("n")
        assert isinstance(app.screen, SummaryEditor)
        await pilot.press("o")
        assert app.screen.query_one(TextArea).text == "As written."
        await pilot.press("enter")
        assert app.results == [EditSummary(VIEW.seq, "As written.")]


async def test_the_original_words_put_back_are_taken_back_like_an_edit() -> None:
    app = Host(replace(EDITABLE, original="As written."))
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("e", *"Mine ", "tab", "o")
        area = app.screen.query_one(TextArea)
        assert area.text == "As written."
        keys = str(app.screen.query_one("#dialog-hints").render())
        assert keys.startswith("enter save ")
        assert "ctrl+z" in keys
        await pilot.press("e", "ctrl+z")
        assert area.text.startswith("Mine ")


async def test_nothing_edited_nothing_asked() -> None:
    app = Host(EDITABLE)
    async with app.run_test() as pilot:
        await pilot.press("e", "escape", "escape")
        assert isinstance(app.screen, CompactionDetail)
        assert app.results == []


async def test_enter_brings_a_lost_or_recoverable_fact_back() -> None:
    app = Host(EDITABLE)
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("right_square_bracket")
        await pilot.pause()
        facts = app.screen.query_one("#facts", OptionList)
        rows = {option.id: str(option.prompt) for option in facts.options if option.id}
        assert "enter brings it back" in rows["0"]
        assert "enter brings it back" not in rows["1"]
        await pilot.press("home", "down", "enter")
        assert app.results == [], "what is kept need not come back"
        await pilot.press("end", "enter")
        assert app.results == [BringBack(VIEW.seq, "batch size 250")]


async def test_hints_offer_exactly_what_works() -> None:
    app = Host(replace(VIEW, undone=True))
    async with app.run_test(size=(80, 24)):
        assert isinstance(app.screen, CompactionDetail)
        labels = [hint.text for hint in app.screen.key_row.hints]
        assert "redo" in labels
        assert "undo" not in labels
        assert "checkpoint file" not in labels


async def test_summary_is_plain_text() -> None:
    app = Host(VIEW)
    async with app.run_test(size=(80, 24)):
        text = app.screen.query_one(SentText)
        assert text.has_focus
        said = [row.text.rstrip() for row in map(text.render_line, range(text.size.height))]
        assert [line for line in said if line] == ["  Intent", "  [bold]not bold[/x] red", "   • import.py"]


async def test_tabs_are_reached_by_keys_and_say_how_many_messages_they_list() -> None:
    app = Host(VIEW)
    async with app.run_test(size=(80, 24)) as pilot:
        await app.workers.wait_for_complete()
        tabs = app.screen.query_one(TabbedContent)
        assert str(tabs.get_tab("tab-left").label) == "Removed 4"
        assert str(tabs.get_tab("tab-stayed").label) == "Kept 1"
        await pilot.press("right", "right_square_bracket")
        await pilot.pause()
        assert tabs.active == "tab-left"
        left = app.screen.query_one("#left", TextArea)
        assert left.text.splitlines()[0] == "4 messages removed from the model's view; the log keeps all."
        assert len(left.text.splitlines()) == 2 + 4
        assert app.screen.focused is left
        await pilot.press("left")
        await pilot.pause()
        assert tabs.active == "tab-facts"
        options = app.screen.query_one("#tab-facts OptionList", OptionList).options
        assert [option.id for option in options if option.id] == ["0", "1", "2"]
        assert str(tabs.get_tab("tab-facts").label) == "Facts 2", (
            "as many as the head counts: details are none"
        )


async def test_what_the_compaction_did_is_read_in_a_thread() -> None:
    threads: list[int] = []

    def diff() -> list[Difference]:
        threads.append(get_ident())
        asked = Head(seq=4, type="user.message", tokens={"user": 1_500})
        called = "calls read_file board.py"
        return [
            Difference("-", asked, "red \x1b[31mtext", 1_500),
            Difference("-", Head(seq=5, type="assistant.message"), called),
            Difference("+", Head(seq=212, type=DONE.TYPE)),
        ]

    app = Host(replace(VIEW, diff=diff))
    async with app.run_test(size=(80, 24)):
        await app.workers.wait_for_complete()
        lines = app.screen.query_one("#diff", TextArea).text.splitlines()
        assert lines[0].split() == ["-", "#4", lines[0].split()[2], "user", "1.5k", "red", "text"]
        assert lines[1].endswith("answer              calls read_file board.py")
        assert lines[2].split()[:2] == ["+", "#212"]
        assert lines[3:] == ["+   # Intent", "+   [bold]not bold[/x] red", "+   - import.py"]
        assert threads
        assert get_ident() not in threads


def test_a_diff_counts_long_runs_that_stayed() -> None:
    heads = [Head(seq=seq, type="user.message", title=f"prompt {seq}") for seq in range(1, 21)]
    lines = diff_lines(
        [*(Difference(" ", head) for head in heads), Difference("-", heads[0])], ""
    ).splitlines()
    assert len(lines) == 8
    assert lines[3] == "  … 14 messages kept as they were"
    assert lines[7].startswith("- ")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("**Done**: `pytest -x` passed", "Done: pytest -x passed"),
        ("__all__ is set, 2**3**4 too", "__all__ is set, 2**3**4 too"),
        ("def f(*args, **kwargs)", "def f(*args, **kwargs)"),
        ("```py", "```py"),
    ],
)
def test_lists_show_no_signs_of_markdown(text: str, shown: str) -> None:
    assert unmarked(text) == shown


def test_facts_say_where_they_are_now() -> None:
    recoverable = FACTS[1]
    assert where(recoverable, "/x/conversation_history/003-before-compaction.md") == (
        "conversation_history/003-before-compaction.md"
    )
    assert [where(each) for each in FACTS] == [""] * 3


@pytest.mark.parametrize("width", [112, 72])
def test_facts_name_their_source_in_a_column(width: int) -> None:
    facts = [*FACTS, replace(FACTS[0], text="never touch the legacy importer, " * 6, source="#1201")]
    options = fact_options(facts, back="enter brings it back", width=width)
    rows = [str(option.prompt) for option in options]
    rows = [row for row in rows if " " in row and row.split()[0] in "✗↺✓"]
    lines = [row.split("\n")[0] for row in rows]
    columns = {line.index(fact.source) for line, fact in zip(lines, ranked(facts), strict=True)}
    assert len(columns) == 1
    assert max(len(line) for row in rows for line in row.split("\n")) <= width
    assert [line.endswith("enter brings it back") for line in lines] == [True, False, False, True]
    assert len(rows[2].split("\n")) > 2, "a long one goes on below"


@pytest.mark.parametrize(("width", "told"), [(112, "#142 result, 12:09"), (72, "#142 ")])
def test_a_fact_says_whose_words_it_is_from_where_there_is_room(width: int, told: str) -> None:
    facts = [replace(FACTS[0], source="#1201"), *FACTS[1:]]
    said = {"#1201": "you, 12:04", "#142": "result, 12:09"}
    rows = [str(option.prompt) for option in fact_options(facts, width=width, said=said)]
    [row] = [row for row in rows if "full pytest log" in row]
    assert told in row
    assert ("result" in row) == (width > 100)


@pytest.mark.parametrize(("width", "rows"), [(144, 1), (80, 2)])
async def test_the_figures_take_as_few_rows_as_they_fit_in(width: int, rows: int) -> None:
    done = replace(DONE, lines=17, lines_sourced=14, claims_marked=2, files_restored=("a.py",))
    async with Host(replace(VIEW, done=done)).run_test(size=(width, 30)) as pilot:
        assert pilot.app.screen.query_one("#sizes", Static).size.height == rows


def test_a_source_has_no_column_where_there_is_no_room() -> None:
    options = fact_options(FACTS, back="enter brings it back", width=34)
    rows = [str(option.prompt) for option in options]
    facts = [row for row in rows if " " in row and row.split()[0] in "✗↺✓"]
    assert max(len(line) for row in facts for line in row.split("\n")) <= 34
    assert any("#87" in row for row in facts)


def test_what_is_sent_says_line_for_line_who_it_is_from() -> None:
    passages: tuple[tuple[Origin, str], ...] = (
        ("code", "Notes of a model."), ("model", "## Intent\nSail."), ("user", "- #3: Reef first."),
    )  # fmt: skip
    view = replace(VIEW, passages=passages)
    assert painted(view.sent) == [
        "  m written by the model   y your words   p added by Plimsoll",
        "p Notes of a model.",
        "m Notes of gpt-5-mini",
        "│ Intent",
        "│ Sail.",
        f"y  • Reef first.{'#3':>62}",
    ]
    assert painted(VIEW.sent)[0] == "  Intent", "a log of an earlier version does not say"


NOTES = """\
## Intent
Trips on Sundays are read. (#12, #40)
## State
- `import.py` asks `is None` now. (#34: edited 2×)
- All [tests] pass now. (#88: exit 2, 3 failed)
- No table. (#2: "Never touch `legacy`/ at all")
- The importer is slow. (unchecked)
- `cache.py` keeps the rows. (not in the log)
- The wind is why. (#40) (doubtful)
- Two things: one is done. (#12) The other is not. (open)
```
curl #1 (#99)
```"""
"""Summary with every kind of line."""
WORDS = """\
## The user's words, whole
- #40 (latest): And the south, see (#7)
  both of them
- #12: Sail

## The user's rules, word for word
- Reef first (#12)"""
FULL = Replacement(
    (("model", NOTES), ("code", "## What was done\n- import.py · edited (#34, #36)"), ("user", WORDS)), "m"
)


def test_each_line_has_its_form_in_a_column_at_the_right() -> None:
    bold = Palette(styles={**PLAIN_PALETTE.styles, Tone.HEADING: Style(bold=True)})
    page = sent_page(FULL, Painter(bold, UNICODE, 76))
    wanted = [
        ("Notes of m", "source · what the log knows"),
        ("Intent", ""), ("Trips on Sundays are read.", "#12, #40"), ("", ""),
        ("State", ""), (" • import.py asks is None now.", "#34 · edited 2×"),
        (" • All [tests] pass now.", "#88 · exit 2, 3 failed"),
        (" • No table.", '#2 · "Never touch `legacy`/ at all"'),
        (" • The importer is slow.", "unchecked"), (" • cache.py keeps the rows.", "not in the log"),
        (" • The wind is why.", "#40 · doubtful"),
        (" • Two things: one is done. (#12) The other is not.", "open"), ("", ""),
        ("  curl #1 (#99)", ""), ("", ""),
        ("What was done", "1"), (" • import.py · edited", "#34, #36"), ("", ""),
        ("Your words, whole", "2"), (" • And the south, see (#7)", "#40 · latest"), ("   both of them", ""),
        (" • Sail", "#12"), ("", ""),
        ("Your rules, word for word", "1"), (" • Reef first", "#12"),
    ]  # fmt: skip
    assert [strip.text.rstrip() for strip in page.strips][2:] == [
        f"{text}{note:>{76 - len(text)}}".rstrip() for text, note in wanted
    ]
    for form in ("(#12, #40)", "(#88: exit 2, 3 failed)", "(not in the log)"):
        assert form in page.text, "what is copied has the form that is sent"
    assert [line.mark for line in page.lines if line.mark] == ["(unchecked)", NOT_IN_LOG, "(doubtful)"]
    assert [line.numbers for line in page.lines[:3]] == [(12, 40), (34,), (88,)]


@pytest.mark.parametrize(("width", "rows"), [(76, 1), (44, 2), (30, 2)])
def test_a_form_is_behind_the_text_where_there_is_no_room_beside_it(width: int, rows: int) -> None:
    sent = Replacement((("model", "- All of the 214 tests pass. (#88: exit 2, 3 failed)\n- Fine. (#2)"),))
    page = sent_page(sent, Painter(PLAIN_PALETTE, UNICODE, width))
    said = [strip.text for strip in page.strips if strip.text.strip()][2:]
    assert [line.last - line.first + 1 for line in page.lines] == [rows, 1]
    assert said[rows - 1][:width].endswith("failed" if width > 40 else "…")
    assert said[rows][:width].endswith(" #2")
    assert max(map(len, (text.rstrip() for text in said))) <= width


@pytest.mark.parametrize("width", [76, 36])
def test_only_what_is_not_in_the_log_stands_out(width: int) -> None:
    loud = Style(bold=True)
    palette = Palette(styles={**PLAIN_PALETTE.styles, Tone.WARNING: loud})
    page = sent_page(FULL, Painter(palette, UNICODE, width))
    bold = [part.text for strip in page.strips for part in strip if part.style and part.style.bold]
    assert bold == ["not in the log"]


@pytest.mark.parametrize("width", [76, 52, 30])
def test_whose_each_part_is_is_said_whole_and_of_no_part_that_is_not_there(width: int) -> None:
    page = sent_page(FULL, Painter(PLAIN_PALETTE, UNICODE, width))
    shown = " ".join(strip.text[:width].strip() for strip in page.strips[:3])
    for words in ("m written by the model", "y your words", "p added by Plimsoll"):
        assert words in shown, words
    extract = Replacement((("code", "## What was done\n- Sail (#12)"),))
    first = sent_page(extract, Painter(PLAIN_PALETTE, UNICODE, width)).strips[0].text
    assert first.strip() == "p added by Plimsoll"


def painted(sent: Replacement) -> list[str]:
    """The non-empty lines of the replacement, with their margins."""
    page = sent_page(sent, Painter(PLAIN_PALETTE, UNICODE, 76))
    lines = zip(page.margins, page.strips, strict=True)
    return [f"{margin.text}{strip.text}".rstrip() for margin, strip in lines if strip.text.strip()]


async def read(numbers: Sequence[int]) -> list[tuple[Entry, str]]:
    """Messages in the session: all except #2."""
    row = Entry(seq=0, kind="tool", time=1_760_000_000, title="")
    return [
        (
            replace(row, seq=number - 1, result_seq=number, title=f"pytest {number} [/x]"),
            f"text of {number} \x1b[31mred [/x]",
        )
        for number in numbers
        if number != 2
    ]


READABLE = replace(VIEW, passages=FULL.passages, done=SOURCED, read=read)


def marked(app: Host) -> str:
    """The row with the selection mark."""
    sent = app.screen.query_one(SentText)
    rows = [sent.render_line(y).text for y in range(sent.size.height)]
    return next((row[1:].strip() for row in rows if row.startswith("▸")), "")


async def told(pilot: Pilot[None], selector: str, text: str) -> str:
    """The text of a part of the panel, once it has any."""
    part = pilot.app.screen.query_one(selector, Static)
    for _ in range(200):
        if text in str(part.render()):
            break
        await pilot.pause(0.01)
    return str(part.render())


def footer(app: Host) -> str:
    return str(app.screen.query_one("#dialog-hints").render())


async def test_a_key_leads_from_line_to_check_to_line_to_check_and_around() -> None:
    app = Host(READABLE)
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("right_square_bracket")
        await pilot.pause()
        assert footer(app).endswith("3 to check")
        seen = []
        for _ in range(4):
            await pilot.press("n")
            await pilot.pause()
            seen.append((marked(app).split(".  ")[0].lstrip("• "), footer(app)[-15:]))
        slow = ("The importer is slow", "1 of 3 to check")
        others = [("cache.py keeps the rows", "2 of 3 to check"), ("The wind is why", "3 of 3 to check")]
        assert seen == [slow, *others, slow]
    async with Host(VIEW).run_test(size=(80, 24)) as pilot:
        assert not pilot.app.screen.check_action("check", ()), "there is nothing to check"
        assert "to check" not in str(pilot.app.screen.query_one("#dialog-hints").render())


async def test_the_marked_line_is_dropped_from_the_notes_as_an_edit() -> None:
    notes = "- One (#12)\n- Two (unchecked)"
    done = replace(SOURCED, summary=notes)
    app = Host(
        replace(READABLE, done=done, can_edit=True, passages=(("model", notes), ("user", "- #9: Sail")))
    )
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("d")
        assert "drop" not in footer(app), "no line is marked"
        await pilot.press("end", "up", "d")
        assert "drop" not in footer(app), "words of the user are none of the notes"
        await pilot.press("n", "d")
    assert app.results == [EditSummary(READABLE.seq, "- One (#12)\n")]


async def test_up_and_down_mark_lines_and_scroll_where_there_is_none() -> None:
    plain = "\n\n".join(f"Line {number}." for number in range(60))
    passages: tuple[tuple[Origin, str], ...] = (
        ("model", "- One (#12)\n- Two (#40)\n" + plain),
        ("user", "- #9: Sail"),
    )
    app = Host(replace(READABLE, passages=passages))
    async with app.run_test(size=(80, 24)) as pilot:
        sent, seen = app.screen.query_one(SentText), []
        for key in ("down", "down", "up", "down", "down"):
            await pilot.press(key)
            seen.append((marked(app)[:5], sent.scroll_offset.y))
        assert seen == [("• One", 0), ("• Two", 0), ("• One", 0), ("• Two", 0), ("• Two", 1)]
        await pilot.press("end", "up")
        assert marked(app).startswith("• Sail")


async def test_enter_opens_the_message_beside_the_line_then_in_the_chat() -> None:
    app = Host(replace(READABLE, can_edit=True))
    async with app.run_test(size=(120, 40)) as pilot:
        assert "enter source" in footer(app)
        await pilot.press("down", "down", "down", "enter")
        said = await told(pilot, "#source-said", "The log has")
        assert said == "The line says  All [tests] pass now.\nThe log has    exit 2, 3 failed"
        text, panel = app.screen.query_one(SourceText), app.screen.query_one("#source")
        assert panel.region.width == app.screen.query_one(SentView).region.width // 2
        assert str(app.screen.query_one("#source-head", Static).render()).startswith("#88  pytest 88 [/x] · ")
        while not text.line_count:
            await pilot.pause()
        assert text.render_line(0).text.startswith("text of 88 red [/x]")
        for word in ("n next to check", "e edit", "up/down move", "enter in the chat", "esc back"):
            assert word in footer(app)
        assert "undo" not in footer(app)
        await pilot.press("escape")
        assert not panel.display
        assert isinstance(app.screen, CompactionDetail)
        await pilot.press("down", "enter")
        await told(pilot, "#source-said", "Never touch")
        assert "in the chat" not in footer(app), "the session has no such row"
        await pilot.press("enter", "up")
        assert app.results == []
        await told(pilot, "#source-said", "exit 2")
        await pilot.press("enter")
        assert app.results == [87], "the row of the call"


async def test_the_message_follows_the_mark_and_covers_a_narrow_screen() -> None:
    app = Host(READABLE)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("enter")
        await told(pilot, "#source-head", "#12")
        await pilot.pause()
        text = app.screen.query_one(SourceText)
        while not text.line_count:
            await pilot.pause()
        shown = [text.render_line(y).text.strip() for y in range(5)]
        assert shown[0] == "text of 12 red [/x]"
        assert shown[2].startswith("#40  pytest 40 [/x] · "), "a line may come from several"
        assert app.screen.query_one("#source").region.width == app.screen.query_one(SentView).region.width
        for wanted in (
            "The log has    no source for it: none was given and none was found",
            "The log has    not every name, number, quote or message that it gives",
        ):
            await pilot.press("n")
            assert (await told(pilot, "#source-said", wanted)).endswith(wanted)
            assert str(app.screen.query_one("#source-head", Static).render()) == "This line gives no message."
            await pilot.pause()
            assert "in the chat" not in footer(app)
        await pilot.press("enter", "escape", "escape")
        assert app.results == [None]


async def test_checkpoint_file_opens_over_it() -> None:
    app = Host(replace(VIEW, checkpoint_text=lambda: "# Checkpoint 003"))
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("c")
        await pilot.pause()
        assert isinstance(app.screen, DetailsScreen)
        assert app.screen.query_one(TextArea).text == "# Checkpoint 003"
        await pilot.press("escape")
        await pilot.pause()
        assert isinstance(app.screen, CompactionDetail)


def test_facts_say_in_words_what_became_of_them_worst_first() -> None:
    facts = (*FACTS, replace(FACTS[0], text="easter", put_back=True))
    lines = [str(option.prompt) for option in fact_options(facts)]
    heads = [
        "Not in the summary, but still searchable  1",
        "Added by Plimsoll  1",
        "In the summary  1",
        "Details, not counted as facts  1",
    ]
    assert lines[::3] == heads
    assert [line.split()[:2] for line in lines[1::3]] == [
        ["↺", "command"], ["✓", "rule"], ["✓", "rule"], ["✗", "detail"],
    ]  # fmt: skip
    assert '"never touch [/x] the importer"' in lines[7]


def sized(done: CompactionComplete, undone: bool) -> str:
    return "   ".join(sizes(done, undone))


def test_sizes_name_numbers_or_the_reason() -> None:
    assert sized(DONE, False) == ("91.5k → 6.2k tokens   212 → 9 messages   1 of 2 facts · 1 at risk")
    assert sized(SOURCED, False).endswith("1 at risk   14 of 17 lines sourced   2 not in the log")
    clean = replace(SOURCED, claims_marked=0, calls_not_understood=1)
    assert sized(clean, False).endswith("1 at risk   14 of 17 lines sourced   1 call not understood")
    alone = replace(DONE, messages_before=1_212, messages_after=1)
    assert "1,212 → 1 message   1 of 2 facts" in sized(alone, False)
    assert sized(DONE, True).endswith("undone: the full history is back")
    failed = replace(DONE, outcome="failed", reason="The model gave no answer.")
    assert sized(failed, False) == "The model gave no answer. Nothing changed."


def test_numbers_are_complete() -> None:
    text = number_lines(DONE)
    for wanted in (
        "91,500",
        "6,200",
        "#1 to #180, #184",
        "98% by weight",
        "checkpoints/003-sunday-import.md",
        "$0.004",
    ):
        assert wanted in text


def test_notes_that_were_refused_can_be_read() -> None:
    notes = "- It is nearly done."
    stood_in = replace(DONE, refused_notes=notes)
    assert number_lines(stood_in).endswith(f"\n\nRefused notes:\n\n{notes}")
    assert notes not in summary_text(stood_in), "what replaced the messages is another text"
    failed = replace(stood_in, outcome="failed", summary="", reason="only 0 of 5 lines have a source")
    assert summary_text(failed) == f"No summary was written.\n\nRefused notes:\n\n{notes}"
    assert notes not in number_lines(failed), "it is told once"
    assert unchanged_text(failed, {}).endswith(f"\n\nRefused notes:\n\n{notes}")


def test_what_left_has_the_size_that_the_model_had() -> None:
    """Results may be stubs by then; the row shows their original size."""
    stub = replace(RESULTS[0], tokens={"tool_results": 24})
    lines = [Difference("-", stub, "read 1", 120), Difference("-", RESULTS[1], "read 2", 120)]
    rows = message_lines(lines, "-").splitlines()[2:]
    assert [row.split("tool")[1].strip() for row in rows] == ["24  read 1  (0.1k in full)", "0.1k  read 2"]
    assert message_lines(lines, " ") == "Nothing."
    doubled = message_lines(lines, "-", 2.0).splitlines()[2:]
    assert [row.split("tool")[1].strip() for row in doubled] == ["48  read 1  (0.2k in full)", "0.2k  read 2"]


async def test_why_one_failed_can_be_read_to_the_end() -> None:
    reason = f"The server said \x1b[31m{'no such thing as that ' * 40}and that was its last word."
    app = Host(replace(VIEW, done=replace(DONE, outcome="failed", reason=reason, summary="", facts=())))
    async with app.run_test(size=(80, 30)) as pilot:
        await pilot.pause()
        text = app.screen.query_one(SentText)
        said = " ".join(" ".join(text.render_line(row).text for row in range(text.size.height)).split())
        assert said.endswith("and that was its last word.")
        assert "\x1b" not in said
        assert "its last word." in app.screen.query_one("#tab-numbers TextArea", TextArea).text
    middling = replace(DONE, outcome="failed", reason="b" * 250)
    assert sized(middling, undone=False) == f"{'b' * 250} Nothing changed."


async def test_what_another_program_made_is_audited_in_a_thread(tmp_path: Path) -> None:
    path, threads = claude(tmp_path), list[int]()

    def read() -> Audit:
        threads.append(get_ident())
        return audit(recorded_file(path))

    bare = replace(DONE, facts=(), performed_by="provider")
    async with Host(replace(VIEW, done=bare, audit=read)).run_test(size=(100, 30)) as pilot:
        screen = pilot.app.screen
        area = screen.query_one("#audit", TextArea)
        while "Your words lost" not in area.text:
            await pilot.pause()
        assert f"\n- {RULE}" in area.text
        assert f"Lines not in the log, of 4: 1\n- {INVENTED}" in area.text
        facts = screen.query_one("#facts", OptionList)
        assert any(RULE in str(option.prompt) for option in facts.options)
        await pilot.press("left_square_bracket")
        assert screen.query_one(TabbedContent).active == "tab-audit"
    assert threads
    assert threads[0] != get_ident()


async def test_our_own_has_no_audit() -> None:
    async with Host(VIEW).run_test(size=(100, 30)) as pilot:
        assert not pilot.app.screen.query("#audit")


def test_a_form_in_a_narrow_column_of_a_table_is_not_taken_for_the_next_one() -> None:
    rows = "| a | b |\n|---|---|\n| a long text | the tests pass (#88: exit 2, 3 failed) |\n| x | y (#12) |"
    sent = Replacement((("model", f"{rows}\n\n- The last one. (#99)"),))
    page = sent_page(sent, Painter(PLAIN_PALETTE, UNICODE, 30))
    assert [line.numbers for line in page.lines] == [(88,), (12,), (99,)]
    assert page.strips[page.lines[-1].first].text.rstrip() == " • The last one.           #99"
    assert "\uf8fe" not in page.text
