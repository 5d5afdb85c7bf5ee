"""Going back to an earlier prompt: the list, what is said of it, the draft, and what was left behind."""

import re

import pytest
from rich.style import Style

from tests.servers.behaviours import HangMidStream, Text
from tests.servers.fake_openai import FakeOpenAI
from tests.servers.signals import Signal
from tests.ui.app.story import Story
from tests.ui.kit import USUAL, Deck, Desk, shown
from tui_app.conversation.work import Clear, Restate, Rewind
from tui_app.ui.dialogs.actions import GO_BACK
from tui_app.ui.dialogs.rewind import NOTHING, PromptPicker
from tui_app.ui.themes import Tone


@pytest.fixture
def session(served: Desk) -> str:
    return served.store(Story().turns(3, words="a short one"))


async def listed(deck: Deck) -> None:
    await deck.until(lambda: isinstance(deck.app.screen, PromptPicker), "the prompts")


def left(deck: Deck) -> list[bool]:
    return [entry.left for entry in deck.app.chat.session.presenter.view.entries]


async def test_a_prompt_comes_back_as_a_draft_and_the_model_forgets_what_followed(
    served: Desk, fake_openai: FakeOpenAI, session: str
) -> None:
    fake_openai.add(Text("Another answer."))
    view = served.agent_view(session)
    async with shown(served.app(session)) as deck:
        await deck.ready()
        await deck.send("/rewind")
        await listed(deck)
        assert "Rewind to before · 3 prompts" in deck.text
        assert deck.text.index("question 2") < deck.text.index("question 1")
        await deck.press("down")
        # The name of the folder counts too: only the thousands are certain.
        await deck.until(
            lambda: re.search(r"4 messages would leave the model's view: ~3\.\dk → ~1\.\dk", deck.text)
        )
        await deck.press("enter")
        await deck.until(lambda: deck.editor.text == "question 1", "the draft")
        assert served.agent_view(session) == view[:2]
        assert "~1." in deck.gauge
        assert left(deck) == [False, False, True, True, True, True, False]
        assert 'Rewound to before "question 1"' in deck.text
        assert "left behind · " in deck.text
        assert deck.status == "Rewound: the prompt is in the editor · ctrl+c, then /undo takes it back"
        await deck.press("enter")
        await deck.says("Another answer.")
    sent = [message["content"] for message in fake_openai.journal[0]["messages"] if message["role"] == "user"]
    assert sent == ["question 0", "question 1"]


@pytest.mark.parametrize("by_key", [False, True], ids=["command", "row"])
async def test_a_rewind_is_taken_back_with_its_draft(served: Desk, session: str, by_key: bool) -> None:
    view = served.agent_view(session)
    async with shown(served.app(session)) as deck:
        await deck.ready()
        before = deck.gauge
        await deck.send("/rewind")
        await listed(deck)
        await deck.press("down", "enter")
        await deck.until(lambda: deck.editor.text == "question 1", "the draft")
        await deck.says("/undo takes it back")
        if by_key:
            deck.transcript.focus()
            await deck.press("up", "u")
        else:
            deck.editor.clear()
            await deck.send("/undo")
        await deck.says("Undone: the conversation is as it was before, ~3.")
        assert "taken back" in deck.words
        assert "undone" in deck.words, "in the timeline too"
        await deck.until(lambda: deck.editor.text == "", "the draft to leave")
        assert (served.agent_view(session), deck.gauge) == (view, before)
        assert left(deck) == [False] * 7
        assert "left behind · " not in deck.text


async def test_two_rewinds_taken_back_take_both_drafts_along(served: Desk, session: str) -> None:
    async with shown(served.app(session)) as deck:
        await deck.ready()
        chat = deck.app.chat.session
        second, third = [row.seq for row in chat.presenter.view.entries if row.kind == "user"][1:]
        chat.submit(Rewind(third))
        await deck.until(lambda: deck.editor.text == "question 2", "a draft")
        chat.submit(Rewind(second))
        await deck.until(lambda: deck.editor.text == "question 1\nquestion 2", "both")
        chat.submit(Restate(undo=True))
        await deck.until(lambda: deck.editor.text == "question 2", "the first one")
        chat.submit(Restate(undo=True))
        await deck.until(lambda: not deck.editor.text, "nothing")


async def test_a_clear_is_taken_back_and_a_changed_draft_stays(served: Desk, session: str) -> None:
    view = served.agent_view(session)
    async with shown(served.app(session)) as deck:
        await deck.ready()
        deck.app.chat.session.submit(Clear())
        await deck.says("Cleared: the model starts afresh · /undo takes it back")
        deck.editor.text = "half a thought"
        deck.app.chat.session.submit(Restate(undo=True))
        await deck.says("Undone: the conversation is as it was before")
        assert served.agent_view(session) == view
        assert deck.editor.text == "half a thought"


async def test_what_was_left_behind_is_painted_in_the_quiet_colour(served: Desk, session: str) -> None:
    async with shown(served.app(session)) as deck:
        await deck.ready()

        def style(words: str) -> Style | None:
            strips = deck.app.screen._compositor.render_strips()
            found = [seg.style for strip in strips for seg in strip if words in seg.text]
            return found[0]

        quiet = deck.transcript.get_component_rich_style(Tone.DIM.value).color
        before = style("answer 2: a short")
        assert before is not None
        assert before.color != quiet
        await deck.send("/rewind")
        await listed(deck)
        await deck.press("enter")
        await deck.says("Rewound to before")
        after = style("answer 2: a short")
        assert after is not None
        assert after.color == quiet


async def test_going_back_past_a_compaction_takes_it_back(served: Desk, fake_openai: FakeOpenAI) -> None:
    session = served.store(Story().turns(6))
    fake_openai.add(Text("Six questions about words; all were answered.", usage=(0, 0)))
    full = served.agent_view(session)
    async with shown(served.app(session)) as deck:
        await deck.ready()
        await deck.send("/compact")
        await deck.until(lambda: "compaction" in deck.kinds, "the compaction")
        await deck.idle()
        await deck.send("/rewind")
        await listed(deck)
        await deck.press(*"question", "space", "1")
        await deck.says("1 compaction would be taken back")
        await deck.press("enter")
        await deck.until(lambda: deck.editor.text == "question 1", "the draft")
        assert served.agent_view(session) == full[:2]


async def test_the_filter_narrows_and_escape_changes_nothing(served: Desk, session: str) -> None:
    view = served.agent_view(session)
    async with shown(served.app(session), USUAL) as deck:
        await deck.ready()
        await deck.send("/rewind")
        await listed(deck)
        await deck.press(*"tion", "space", "0")
        assert "question 1" not in deck.text
        assert "question 0" in deck.text
        await deck.press("x")
        await deck.says("No prompt has these words")
        await deck.press("enter", "escape")
        assert "question 1" in deck.text
        await deck.press("escape")
        assert deck.app.screen is deck.app.chat
        assert served.agent_view(session) == view


async def test_while_an_answer_is_written_it_waits_in_a_row(
    served: Desk, fake_openai: FakeOpenAI, session: str
) -> None:
    hold = Signal()
    fake_openai.add(HangMidStream(release=hold))
    async with shown(served.app(session)) as deck:
        await deck.ready()
        await deck.send("go on")
        await (await fake_openai.request(1)).paused.wait()
        await deck.send("/rewind")
        await listed(deck)
        await deck.press("down", "enter")
        row = "Queued 1 of 1: /rewind #6 · runs when what is under way is done"
        await deck.until(lambda: deck.queue == [row], row)
        await deck.press("escape")
        await deck.until(lambda: deck.editor.text == "/rewind #6", "the command back")
        await deck.press("enter")
        await deck.until(lambda: deck.queue == [row], row)
        hold.set()
        await deck.until(lambda: deck.editor.text == "question 2", "the draft")
        assert len(served.agent_view(session)) == 4


async def test_escape_twice_in_an_empty_prompt_offers_the_prompts(served: Desk, session: str) -> None:
    async with shown(served.app(session)) as deck:
        await deck.ready()
        await deck.press("escape")
        await deck.says(GO_BACK)
        await deck.press("escape")
        await listed(deck)
        await deck.press("escape")
        assert deck.app.screen is deck.app.chat


async def test_escape_never_leaves_a_draft_or_a_conversation_without_prompts(
    served: Desk, session: str
) -> None:
    async with shown(served.app(session)) as deck:
        await deck.ready()
        await deck.type("half a thought")
        await deck.press("escape", "escape", "escape")
        await deck.settle()
        assert deck.app.screen is deck.app.chat
        assert deck.editor.text == "half a thought"
    async with shown(served.app()) as deck:
        await deck.ready()
        await deck.press("escape", "escape")
        await deck.settle()
        assert deck.app.screen is deck.app.chat
        await deck.send("/rewind")
        await deck.says(NOTHING)


@pytest.mark.parametrize(
    ("argument", "words"),
    [("yesterday", "/rewind takes the number of a prompt"), ("#3", "Nothing to rewind: #3 is no prompt")],
)
async def test_a_number_that_is_no_prompt_is_refused_in_words(
    served: Desk, session: str, argument: str, words: str
) -> None:
    view = served.agent_view(session)
    async with shown(served.app(session)) as deck:
        await deck.ready()
        await deck.send(f"/rewind {argument}")
        await deck.says(words)
        assert served.agent_view(session) == view
