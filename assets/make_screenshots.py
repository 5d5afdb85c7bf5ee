"""Draws the screenshots of the documentation: ``python assets/make_screenshots.py [FOLDER]``.

The real application runs without a terminal, on a session written into a folder made for it, and is driven by
key presses. The conversation is invented (``ferry.py``); times, ids and the list of models are fixed, so the
same program draws the same pictures on every machine.
"""

import asyncio
import json
import os
import re
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from itertools import chain, repeat
from pathlib import Path
from unittest import mock

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE)]
os.environ["TZ"] = "UTC"
time.tzset()

from ferry import DRAFT, MODEL, NOON, SUMMARY, SUMMARY_TITLE, TURNS, WINDOW, Call  # noqa: E402
from pydantic_ai.messages import (  # noqa: E402
    ModelRequest,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.usage import RequestUsage  # noqa: E402
from textual.pilot import Pilot  # noqa: E402
from textual.widgets import Input  # noqa: E402

from tui_app.agent.model_lists import Listed, NoAnswer, local_base_url  # noqa: E402
from tui_app.agent.network.addresses import ServerAddress  # noqa: E402
from tui_app.agent.turn import Recorder  # noqa: E402
from tui_app.context.compaction.compactor import Compactor, PlainHost  # noqa: E402
from tui_app.context.counting.encodings import TextCounter  # noqa: E402
from tui_app.context.counting.expenses import Ledger, Spent  # noqa: E402
from tui_app.context.counting.tokens import TokenCounter  # noqa: E402
from tui_app.context.policy import PLIMSOLL  # noqa: E402
from tui_app.context.summaries.writer import Progress, Summary, SummaryTask  # noqa: E402
from tui_app.context.windows.windows import resolve_window  # noqa: E402
from tui_app.conversation.assembly import OpenSession  # noqa: E402
from tui_app.conversation.history.compaction_archive import Archive  # noqa: E402
from tui_app.conversation.history.session_history import SessionHistory  # noqa: E402
from tui_app.events import SessionStart, ToolCall, UsageInfo, UserMessage  # noqa: E402
from tui_app.paths import Paths  # noqa: E402
from tui_app.session.stores.sqlite_store import SqliteStore  # noqa: E402
from tui_app.session.workspace import SessionFolder  # noqa: E402
from tui_app.settings import Endpoint, Settings  # noqa: E402
from tui_app.ui.app import PlimsollApp  # noqa: E402
from tui_app.ui.launch import Launch  # noqa: E402
from tui_app.usage import Breakdown, Overhead  # noqa: E402, Overhead

SIZE = (120, 40)
ENDPOINT = Endpoint(name="harbour", base_url="http://127.0.0.1:9/v1")
# Relative, so that no path of a machine reaches a picture or a token count.
HOME = Path("home")
PROJECT = Path("ferry-timetable")
PATHS = Paths(HOME / "config", HOME / "data", HOME / "state", HOME / "cache")
LISTED: dict[str, Listed] = {
    ENDPOINT.base_url: {"deck-14b": WINDOW, "deck-4b": 8_192},
    local_base_url(11434): {"gull-8b": 16_384},
}
"""What the model servers of the pictures list."""


class Author:
    """Writes the one summary of the pictures."""

    model_name = MODEL

    async def summarise(self, task: SummaryTask, progress: Progress, ledger: Ledger) -> Summary:
        """Return it whole."""
        ledger.book(Spent(input_tokens=19_000, output_tokens=260), answered=True)
        return Summary(text=SUMMARY, title=SUMMARY_TITLE, model=MODEL)


class Clock:
    """Stands where it is put."""

    def __init__(self) -> None:
        self.now = float(NOON)

    def __call__(self) -> float:
        """Seconds since the epoch."""
        return self.now


def write_session(clock: Clock, *, compacted: bool) -> str:
    """Write the conversation the way the program itself does; returns the session's id."""
    PATHS.ensure()
    text = TextCounter(None)
    text.load()
    store = SqliteStore(PATHS.database)
    with mock.patch("secrets.token_hex", return_value="fe44195a"):
        session = store.create(SessionStart(cwd=str(PROJECT), model=MODEL), time=clock())
    folder = SessionFolder(PATHS.sessions_dir / session)
    history = SessionHistory(
        store=store,
        session=session,
        archive=Archive(folder),
        counter=TokenCounter(text),
        publish=lambda record: None,
        model=MODEL,
    )
    history.load()
    overhead = Overhead(resolve_window(server=WINDOW), Breakdown(system=260, tools=560))
    history.set_overhead(overhead, MODEL)
    write_turns(history, clock)
    if compacted:
        clock.now += 60
        asyncio.run(compact(history))
    history.report(UsageInfo(usage=history.usage().to_json()))
    store.close()
    return session


def write_turns(history: SessionHistory, clock: Clock) -> None:
    """Append every prompt, call, result and answer."""
    recorder = Recorder(history)
    for turn in TURNS:
        clock.now = NOON + 60.0 * turn.minute
        prompt = ModelRequest(parts=[UserPromptPart(turn.prompt)])
        history.append(
            UserMessage(text=turn.prompt, tokens=history.counter.message(prompt).nonzero()), prompt
        )
        for number, call in enumerate(turn.calls):
            clock.now += 4
            write_call(history, recorder, call, f"call-{turn.minute}-{number}")
        clock.now += 6
        usage = RequestUsage(input_tokens=history.usage().total, output_tokens=len(turn.answer) // 4)
        recorder.answer(ModelResponse(parts=[TextPart(turn.answer)], usage=usage, model_name="deck-14b"))


def write_call(history: SessionHistory, recorder: Recorder, call: Call, call_id: str) -> None:
    """Append one tool call with its result."""
    part = ToolCallPart(call.tool, dict(call.args), tool_call_id=call_id)
    recorder.answer(ModelResponse(parts=[part], model_name="deck-14b"))
    history.append(ToolCall(tool_call_id=call_id, name=call.tool, args=json.dumps(call.args)))
    recorder.result(ToolReturnPart(call.tool, call.result, tool_call_id=call_id))


async def compact(history: SessionHistory) -> None:
    """Compact with the program's own compactor."""
    compactor = Compactor(history, PLIMSOLL, PlainHost((Author(),)))
    with mock.patch("tui_app.context.compaction.compactor.monotonic", side_effect=chain([0.0], repeat(4.1))):
        compactor.start("manual")
        complete = await compactor.finish()
    if complete is None or complete.outcome != "success":
        raise SystemExit(f"The compaction of the pictures failed: {complete}")


async def listing(address: ServerAddress, **_options: object) -> Listed:
    """Stands for the model servers, which differ from machine to machine."""
    try:
        return LISTED[address.url]
    except KeyError:
        raise NoAnswer(address.url) from None


async def draw(
    session: str,
    drive: Callable[[Pilot[int]], Awaitable[None]],
    *,
    model: str = "",
    approvals: Mapping[str, tuple[str, ...]] | None = None,
    env: Mapping[str, str] | None = None,
    title: str = "Plimsoll",
) -> str:
    """Start the application on a session, press keys, and return what it shows as SVG."""
    # The memory of a process that draws all of them, or runs thousands of tests, is no session's.
    settings = Settings(
        endpoints={ENDPOINT.name: ENDPOINT},
        animations=False,
        approvals=dict(approvals or {}),
        memory_limit_mb=0,
    )
    variables = {"OPENAI_API_KEY": "only-its-name-counts", **(env or {})}
    app = PlimsollApp(
        Launch(settings=settings, paths=PATHS, env=variables, cwd=PROJECT, session=session, model=model)
    )
    async with app.run_test(size=SIZE) as pilot:

        async def prepared(opened: OpenSession) -> None:
            await opened.prepare()

        while not app.chat.is_ready:
            await pilot.pause(0.05)
        await app.chat.session.ask(prepared)
        await pilot.pause()
        await drive(pilot)
        # A layout, the sizes that it tells, and what is scrolled by them.
        for _ in range(3):
            await pilot.pause()
        svg = app.export_screenshot(title=title, simplify=True)
    # The web font would be fetched from somebody else's server; every viewer has a font of its own.
    local = re.sub(r"\s*@font-face \{.*?\}", "", svg, flags=re.DOTALL).replace("Fira Code", "monospace")
    return "\n".join(line.rstrip() for line in local.splitlines()) + "\n"


async def shown(pilot: Pilot[int]) -> None:
    """Wait until a screen stands above the chat; its own cursor must not blink into the picture."""
    while pilot.app.screen is pilot.app.chat:
        await pilot.pause(0.05)
    for field in pilot.app.screen.query(Input):
        field.cursor_blink = False


async def in_chat(pilot: Pilot[int]) -> None:
    """A draft in the prompt."""
    await draft(pilot, DRAFT.removesuffix("?"))


async def draft(pilot: Pilot[int], text: str) -> None:
    """Put a text into the prompt at once, as a paste does."""
    pilot.app.chat.pane.prompt.editor.insert(text)
    await pilot.pause()


async def in_detail(pilot: Pilot[int]) -> None:
    """The newest row, a compaction, opened."""
    await pilot.press("tab", "end", "up", "enter")
    await shown(pilot)


async def in_context(pilot: Pilot[int]) -> None:
    """What fills the context."""
    await pilot.press("f3")
    await shown(pilot)


async def in_models(pilot: Pilot[int]) -> None:
    """The model picker."""
    await pilot.press("ctrl+l")
    await shown(pilot)


PICTURES = (
    ("chat", False, in_chat),
    ("compacted", True, in_detail),
    ("context", False, in_context),
    ("models", False, in_models),
)


@contextmanager
def no_servers() -> Iterator[None]:
    """Ask none of this machine's model servers."""
    with (
        mock.patch("tui_app.agent.model_lists.ask_listing", listing),
        mock.patch("tui_app.agent.models.ask_listing", listing),
    ):
        yield


@contextmanager
def elsewhere() -> Iterator[None]:
    """Work in an empty folder."""
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        PROJECT.mkdir()
        try:
            yield
        finally:
            os.chdir(before)


def write_read_files() -> None:
    """What the conversation has read still says what it said then."""
    for call in (call for turn in TURNS for call in turn.calls if call.tool == "read_file"):
        path = PROJECT / str(call.args["path"])
        path.parent.mkdir(parents=True, exist_ok=True)
        numbered = (line.partition("\t") for line in call.result.splitlines())
        lines = {int(number): text for number, _, text in numbered}
        text = "".join(f"{lines.get(number, '')}\n" for number in range(1, max(lines) + 1))
        path.write_text(text, encoding="utf-8")


def main(target: Path) -> None:
    """Draw all of them into a folder."""
    for name, compacted, drive in PICTURES:
        clock = Clock()
        with elsewhere(), no_servers(), mock.patch("time.time", clock):
            session = write_session(clock, compacted=compacted)
            write_read_files()
            picture = asyncio.run(draw(session, drive))
        (target / f"{name}.svg").write_text(picture, encoding="utf-8")
        print(f"{name}.svg")


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve() if sys.argv[1:] else HERE)
