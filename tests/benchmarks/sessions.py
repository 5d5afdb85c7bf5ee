"""Sessions of any length, written straight into a log."""

from collections.abc import Iterator

from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, TextPart, UserPromptPart

from tui_app.context.counting.tokens import to_json_text
from tui_app.events import AssistantMessage, Payload, SessionStart, UserMessage
from tui_app.paths import Paths
from tui_app.session.store import Store

LAST_WORD = "harbourmaster"
"""Stands in the last answer only, and in one piece whatever the formatting."""
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
    """Words that differ from message to message."""
    return " ".join(_WORDS[(number * 7 + step * step) % len(_WORDS)] for step in range(count))


def turn(number: int, length: int, *, last: bool) -> Iterator[tuple[Payload, ModelMessage]]:
    """One prompt and one answer of about ``length`` words."""
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
    """Write a session; returns its id.

    Args:
        paths: Whose log.
        messages: How many, prompts and answers together.
        length: Words in the last paragraph of each answer.
        model: What the session was begun with.
    """
    paths.ensure()
    store = Store(paths.database)
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
