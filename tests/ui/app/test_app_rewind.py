"""Rewind with files, fork and retry; rewound rows."""

import re
from collections import Counter

import pytest
from rich.style import Style
from textual.widgets import OptionList

from tests.servers.behaviours import HangMidStream, Text, Tool, error, tool
from tests.servers.fake_openai import FakeOpenAI
from tests.servers.signals import Signal
from tests.ui.app.story import Story
from tests.ui.kit import USUAL, Deck, Desk, shown
from tui_app.conversation.conversation import NOTHING as RETRY_NOTHING
from tui_app.conversation.work import Clear, Restate, Rewind
from tui_app.session.stores.store import SessionInfo
from tui_app.ui.chat.state import EARLIER
from tui_app.ui.colours.palette import Palette, Tone
from tui_app.ui.dialogs.actions import GO_BACK, undo
from tui_app.ui.dialogs.details import DetailsScreen
from tui_app.ui.dialogs.questions import ConfirmDialog, FilesDialog
from tui_app.ui.dialogs.sessions.fork import NOTHING_TO_FORK as FORK_NOTHING
from tui_app.ui.dialogs.sessions.rewind import NOTHING, PromptPicker
from tui_app.ui.timeline import Timeline
from tui_app.ui.transcript.transcript import Transcript
from tui_app.ui.widgets.lists import RowList

# Rewinding to an earlier prompt: the list, its details, the draft, and the rewound rows.


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
        assert re.search(r"Rewind to before +3$", deck.text, re.MULTILINE)
        rows = " ".join(str(each.prompt) for each in deck.app.screen.query_one(OptionList).options)
        assert rows.index("question 2") < rows.index("question 1")
        await deck.press("down")
        # The folder's name counts too, so only the thousands are certain.
        await deck.until(
            lambda: re.search(r"4 messages would leave the model's view: ~3\.\dk → ~1\.\dk", deck.text)
        )
        await deck.press("enter")
        await deck.until(lambda: deck.editor.text == "question 1", "the draft")
        assert served.agent_view(session) == view[:2]
        assert "~1." in deck.gauge
        assert left(deck) == [False, False, True, True, True, True, False]
        assert 'Rewound to before "question 1"' in deck.text
        assert "rewound · " in deck.text
        assert deck.status == "Rewound: the prompt is in the editor · to undo: ctrl+c, then /undo"
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
        await deck.says("then /undo")
        if by_key:
            deck.transcript.focus()
            await deck.press("up", "u")
        else:
            deck.editor.clear()
            await deck.send("/undo")
        await deck.says("Undone: the conversation is as it was before, ~3.")
        assert "undone" in deck.words
        assert "undone" in deck.words, "in the timeline too"
        await deck.until(lambda: deck.editor.text == "", "the draft to leave")
        assert (served.agent_view(session), deck.gauge) == (view, before)
        assert left(deck) == [False] * 7
        assert "rewound · " not in deck.text


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
        await deck.says("Cleared: the model starts fresh · /undo undoes it")
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

        quiet = Palette.of(deck.transcript).style(Tone.DIM).color
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
    fake_openai.add(Text("Question 0 to question 5, each with its answer in words.", usage=(0, 0)))
    full = served.agent_view(session)
    async with shown(served.app(session)) as deck:
        await deck.ready()
        await deck.send("/compact")
        await deck.until(lambda: "compaction" in deck.kinds, "the compaction")
        await deck.idle()
        await deck.send("/rewind")
        await listed(deck)
        await deck.press(*"question", "space", "1")
        await deck.says("1 compaction would be undone")
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
        await deck.says("No matching prompt.")
        await deck.press("enter", "escape")
        await deck.says("question 1")
        await deck.press("escape")
        await deck.until(lambda: deck.app.screen is deck.app.chat)
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
        row = "/rewind #6   runs when the current work ends · 1 of 1 queued"
        await deck.until(lambda: deck.queue == [row], row)
        await deck.press("up")
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
        await deck.until(lambda: deck.app.screen is deck.app.chat)


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
    [("yesterday", "/rewind takes the number of a prompt"), ("#3", "Nothing to rewind: #3 is not a prompt")],
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


# A rewind asks about files, reports what it restored, and can be undone.


@pytest.fixture
def _may_write(served: Desk) -> None:
    served.change(read_only=False, approvals={"allow": ("write_file",)})


def write() -> Tool:
    return tool("write_file", path="plan.txt", content="sea\nsky\n")


@pytest.mark.usefixtures("_may_write")
async def test_a_rewind_asks_about_files_and_can_be_taken_back(served: Desk, fake_openai: FakeOpenAI) -> None:
    (served.cwd / "plan.txt").write_text("before\n")
    fake_openai.add(write(), Text("Done."))
    async with shown(served.app()) as deck:
        await deck.ready()
        await deck.send("Write.")
        await deck.answered()
        number = next(one.seq for one in deck.app.chat.session.presenter.view.entries if one.kind == "user")
        await deck.send(f"/rewind #{number}")
        await deck.until(lambda: isinstance(deck.app.screen, FilesDialog), "the question")
        assert "restored   plan.txt" in deck.text
        await deck.press("down", "enter")
        await deck.until(lambda: (served.cwd / "plan.txt").read_text() == "before\n", "the old file")
        await deck.says("1 file restored · u undoes it")
        entry = next(one for one in deck.app.chat.session.presenter.view.entries if one.kind == "files")
        undo(deck.app.chat.session, entry)
        await deck.until(lambda: (served.cwd / "plan.txt").read_text() == "sea\nsky\n", "the new file")
        await deck.says("undone: 1 file restored")


@pytest.mark.usefixtures("_may_write")
async def test_a_file_that_was_only_removed_is_not_called_restored(
    served: Desk, fake_openai: FakeOpenAI
) -> None:
    fake_openai.add(write(), Text("Done."))
    async with shown(served.app()) as deck:
        await deck.ready()
        await deck.send("Write.")
        await deck.answered()
        number = next(one.seq for one in deck.app.chat.session.presenter.view.entries if one.kind == "user")
        await deck.send(f"/rewind #{number}")
        await deck.until(lambda: isinstance(deck.app.screen, FilesDialog), "the question")
        await deck.press("down", "enter")
        await deck.until(lambda: not (served.cwd / "plan.txt").exists(), "no file")
        await deck.says("1 file removed · u undoes it")
        assert "restored" not in deck.text


# A long rewind lays out the screen once for all changed rows, not for each.


async def work_of_a_rewind(desk: Desk, turns: int, monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """Number of layouts and of complete row updates during a rewind."""
    done = Counter[str]()
    session = desk.store(Story().turns(turns, words="a short one"))
    async with shown(desk.app(session)) as deck:
        await deck.ready()
        with monkeypatch.context() as patched:
            for owner, name in (
                (Transcript, "_place"),
                (RowList, "_place"),
                (Timeline, "_list_rows"),
            ):
                work = getattr(owner, name)

                def counted(*args: object, _work: object = work, _name: str = name, **more: object) -> object:
                    done[_name] += 1
                    return _work(*args, **more)  # type: ignore[operator]

                patched.setattr(owner, name, counted)
            await deck.send("/rewind #2")
            await deck.until(lambda: deck.editor.text == "question 0", "the draft")
            await deck.idle()
        assert all(entry.left for entry in deck.app.chat.session.presenter.view.entries[:-1])
        assert "rewound · " in deck.text
    return done


async def test_many_rows_cost_no_more_layouts_than_few(served: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    few = await work_of_a_rewind(served, 5, monkeypatch)
    many = await work_of_a_rewind(served, 60, monkeypatch)
    for name, times in many.items():
        assert times <= few[name] + 6, (name, few, many)


# Forking from an earlier prompt: the list, the draft, and the unchanged old session.


@pytest.fixture
def fork_session(served: Desk) -> str:
    return served.store(Story(title="Tides").turns(3, words="a short one"))


def stored(desk: Desk) -> list[SessionInfo]:
    with desk.log() as store:
        return store.sessions()


async def elsewhere(deck: Deck, session: str) -> str:
    """Wait for another session to open, and return its id."""
    await deck.until(
        lambda: deck.app.chat.is_ready and deck.app.chat.session.id not in ("", session), "another session"
    )
    await deck.ready()
    return deck.app.chat.session.id


async def test_it_opens_at_once_with_the_prompt_as_a_draft(
    served: Desk, fake_openai: FakeOpenAI, fork_session: str
) -> None:
    fake_openai.add(Text("Another answer."))
    view = served.agent_view(fork_session)
    async with shown(served.app(fork_session)) as deck:
        await deck.ready()
        await deck.send("/fork")
        await deck.until(lambda: isinstance(deck.app.screen, PromptPicker), "the prompts")
        assert re.search(r"Fork before +3$", deck.text, re.MULTILINE)
        await deck.press("down")
        await deck.says("2 rows of the conversation come along into a new session")
        await deck.press("enter")
        fork = await elsewhere(deck, fork_session)
        assert deck.editor.text == "question 1"
        assert served.agent_view(fork) == view[:2]
        assert "answer 0" in deck.text
        assert "answer 1" not in deck.text
        await deck.press("enter")
        await deck.says("Another answer.")
        await deck.idle()
        assert len(served.agent_view(fork)) == 4
    assert served.agent_view(fork_session) == view
    assert {info.title for info in stored(served)} == {"Tides", "Fork of Tides"}


async def test_a_number_does_without_the_list(served: Desk, fork_session: str) -> None:
    async with shown(served.app(fork_session)) as deck:
        await deck.ready()
        await deck.send("/fork #2")
        await elsewhere(deck, fork_session)
        assert deck.editor.text == "question 0"


@pytest.mark.parametrize(
    ("argument", "words"),
    [("yesterday", "/fork takes the number of a prompt"), ("#3", "#3 is not a prompt of session")],
)
async def test_what_is_no_prompt_is_refused_and_prompts_are_sent_on(
    served: Desk, fake_openai: FakeOpenAI, fork_session: str, argument: str, words: str
) -> None:
    fake_openai.add(Text("Here."))
    async with shown(served.app(fork_session)) as deck:
        await deck.ready()
        await deck.send(f"/fork {argument}")
        await deck.says(words)
        await deck.send("still there?")
        await deck.says("Here.")
    assert [info.id for info in stored(served)] == [fork_session]


async def test_without_a_prompt_there_is_nothing_to_fork(served: Desk) -> None:
    async with shown(served.app()) as deck:
        await deck.ready()
        await deck.send("/fork")
        await deck.says(FORK_NOTHING)


async def test_a_running_answer_is_asked_about(
    served: Desk, fake_openai: FakeOpenAI, fork_session: str
) -> None:
    fake_openai.add(HangMidStream())
    async with shown(served.app(fork_session)) as deck:
        await deck.ready()
        await deck.send("go on")
        await (await fake_openai.request(1)).paused.wait()
        await deck.send("/fork #4")
        await deck.until(lambda: isinstance(deck.app.screen, ConfirmDialog), "the question")
        await deck.says("answer is stopped")
        await deck.press("escape")
        await deck.until(lambda: deck.app.screen is deck.app.chat, "the chat")
        assert deck.app.chat.session.state.turn
        assert [info.id for info in stored(served)] == [fork_session]


async def test_notices_that_nobody_has_read_go_along_until_somebody_does(
    served: Desk, fork_session: str
) -> None:
    async with shown(served.app(fork_session)) as deck:
        await deck.ready()
        deck.app.chat.session.report("Read long since.")
        deck.app.chat.session.read_notices()
        deck.app.chat.session.report("The server is missing.")
        for way in ("/fork #2", "/new"):
            left = deck.app.chat.session.id
            await deck.send(way)
            await elsewhere(deck, left)
            await deck.until(lambda: "1 notice ·" in deck.hints, "what is unread")
            deck.app.chat.session.report("The server is missing.")
            deck.editor.clear_draft()
        await deck.press("f2")
        await deck.until(lambda: isinstance(deck.app.screen, DetailsScreen), "the notices")
        await deck.says(f"{EARLIER}The server is missing. The server is missing.")
        assert deck.text.count("The server is missing.") == 2, "what was brought twice is said once"
        assert "Read long since." not in deck.text
        await deck.press("escape")
        left = deck.app.chat.session.id
        await deck.send("/new")
        await deck.until(lambda: deck.app.chat.is_ready and deck.app.chat.session.id != left, "a new session")
        await deck.ready()
        assert "notice" not in deck.hints


# Retrying the last prompt: its results leave the context, and a draft stays.


def prompts(server: FakeOpenAI, number: int) -> list[str]:
    """The user's text in one request."""
    return [str(each["content"]) for each in server.journal[number]["messages"] if each["role"] == "user"]


async def test_the_last_prompt_is_answered_anew(served: Desk, fake_openai: FakeOpenAI) -> None:
    fake_openai.add(Text("One."), Text("A poor answer."), Text("A better answer."))
    async with shown(served.app()) as deck:
        await deck.ready()
        await deck.send("first")
        await deck.says("One.")
        await deck.idle()
        await deck.send("second")
        await deck.says("A poor answer.")
        await deck.idle()
        await deck.send("/retry")
        await deck.says("A better answer.")
        await deck.idle()
        assert deck.editor.is_empty
        assert "the prompt is in the editor" not in deck.text
        assert "rewound · " in deck.text
    assert prompts(fake_openai, 2) == ["first", "second"]
    assert "A poor answer." not in str(fake_openai.journal[2])


async def test_a_draft_stays_and_a_running_answer_is_waited_for(
    served: Desk, fake_openai: FakeOpenAI
) -> None:
    hold = Signal()
    fake_openai.add(HangMidStream(release=hold), Text("Once more."))
    async with shown(served.app()) as deck:
        await deck.ready()
        await deck.send("first")
        await (await fake_openai.request(1)).paused.wait()
        await deck.press(*"draft")
        deck.app.chat.action_slash("/retry")
        row = "/retry   runs when the current work ends · 1 of 1 queued"
        await deck.until(lambda: deck.queue == [row], row)
        hold.set()
        await deck.says("Once more.")
        await deck.idle()
        assert deck.editor.text == "draft"
    assert prompts(fake_openai, 1) == ["first"]


async def test_what_nobody_answered_is_sent_again(served: Desk, fake_openai: FakeOpenAI) -> None:
    fake_openai.add(Text("One."), error(401, "Incorrect API key provided"), Text("Answered now."))
    async with shown(served.app()) as deck:
        await deck.ready()
        await deck.send("first")
        await deck.says("One.")
        await deck.idle()
        await deck.send("second")
        await deck.until(lambda: deck.editor.text == "second", "the prompt back")
        deck.app.chat.action_slash("/retry")
        await deck.says("Answered now.")
        await deck.idle()
        assert deck.editor.text == "second"
    assert prompts(fake_openai, 2) == ["first", "second"]


async def test_without_a_prompt_it_says_so(served: Desk) -> None:
    async with shown(served.app()) as deck:
        await deck.ready()
        await deck.send("/retry")
        await deck.says(RETRY_NOTHING)


async def test_a_second_retry_of_a_rewound_prompt_takes_the_one_before(
    served: Desk, fake_openai: FakeOpenAI
) -> None:
    fake_openai.add(Text("One."), Text("Two."), Text("One again."))
    async with shown(served.app()) as deck:
        await deck.ready()
        for text, answer in (("first", "One."), ("second", "Two.")):
            await deck.send(text)
            await deck.says(answer)
            await deck.idle()
        last = [entry for entry in deck.app.chat.session.presenter.view.entries if entry.kind == "user"][-1]
        await deck.send(f"/rewind #{last.seq}")
        await deck.until(lambda: deck.editor.text == "second", "the draft")
        deck.app.chat.action_slash("/retry")
        await deck.says("One again.")
        await deck.idle()
        assert deck.editor.text == "second"
    assert prompts(fake_openai, 2) == ["first"]
