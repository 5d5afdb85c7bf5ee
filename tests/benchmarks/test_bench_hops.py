"""Number of our functions on the way of a key, a streamed token and a compaction."""

import asyncio
import sys
import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import wraps
from inspect import unwrap
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import pytest
from pydantic_ai import Agent

import tui_app
from tests.servers.behaviours import Text
from tests.servers.fake_openai import FakeOpenAI
from tests.ui.kit import Deck, Desk, shown
from tui_app.context.compaction import proposal
from tui_app.conversation.engine import Inbox
from tui_app.conversation.turns.work_queue import WorkQueue
from tui_app.conversation.work import Compact, Prompt
from tui_app.events import AssistantDelta, UserMessage
from tui_app.session.stores.store import SessionStore
from tui_app.ui.prompt.editor import PromptEditor
from tui_app.ui.screen import ChatScreen
from tui_app.ui.transcript.layout import Layout
from tui_app.ui.transcript.transcript import Transcript

pytestmark = [pytest.mark.benchmark, pytest.mark.timeout(300)]
PACKAGE = str(Path(tui_app.__file__).parent)
PROMPT_HOPS, COMPACTION_HOPS, TOKEN_HOPS = 14, 35, 15
FUNCTIONS, FILES = 785, 118
"""Maximum functions and files that a prompt enters, as measured at their lowest; they may only shrink."""
SUMMARY = "# Ferries\n\n## Goal\nKnow the ferry timetable.\n\n## Progress\nAsked four times."


def own(code: CodeType) -> str:
    """One of our functions as ``file:name``; empty for others, and for code inside a function."""
    if not code.co_filename.startswith(PACKAGE):
        return ""
    return f"{code.co_filename[len(PACKAGE) + 1 :]}:{code.co_qualname}"


@dataclass
class Way:
    """The functions between two ends, in pieces; a piece ends where another thread or task continues."""

    name: str
    most: int
    pieces: list[list[str]] = field(default_factory=list)

    @property
    def hops(self) -> list[str]:
        """A function that starts two pieces, such as a loop awaiting the first one's result, counts once."""
        return list(dict.fromkeys(hop for piece in self.pieces for hop in piece))

    def __str__(self) -> str:
        files = {hop.partition(":")[0] for hop in self.hops}
        rows = [f"{self.name}: {len(self.hops)} hops in {len(files)} files (at most {self.most})"]
        for piece in self.pieces:
            rows += ["  -", *(f"    {hop}" for hop in piece)]
        return "\n".join(rows)


def frames() -> list[str]:
    """Our functions on the stack, from the event loop or thread to the caller of the watched function."""
    found: list[str] = []
    frame: FrameType | None = sys._getframe(2)
    while frame is not None and frame.f_code.co_name != "_run_once":
        if name := own(frame.f_code):
            found.append(name)
        frame = frame.f_back
    return found[::-1]


def always(*_: object, **__: object) -> bool:
    return True


class Watch:
    """Records the stack of watched functions at their first matching call."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.on = True
        self._monkeypatch = monkeypatch

    def reach(
        self, way: Way, owner: Any, name: str, meant: Callable[..., bool] = lambda *_, **__: True
    ) -> None:
        """Add a piece that ends in a function."""
        original, place = getattr(owner, name), len(way.pieces)
        way.pieces.append([])

        @wraps(original)
        def watched(*args: Any, **more: Any) -> Any:
            is_next = not way.pieces[place] and all(way.pieces[:place])
            if self.on and is_next and meant(*args, **more):
                reached = own(unwrap(original).__code__)
                way.pieces[place] = frames() + [reached] * bool(reached)
            return original(*args, **more)

        self._monkeypatch.setattr(owner, name, watched)


class Entered:
    """Our functions entered in any thread while active; start it before the threads."""

    def __init__(self) -> None:
        self.on = False
        self._found: set[CodeType] = set()

    def __enter__(self) -> "Entered":
        threading.setprofile(self._note)
        sys.setprofile(self._note)
        return self

    def __exit__(self, *_: object) -> None:
        sys.setprofile(None)
        threading.setprofile(None)  # type: ignore[arg-type]

    def _note(self, frame: FrameType, event: str, _arg: object) -> None:
        if self.on and event == "call":
            self._found.add(frame.f_code)

    @property
    def functions(self) -> set[str]:
        """Comprehensions and lambdas count as part of the function that contains them."""
        return {name for code in self._found if (name := own(code)) and not name.endswith(">")}


@pytest.fixture
def desk(plimsoll_home: Path, tmp_path: Path, fake_openai: FakeOpenAI) -> Desk:
    return Desk(home=plimsoll_home, cwd=tmp_path).serve(fake_openai)


async def talk(deck: Deck, server: FakeOpenAI, turns: int) -> None:
    for number in range(turns):
        server.add(Text(f"Answer {number}. {'The ferry timetable is long. ' * 40}"))
        await deck.send(f"Tell me more {number} {'about the ferry timetable please. ' * 20}")
        await deck.answered(number + 1)


async def test_hops(desk: Desk, fake_openai: FakeOpenAI, monkeypatch: pytest.MonkeyPatch) -> None:
    prompt, token = Way("key to log", PROMPT_HOPS), Way("token to screen", TOKEN_HOPS)
    compaction = Way("ctrl+g to the committed event", COMPACTION_HOPS)
    watch = Watch(monkeypatch)
    # The bus binds its receivers at the start.
    watch.reach(token, Inbox, "put", lambda _, record: isinstance(record.data, AssistantDelta))
    async with shown(desk.app()) as deck:
        await deck.ready()
        sent = PromptEditor.Submitted
        watch.reach(prompt, PromptEditor, "post_message", lambda _, said: isinstance(said, sent))
        watch.reach(prompt, asyncio, "run_coroutine_threadsafe")
        watch.reach(prompt, WorkQueue, "enqueue", lambda _, work: isinstance(work, Prompt))
        watch.reach(prompt, SessionStore, "append", lambda *row, **_: isinstance(row[2], UserMessage))
        watch.reach(token, Transcript, "live_flush")
        watch.reach(token, Layout, "refresh_live")
        watch.reach(token, Transcript, "render_lines")
        await talk(deck, fake_openai, 4)
        fake_openai.add(Text(SUMMARY))
        watch.reach(compaction, ChatScreen, "run")
        watch.reach(compaction, asyncio, "run_coroutine_threadsafe")
        watch.reach(compaction, WorkQueue, "enqueue", lambda _, work: isinstance(work, Compact))
        watch.reach(compaction, asyncio, "create_task", lambda _, name="": name.startswith("compaction"))
        watch.reach(compaction, Agent, "run_stream_events")
        watch.reach(compaction, proposal, "ledger_facts")
        watch.reach(compaction, SessionStore, "append_many")
        await deck.press("ctrl+g")
        await deck.until(lambda: "compaction" in deck.kinds, "the compaction")
        await deck.idle()
        watch.on = False
    print("", prompt, token, compaction, sep="\n")
    ways = (prompt, token, compaction)
    assert all(piece for way in ways for piece in way.pieces)
    assert [way.name for way in ways if len(way.hops) > way.most] == []


async def test_functions_that_one_prompt_enters(desk: Desk, fake_openai: FakeOpenAI) -> None:
    fake_openai.add(Text("Hello there, this is an answer.\n\nSecond paragraph."))
    with Entered() as entered:
        async with shown(desk.app()) as deck:
            await deck.ready()
            await deck.type("Hello?")
            entered.on = True
            await deck.press("enter")
            await deck.answered()
            entered.on = False
    functions = entered.functions
    files = {name.partition(":")[0] for name in functions}
    rooms = Counter(name.replace(":", "/").partition("/")[0] for name in functions).most_common()
    told = ", ".join(f"{room} {count}" for room, count in rooms)
    print(f"\none prompt: {len(functions)} functions in {len(files)} files ({told})")
    assert len(functions) <= FUNCTIONS
    assert len(files) <= FILES
