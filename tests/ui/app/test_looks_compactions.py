"""Looks of compactions, in the chat and on their screens."""

from dataclasses import replace
from typing import Literal

import pytest
from pydantic_ai.messages import ModelRequest, UserPromptPart
from textual.widgets import Input, TextArea

from tests.servers.behaviours import HangBeforeHeaders, Text
from tests.servers.fake_openai import FakeOpenAI
from tests.ui.app.scenes import (
    DONE,
    Scene,
    compacted_talk,
    compaction,
    in_timeline,
    nothing,
    opens,
    reviewed,
    tab,
    talk,
)
from tests.ui.app.story import MODEL, TODAY, Story
from tests.ui.kit import USUAL, Deck, Desk, timed
from tests.ui.looks import Look, sizes
from tests.ui.plans import proposed
from tui_app.context.summaries.prompt import INSTRUCTIONS
from tui_app.events import (
    CompactionEdited,
    CompactionProgress,
    CompactionUndone,
)
from tui_app.ui.dialogs.compaction import SummaryEditor
from tui_app.ui.dialogs.compactions.context import ContextScreen
from tui_app.ui.dialogs.questions import EditDialog
from tui_app.ui.dialogs.review import ReviewScreen
from tui_app.ui.panels.status import StatusRow


async def test_compacting(look: Look, fake_openai: FakeOpenAI) -> None:
    fake_openai.add(HangBeforeHeaders())

    async def scene(deck: Deck) -> None:
        await deck.press("ctrl+g")
        await (await fake_openai.request(1)).paused.wait()
        await deck.says("Compacting conversation history")
        row = deck.app.chat.query_one(StatusRow)
        row._clock = lambda: row.status.started + 6
        row.refresh()

    await look(Story("word by word").turns(6, tokens=14_000).answer("Six.", reported=91_500), scene)


async def test_compacted_entry(look: Look) -> None:
    await look(compacted_talk(), nothing)


@sizes
async def test_compacted_detail(look: Look, size: tuple[int, int]) -> None:
    await look(compacted_talk(), compaction, [size])


@sizes
async def test_compaction_facts(look: Look, size: tuple[int, int]) -> None:
    await look(compacted_talk(), tab("tab-facts"), [size])


@sizes
@pytest.mark.parametrize("part", ["left", "stayed", "numbers"])
async def test_compaction_part(look: Look, size: tuple[int, int], part: str) -> None:
    await look(compacted_talk(), tab(f"tab-{part}"), [size])


@sizes
async def test_compaction_diff(look: Look, size: tuple[int, int]) -> None:
    async def scene(deck: Deck) -> None:
        await tab("tab-diff")(deck)
        await deck.says("+   # Intent")

    await look(compacted_talk(), scene, [size])


COUNTED = (
    "# Intent\nGo word by word.\n\n# Done\n- Six questions have their answers.\n\n# Open\n- Nothing waits."
)
"""A summary of a story without names."""


async def test_review(look: Look, fake_openai: FakeOpenAI) -> None:
    fake_openai.add(Text(COUNTED, usage=(0, 0)))
    story = Story("word by word").turns(6, tokens=14_000).answer("Six.", reported=91_500)

    async def scene(deck: Deck) -> None:
        await deck.send("/compact --review")
        await deck.until(lambda: reviewed(deck), "the review")

    await look(story, scene)


async def test_review_with_facts_at_risk(look: Look) -> None:
    async def scene(deck: Deck) -> None:
        deck.app.push_screen(timed(ReviewScreen(proposed(DONE)), lambda: 0.0))
        await deck.until(lambda: reviewed(deck), "the review")
        await deck.press("tab", "tab")

    await look(talk(), scene)


async def test_brief(look: Look, fake_openai: FakeOpenAI) -> None:
    fake_openai.add(Text("Title: Tides\n## State\n- The tables are read."))
    story = Story("Tides").user("Never touch the legacy importer. Read the tables.").answer("Both are read.")

    async def scene(deck: Deck) -> None:
        await deck.send("/handoff Write the release notes")
        await deck.until(lambda: isinstance(deck.app.screen, ReviewScreen) and reviewed(deck), "the brief")
        await deck.settle()  # the text is wrapped again next to its scroll bar

    await look(story, scene)


async def test_a_summary_while_it_is_written(look: Look) -> None:
    async def scene(deck: Deck) -> None:
        screen = ReviewScreen(None, job="j")
        await deck.app.push_screen(screen)
        text = DONE.summary[:120]
        screen.hear(CompactionProgress(job="j", part=2, parts=3, tokens_written=0, model=MODEL))
        screen.hear(CompactionProgress(job="j", part=2, parts=3, tokens_written=30, model=MODEL, text=text))
        await deck.until(lambda: screen.query_one(TextArea).text == text, "the text")

    await look(talk(), scene)


async def test_summary_editor(look: Look) -> None:
    async def scene(deck: Deck) -> None:
        await compaction(deck)
        await opens(SummaryEditor, "e")(deck)
        await deck.press(*"Indeed. ", "tab")

    await look(compacted_talk(), scene)


@sizes
async def test_edited_compaction(look: Look, size: tuple[int, int]) -> None:
    """With the row of the edit after it, and the new text."""
    edit = CompactionEdited(
        compaction=10,
        summary=DONE.summary.replace("not handled yet", "next"),
        fact="batch size 250",
        tokens={"summary": 6_210},
        tokens_before=9_700,
        tokens_after=9_710,
        retention=1.0,
        facts=tuple(replace(fact, state="kept") for fact in DONE.facts),
    )
    story = compacted_talk().add(edit, ModelRequest(parts=[UserPromptPart(edit.summary)]))

    async def scene(deck: Deck) -> None:
        await compaction(deck)
        await deck.press("right_square_bracket")

    await look(story, scene, [size])


async def test_the_row_of_an_edit(look: Look) -> None:
    edit = CompactionEdited(
        compaction=10,
        summary="Other words.",
        tokens={"summary": 6_210},
        tokens_before=9_700,
        tokens_after=9_710,
    )
    story = compacted_talk().add(edit, ModelRequest(parts=[UserPromptPart(edit.summary)]))
    await look(story, nothing)


@sizes
@pytest.mark.parametrize("outcome", ["undone", "cancelled", "failed"])
async def test_compaction_that_does_not_stand(
    look: Look, size: tuple[int, int], outcome: Literal["undone", "cancelled", "failed"]
) -> None:
    story = talk()
    if outcome == "undone":
        story = story.compacted(DONE).add(
            CompactionUndone(compaction=10, tokens_before=6_200, tokens_after=91_500)
        )
    else:
        reason = "" if outcome == "cancelled" else "the model gave no answer"
        story = story.add(replace(DONE, outcome=outcome, reason=reason, facts=(), removed=()))

    await look(story, in_timeline, [size])


@sizes
async def test_filtered_timeline(look: Look, size: tuple[int, int]) -> None:
    async def scene(deck: Deck) -> None:
        if size == USUAL:
            await deck.press("ctrl+t")
        deck.app.chat.pane.timeline.focus()
        await deck.press("f", "f", "f")

    await look(compacted_talk(), scene, [size])


@pytest.fixture
def crowded(look: Look, desk: Desk, fake_openai: FakeOpenAI, monkeypatch: pytest.MonkeyPatch) -> Look:
    """A prompt that fills the window enough to start a summary, which never arrives."""
    monkeypatch.setattr("time.time", lambda: TODAY)
    desk.serve(fake_openai, window=8_000).change(background_threshold=0.6)
    fake_openai.add(HangBeforeHeaders(), phrase=INSTRUCTIONS[:40])
    fake_openai.add(Text("They are rows as well.", usage=(5_600, 12)))
    return look


async def behind(deck: Deck) -> None:
    await deck.send("and now also handle public holidays")
    session = deck.app.chat.session
    await deck.until(lambda: session.state.background is not None, "the compaction")
    await deck.until(lambda: deck.kinds.count("assistant") == 7 and not session.state.turn, "the answer")
    await deck.type("which of them move from year to year?")


async def behind_context(deck: Deck) -> None:
    await behind(deck)
    await opens(ContextScreen, "f3")(deck)
    await deck.says("compacting")


async def behind_timeline(deck: Deck) -> None:
    await behind(deck)
    await deck.press("ctrl+t")
    deck.app.chat.pane.timeline.focus()


@sizes
@pytest.mark.parametrize("scene", [behind, behind_context])
async def test_in_the_background(crowded: Look, size: tuple[int, int], scene: Scene) -> None:
    await crowded(Story("word by word").turns(6), scene, [size])


async def test_in_the_background_over_the_chat(crowded: Look) -> None:
    """At 80 columns the timeline covers the chat; the looks of the chat show it at 120."""
    await crowded(Story("word by word").turns(6), behind_timeline, [USUAL])


@sizes
async def test_by_the_provider(look: Look, size: tuple[int, int]) -> None:
    done = replace(
        DONE, performed_by="provider", trigger="background", facts=(), retention=None, cost_usd=None
    )

    await look(talk().compacted(done), in_timeline, [size])


async def focus_on(deck: Deck) -> None:
    await opens(EditDialog, "f")(deck)
    deck.app.screen.query_one(Input).insert_text_at_cursor("the holidays")


async def edited(deck: Deck) -> None:
    await deck.press("e")
    deck.app.screen.query_one(TextArea).insert("Indeed. ")


@pytest.mark.parametrize("scene", [focus_on, edited])
async def test_review_under_way(look: Look, fake_openai: FakeOpenAI, scene: Scene) -> None:
    fake_openai.add(Text(COUNTED, usage=(0, 0)))

    async def play(deck: Deck) -> None:
        await deck.send("/compact --review")
        await deck.until(lambda: reviewed(deck), "the review")
        await scene(deck)

    await look(Story("word by word").turns(6, tokens=14_000).answer("Six.", reported=91_500), play)


@sizes
@pytest.mark.parametrize("scene", [nothing, in_timeline])
async def test_compacted_up_to(look: Look, size: tuple[int, int], scene: Scene) -> None:
    await look(talk().compacted(replace(DONE, up_to_message=6)), scene, [size])
