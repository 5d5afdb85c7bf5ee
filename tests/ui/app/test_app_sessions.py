"""Earlier sessions: painted at once, listed, deleted, and read-only while another process writes."""

import asyncio
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from textual.events import Key
from textual.widgets import Input, OptionList, Static

from tests.servers.behaviours import HangMidStream, Text
from tests.servers.fake_openai import FakeOpenAI
from tests.ui.app.story import Story
from tests.ui.app.test_accessibility import at, everything, full
from tests.ui.app.test_app_rewind import elsewhere, stored
from tests.ui.kit import SMALL, WIDE, Deck, Desk, shown
from tui_app.session.workspace import SessionFolder
from tui_app.ui.chat import session as chat_session
from tui_app.ui.dialogs.compactions.checkpoints import CheckpointsScreen
from tui_app.ui.dialogs.details import DetailsScreen
from tui_app.ui.dialogs.extensions.memory import MemoryScreen
from tui_app.ui.dialogs.list import ListDialog
from tui_app.ui.dialogs.message import MessageScreen
from tui_app.ui.dialogs.questions import ConfirmDialog, EditDialog
from tui_app.ui.dialogs.sessions import fork as fork_module
from tui_app.ui.dialogs.sessions import session_choice
from tui_app.ui.dialogs.sessions.session_search import SearchScreen
from tui_app.ui.dialogs.sessions.sessions import SessionsScreen
from tui_app.ui.launch import folder_notice

__all__ = ["full"]


HOLD = """
import sys
from pathlib import Path
from tui_app.session.lock import WriterLock
lock = WriterLock(Path(sys.argv[1]))
print("held", flush=True)
sys.stdin.read()
"""


@contextmanager
def written_elsewhere(desk: Desk, session: str) -> Iterator[int]:
    """A session locked by another process; the process's id."""
    lock_file = SessionFolder(desk.paths.sessions_dir / session).lock_file
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, str(lock_file)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdin is not None
        assert holder.stdout.readline().strip() == "held"
        yield holder.pid
        holder.stdin.close()


async def listed(deck: Deck) -> None:
    await deck.send("/sessions")
    await deck.until(lambda: isinstance(deck.app.screen, SessionsScreen), "the list")


async def test_a_session_is_painted_with_its_gauge_before_the_agent_side_has_loaded(
    served: Desk, slow_start: threading.Event
) -> None:
    session = served.store(
        Story()
        .user("how late?")
        .tool("grep", '{"pattern": "late"}', "import.py:2: late")
        .measured(12_700)
        .answer("At eleven.", reported=12_800)
    )
    async with shown(served.app(session)) as deck:
        await deck.says("At eleven.")
        gauge, kinds = deck.gauge, deck.kinds
        assert gauge == "10% of 128k · 12.8k · ok"
        assert kinds == ["user", "tool", "assistant"]
        assert "grep" in deck.text
        slow_start.set()
        await deck.ready()
        assert (deck.gauge, deck.kinds) == (gauge, kinds)


async def test_earlier_prompts_of_a_resumed_session_come_back_with_the_arrow_key(served: Desk) -> None:
    session = served.store(
        Story().user("how late?").answer("At eleven.").user("and on Sundays?").answer("No.")
    )
    async with shown(served.app(session)) as deck:
        await deck.ready()
        await deck.pilot.press("up", "up")
        assert deck.app.chat.pane.prompt.editor.text == "how late?"


async def test_going_on_keeps_what_was_said(served: Desk, fake_openai: FakeOpenAI) -> None:
    fake_openai.add(Text("At eleven."), Text("As I said: at eleven."))
    async with shown(served.app()) as deck:
        await deck.ready()
        await deck.send("how late?")
        await deck.answered()
        session, before = deck.app.chat.session.id, (deck.gauge, deck.kinds)
    async with shown(served.app(session)) as deck:
        await deck.ready()
        assert (deck.gauge, deck.kinds) == before
        await deck.send("sure?")
        await deck.answered(2)
    said = [message["content"] for message in fake_openai.journal[-1]["messages"]]
    assert said[-3:] == ["how late?", "At eleven.", "sure?"]


async def test_the_list_opens_another_session(served: Desk, fake_openai: FakeOpenAI) -> None:
    fake_openai.add(Text("Low at nine."))
    unnamed = served.store(Story("From elsewhere", model="").user("Who wrote this?"))
    tide = served.store(Story().user("When is low tide?").answer("At nine."))
    ferry = served.store(Story().user("How late is the ferry?").answer("At eleven."))
    async with shown(served.app(ferry)) as deck:
        await deck.ready()
        await listed(deck)
        assert "When is low tide?" in deck.text
        assert "How late is the ferry?  this one" in deck.text
        await deck.press("down")
        assert f"{unnamed} · /home/ada" in deck.text, "an import may not know its model"
        await deck.press("up")
        assert re.search(r"opens with [\d.k]+ of 128k, <?\d+% · ", deck.text), "the same model would answer"
        await deck.press("enter")
        await deck.until(lambda: deck.app.chat.session.id == tide, "the other session")
        await deck.ready()
        assert "At nine." in deck.text
        assert "At eleven." not in deck.text
        assert deck.app.focused is deck.editor
        await deck.send("sure?")
        await deck.answered(2)
        assert "Low at nine." in deck.text
    # The session that was left is unlocked, so it can be written again.
    async with shown(served.app(ferry)) as deck:
        await deck.ready()
        assert not deck.app.chat.session.read_only


@pytest.mark.parametrize("by_id", [True, False])
async def test_words_behind_the_command_filter_the_list(served: Desk, *, by_id: bool) -> None:
    tide = served.store(Story().user("When is low tide?").answer("At nine."))
    served.store(Story().user("How late is the ferry?").answer("At eleven."))
    async with shown(served.app()) as deck:
        await deck.ready()
        await deck.send(f"/resume {tide if by_id else 'low tide'}")
        await deck.until(lambda: isinstance(deck.app.screen, SessionsScreen), "the list")
        await deck.until(lambda: "How late" not in deck.text, "one session only")
        await deck.press("enter")
        await deck.until(lambda: deck.app.chat.session.id == tide, "the session")


async def test_deleting_asks_and_keeps_by_default(served: Desk) -> None:
    tide = served.store(Story().user("When is low tide?").answer("At nine."))
    async with shown(served.app()) as deck:
        await deck.ready()
        await listed(deck)
        for answer in ("enter", "escape"):
            await deck.press("f8")
            await deck.until(lambda: isinstance(deck.app.screen, ConfirmDialog), "the question")
            assert 'Delete session "When is low tide?"? 2 messages' in deck.text
            await deck.press(answer)
            await deck.until(lambda: isinstance(deck.app.screen, SessionsScreen), "the list")
        with served.log() as store:
            assert tide in [info.id for info in store.sessions()]
        await deck.press("f8")
        await deck.until(lambda: isinstance(deck.app.screen, ConfirmDialog), "the question")
        await deck.press("y")
        await deck.says("There is no other session yet.")
        with served.log() as store:
            assert tide not in [info.id for info in store.sessions()]
        await deck.press("escape")
        await deck.until(lambda: deck.app.screen is deck.app.chat, "the chat")


async def test_the_open_session_is_listed_named_and_kept(served: Desk) -> None:
    ferry = served.store(Story().user("How late is the ferry?").answer("At eleven."))
    async with shown(served.app(ferry)) as deck:
        await deck.ready()
        await listed(deck)
        assert "There is no other session yet." in deck.text
        await deck.press("f8")
        await deck.says("This is the session you are in.")
        await deck.press("f6")
        await deck.says("Title of the session")
        await deck.press("ctrl+u", *"Ferry", "enter")
        await deck.says("Ferry  this one")
        await deck.press("enter")
        await deck.until(lambda: deck.app.screen is deck.app.chat, "the chat")
        assert deck.app.chat.session.id == ferry
        await deck.until(lambda: deck.app.chat.session.state.title == "Ferry", "the header")


async def test_what_was_written_stays_in_the_list_around_a_question(served: Desk) -> None:
    for prompt in ("When is low tide?", "And the tide on Sunday?", "How late is the ferry?"):
        served.store(Story().user(prompt).answer("At nine."))
    async with shown(served.app()) as deck:
        await deck.ready()
        await listed(deck)
        await deck.press(*"ti")
        await deck.press("f8")
        await deck.until(lambda: isinstance(deck.app.screen, ConfirmDialog), "the question")
        await deck.press(*"de", "escape")
        await deck.until(lambda: isinstance(deck.app.screen, SessionsScreen), "the list")
        await deck.until(lambda: searched(deck) == "tide", "all that was written")
        assert "How late" not in deck.text
        await deck.press("f8")
        await deck.until(lambda: isinstance(deck.app.screen, ConfirmDialog), "the question")
        await deck.press("y")
        await deck.says(" 1 of 2\n")
        assert searched(deck) == "tide"
        assert "How late" not in deck.text
        await deck.press("space", "x")
        assert searched(deck) == "tide x", "one goes on writing behind it"


def searched(deck: Deck) -> str:
    return deck.app.screen.query_one("#sessions-search", Input).value


async def test_a_session_open_elsewhere_is_not_deleted(served: Desk) -> None:
    session = served.store(Story().turns(1))
    with written_elsewhere(served, session):
        async with shown(served.app()) as deck:
            await deck.ready()
            await listed(deck)
            await deck.press("f8")
            await deck.until(lambda: "open in another window (since" in deck.words, "who has it")
            assert isinstance(deck.app.screen, SessionsScreen), "nobody is asked about what cannot be done"
    with served.log() as store:
        assert store.info(session).id == session


async def test_a_session_open_elsewhere_is_named_before_one_is_asked_to_leave(
    served: Desk, fake_openai: FakeOpenAI
) -> None:
    session = served.store(Story().turns(1))
    fake_openai.add(HangMidStream())
    with written_elsewhere(served, session):
        async with shown(served.app()) as deck:
            await deck.ready()
            await deck.send("talk")
            await (await fake_openai.request(1)).paused.wait()
            await listed(deck)
            await deck.press("enter")
            await deck.until(lambda: isinstance(deck.app.screen, ConfirmDialog), "the question")
            told = deck.words
            assert told.index("open in another window (since") < told.index("Leave this session?")


async def test_what_another_process_writes_is_shown_read_only(served: Desk) -> None:
    session = served.store(Story().user("how late?").answer("At eleven."))
    with written_elsewhere(served, session) as holder:
        async with shown(served.app(session)) as deck:
            await deck.says("read-only here")
            assert "open in another window (since " in deck.status
            assert str(holder) not in deck.text
            assert "At eleven." in deck.text
            await deck.send("hello?")
            assert deck.editor.text == "hello?"
            assert deck.kinds == ["user", "assistant"]
            await deck.press("ctrl+c", "ctrl+g")
            await deck.until(lambda: "read-only" in deck.status)
            for command in ("/clear", "/model", "/model offline:extractive"):
                await deck.send(command)
                await deck.settle()
                assert deck.app.screen is deck.app.chat
                assert "read-only" in deck.status
            await deck.press("f3")
            await deck.says("answers")
            await deck.press("escape", "ctrl+q")
            await deck.until(lambda: deck.app._exit, "the end")


async def test_a_prompt_typed_before_the_lock_was_known_comes_back(
    served: Desk, slow_start: threading.Event
) -> None:
    session = served.store(Story().user("how late?").answer("At eleven."))
    with written_elsewhere(served, session):
        async with shown(served.app(session)) as deck:
            await deck.send("hello?")
            slow_start.set()
            await deck.says("read-only here")
            assert deck.editor.text == "hello?"
            assert deck.queue == []


async def test_an_id_that_does_not_exist_is_said(served: Desk) -> None:
    served.store(Story().turns(1))
    async with shown(served.app("ffffffff")) as deck:
        await deck.says("There is no session with the id 'ffffffff'")
        await deck.press("ctrl+q")
        await deck.until(lambda: deck.app._exit, "the end")


async def test_what_is_typed_behind_a_command_for_a_new_session_goes_along(
    served: Desk, fake_openai: FakeOpenAI
) -> None:
    fake_openai.fallback = Text("Done.")
    async with shown(served.app()) as deck:
        await deck.ready()
        old = deck.app.chat
        # Without pauses, as a slow connection delivers type-ahead.
        for key in [*"/new", "enter", *"delete", "space", *"nothing"]:
            deck.app.post_message(Key(key, " " if key == "space" else key if len(key) == 1 else None))
        await deck.until(lambda: deck.app.chat is not old and deck.app.chat.is_ready, "the new session")
        await deck.until(lambda: deck.editor.text == "delete nothing", "the draft")
        assert fake_openai.journal == []
        await deck.press("enter")
        await deck.answered()
        assert fake_openai.journal[-1]["messages"][-1]["content"] == "delete nothing"


async def test_keys_during_a_change_of_sessions_are_kept(served: Desk, fake_openai: FakeOpenAI) -> None:
    fake_openai.fallback = Text("Done.")
    async with shown(served.app()) as deck:
        await deck.ready()
        old = deck.app.chat
        deck.app.open_session("")
        for key in [*"hello", "f2", "escape", "enter"]:
            deck.app.post_message(Key(key, key if len(key) == 1 else None))
        await deck.until(lambda: deck.app.chat is not old and deck.app.chat.is_ready, "the new session")
        await deck.answered()
        assert fake_openai.journal[-1]["messages"][-1]["content"] == "hello"
        assert deck.app.is_running


async def test_a_session_that_goes_on_in_another_folder_says_so(
    served: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chat_session, "folder_notice", folder_notice)
    session = served.store(Story(cwd="/home/ada/elsewhere").turns(1))
    async with shown(served.app(session), (120, 40)) as deck:
        await deck.ready()
        said = f"Started in /home/ada/elsewhere. Continuing in {served.cwd}."
        assert deck.app.chat.session.state.notices == (said,)
        await deck.send("/memory")
        await deck.until(lambda: isinstance(deck.app.screen, MemoryScreen), "the board")
        assert "Memory  ferry-timetable" in deck.text, "nobody would look at a board of a folder elsewhere"
    session = served.store(Story(cwd=str(served.cwd)).turns(1))
    async with shown(served.app(session)) as deck:
        await deck.ready()
        assert deck.app.chat.session.state.notices == ()


# Naming sessions, searching all of them, and opening checkpoints.


async def searching(deck: Deck, words: str) -> OptionList:
    await listed(deck)
    await deck.press("f7")
    await deck.until(lambda: isinstance(deck.app.screen, SearchScreen), "the search")
    deck.app.screen.query_one(Input).value = words
    return deck.app.screen.query_one(OptionList)


async def test_a_hit_opens_its_session_at_the_place(served: Desk) -> None:
    story = Story().turns(30)
    story.user("Where is the albatross?").tool("grep", '{"pattern": "bird"}', "birds.txt:2: [b]penguin[/b]")
    tide = served.store(story.answer("Over the sea.").turns(30))
    async with shown(served.app(served.store(Story().turns(1)))) as deck:
        await deck.ready()
        options = await searching(deck, "albatros")
        await deck.until(lambda: options.option_count == 1, "the hit")
        assert "Where is the albatross?" in deck.text
        assert f"{tide} #" in deck.text
        await deck.press("enter")
        await deck.until(lambda: deck.app.chat.session.id == tide, "the session")
        await deck.ready()
        await deck.says("Where is the albatross?")
        # Now in the open session: a tool result is found in the row of its call.
        options = await searching(deck, '"[b]penguin"')
        await deck.until(lambda: options.option_count == 1, "the hit")
        assert "[b]penguin[/b]" in deck.text
        chat = deck.app.chat
        await deck.press("enter")
        await deck.until(lambda: deck.app.screen is deck.app.chat, "the chat")
        assert deck.app.chat is chat
        await deck.says("grep")


async def test_any_words_are_a_search(served: Desk) -> None:
    served.store(Story().user("tide").answer("x"))
    async with shown(served.app()) as deck:
        await deck.ready()
        options = await searching(deck, "")
        await deck.says("Words in any order")
        for words in ('"', "AND (", "* * *", "nothing like it"):
            deck.app.screen.query_one(Input).value = words
            await deck.says("No results.")
            deck.app.screen.query_one(Input).value = "tid"
            await deck.until(lambda: options.option_count == 1, "the hit")
        await deck.press("escape")
        await deck.until(lambda: isinstance(deck.app.screen, SessionsScreen), "the list")
        await deck.press("escape")
        await deck.until(lambda: deck.app.screen is deck.app.chat, "the chat")


async def test_the_words_of_the_filter_are_searched_for_at_once(served: Desk) -> None:
    served.store(Story().user("When is low tide?").answer("At nine."))
    async with shown(served.app()) as deck:
        await deck.ready()
        await listed(deck)
        deck.app.screen.query_one(Input).value = "low"
        await deck.press("f7")
        await deck.until(lambda: isinstance(deck.app.screen, SearchScreen), "the search")
        options = deck.app.screen.query_one(OptionList)
        assert deck.app.screen.query_one(Input).value == "low"
        await deck.until(lambda: options.option_count == 1, "the hit")
        await deck.press("escape")
        await deck.until(lambda: isinstance(deck.app.screen, SessionsScreen), "the list")
        assert deck.app.screen.query_one(Input).value == "low"


async def test_a_session_gets_another_title_also_while_somebody_writes_it(served: Desk) -> None:
    session = served.store(Story().user("When is low tide?").answer("At nine."))
    with written_elsewhere(served, session):
        async with shown(served.app()) as deck:
            await deck.ready()
            await listed(deck)
            for title, then in (("Tides [b]", "Tides [b]"), ("", "When is low tide?")):
                await deck.press("f6")
                await deck.until(lambda: isinstance(deck.app.screen, EditDialog), "the question")
                deck.app.screen.query_one(Input).value = title
                await deck.press("enter")
                await deck.until(lambda: isinstance(deck.app.screen, SessionsScreen), "the list")
                assert then in deck.text
                with served.log() as store:
                    assert store.info(session).title == then
            await deck.press("f6", "escape")
            await deck.until(lambda: isinstance(deck.app.screen, SessionsScreen), "the list")
            await deck.press("escape")


async def test_checkpoints_are_listed_and_opened(served: Desk, fake_openai: FakeOpenAI) -> None:
    session = served.store(Story().turns(12, tokens=900))
    async with shown(served.app(session, model="offline:extractive")) as deck:
        await deck.ready()
        await deck.send("/compact")
        await deck.until(lambda: bool(deck.app.chat.session.presenter.agent_view.compactions), "a compaction")
        await deck.idle()
        await deck.send("/session checkpoints")
        await deck.until(lambda: isinstance(deck.app.screen, CheckpointsScreen), "the list")
        await deck.says("checkpoints/001-")
        await deck.press("enter")
        await deck.until(lambda: isinstance(deck.app.screen, DetailsScreen), "the file")
        assert "# 001" in deck.text
        await deck.press("escape")
        await deck.until(lambda: isinstance(deck.app.screen, CheckpointsScreen), "the list")
        await deck.press("escape")
        await deck.until(lambda: deck.app.screen is deck.app.chat, "the chat")
        await deck.send("/undo")
        await deck.until(lambda: not deck.app.chat.session.presenter.agent_view.compactions, "the undo")
        await deck.idle()
        await deck.send("/session checkpoints")
        await deck.says("undone")


# Lists apply keys in order, and keep the selection when the terminal is resized.


LISTS = (
    "models", "sessions", "imports", "search", "help", "settings", "memory", "themes", "rewind", "pins",
    "checkpoints", "approvals", "prompts", "servers", "skills",
)  # fmt: skip


def marked(deck: Deck) -> tuple[int | None, int]:
    screen = deck.app.screen
    assert isinstance(screen, ListDialog)
    return screen.at, len(screen.shown)


MARKED = [scene for scene in LISTS if scene != "help"]
"""Lists with an initial selection; help has none until a word filters it."""


async def test_a_resize_moves_no_mark(full: Desk) -> None:
    async with shown(full.app(everything(full)), WIDE) as deck:
        await deck.ready()
        for scene in MARKED:
            await at(deck, scene)
            await deck.press("down")
            before = marked(deck)
            for width, height in (SMALL, WIDE):
                await deck.pilot.resize_terminal(width, height)
                await deck.settle()
                assert marked(deck) == before, scene


async def test_a_resize_leaves_a_mark_that_keys_have_only_just_moved(full: Desk) -> None:
    async with shown(full.app(everything(full)), WIDE) as deck:
        await deck.ready()
        # One list identifies rows by position, the other by key.
        for scene in ("models", "servers"):
            await at(deck, scene)
            screen = deck.app.screen
            assert isinstance(screen, ListDialog)
            first = screen.at
            screen.action_move(1)
            screen.line_up()
            assert screen.at == (first or 0) + 1, scene


async def test_keys_in_a_burst_move_the_mark_before_a_row_is_used(full: Desk) -> None:
    async with shown(full.app(everything(full)), WIDE) as deck:
        await deck.ready()
        for scene in MARKED:
            await at(deck, scene)
            screen = deck.app.screen
            assert isinstance(screen, ListDialog)
            used: list[object] = []
            screen.use = used.append  # type: ignore[method-assign]
            first, rows = marked(deck)
            await deck.hurry("down", "pagedown", "up", "enter")
            expected = first or 0
            for step in (1, 10, -1):
                expected = min(rows - 1, max(0, expected + step))
            assert used == ([screen.shown[expected]] if rows else []), scene


async def test_the_title_counts_what_the_filter_leaves(full: Desk) -> None:
    async with shown(full.app(everything(full)), WIDE) as deck:
        await deck.ready()
        for scene in LISTS:
            if scene != "search":
                await at(deck, scene)
                await the_title_counts(deck, scene)


async def the_title_counts(deck: Deck, scene: str) -> None:
    screen = deck.app.screen
    assert isinstance(screen, ListDialog), scene
    title, rows = screen.query_one(".dialog-title", Static), len(screen.rows)
    before = str(title.render())
    assert " of " not in before.partition(" tokens of ")[0].replace("Sessions of", "")
    screen.query_one(Input).value = "e"
    await deck.settle()
    listed = sum(not option.disabled for option in screen.options.options)
    assert re.search(rf" {listed} of {rows}\b", str(title.render())), title.render()
    screen.query_one(Input).value = "no row has these words"
    await deck.settle()
    assert f" 0 of {rows}" in str(title.render())
    screen.query_one(Input).value = ""
    await deck.settle()
    assert str(title.render()) == before


# A command that fails to open another session leaves the current one open.


@pytest.fixture
def session(served: Desk) -> str:
    return served.store(Story(title="Tides").turns(3, words="a short one"))


class Gate:
    """Blocks a function that runs in a thread until it is released."""

    def __init__(self, work: Any) -> None:
        self.reached, self.let_go = threading.Event(), threading.Event()
        self._work = work

    def __call__(self, *args: Any) -> Any:
        self.reached.set()
        assert self.let_go.wait(20)
        return self._work(*args)


@pytest.fixture
def listing(monkeypatch: pytest.MonkeyPatch) -> Iterator[Gate]:
    gate = Gate(session_choice._list)
    monkeypatch.setattr(session_choice, "_list", gate)
    yield gate
    gate.let_go.set()


@pytest.fixture
def copying(monkeypatch: pytest.MonkeyPatch) -> Iterator[Gate]:
    gate = Gate(fork_module._fork)
    monkeypatch.setattr(fork_module, "_fork", gate)
    yield gate
    gate.let_go.set()


async def goes_on(deck: Deck, server: FakeOpenAI) -> None:
    server.add(Text("Still here."))
    await deck.send("still there?")
    await deck.says("Still here.")


async def test_esc_gives_the_list_of_sessions_up_and_prompts_are_sent_on(
    served: Desk, fake_openai: FakeOpenAI, session: str, listing: Gate
) -> None:
    async with shown(served.app(session)) as deck:
        await deck.ready()
        await deck.send("/resume")
        await deck.until(listing.reached.is_set, "the list being read")
        await deck.press("escape")
        listing.let_go.set()
        await goes_on(deck, fake_openai)


async def test_a_list_that_fails_stops_no_prompt(
    served: Desk, fake_openai: FakeOpenAI, session: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError

    monkeypatch.setattr(session_choice, "_list", broken)
    async with shown(served.app(session)) as deck:
        await deck.ready()
        await deck.send("/resume")
        await deck.says("did not work")
        await goes_on(deck, fake_openai)


async def details_of_a_prompt(deck: Deck) -> None:
    await deck.ready()
    await deck.press("tab")
    await deck.until(lambda: deck.app.focused is deck.transcript, "the rows")
    await deck.press("up", "up", "ctrl+o")
    await deck.until(lambda: isinstance(deck.app.screen, MessageScreen), "the message")


async def test_keys_behind_a_fork_from_a_message_do_not_stop_it(
    served: Desk, session: str, copying: Gate
) -> None:
    async with shown(served.app(session)) as deck:
        await details_of_a_prompt(deck)
        await deck.press("f")
        await deck.until(copying.reached.is_set, "the copy")
        await deck.press("ctrl+o", "enter")
        copying.let_go.set()
        fork = await elsewhere(deck, session)
        assert {info.id for info in stored(served)} == {session, fork}


async def test_esc_while_a_fork_is_copied_leaves_none_behind(
    served: Desk, fake_openai: FakeOpenAI, session: str, copying: Gate
) -> None:
    async with shown(served.app(session)) as deck:
        await deck.ready()
        await deck.send("/fork #4")
        await deck.until(copying.reached.is_set, "the copy")
        await deck.press("escape")
        copying.let_go.set()
        await goes_on(deck, fake_openai)
        await asyncio.to_thread(copying.let_go.wait)
        await deck.until(lambda: [info.id for info in stored(served)] == [session], "one session")
        assert deck.app.chat.session.id == session


async def test_enter_right_behind_f_in_a_message_leaves_the_fork_alone(served: Desk, session: str) -> None:
    async with shown(served.app(session)) as deck:
        await details_of_a_prompt(deck)
        await deck.hurry("f", "enter")
        fork = await elsewhere(deck, session)
        assert {info.id for info in stored(served)} == {session, fork}
