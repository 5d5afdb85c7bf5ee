"""Protocol-independent view of a request, and the check whether a provider would accept it.

Protocols differ in how they mark roles and match results with calls. ``turns`` converts all of them to one
list, and ``problems`` validates that list.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

Json = Mapping[str, Any]


@dataclass(frozen=True)
class Turn:
    """One message with its role, tool calls and tool results."""

    role: str
    """``user`` (also for tool results) or ``model``."""
    text: str = ""
    calls: tuple[str, ...] = ()
    answers: tuple[str, ...] = ()


def turns(body: Json) -> list[Turn]:
    """The messages of a request, without system messages."""
    if "contents" in body:
        return list(_google(body["contents"]))
    if "input" in body:
        return list(_responses(body["input"]))
    return list(_messages(body["messages"]))


def problems(body: Json, *, alternating: bool = False) -> list[str]:
    """What a strict provider would refuse; empty for a valid request.

    Args:
        body: The request.
        alternating: Whether roles must alternate, as Anthropic and Google require.
    """
    said, found = turns(body), []
    if not said or said[0].role != "user" or said[0].answers:
        found.append("it does not begin with the person")
    if said and said[-1].role != "user":
        found.append("it does not end with the person or a result")
    if alternating and any(one.role == two.role for one, two in pairwise(said)):
        found.append("two messages of one speaker in a row")
    if any(not (turn.text.strip() or turn.calls or turn.answers) for turn in said):
        found.append("an empty message")
    return found + _pairing(said)


def _pairing(said: Sequence[Turn]) -> list[str]:
    """Each call must be answered exactly once before the next message."""
    found: list[str] = []
    waiting: list[str] = []
    for turn in said:
        if (turn.role == "model" or not turn.answers) and waiting and not _only_calls(turn):
            found.append(f"calls without an answer: {', '.join(waiting)}")
            waiting = []
        for answer in turn.answers:
            if answer in waiting:
                waiting.remove(answer)
            else:
                found.append(f"an answer without its call: {answer}")
        if len(set(turn.calls)) < len(turn.calls):
            found.append(f"two calls of one id: {', '.join(turn.calls)}")
        waiting += turn.calls
    return found + ([f"calls without an answer: {', '.join(waiting)}"] if waiting else [])


def _only_calls(turn: Turn) -> bool:
    """Whether this is another call of the same answer: the Responses API uses one item per call."""
    return turn.role == "model" and bool(turn.calls) and not turn.text


def _messages(messages: Sequence[Json]) -> Iterator[Turn]:
    for message in messages:
        role = str(message["role"])
        if role in ("system", "developer"):
            continue
        blocks = message.get("content") or []
        blocks = [{"type": "text", "text": blocks}] if isinstance(blocks, str) else blocks
        calls = [str(call["id"]) for call in message.get("tool_calls") or []]
        calls += [str(block["id"]) for block in blocks if block["type"] == "tool_use"]
        answers = [str(block["tool_use_id"]) for block in blocks if block["type"] == "tool_result"]
        if role == "tool":
            yield Turn("user", "", (), (str(message["tool_call_id"]),))
            continue
        said = [block for block in blocks if block["type"] not in ("tool_use", "tool_result")]
        text = "\n".join(str(block.get("text", block["type"])) for block in said)
        yield Turn("model" if role == "assistant" else "user", text, tuple(calls), tuple(answers))


def _responses(items: Sequence[Json]) -> Iterator[Turn]:
    for item in items:
        kind = item.get("type", "message")
        if kind == "function_call":
            yield Turn("model", calls=(str(item["call_id"]),))
        elif kind == "function_call_output":
            yield Turn("user", answers=(str(item["call_id"]),))
        elif item.get("role") in ("user", "assistant"):
            content = item["content"]
            text = (
                content if isinstance(content, str) else "\n".join(str(each.get("text")) for each in content)
            )
            yield Turn("user" if item["role"] == "user" else "model", text)


def _google(contents: Sequence[Json]) -> Iterator[Turn]:
    for content in contents:
        parts = content["parts"]
        calls = [part["functionCall"] for part in parts if "functionCall" in part]
        answers = [part["functionResponse"] for part in parts if "functionResponse" in part]
        text = "\n".join(str(part["text"]) for part in parts if "text" in part)
        yield Turn(
            "model" if content["role"] == "model" else "user",
            text,
            tuple(str(call.get("id") or call["name"]) for call in calls),
            tuple(str(answer.get("id") or answer["name"]) for answer in answers),
        )
