"""The review dialog: which keys decide, which ones edit, and what is never lost."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from textual import events
from textual.app import ComposeResult
from textual.color import Color
from textual.widgets import OptionList, Static, TextArea

from tests.ui.kit import ThemedApp, timed
from tests.ui.plans import proposed
from tui_app.events import CompactionComplete, CompactionProgress, CompactionProposed, Fact
from tui_app.session.views.entries import Entry
from tui_app.ui.dialogs.details import DetailsScreen
from tui_app.ui.dialogs.questions import ConfirmDialog, EditDialog
from tui_app.ui.dialogs.review import Fill, Reviewed, ReviewScreen, facts_line, head_rows, numbers
from tui_app.ui.dialogs.sent import Reader, SentText, SentView, SourceText
from tui_app.ui.keyboard import stray_keys
from tui_app.ui.keyboard.stray_keys import QUIET_S
from tui_app.ui.panels.gauge import ContextGauge
from tui_app.ui.words.compaction_words import figures
from tui_app.usage import Breakdown, ContextUsage, ContextWindow

DONE = CompactionComplete(
    job="1",
    outcome="success",
    trigger="manual",
    summary="# Intent\nFix [/x] \x1b[31mthe import.",
    facts=(
        Fact(kind="rule", text="never touch the importer", source="#2"),
        Fact(kind="command", text="pytest [/x] failed", source="#6", state="recoverable"),
        Fact(kind="detail", text="batch size 250", source="#87", state="lost"),
    ),
)
FILL = (
    ContextUsage(
        parts=Breakdown(assistant=101_100),
        window=ContextWindow(limit=128_000, source="setting"),
        messages=212,
    ),
    (0.8, 0.95),
)
PROPOSED = replace(proposed(DONE), messages_before=212, messages_after=9)
SIZES = pytest.mark.parametrize("size", [(120, 40), (80, 24), (40, 12)])


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        self.now += QUIET_S
        return self.now


class Host(ThemedApp):
    def __init__(
        self,
        proposed: CompactionProposed | None = PROPOSED,
        clock: Any = None,
        fill: Fill | None = None,
        read: Reader | None = None,
    ) -> None:
        super().__init__()
        self.dialog = timed(ReviewScreen(proposed, job="1", fill=fill, read=read), clock or Clock())
        self.results: list[Reviewed | None] = []

    def compose(self) -> ComposeResult:
        yield Static("behind", markup=False)

    def on_mount(self) -> None:
        self.push_screen(self.dialog, self.results.append)

    @property
    def text(self) -> TextArea:
        return self.dialog.query_one(TextArea)


def test_numbers() -> None:
    what, price = numbers(replace(PROPOSED, model="gpt-5-mini"))
    assert what == "203 messages removed, 9 kept · 3 of their results are in files"
    assert price == "91.5k → about 6.2k tokens · gpt-5-mini · $0.004"
    facts = str(facts_line(PROPOSED))
    assert facts == "1 fact at risk · 1 detail left"
    facts = str(facts_line(replace(PROPOSED, lines=17, lines_sourced=14, claims_marked=1)))
    assert facts == "1 fact at risk · 1 detail left · 14 of 17 lines sourced · 1 not in the log"
    assert len(facts) <= 76, "it fits 80 columns"


def test_the_number_in_the_name_of_a_model_is_no_figure() -> None:
    row = figures("91.5k → about 6.2k tokens · claude-sonnet-4.5 · gpt-5-mini · $0.004")
    loud = [row.plain[span.start : span.end] for span in row.spans if span.style == "$foreground"]
    assert loud == ["91.5k", "6.2k", "$0.004"]


@pytest.mark.parametrize(
    ("width", "head", "below"),
    [
        (60, "⊖ Proposal  9 leave                             91.5k → 6.2k", ""),
        (30, "⊖ Proposal        91.5k → 6.2k", "9 leave"),
        (20, "⊖ Proposal", "9 leave · 91.5k → 6.2k"),
    ],
)
def test_what_has_no_room_in_the_first_row_is_in_the_second(width: int, head: str, below: str) -> None:
    rows = head_rows("Proposal", "9 leave", "91.5k → 6.2k", width)
    assert [str(row).rstrip() for row in rows] == [head, below]


@pytest.mark.parametrize(
    ("leave", "stay", "said"),
    [(1, 9, "1 message removed, 9 kept"), (1_203, 1, "1,203 messages removed, 1 kept")],
)
def test_one_message_is_one(leave: int, stay: int, said: str) -> None:
    line, _ = numbers(replace(PROPOSED, messages_leave=leave, messages_stay=stay))
    assert line.startswith(f"{said} · ")


async def test_the_text_has_the_room_of_a_usual_terminal_and_says_where_words_come_from() -> None:
    passages = (
        ("model", "Sail at noon."),
        ("user", "## The user's words\n- #3: Reef first.\n- #9: Then sail."),
    )
    app, dialog = ThemedApp(), None
    async with app.run_test(size=(80, 24)) as pilot:
        dialog = ReviewScreen(replace(PROPOSED, passages=passages), fill=FILL)
        await app.push_screen(dialog)
        await pilot.pause()
        sent = dialog.query_one(SentText)
        assert sent.size.height >= 10
        rows = [row.text for row in map(sent.render_line, range(sent.size.height))]
        assert next(row for row in rows if "Reef first." in row).rstrip().endswith(" #3")


CHECKED = replace(
    PROPOSED,
    model="gpt-5-mini",
    passages=(
        (
            "model",
            "- Sail at noon. (#3)\n- The wind is fair. (unchecked)\n- `reef.py` is gone. (not in the log)",
        ),
    ),
    lines=3,
    lines_sourced=1,
    claims_marked=1,
)


@pytest.mark.parametrize(
    ("event", "way"),
    [
        (PROPOSED, "apply"),
        (CHECKED, "check"),
        (replace(CHECKED, claims_marked=0), "apply"),
        (replace(PROPOSED, problem="the summary is empty"), "edit"),
    ],
)
async def test_enter_applies_and_first_leads_to_lines_that_are_not_in_the_log(
    event: CompactionProposed, way: str
) -> None:
    app = Host(event)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        keys = app.dialog.key_row
        assert str(keys.render()).startswith(f"enter {way} ")
        if way != "apply":
            await pilot.press("enter")
            assert app.results == []
            marked = app.dialog.query_one(SentText).marked
            assert (marked is not None, app.text.has_focus) == (way == "check", way == "edit")
            await pilot.press("escape")
            await pilot.pause()
            assert str(keys.render()).startswith("enter apply ")
        await pilot.press("enter")
        assert app.results == [Reviewed(event.summary)]


async def test_lines_are_checked_and_their_messages_read_before_it_is_applied() -> None:
    async def read(numbers: Sequence[int]) -> list[tuple[Entry, str]]:
        return [
            (Entry(seq=number, kind="user", time=1_760_000_000, title="Go"), "Go on.") for number in numbers
        ]

    app = Host(CHECKED, read=read)
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.pause()
        keys = app.dialog.key_row
        assert "n next to check" in str(keys.render())
        assert str(keys.render()).endswith("2 to check")
        await pilot.press("n", "n")
        await pilot.pause()
        assert app.dialog.query_one(SentText).has_focus
        assert str(keys.render()).endswith("2 of 2 to check")
        await pilot.press("up", "up", "enter")
        source = app.dialog.query_one(SourceText)
        while "in full" not in str(keys.render()) or not source.render_line(0).text.startswith("Go on."):
            await pilot.pause()
        await pilot.press("enter")
        assert isinstance(app.screen, DetailsScreen)
        await pilot.press("escape", "escape")
        assert not app.dialog.query_one("#source").display
        await pilot.press("escape")
        assert app.dialog.focused is None
        assert app.results == []


async def test_marked_lines_are_dropped_one_by_one_and_the_rest_is_applied() -> None:
    notes = "- Sail. (#3)\n- Wind is fair. (unchecked) So it is. (#4)\n- `reef.py` is gone. (not in the log)"
    counts = {"lines": 4, "lines_sourced": 2, "claims_marked": 1}
    app = Host(replace(CHECKED, summary=notes, passages=(("model", notes),), **counts))
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.pause()
        facts = app.dialog.query_one("#review-facts-line", Static)
        assert "2 of 4 lines sourced · 1 not in the log" in str(facts.render())
        sent, keys = app.dialog.query_one(SentText), app.dialog.key_row
        assert "drop" not in str(keys.render())
        for left in ("1 to check", ""):
            await pilot.press("n")
            await pilot.pause()
            assert "d drop the line" in str(keys.render())
            await pilot.press("d")
            await pilot.pause()
            assert str(keys.render()).endswith(left)
            assert app.dialog.query_one(SentView).display
        rows = "\n".join(sent.render_line(y).text for y in range(sent.size.height))
        assert "fair" not in rows
        assert "reef.py" not in rows
        assert str(facts.render()).endswith("2 of 2 lines sourced")
        await pilot.press("escape")
        assert "o original text" in str(keys.render())
        await pilot.press("enter")
    assert app.results == [Reviewed("- Sail. (#3)\n-  So it is. (#4)\n")]


async def test_the_original_text_of_a_proposal_is_restored_with_its_marks() -> None:
    notes = "- Sail. (#3)\n- Wind is fair. (unchecked)"
    app = Host(replace(CHECKED, summary=notes, passages=(("model", notes),), lines=2, lines_sourced=1))
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.pause()
        facts, keys = app.dialog.query_one("#review-facts-line", Static), app.dialog.key_row
        assert "original" not in str(keys.render())
        await pilot.press("n", "d", "escape", "e", "ctrl+end", *"more", "escape")
        assert not app.dialog.query_one(SentView).display
        await pilot.press("o")
        await pilot.pause()
        assert app.dialog.query_one(SentView).display
        assert str(facts.render()).endswith("1 of 2 lines sourced · 1 not in the log")
        assert "original" not in str(keys.render())
        assert app.text.text == notes


async def test_a_letter_adds_one_fact_after_the_other() -> None:
    app = Host()
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("a", "a", "a")
        assert app.results == []
        await pilot.press("enter")
        kept = "# Intent\nFix [/x] the import.\n- pytest [/x] failed (#6)\n- batch size 250 (#87)"
        assert app.results == [Reviewed(kept)]


@SIZES
async def test_applied_as_it_is(size: tuple[int, int]) -> None:
    app = Host()
    async with app.run_test(size=size) as pilot:
        assert app.text.text == "# Intent\nFix [/x] the import."
        assert app.dialog.query_one("#dialog-hints").region.bottom <= size[1]
        assert app.text.size.height >= 1
        await pilot.press("enter")
        assert app.results == [Reviewed(PROPOSED.summary)], "escape sequences are no edit"


@SIZES
async def test_what_would_be_sent_is_shown_until_its_words_are_changed(size: tuple[int, int]) -> None:
    passages = (("model", "Sail at noon. (not in the log)"), ("user", "- #3: Reef first."))
    app = Host(replace(PROPOSED, model="gpt-5-mini", passages=passages), fill=FILL)
    async with app.run_test(size=size) as pilot:
        sent = app.dialog.query_one(SentText)
        shown = app.dialog.query_one(SentView)
        assert (shown.display, app.text.display) == (True, False)
        assert any("Sail at noon." in row.text for row in map(sent.render_line, range(sent.size.height)))
        gauge = app.dialog.query_one(ContextGauge)
        assert gauge.display
        assert gauge.caption == "79% now · 12% after"
        await pilot.press("e")
        assert (shown.display, app.text.display, app.text.has_focus) == (False, True, True)
        await pilot.press("escape")
        assert (shown.display, app.text.display) == (True, False), "nothing was changed"
        await pilot.press("e", "!", "escape")
        assert (shown.display, app.text.display) == (False, True)


async def test_a_fact_that_is_added_shows_the_text_it_was_added_to() -> None:
    app = Host(replace(PROPOSED, passages=(("model", "Sail at noon."),)))
    async with app.run_test() as pilot:
        await pilot.press("tab", "tab", "enter")
        assert (app.dialog.query_one(SentView).display, app.text.display) == (False, True)
        assert "pytest [/x] failed" in app.text.text


async def test_edited_then_applied() -> None:
    app = Host()
    async with app.run_test() as pilot:
        await pilot.press("e")
        assert app.text.has_focus
        await pilot.press("down", "end", "enter", *"Now!")
        await pilot.press("escape")
        assert app.results == []
        assert app.dialog.focused is None
        await pilot.press("enter")
        assert app.results == [Reviewed("# Intent\nFix [/x] the import.\nNow!")]


async def test_discarded_at_once_when_nothing_was_edited() -> None:
    app = Host()
    async with app.run_test() as pilot:
        await pilot.press("escape")
        assert app.results == [Reviewed(None)]


async def test_what_was_edited_is_not_thrown_away_by_one_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stray_keys, "QUIET_S", 0.0)
    app = Host()
    async with app.run_test() as pilot:
        await pilot.press("tab", "x", "escape", "escape")
        assert isinstance(app.screen, ConfirmDialog)
        await pilot.press("n")
        assert app.results == []
        assert "x" in app.text.text
        await pilot.press("escape", "y")
        assert app.results == [Reviewed(None)]


async def test_keys_of_a_person_who_is_still_writing_decide_nothing() -> None:
    app = Host(clock=lambda: 0.0)
    async with app.run_test() as pilot:
        await pilot.press(*"yes", "enter", "up", "enter", *"no")
        assert app.results == []
        assert app.text.text == "# Intent\nFix [/x] the import."
        await pilot.press("escape")
        assert app.results == [Reviewed(None)]
        assert app.dialog.typed == "yes\n\nno"


@SIZES
async def test_why_an_edit_cannot_be_applied(size: tuple[int, int]) -> None:
    problem = CompactionProposed(job="1", summary="", problem="the summary is empty")
    app = Host(problem)
    async with app.run_test(size=size):
        said = str(app.dialog.query_one("#review-problem", Static).render())
        assert said == "It cannot be applied like this: the summary is empty."
        assert app.dialog.query_one("#dialog-hints").region.bottom <= size[1]


@SIZES
async def test_it_is_read_while_it_is_written_and_edited_afterwards(size: tuple[int, int]) -> None:
    app = Host(None)
    async with app.run_test(size=size) as pilot:
        for number, text in enumerate(("# Int", "ent\n\x1b[31mFix")):
            app.dialog.hear(
                CompactionProgress(job="1", part=1, parts=1, tokens_written=number + 1, model="m", text=text)
            )
        while app.text.text != "# Intent\nFix":
            await pilot.pause()
        assert "2 tokens so far · m" in str(app.dialog.query_one("#review-numbers", Static).render())
        await pilot.press("x", "e")
        assert app.text.text == "# Intent\nFix", "nothing is edited yet"
        app.dialog.hear(CompactionProgress(job="1", part=2, parts=2, tokens_written=1, text="Anew"))
        app.dialog.propose(PROPOSED)
        await pilot.pause()
        assert app.text.text == "# Intent\nFix [/x] the import."
        await pilot.press("down", "e", "z")
        assert app.text.text.startswith("z")
        assert app.dialog.query_one("#dialog-hints").region.bottom <= size[1]
        assert app.text.size.height >= 1


async def test_escape_while_it_is_written_decides_nothing() -> None:
    app = Host(None)
    async with app.run_test() as pilot:
        await pilot.press(*"so", "escape")
        assert app.results == [Reviewed(None, later=True)]
        assert app.dialog.typed == "so"


async def test_enter_keeps_a_lost_fact_word_for_word() -> None:
    app = Host()
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("tab", "tab")
        facts = app.dialog.query_one("#review-facts", OptionList)
        assert facts.has_focus
        assert [str(option.prompt).split()[1] for option in facts.options] == ["at", "lost"]
        await pilot.press("home", "enter", "enter", "end", "enter")
        kept = "# Intent\nFix [/x] the import.\n- pytest [/x] failed (#6)\n- batch size 250 (#87)"
        assert app.text.text == kept, "once each"
        assert "kept" in str(facts.options[0].prompt)
        await pilot.press("escape", "enter")
        assert app.results == [Reviewed(kept)]


async def test_keys_in_a_hurry_go_where_those_before_them_lead() -> None:
    app = Host()
    async with app.run_test(size=(120, 40)) as pilot:
        for key in ("tab", "tab", "tab", "enter"):
            app.post_message(events.Key(key, None))
        await pilot.pause()
        assert app.results == [Reviewed(PROPOSED.summary)]


async def test_another_focus_has_it_written_anew() -> None:
    app = Host()
    async with app.run_test() as pilot:
        await pilot.press("f")
        assert isinstance(app.screen, EditDialog)
        await pilot.press(*"tides", "enter")
        assert app.results == [Reviewed(None, focus="tides")]


async def test_a_letter_is_a_shortcut_only_where_nobody_writes() -> None:
    app = Host()
    async with app.run_test() as pilot:
        await pilot.press("e")
        assert app.text.has_focus
    app = Host()
    async with app.run_test() as pilot:
        await pilot.press("o", "e", "f")
        assert not app.text.has_focus
        await pilot.press("escape")
        assert app.results == [Reviewed(None)]
        assert app.dialog.typed == "oef"


WORDS = CompactionProgress(job="1", part=1, parts=1, tokens_written=1, model="m", text="## Intent")


async def test_what_comes_before_the_screen_is_built_waits_for_it() -> None:
    app = ThemedApp()
    async with app.run_test() as pilot:
        dialog = timed(ReviewScreen(None, job="1"), Clock())
        app.push_screen(dialog)
        dialog.hear(WORDS)
        await pilot.pause()
        while dialog.query_one(TextArea).text != "## Intent":
            await pilot.pause()
        assert "1 token so far" in str(dialog.query_one("#review-numbers", Static).render())


async def test_what_was_written_and_proposed_before_the_screen_is_built() -> None:
    app = ThemedApp()
    async with app.run_test() as pilot:
        dialog = timed(ReviewScreen(None, job="1"), Clock())
        app.push_screen(dialog)
        dialog.hear(WORDS)
        dialog.propose(PROPOSED)
        await pilot.pause()
        assert dialog.query_one(TextArea).text == "# Intent\nFix [/x] the import."
        assert not dialog.writing


async def test_a_job_that_ends_before_the_screen_is_built() -> None:
    app, results = ThemedApp(), list[Reviewed | None]()
    async with app.run_test() as pilot:
        dialog = timed(ReviewScreen(None, job="1"), Clock())
        app.push_screen(dialog, results.append)
        dialog.hear(WORDS)
        dialog.abandon()
        await pilot.pause()
        assert results == [Reviewed(None, later=True)]
        assert dialog not in app.screen_stack


@pytest.mark.parametrize("keys", [("f",), ("tab", "x", "escape", "escape")], ids=["focus", "discard"])
async def test_a_job_that_ends_takes_the_question_above_along(keys: tuple[str, ...]) -> None:
    app = Host()
    async with app.run_test() as pilot:
        await pilot.press(*keys)
        assert app.screen is not app.dialog
        app.dialog.abandon()
        await pilot.pause()
        assert app.results == [Reviewed(None, later=True)]
        assert len(app.screen_stack) == 1


async def test_the_keys_that_are_named_and_the_bar_follow_the_focus() -> None:
    app = Host()
    async with app.run_test(size=(120, 40)) as pilot:

        def keys() -> str:
            return str(app.dialog.key_row.render())

        def bar(name: str) -> Color:
            options = app.dialog.query_one(name, OptionList)
            return options.get_component_styles("option-list--option-highlighted").background

        def ground() -> Color:
            return app.dialog.query_one(".dialog").styles.background

        await pilot.pause()
        for word in ("enter apply", "e edit", "f rewrite with a focus", "esc discard"):
            assert word in keys()
        assert bar("#review-facts") == ground()
        await pilot.press("tab")
        await pilot.pause()
        assert app.text.has_focus
        assert "enter" not in keys()
        assert "esc back" in keys()
        assert bar("#review-facts") == ground()
        await pilot.press("tab")
        await pilot.pause()
        assert "enter keep it word for word" in keys()
        assert ground() != bar("#review-facts")
