"""Sessions of any length, written directly to a log."""

from collections.abc import Iterator
from contextlib import closing

from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)

from tui_app.context.counting.tokens import to_json_text
from tui_app.events import (
    AssistantMessage,
    CheckpointCreated,
    CompactionComplete,
    Payload,
    Rewritten,
    SessionStart,
    ToolArchived,
    ToolCall,
    ToolResult,
    UsageInfo,
    UserMessage,
)
from tui_app.paths import Paths
from tui_app.session.stores.sqlite_store import SqliteStore
from tui_app.session.stores.store import Event

LAST_WORD = "harbourmaster"
"""A word that occurs only in the last answer, and that no formatting splits."""
_WORDS = [
    "tide",
    "hull",
    "mark",
    "cargo",
    "quay",
    "draught",
    "ballast",
    "keel",
    "rope",
    "anchor",
    "chart",
    "wind",
]
_ANSWER = """\
## Answer {number}

The **{a}** stands against the {b}; see `{c}.py`, where the {d} is computed:

- first the {b}, then the {a}
- the {c} follows at number {number}

```python
def {d}_{number}(weight: float) -> float:
    return weight * {number}
```
{rest}"""


def words(number: int, count: int) -> str:
    """Words that differ between messages."""
    return " ".join(_WORDS[(number * 7 + step * step) % len(_WORDS)] for step in range(count))


def turn(number: int, length: int, *, last: bool) -> Iterator[tuple[Payload, ModelMessage]]:
    """A prompt and an answer of about ``length`` words."""
    question = f"What about the {words(number, 6)}?"
    a, b, c, d = (_WORDS[(number + step) % len(_WORDS)] for step in range(4))
    rest = f"{words(number, length)} {LAST_WORD if last else ''}".strip()
    answer = _ANSWER.format(number=number, a=a, b=b, c=c, d=d, rest=rest)
    prompt_tokens, answer_tokens = {"user": len(question) // 4}, {"assistant": len(answer) // 4}
    yield (
        UserMessage(text=question, tokens=prompt_tokens),
        ModelRequest(parts=[UserPromptPart(question)]),
    )
    yield (
        AssistantMessage(text=answer, tokens=answer_tokens, model="offline:extractive"),
        ModelResponse(parts=[TextPart(answer)], model_name="offline:extractive"),
    )


def write_session(paths: Paths, messages: int, *, length: int = 20, model: str = "offline:extractive") -> str:
    """Write a session, and return its id.

    Args:
        paths: Folders of the log.
        messages: Number of prompts and answers together.
        length: Words in the last paragraph of each answer.
        model: Model at the session's start.
    """
    paths.ensure()
    store = SqliteStore(paths.database)
    try:
        session = store.create(SessionStart(cwd="project", model=model), time=1_000_000_000.0)
        turns = messages // 2
        events = [
            (payload, to_json_text(message), 1_000_000_000.0 + number)
            for number in range(turns)
            for payload, message in turn(number, length, last=number == turns - 1)
        ]
        store.append_many(session, events)
    finally:
        store.close()
    return session


class LongLife:
    """The events of a session with tools: archived results, and a compaction every 25 turns."""

    def __init__(self) -> None:
        self._seq = 1
        self._turns = 0
        self._visible: list[int] = []
        self._results: list[int] = []
        self._events: list[Event] = []

    def turn(self, *, last: bool = False) -> list[Event]:
        """The events of one more turn, about nine; the last one ends with a unique word."""
        self._turns += 1
        number, self._events = self._turns, []
        self._say(UserMessage(text=f"What about {words(number, 60)}?", tokens={"user": 90}))
        measured = {"total": 9_000, "limit": 32_000, "limit_source": "model", "reserve": 2_000, "system": 900}
        self._add(UsageInfo(usage=measured, prefix_kept=0.98))
        calls = [f"c{number}x{place}" for place in range(2)]
        self._say(AssistantMessage(text="", call_ids=tuple(calls), tokens={"tool_calls": 30}, model="m"))
        for call in calls:
            self._add(ToolCall(tool_call_id=call, name="grep", args=f'{{"pattern": "{words(number, 2)}"}}'))
        for call in calls:
            text = words(number + 7, 120)
            result = ToolResult(tool_call_id=call, name="grep", text=text, tokens={"tool_results": 160})
            self._results.append(self._say(result))
        answer = f"Answer {number}: {words(number + 5, 80)} {LAST_WORD if last else ''}".strip()
        self._say(AssistantMessage(text=answer, tokens={"assistant": 110}, model="m", input_tokens=9_000))
        if len(self._results) > 9:
            self._archive(self._results[:-6])
        if number % 25 == 0:
            self._compact()
        return self._events

    def _archive(self, results: list[int]) -> None:
        changes = tuple(Rewritten(seq=seq, tokens={"tool_results": 20}) for seq in results)
        digest = {"tool_results": 60}
        self._visible.append(self._add(ToolArchived(changes=changes, tokens=digest, tokens_removed=500)))
        self._results = self._results[-6:]

    def _compact(self) -> None:
        gone, stays = self._visible[:-20], self._visible[-20:]
        title, number = words(self._turns, 3), self._turns // 25
        path = f"/x/{number:03d}-before.md"
        summary = CompactionComplete(
            job=f"j{number}", outcome="success", trigger="background", title=title, retention=0.95,
            summary=words(self._turns, 200), removed=tuple((seq, seq) for seq in sorted(gone)),
            tokens={"summary": 300}, tokens_removed=16_000, checkpoint_path=path,
        )  # fmt: skip
        self._visible = [self._add(summary), *stays]
        self._results = [seq for seq in self._results if seq in stays]
        self._add(CheckpointCreated(number=number, title=title, path=path))

    def _say(self, payload: Payload) -> int:
        self._visible.append(self._add(payload))
        return self._seq

    def _add(self, payload: Payload) -> int:
        self._seq += 1
        self._events.append((payload, _message(payload), 1_000_000_000.0 + self._seq))
        return self._seq


def _message(payload: Payload) -> str | None:
    """The messages of an event, as stored in the log."""
    match payload:
        case UserMessage(text=text) | CompactionComplete(summary=text):
            return to_json_text(ModelRequest(parts=[UserPromptPart(text)]))
        case AssistantMessage(text=text, call_ids=calls):
            called = [ToolCallPart("grep", {"pattern": "tide"}, call) for call in calls]
            return to_json_text(ModelResponse(parts=[*([TextPart(text)] if text else []), *called]))
        case ToolResult(text=text, tool_call_id=call):
            return to_json_text(ModelRequest(parts=[ToolReturnPart("grep", text, call)]))
        case ToolArchived(changes=changes):
            forms = [ModelRequest(parts=[ToolReturnPart("grep", "archived", "c")]) for _ in changes]
            digest = ModelRequest(parts=[UserPromptPart("Results were archived.")])
            return f"[{','.join(map(to_json_text, (*forms, digest)))}]"
        case _:
            return None


def write_long_session(paths: Paths, events: int) -> tuple[str, LongLife]:
    """Write a session of at least so many events; returns its id, and the generator of further turns."""
    paths.ensure()
    life = LongLife()
    with closing(SqliteStore(paths.database)) as store:
        session = store.create(SessionStart(cwd="project", model="offline:extractive"), time=1_000_000_000.0)
        written = 1
        while written < events:
            written += len(store.append_many(session, life.turn()))
        store.append_many(session, life.turn(last=True))
    return session, life
