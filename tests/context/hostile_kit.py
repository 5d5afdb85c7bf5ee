"""Models that fail to summarise, each tried on a plain list of messages and on a session's log."""

from collections.abc import AsyncGenerator, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic_ai import RunContext
from pydantic_ai.exceptions import ModelHTTPError
from pydantic_ai.messages import FinishReason, ModelMessage
from pydantic_ai.models import ModelRequestParameters, StreamedResponse
from pydantic_ai.models.function import DeltaThinkingPart, DeltaToolCall
from pydantic_ai.settings import ModelSettings

from tests.context.governor_kit import Delta, Heard, Provider, plain_counter, rate_limited
from tests.context.histories import long_conversation
from tests.conversation.logged import answer, opened, result, say
from tui_app.context.compaction.compactor import Compactor, PlainHost
from tui_app.context.counting.encodings import TextCounter
from tui_app.context.history import History, ListHistory
from tui_app.context.policy import PLIMSOLL
from tui_app.context.summaries.extractive import ExtractiveSummariser
from tui_app.context.summaries.writer import ModelSummariser
from tui_app.context.windows.windows import resolve_window
from tui_app.events import CompactionComplete, Record, SessionStart
from tui_app.session.stores.sqlite_store import SqliteStore
from tui_app.system.secrets import mask_secrets
from tui_app.usage import Overhead

WINDOW = 16_000
TURNS = 24


class Ending(Provider):
    """A provider whose responses end with a given finish reason."""

    def __init__(self, reason: FinishReason) -> None:
        super().__init__(1_000_000)
        self.reason: FinishReason | None = reason

    @asynccontextmanager
    async def request_stream(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
        run_context: RunContext[Any] | None = None,
    ) -> AsyncGenerator[StreamedResponse]:
        arguments = (messages, model_settings, model_request_parameters, run_context)
        async with super().request_stream(*arguments) as response:
            response.finish_reason = self.reason
            yield response


def saying(*deltas: Delta) -> Provider:
    """A model that always gives this answer."""
    provider = Provider(1_000_000)
    provider.deltas = lambda _number: list(deltas)
    return provider


def raising(*errors: Exception) -> Provider:
    """A model whose requests fail with these errors, one after the other."""
    provider = Provider(1_000_000)
    provider.summary_failures = list(errors)
    return provider


def ending(reason: FinishReason) -> Provider:
    """A model whose answer is cut off, with this finish reason."""
    provider = Ending(reason)
    provider.deltas = lambda _number: ["Title: T\n## Intent\nGo on with the"]
    return provider


def breaking() -> Provider:
    """A model whose connection breaks in the middle of its answer."""

    def deltas(_number: int) -> Iterable[Delta]:
        yield "Title: T\n## Intent\n"
        raise ConnectionError("the connection was reset")

    provider = Provider(1_000_000)
    provider.deltas = deltas  # type: ignore[assignment]
    return provider


def echoing() -> Provider:
    """A model that repeats its whole prompt."""
    provider = Provider(1_000_000)
    provider.deltas = lambda _number: [provider.summary_requests[-1]]
    return provider


def too_large() -> ModelHTTPError:
    """HTTP 413 from a proxy: the request body is too large, regardless of the model's window."""
    return ModelHTTPError.for_category(
        None,
        status_code=413,
        model_name="scripted",
        body={"message": "Request body too large: too many tokens"},
    )


@dataclass(frozen=True)
class Hostile:
    """A model that fails, and the failure expected in the event."""

    make: Callable[[], Provider]
    reason: str
    """Pattern for the reason in the event."""
    requests: int = 1
    """Most summary requests allowed per attempt."""


INVENTIONS = "## Intent\n" + "\n".join(f"- The pier at `made_up_{number}` was closed." for number in range(6))
CALL = {0: DeltaToolCall(name="run_command", json_args='{"command": "rm -rf /"}', tool_call_id="x")}
HOSTILE: dict[str, Hostile] = {
    "nothing": Hostile(lambda: saying(""), "wrote no text"),
    "white space": Hostile(lambda: saying(" \n", "\t\n "), "gave no answer"),
    "reasoning only": Hostile(lambda: saying({0: DeltaThinkingPart(content="Hm, well.")}), "wrote no text"),
    "a tool call": Hostile(lambda: saying(CALL), "wrote no text"),
    "text and a tool call": Hostile(
        lambda: saying("## Intent\nI will clean up first.", {1: CALL[0]}), "wrote no text"
    ),
    "longer than the input": Hostile(
        lambda: saying("## Intent\n" + " ".join(map(str, range(60_000)))), "far more than"
    ),
    "an endless loop": Hostile(lambda: saying("## Intent\n", *["And so on. " * 50] * 200), "repeats itself"),
    "an obeyed instruction": Hostile(lambda: saying("OK"), "something other than a summary"),
    "an obeyed order": Hostile(
        lambda: saying("Sure, I have deleted all the files as you asked."),
        "has a source in the log",
        requests=2,
    ),
    "a refusal": Hostile(
        lambda: saying("I'm sorry, but I can't help with that."), "has a source in the log", requests=2
    ),
    "inventions": Hostile(lambda: saying(INVENTIONS), "lines have a source", requests=2),
    "the conversation itself": Hostile(echoing, "repeated the conversation"),
    "an error": Hostile(lambda: raising(RuntimeError("the wire is cut")), "the wire is cut"),
    "a rate limit": Hostile(lambda: raising(rate_limited()), "429"),
    "always too large": Hostile(
        lambda: raising(*(too_large() for _ in range(9))), "even a small part of the conversation", requests=4
    ),
    "an answer cut at its length": Hostile(lambda: ending("length"), "cut off at its length limit"),
    "an answer that was filtered": Hostile(lambda: ending("content_filter"), "filter stopped"),
    "an answer that ended in an error": Hostile(lambda: ending("error"), "was cut off"),
    "a broken connection": Hostile(breaking, "the connection was reset"),
}


@dataclass
class Arena:
    """A history and a compactor that uses a hostile model."""

    history: History
    provider: Provider
    compactor: Compactor
    heard: Heard
    folder: Path | None = None
    """The session's folder, for a session's history."""

    @property
    def messages(self) -> list[ModelMessage]:
        return [item.message for item in self.history.items()]

    def grow(self, turns: int) -> None:
        """Add turns to the history."""
        add(self.history, turns)

    async def compact(self, trigger: Any = "manual") -> CompactionComplete:
        """Compact and return the end of the compaction."""
        self.compactor.start(trigger)
        complete = await self.compactor.finish()
        assert complete is not None
        return complete


def add(history: History, turns: int) -> None:
    """Append plain turns with one tool call each to any kind of history."""
    if isinstance(history, ListHistory):
        history.sync([*(item.message for item in history.items()), *long_conversation(turns)])
        return
    for turn in range(turns):
        text = f"turn {turn} " + "lorem ipsum " * 33
        say(history, f"prompt {turn}: {text}")  # type: ignore[arg-type]
        answer(history, "", call=f"call-{turn}")  # type: ignore[arg-type]
        result(history, f"call-{turn}", f"result {turn}: {text}")  # type: ignore[arg-type]
        answer(history, f"answer {turn}: {text}")  # type: ignore[arg-type]


def arena(history: History, provider: Provider, heard: Heard, folder: Path | None = None) -> Arena:
    """Set up a compactor with the real summariser on a scripted model."""
    count = TextCounter("o200k_base").count
    writer = ModelSummariser(
        model=provider,
        model_name="scripted",
        input_budget=lambda: 100_000,
        count=count,
        mask=mask_secrets,
    )
    compactor = Compactor(history, PLIMSOLL, PlainHost((writer,)))
    compactor.host.fallback = ExtractiveSummariser(count)
    return Arena(history, provider, compactor, heard, folder)


def list_arena(provider: Provider) -> Arena:
    """Set up an arena on a plain list of messages, as in a third-party agent."""
    heard = Heard()
    history = ListHistory(plain_counter(), heard)
    history.set_overhead(Overhead(resolve_window(setting=WINDOW)), "m")
    add(history, TURNS)
    return arena(history, provider, heard)


def session_arena(provider: Provider, store: SqliteStore, path: Path) -> Arena:
    """Set up an arena on a session's log."""
    heard = Heard()
    session = store.create(SessionStart(cwd="/", model="a:b"), time=1.0)

    class Records(list[Record]):
        def append(self, record: Record) -> None:
            heard(record.data)

    history = opened(store, session, Records(), path)
    history.set_overhead(Overhead(resolve_window(setting=WINDOW)), "a:b")
    add(history, TURNS)
    return arena(history, provider, heard, path / session)
