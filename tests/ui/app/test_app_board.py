"""The memory screen: entries, edits, links to their sources; and its looks."""

from typing import Any

import pytest
from textual.widgets import Input

from tests.servers.behaviours import Text
from tests.servers.fake_openai import FakeOpenAI
from tests.ui.app.story import MODEL, NOON, Story
from tests.ui.kit import Deck, Desk, shown
from tests.ui.looks import Look
from tui_app.context.message_marks import inbox_message, inbox_text
from tui_app.conversation.memory.boards import boards_in
from tui_app.events import MemoryAdded, MemoryInbox, MemoryPruned
from tui_app.memory.board import ContextBoard
from tui_app.memory.entries import EXTRACTION, Draft, EntryKind
from tui_app.memory.scope import scope_of
from tui_app.ui.dialogs.extensions.memory import EMPTY, MemoryScreen
from tui_app.ui.dialogs.questions import ConfirmDialog, EditDialog

FOUND: tuple[tuple[EntryKind, str, str, int, float], ...] = (
    ("rule", "Never touch legacy/importer.py.", EXTRACTION, 2, 4.2),
    ("rule", "Always run the tests with `pytest -q` before you commit.", EXTRACTION, 7, 4.1),
    (
        "decision",
        "The weekday is compared with None, because zero is a valid one.",
        "anthropic:claude",
        6,
        2.0,
    ),
    ("command", "`pytest -q` · worked 4×, failed before", EXTRACTION, 5, 1.7),
    ("file", "src/import.py · edited 3×", EXTRACTION, 4, 1.2),
)


@pytest.fixture
def repository(desk: Desk, fake_openai: FakeOpenAI) -> Desk:
    (desk.cwd / ".git").mkdir()
    (desk.cwd / ".git/HEAD").write_text("ref: refs/heads/sunday-fix\n")
    return desk.serve(fake_openai).change(model=MODEL)


def board(desk: Desk) -> ContextBoard:
    desk.paths.ensure()
    return ContextBoard(boards_in(desk.paths.database), scope_of(desk.cwd), now=lambda: NOON)


def remember(desk: Desk, session: str = "885c8680") -> None:
    for kind, text, by, seq, weight in FOUND:
        draft = Draft(text=text, kind=kind, made_by=by, session=session, seq=seq, weight=weight)
        board(desk).add(Draft(**{**_fields(draft), "everywhere": kind == "rule"}))
    board(desk).add(Draft(text="[b]Ada[/b] reviews \x1b[31mevery change", weight=5.0))


def _fields(draft: Draft) -> dict[str, Any]:
    return {name: getattr(draft, name) for name in Draft.__dataclass_fields__}


def texts(desk: Desk) -> list[str]:
    return [entry.text for entry in board(desk).entries()]


def logged(desk: Desk, session: str) -> list[str]:
    with desk.log() as store:
        return [
            r.data.TYPE for r, _ in store.records(session) if isinstance(r.data, MemoryAdded | MemoryPruned)
        ]


async def opened(deck: Deck, command: str = "/memory") -> MemoryScreen:
    await deck.send(command)
    await deck.until(lambda: isinstance(deck.app.screen, MemoryScreen), "the board")
    screen = deck.app.screen
    assert isinstance(screen, MemoryScreen)
    return screen


async def test_it_says_whose_board_it_is_and_filters_by_words_kind_and_session(repository: Desk) -> None:
    remember(repository)
    async with shown(repository.app()) as deck:
        await deck.ready()
        await opened(deck)
        assert "Memory  ferry-timetable, branch sunday-fix  " in deck.text
        assert "[b]Ada[/b] reviews" in deck.text, "text is never markup"
        await deck.press(*"rule")
        await deck.says("legacy/importer.py")
        assert "edited 3×" not in deck.text
        await deck.press("down")
        await deck.says("on every branch · by extraction")
        assert "message #7 of session 885c8680" in deck.text
        await deck.press("escape", *"zebra")


async def test_an_empty_board_says_how_it_is_filled(repository: Desk) -> None:
    async with shown(repository.app()) as deck:
        await deck.ready()
        await opened(deck)
        assert EMPTY.split(".")[0] in deck.text


async def test_forgetting_asks_and_is_in_the_log(repository: Desk) -> None:
    remember(repository)
    async with shown(repository.app()) as deck:
        await deck.ready()
        await opened(deck)
        await deck.press(*"never", "f8")
        await deck.until(lambda: isinstance(deck.app.screen, ConfirmDialog), "the question")
        await deck.press("n")
        await deck.until(lambda: isinstance(deck.app.screen, MemoryScreen), "the board")
        assert len(texts(repository)) == 6
        await deck.press("f8")
        await deck.until(lambda: isinstance(deck.app.screen, ConfirmDialog), "the question")
        await deck.press("y")
        await deck.says("was forgotten")
        assert "Never touch legacy/importer.py." not in texts(repository)
        assert deck.app.screen.query_one(Input).value == "never", "what was looked for"
        session = deck.app.chat.session.id
        assert logged(repository, session) == ["memory.pruned"]
        await deck.press("escape", "escape")
        await deck.says("no longer remembered")


async def test_editing_and_adding_say_what_cannot_be_kept(repository: Desk) -> None:
    remember(repository)
    async with shown(repository.app()) as deck:
        await deck.ready()
        await opened(deck)
        await deck.press("down", "f4")
        await deck.until(lambda: isinstance(deck.app.screen, EditDialog), "the editor")
        field = deck.app.screen.query_one(Input)
        assert field.value == "Never touch legacy/importer.py."
        field.value = "The key is sk-abcdefghijklmnop1234567890"
        await deck.press("enter")
        await deck.says("what looks like a secret")
        deck.app.screen.query_one(Input).value = "Never touch the old importer."
        await deck.press("enter")
        await deck.says("Added as entry 7")
        assert "Never touch the old importer." in texts(repository)
        await deck.press("f6")
        await deck.until(lambda: isinstance(deck.app.screen, EditDialog), "the editor")
        deck.app.screen.query_one(Input).value = "The tide tables come from the harbour office"
        await deck.press("enter")
        await deck.says("Added as entry 8")
        assert len(texts(repository)) == 7
        assert logged(repository, deck.app.chat.session.id) == [
            "memory.pruned", "memory.added", "memory.added",
        ]  # fmt: skip


async def test_enter_goes_to_the_message_in_its_session(repository: Desk) -> None:
    story = Story("Sunday").user("Never touch legacy/importer.py.").answer("I will not.")
    for number in range(30):
        story.user(f"prompt {number}").answer(f"answer {number}")
    session = repository.store(story)
    remember(repository, session)
    async with shown(repository.app()) as deck:
        await deck.ready()
        await opened(deck)
        await deck.press("down", "enter")
        await deck.until(
            lambda: deck.app.chat.is_ready and deck.app.chat.session.id == session, "the session"
        )
        await deck.says("Never touch legacy/importer.py.")
        await deck.ready()
        await deck.says("Never touch legacy/importer.py.")
        await opened(deck)
        await deck.press("down", "down", "enter")
        await deck.until(lambda: deck.app.screen is deck.app.chat, "the chat")


async def test_a_source_that_was_deleted_or_never_was_is_said(repository: Desk) -> None:
    remember(repository, "deadbeef")
    async with shown(repository.app()) as deck:
        await deck.ready()
        await opened(deck)
        await deck.press("enter")
        await deck.says("outside any session")
        await deck.press("down", "enter")
        await deck.says("was deleted")


async def test_subconscious_run_reads_the_open_session(desk: Desk) -> None:
    async with shown(desk.app()) as deck:
        await deck.ready()
        await deck.send("Never touch legacy/importer.py.")
        await deck.answered()
        await deck.send("/subconscious run")
        await deck.says("1 remembered")
        assert texts(desk) == ["Never touch legacy/importer.py."]


async def test_the_board_is_on_the_gauge_and_in_the_context(
    repository: Desk, fake_openai: FakeOpenAI
) -> None:
    remember(repository)
    fake_openai.add(Text("Hello."))
    async with shown(repository.app()) as deck:
        await deck.ready()
        await deck.send("Hello")
        await deck.answered()
        await deck.says("context board: 6 entries from earlier sessions")
        usage = deck.app.chat.session.state.usage
        assert usage is not None
        assert usage.parts.memory > 0
        await deck.press("f3")
        await deck.says("memory")
        await deck.until(lambda: any("stays" in row and "context board" in row for row in deck.rows))


async def test_switched_off_the_screen_says_so(repository: Desk) -> None:
    repository.change(memory={"enabled": False})
    async with shown(repository.app()) as deck:
        await deck.ready()
        await opened(deck)
        assert "Memory is off" in deck.text


# Looks


def sunday() -> Story:
    return (
        Story("Sunday").user("Why does it fail on Sundays?").answer("Zero counts as missing.", reported=9_000)
    )


async def test_memory(repository: Desk, look: Look) -> None:
    remember(repository)

    async def scene(deck: Deck) -> None:
        await opened(deck)
        await deck.press("down")

    await look(sunday(), scene)


async def test_empty_memory(repository: Desk, look: Look) -> None:
    async def scene(deck: Deck) -> None:
        await opened(deck)

    await look(sunday(), scene)


async def test_session_with_a_board(repository: Desk, look: Look) -> None:
    text = inbox_text(
        "ferry-timetable, branch sunday-fix", "Rules of the user:\n- Never touch the importer. [s#2]"
    )
    given = MemoryInbox(text=text, entries=1, tokens={"memory": 87})
    story = (
        Story("Sunday").add(given, inbox_message(text)).user("Why?").answer("Zero counts.", reported=9_000)
    )
    added = MemoryAdded(entry=2, text="Zero is a valid weekday.", kind="decision", made_by="person")

    async def scene(deck: Deck) -> None:
        await deck.says("remembered")

    await look(story.add(added), scene)
