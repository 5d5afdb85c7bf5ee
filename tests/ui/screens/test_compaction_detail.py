"""The compaction detail: head, tabs, undo and redo, and text that stays text."""

from dataclasses import replace
from pathlib import Path
from threading import get_ident

import pytest
from rich.style import Style
from textual.app import ComposeResult
from textual.widgets import OptionList, Static, TabbedContent, TextArea

from tests.conversation.test_audit import INVENTED, RULE, claude
from tests.ui.kit import ThemedApp
from tui_app.conversation.audit import Audit, audit, recorded_file
from tui_app.conversation.work import BringBack, EditSummary, Restate
from tui_app.events import NOT_IN_LOG, CompactionComplete, Fact
from tui_app.session.event_heads import Head
from tui_app.session.request_ledger import Difference
from tui_app.ui import type_ahead as stray_keys
from tui_app.ui.dialogs.base import ConfirmDialog, DetailsScreen
from tui_app.ui.dialogs.compaction import (
    CompactionDetail,
    CompactionView,
    Replacement,
    SentText,
    SummaryEditor,
    diff_lines,
    fact_options,
    message_lines,
    number_lines,
    ranked,
    sent_page,
    sizes,
    where,
)
from tui_app.ui.text import PLAIN, UNICODE
from tui_app.ui.themes import PLAIN_PALETTE, Palette, Tone
from tui_app.ui.transcript.lines import Painter

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
        (replace(VIEW, can_undo=False), "u", "only the newest one, and not in a read-only session"),
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
        await pilot.press(*"My ", "tab", "home", "enter")
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
        await pilot.press("home", "down", "enter")
        assert app.screen.query_one(TextArea).text == "As written."
        await pilot.press("tab", "home", "enter")
        assert app.results == [EditSummary(VIEW.seq, "As written.")]


async def test_the_original_words_put_back_are_taken_back_like_an_edit() -> None:
    app = Host(replace(EDITABLE, original="As written."))
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("e", *"Mine ", "tab", "down", "enter")
        area, ways = app.screen.query_one(TextArea), app.screen.query_one(OptionList)
        assert area.text == "As written."
        assert ways.highlighted == 0, "the next enter saves"
        assert "ctrl+z" in str(app.screen.query_one("#dialog-hints").render())
        await pilot.press("ctrl+z")
        assert area.text.startswith("Mine ")


async def test_nothing_edited_nothing_asked() -> None:
    app = Host(EDITABLE)
    async with app.run_test() as pilot:
        await pilot.press("e", "escape")
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
        assert "enter brings it back" not in rows["2"]
        await pilot.press("end", "enter")
        assert app.results == [], "what is kept need not come back"
        await pilot.press("home", "enter")
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
        assert str(tabs.get_tab("tab-left").label) == "What left 4"
        assert str(tabs.get_tab("tab-stayed").label) == "What stayed 1"
        await pilot.press("right", "right_square_bracket")
        await pilot.pause()
        assert tabs.active == "tab-left"
        left = app.screen.query_one("#left", TextArea)
        assert left.text.splitlines()[0] == "4 messages left the model's view; the log keeps all."
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
        assert lines[1].endswith("assistant           calls read_file board.py")
        assert lines[2].split()[:2] == ["+", "#212"]
        assert lines[3:] == ["+   # Intent", "+   [bold]not bold[/x] red", "+   - `import.py`"]
        assert threads
        assert get_ident() not in threads


def test_a_diff_counts_long_runs_that_stayed() -> None:
    heads = [Head(seq=seq, type="user.message", title=f"prompt {seq}") for seq in range(1, 21)]
    lines = diff_lines(
        [*(Difference(" ", head) for head in heads), Difference("-", heads[0])], ""
    ).splitlines()
    assert len(lines) == 8
    assert lines[3] == "  … 14 messages stayed as they were"
    assert lines[7].startswith("- ")


def test_facts_say_where_they_are_now() -> None:
    recoverable = FACTS[1]
    assert where(recoverable, "/x/conversation_history/003-before-compaction.md") == (
        "conversation_history/003-before-compaction.md"
    )
    assert [where(each) for each in FACTS] == [""] * 3


@pytest.mark.parametrize("width", [112, 72])
def test_facts_name_their_source_in_a_column(width: int) -> None:
    facts = [*FACTS, replace(FACTS[0], text="never touch the legacy importer, " * 6, source="#1201")]
    options = fact_options(facts, UNICODE, back="enter brings it back", width=width)
    rows = [str(option.prompt) for option in options]
    rows = [row for row in rows if " " in row and row.split()[0] in "✗↺✓"]
    lines = [row.split("\n")[0] for row in rows]
    columns = {line.index(fact.source) for line, fact in zip(lines, ranked(facts), strict=True)}
    assert len(columns) == 1
    assert max(len(line) for row in rows for line in row.split("\n")) <= width
    assert [line.endswith("enter brings it back") for line in lines] == [True, True, False, False]
    assert len(rows[3].split("\n")) > 2, "a long one goes on below"


@pytest.mark.parametrize(("width", "told"), [(112, "#142 result, 12:09"), (72, "#142 ")])
def test_a_fact_says_whose_words_it_is_from_where_there_is_room(width: int, told: str) -> None:
    facts = [replace(FACTS[0], source="#1201"), *FACTS[1:]]
    said = {"#1201": "you, 12:04", "#142": "result, 12:09"}
    rows = [str(option.prompt) for option in fact_options(facts, UNICODE, width=width, said=said)]
    [row] = [row for row in rows if "full pytest log" in row]
    assert told in row
    assert ("result" in row) == (width > 100)


@pytest.mark.parametrize(("width", "rows"), [(126, 1), (80, 2)])
async def test_the_figures_take_as_few_rows_as_they_fit_in(width: int, rows: int) -> None:
    done = replace(DONE, claims_marked=2, files_restored=("a.py",))
    async with Host(replace(VIEW, done=done)).run_test(size=(width, 30)) as pilot:
        assert pilot.app.screen.query_one("#sizes", Static).size.height == rows


def test_a_source_has_no_column_where_there_is_no_room() -> None:
    options = fact_options(FACTS, UNICODE, back="enter brings it back", width=34)
    rows = [str(option.prompt) for option in options]
    facts = [row for row in rows if " " in row and row.split()[0] in "✗↺✓"]
    assert max(len(line) for row in facts for line in row.split("\n")) <= 34
    assert any("#87" in row for row in facts)


def test_what_is_sent_says_line_for_line_who_it_is_from() -> None:
    passages = (("code", "Notes of a model."), ("model", "## Intent\nSail."), ("user", "- #3: Reef first."))
    view = replace(VIEW, passages=passages)
    assert painted(view) == [
        "  m written by the model   y your words   p added by Plimsoll",
        "p Notes of a model.",
        f"m Notes of gpt-5-mini{'no permission, no instruction':>55}",
        "│ Intent",
        "│ Sail.",
        "y  • #3: Reef first.",
    ]
    assert painted(VIEW)[0] == "  Intent", "a log of an earlier version does not say"


def test_what_is_sent_says_at_the_right_how_many_there_are_and_when_they_came() -> None:
    wind = " ".join(["wind"] * 12)
    passages = (
        ("model", "## Intent\n\nSail (#3).\n\n- Reef\n- Sail\n\nThen:\n\n```\nheave\n```"),
        ("user", "## Your words\n\n- #3: Reef first.\n- #9: Then sail.\n\n## More\n\n1. Reef"),
        ("code", f"## Facts\n\n- the wind (#4)\n- {wind} (#4)"),
    )
    said = {"#3": "you, 12:04", "#4": "result, 12:05"}
    view = replace(VIEW, passages=passages, said=said)
    bold = Palette(styles={**PLAIN_PALETTE.styles, Tone.HEADING: Style(bold=True)})
    page = sent_page(view.sent, Painter(bold, UNICODE, 76))
    wanted = [
        ("Notes of gpt-5-mini", "no permission, no instruction"), ("Intent", ""),
        ("Sail (#3).", "you, 12:04"),
        (" • Reef", ""), (" • Sail", ""), ("", ""), ("Then:", ""), ("", ""), ("  heave", ""), ("", ""),
        ("Your words", "2"), (" • #3: Reef first.", "12:04"), (" • #9: Then sail.", ""), ("", ""),
        ("More", "1"), (" 1. Reef", ""), ("", ""),
        ("Facts", "2"), (" • the wind (#4)", "result, 12:05"), (f" • {wind} (#4)", ""),
    ]  # fmt: skip
    assert [strip.text.rstrip() for strip in page.strips][2:] == [
        f"{text}{note:>{74 - len(text)}}".rstrip() for text, note in wanted
    ]
    assert "12:04" not in page.text, "what is copied is what is sent"


def painted(view: CompactionView) -> list[str]:
    """The lines of the replacement that say something, with their margins."""
    page = sent_page(view.sent, Painter(PLAIN_PALETTE, UNICODE, 76))
    lines = zip(page.margins, page.strips, strict=True)
    return [f"{margin.text}{strip.text}".rstrip() for margin, strip in lines if strip.text.strip()]


async def test_a_key_leads_from_claim_to_claim_and_around() -> None:
    text = "\n\n".join(f"Line {n}.{f' {NOT_IN_LOG}' if n in (20, 40) else ''}" for n in range(80))
    view = replace(VIEW, passages=(("model", text),), done=replace(DONE, claims_marked=2))
    app = Host(view)
    async with app.run_test(size=(80, 24)) as pilot:
        sent, seen = app.screen.query_one(SentText), []
        await pilot.press("right_square_bracket")
        for _ in range(3):
            await pilot.press("n")
            assert app.screen.focused is sent
            rows = (sent.render_line(y).text for y in range(sent.size.height))
            seen.append(next(row for row in rows if NOT_IN_LOG in row).split(NOT_IN_LOG)[0].strip(" │"))
        assert seen == ["Line 20.", "Line 40.", "Line 20."]
    async with Host(VIEW).run_test(size=(80, 24)) as pilot:
        assert not pilot.app.screen.check_action("claim", ()), "there is none"


def test_the_mark_of_a_claim_stands_out() -> None:
    view = replace(VIEW, passages=(("model", "All 214 tests pass. (not in the log)"),))
    for width in (76, 32):
        page = sent_page(view.sent, Painter(PLAIN_PALETTE, UNICODE, width))
        marks = [segment.text for strip in page.strips for segment in strip if "log" in segment.text]
        assert marks == [NOT_IN_LOG], "in a style of its own, and never broken"
        assert NOT_IN_LOG in page.text


@pytest.mark.parametrize("width", [76, 44])
def test_what_the_log_holds_instead_of_a_claim_is_beside_it_or_below(width: int) -> None:
    text = f"- All 214 tests pass. {NOT_IN_LOG}\n- Fine.\n- Odd. {NOT_IN_LOG}\n- A release. {NOT_IN_LOG}"
    held = ("1 failed, 213 passed #190", "", "no such message")
    sent = Replacement((("model", text),), "m", held=held)
    page = sent_page(sent, Painter(PLAIN_PALETTE, UNICODE, width))
    end, narrow = width - 2, width < 60
    wanted = []
    for claim, told in zip(("All 214 tests pass.", "Odd.", "A release."), held, strict=True):
        row = f" • {claim} {NOT_IN_LOG}"
        beside = f"{row}{told:>{end - len(row)}}".rstrip()
        wanted += [row, f"{told:>{end}}"] if narrow and told else [beside]
        wanted += [" • Fine."] if claim.startswith("All") else []
    assert [strip.text.rstrip() for strip in page.strips][3:] == wanted
    assert "213" not in page.text


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
    lines = [str(option.prompt) for option in fact_options(facts, UNICODE)]
    heads = [
        "Left out  1 detail, not counted as a fact",
        "At risk, the model can look them up  1",
        "Put back by Plimsoll  1",
        "In the summary  1",
    ]
    assert lines[::3] == heads
    assert [line.split()[:2] for line in lines[1::3]] == [
        ["✗", "detail"], ["↺", "command"], ["✓", "rule"], ["✓", "rule"],
    ]  # fmt: skip
    assert '"never touch [/x] the importer"' in lines[10]
    assert all(str(option.prompt).isascii() for option in fact_options(FACTS, PLAIN))


def test_sizes_name_numbers_or_the_reason() -> None:
    assert sizes(DONE, UNICODE, False) == (
        "91.5k → 6.2k tokens   212 → 9 messages   1 of 2 facts · 1 at risk"
    )
    checked = replace(DONE, claims_marked=2, facts=(replace(FACTS[0], put_back=True), *FACTS[1:]))
    assert sizes(checked, UNICODE, False).endswith("1 of 2 facts · 1 at risk   2 claims not in the log")
    alone = replace(DONE, messages_before=1_212, messages_after=1)
    assert "1,212 → 1 message   1 of 2 facts" in sizes(alone, UNICODE, False)
    assert sizes(DONE, UNICODE, True).endswith("undone: the full history is back")
    failed = replace(DONE, outcome="failed", reason="The model gave no answer.")
    assert sizes(failed, UNICODE, False) == "The model gave no answer. Nothing changed."


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


def test_what_left_has_the_size_that_the_model_had() -> None:
    """Results may be stubs by then: what they were once stands beside it."""
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
    assert sizes(middling, PLAIN, undone=False) == f"{'b' * 250} Nothing changed."


async def test_what_another_program_made_is_audited_in_a_thread(tmp_path: Path) -> None:
    path, threads = claude(tmp_path), list[int]()

    def read() -> Audit:
        threads.append(get_ident())
        return audit(recorded_file(path))

    bare = replace(DONE, facts=(), performed_by="provider")
    async with Host(replace(VIEW, done=bare, audit=read)).run_test(size=(100, 30)) as pilot:
        screen = pilot.app.screen
        area = screen.query_one("#audit", TextArea)
        while "Rules gone" not in area.text:
            await pilot.pause()
        assert f"Rules gone word for word: 1\n- {RULE}" in area.text
        assert f"Claims not in the log, of 4 statements: 1\n- {INVENTED}" in area.text
        facts = screen.query_one("#facts", OptionList)
        assert any(RULE in str(option.prompt) for option in facts.options)
        await pilot.press("left_square_bracket")
        assert screen.query_one(TabbedContent).active == "tab-audit"
    assert threads
    assert threads[0] != get_ident()


async def test_our_own_has_no_audit() -> None:
    async with Host(VIEW).run_test(size=(100, 30)) as pilot:
        assert not pilot.app.screen.query("#audit")
