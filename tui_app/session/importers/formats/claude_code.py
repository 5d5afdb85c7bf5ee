"""Transcripts of Claude Code, JSON lines with one record each; also the output of its command line.

The file is append-only, in the order of the conversation. Its records also form a tree, which shows rewinds:
a rewind starts a new branch under the same parent as the branch it leaves. Parallel tool calls are siblings
too, so their results are restored. A second root is no rewind, nor is a record after a compaction whose
parent precedes it.
"""

import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tui_app.paths import from_home
from tui_app.session.importers.books import Timeline, plain_text
from tui_app.session.importers.content import ContentReader
from tui_app.session.importers.places import Env, LocalTranscript
from tui_app.session.importers.shape import (
    ANTHROPIC_TOKENS,
    SUB_AGENTS,
    SUMMARY,
    TROUBLE,
    Records,
    Shape,
    side_record,
)
from tui_app.session.importers.source import Json, shown
from tui_app.session.importers.values import (
    block_list,
    first_at,
    list_at,
    object_at,
    of_type,
    text_at,
    value_at,
)

_TALK = ("user", "assistant")
_TITLES = ("summary", "ai-title", "custom-title")
"""Records with a title, the least important first."""
_NO_SUMMARY = "compaction without a summary, not applied"
_BOOKKEEPING = frozenset({
    "agent-color", "agent-name", "agent-setting", "atis-latch", "attachment", "attribution-snapshot",
    "auth_status", "bridge-session", "content-replacement", "control_request", "control_response",
    "file-history-delta", "file-history-snapshot", "keep_alive", "last-prompt", "mode",
    "permission-mode", "pr-link", "progress",
    "queue-operation", "rate_limit_event", "result", "stream_event", "system", "tag", "task-summary",
    "tool_progress", "tool_use_summary", "worktree-state", *_TITLES,
})  # fmt: skip
"""Types of records that are no messages."""


def _conversation(records: Records, out: Timeline) -> Records:
    """Return the valid records in order: parts of one response joined, prompts where the model read them."""
    records = _with_summaries(records)
    nodes = _plant(records, out)
    talk = [node for node in nodes if node.is_talk]
    _take_back(nodes, talk)
    stands = [node for node in nodes if not node.is_off]
    on = [node for node in stands if node.is_talk or node.is_boundary or _queued_in(node)]
    off = [node for node in talk if node.is_off]
    kept = sorted([*on, *_rescued([node for node in on if node.is_talk], off)], key=lambda node: node.number)
    numbers = {node.number for node in kept}
    for node in off:
        if node.number not in numbers:
            out.leave("messages on abandoned branches (rewinds) were left out", node.number)
    branches = dict.fromkeys(text_at(node.record, "gitBranch") for node in kept)
    ids = {text_at(node.record, "uuid") for node in nodes}
    heads: Records = [(0, {"type": "branches", "branch": " ".join(filter(None, branches))})]
    ranks = {kind: rank for rank, kind in enumerate(_TITLES, 1)}
    metadata = [each for each in records if _is_head(each[1], ids)]
    heads += sorted(metadata, key=lambda each: ranks.get(text_at(each[1], "type"), 0))
    delivered = [*kept, *_delivered(records, talk, numbers, out)]
    return [*heads, *_in_order(sorted(delivered, key=lambda node: node.number), out)]


def _is_head(record: Json, ids: set[str]) -> bool:
    """Return whether it has session data or a title, which another conversation's summary is not."""
    is_other = record.get("type") == "summary" and record.get("leafUuid") not in ids
    return record.get("subtype") == "init" or (record.get("type") in _TITLES and not is_other)


def _with_summaries(records: Records) -> Records:
    """Mark the summaries. In output of the command line, only their position identifies them."""
    marked: Records = []
    is_after = False
    for number, record in records:
        is_told = is_after and record.get("isSynthetic") is True
        marked.append((number, {**record, "isCompactSummary": True} if is_told else record))
        is_after = _is_boundary(record) or (is_after and record.get("type") not in _TALK)
    return marked


def _is_boundary(record: Json) -> bool:
    return record.get("subtype") == "compact_boundary"


@dataclass(eq=False)
class _Node:
    number: int
    record: Json
    is_talk: bool = False
    parent: "_Node | None" = None
    branches: "list[_Node]" = field(default_factory=list)
    first: "_Node | None" = None
    """The first message on the branch that begins here."""
    last: int = 0
    """Line of the last one."""
    is_off: bool = False
    """Whether a rewind removed it."""

    @property
    def is_boundary(self) -> bool:
        return _is_boundary(self.record)

    @property
    def is_answer(self) -> bool:
        return self.is_talk and text_at(self.record, "type") == "assistant"


def _message_of(record: Json) -> Json:
    return object_at(record, "message")


def _is_message(record: Json) -> bool:
    """Return whether a record can only be a message of a Claude Code transcript."""
    return record.get("type") in _TALK and "content" in _message_of(record)


def _plant(records: Records, out: Timeline) -> list[_Node]:
    """Arrange records in a tree; invalid ones are reported."""
    # In a subagent's own transcript, all records are side chain: there they are the conversation.
    alone = all(_is_side(record) for _, record in records if _is_message(record))
    by_id: dict[str, _Node] = {}
    aside = Counter[str]()
    nodes: list[_Node] = []
    before: _Node | None = None
    for number, record in records:
        kind, uuid = text_at(record, "type"), text_at(record, "uuid")
        problem, is_unknown = _problem(record, kind)
        if problem or uuid in by_id:
            reason = problem or f"record id {shown(uuid)} was already used in this file"
            out.skip(reason, number, unknown=is_unknown)
            continue
        node = _Node(number, record, is_talk=kind in _TALK and (alone or not _is_side(record)))
        above = text_at(record, "parentUuid", "logicalParentUuid")
        node.parent = by_id.get(above)
        if node.parent is None and (above or node.is_boundary or _is_summary(record)):
            # A lost or damaged record must not cut off what came before.
            node.parent = before
            mended = bool(above) and node.is_talk
            out.count("links to missing records were repaired by file order", mended)
        if node.parent is not None:
            node.parent.branches.append(node)
        if node.is_talk:
            before = node
        elif kind in _TALK:
            out.leave(SUB_AGENTS, number)
        else:
            aside[kind] += 1
            out.places.add(number)
        by_id |= {uuid: node} if uuid else {}
        nodes.append(node)
    if aside:
        kinds = ", ".join(f"{number:,} {kind}" for kind, number in sorted(aside.items()))
        out.notes.append(f"Records that are not messages: {kinds}.")
    return nodes


def _problem(record: Json, kind: str) -> tuple[str, bool]:
    """Return why a record does not belong into the tree, and whether its kind is unknown."""
    if kind in _TALK:
        is_valid = isinstance(_message_of(record).get("content"), str | list)
        return "" if is_valid else f"{kind} record without a message", not is_valid
    if kind in _BOOKKEEPING:
        return "", False
    # New versions write new kinds of session records.
    return f"unknown record type {shown(record.get('type'))}", not {"sessionId", "uuid"} & record.keys()


def _is_summary(record: Json) -> bool:
    return record.get("isCompactSummary") is True


def _is_side(record: Json) -> bool:
    return bool(record.get("isSidechain") or record.get("parent_tool_use_id"))


def _queued_in(node: _Node) -> bool:
    """Return whether it has a prompt that the user typed while the model was busy."""
    return text_at(node.record, "attachment.type") == "queued_command"


def _take_back(nodes: list[_Node], talk: list[_Node]) -> None:
    """Mark the branches that rewinds left."""
    for node in reversed(nodes):
        if node.is_talk:
            node.first, node.last = node, max(node.last, node.number)
        if node.parent is not None and node.first is not None:
            node.parent.first, node.parent.last = node.first, max(node.parent.last, node.last)
    lines = [node.number for node in talk]
    boundaries = [node.number for node in nodes if node.is_boundary]
    for node in nodes:
        branches = [each for each in node.branches if each.first is not None]
        newest = max(branches, key=lambda each: each.last, default=node)
        for each in node.branches:
            left = each.first is not None and each is not newest
            each.is_off = node.is_off or (
                left and not _continues(node, each, newest, boundaries, talk, lines)
            )


def _continues(
    fork: _Node, older: _Node, newest: _Node, boundaries: list[int], talk: list[_Node], lines: list[int]
) -> bool:
    """Return whether a branch continues after a compaction, and so is no rewind."""
    if bisect_right(boundaries, fork.number) == bisect_left(boundaries, newest.number):
        return False
    before = talk[bisect_left(lines, newest.number) - 1]
    # A rewind replaces one prompt by another.
    is_prompt = older.first is not None and not older.first.is_answer and not _answered(older.first)
    return _is_summary(before.record) or not is_prompt


def _rescued(path: list[_Node], off: list[_Node]) -> list[_Node]:
    """Return records off the path that belong to it: parts of responses, results of open calls."""
    ids = {text_at(_message_of(node.record), "id") for node in path} - {""}
    parts = [node for node in off if text_at(_message_of(node.record), "id") in ids]
    calls = {text_at(block, "id") for node in [*path, *parts] for block in of_type(_blocks(node), "tool_use")}
    open_calls = calls - {name for node in path for name in _answered(node)} - {""}
    results: list[_Node] = []
    for node in off:
        if targets := _answered(node) & open_calls:
            open_calls -= targets
            results.append(node)
    return parts + results


def _answered(node: _Node) -> set[str]:
    """Return the ids of the calls whose results a record contains."""
    return {text_at(block, "tool_use_id") for block in of_type(_blocks(node), "tool_result")}


def _blocks(node: _Node) -> list[Any]:
    return block_list(_message_of(node.record).get("content"))


def _delivered(records: Records, talk: list[_Node], stands: set[int], out: Timeline) -> list[_Node]:
    """Return the prompts that left the queue, at that place, unless they are recorded as a message too."""
    lines = [node.number for node in talk]
    waiting: list[tuple[int, Json]] = []
    found: list[_Node] = []
    written = [
        (number, record)
        for number, record in records
        if record.get("type") in _TALK or value_at(record, "attachment.type") == "queued_command"
    ]
    for number, record in records:
        done, content = text_at(record, "operation"), text_at(record, "content")
        if record.get("type") != "queue-operation":
            continue
        if done == "enqueue" and content:
            waiting.append((number, record))
        elif done == "popAll":
            # Back in the editor.
            waiting.clear()
        elif done in ("dequeue", "remove") and waiting:
            first = next((each for each in waiting if each[1]["content"] == content), waiting[0])
            waiting.remove(first)
            place = bisect_left(lines, number)
            end = next((node.number for node in talk[place:] if node.record["type"] == "assistant"), number)
            following = [record for line, record in written if first[0] < line < end or line >= number == end]
            if (not place or lines[place - 1] in stands) and not _is_written(first[1], following):
                found.append(_Node(number, {**first[1], "type": "queued"}))
    out.count("queued prompts that were never sent were left out", len(waiting))
    return found


def _is_written(queued: Json, records: Iterable[Json]) -> bool:
    """Return whether a queued prompt is recorded as a message, alone or joined with others."""
    prompt = f"\n{queued['content'].strip()}\n"
    quiet = ContentReader(lambda _: None)
    texts = (value_at(each, "attachment.prompt") or _message_of(each).get("content") for each in records)
    return any(prompt in f"\n{plain_text(quiet.content(text))}\n" for text in texts)


def _in_order(kept: list[_Node], out: Timeline) -> Records:
    pieces: dict[str, list[_Node]] = {}
    part = 0
    for node in kept:
        part += node.is_boundary
        if node.is_answer:
            name = text_at(_message_of(node.record), "id")
            alone = not name or node.record.get("isApiErrorMessage") is True
            pieces.setdefault(f"{id(node)}" if alone else f"{part} {name}", []).append(node)
    whole = {id(nodes[0]): _merged(nodes) for nodes in pieces.values()}
    ordered: Records = []
    waiting: Records = []
    boundary: _Node | None = None
    for node in kept:
        record = whole.get(id(node), node.record)
        if not node.is_talk and not node.is_boundary:
            waiting.append((node.number, {**record, "timestamp": None}))
            continue
        if node.is_answer or node.is_boundary or len(_answered(node)) < len(_blocks(node)):
            # Prompts typed during a turn reach the model once its calls have results.
            ordered += waiting
            waiting.clear()
        if boundary is not None and node.is_boundary:
            out.skip(_NO_SUMMARY, boundary.number)
        if _is_summary(record):
            details = first_at(boundary and boundary.record, "compactMetadata", "compact_metadata") or {}
            manual = value_at(details, "trigger") == "manual"
            record, boundary = {**record, "type": "compaction", "told": details, "manual": manual}, None
        boundary = node if node.is_boundary else boundary
        if not node.is_boundary and (id(node) in whole or not node.is_answer):
            ordered.append((node.number, record))
    if boundary is not None:
        out.skip(_NO_SUMMARY, boundary.number)
    return ordered + waiting


def _merged(nodes: list[_Node]) -> Json:
    """Join the records of one response. Each repeats the usage, later ones with more output."""
    messages = [_message_of(node.record) for node in nodes]
    message = {key: value for each in messages for key, value in each.items() if value is not None}
    content = [block for each in messages for block in block_list(each["content"])]
    lines = [node.number for node in nodes]
    return {**nodes[0].record, "message": {**message, "content": content}, "lines": lines}


_KINDS = {"rate_limit": "rate_limit", "authentication_failed": "auth", "invalid_request": "input"}
_OVERFLOW = "Prompt is too long"


def _place(env: Env, home: Path, _cwd: Path) -> Iterator[LocalTranscript]:
    own = env.get("CLAUDE_CONFIG_DIR", "").strip()
    for root in [from_home(own)] if own else [home / ".claude", home / ".config" / "claude"]:
        for path in (root / "projects").glob("*/*.jsonl"):
            # In some versions subagents have files of their own, which belong to another conversation.
            if not path.name.startswith("agent-"):
                yield LocalTranscript(path=path)


def _answer(record: Json) -> Json:
    if record.get("isApiErrorMessage") is True:
        text = "\n\n".join(text_at(block, "text") for block in list_at(record, "content"))
        kind = _KINDS.get(text_at(record, "error"), "provider")
        kind = "context_overflow" if text.startswith(_OVERFLOW) else kind
        message = text or text_at(record, "content")
        return {**record, "role": TROUBLE, "message": message, "kind": kind, "model": None}
    model = text_at(record, "model")
    # Only the provider that signed a thought accepts the signature; others would refuse the request.
    provider = "anthropic" if model.startswith("claude") else ""
    # An answer made by the program itself has no model.
    named = {"model": "" if model == "<synthetic>" else model, "signed_by": provider}
    return {**record, "role": "assistant", "response": record.get("id"), **named}


def _about(record: Json) -> Json:
    return {**record, **side_record(""), "title": text_at(record, "customTitle", "aiTitle", "summary")}


CLAUDE_CODE = Shape(
    name="claude-code", program="Claude Code",
    signs=(
        "type=user|assistant message.content", "loglines.type=user|assistant loglines.message.content",
    ),
    places=(_place,), talk=("loglines",), models=("model",), finish=("stop_reason",),
    tokens=ANTHROPIC_TOKENS, cost=("costUSD",),
    noted=(
        "isMeta=true", "isSynthetic=true", "isVisibleInTranscriptOnly=true", "origin.kind!=human",
        "turnOrigin!=human", "attachment.origin.kind!=human", "attachment.turnOrigin!=human",
    ),
    frame=re.compile(
        r"(?m)^(?:This session is being continued from a previous conversation|If you need specific details"
        r" from before|Please continue the conversation from where|Recent messages are preserved verbatim).*$"
    ),
    continued="This session is being continued from a previous conversation", tells_trigger=True,
    denied=(
        "the user doesn't want to proceed with this tool use", "the user doesn't want to take this action",
    ),
    stopped=("[request interrupted by user",), order=_conversation, message="message",
    kinds={
        "assistant": _answer, "user": {"role": "user"}, "queued": {"role": "user"},
        # A prompt typed while the model was busy is stored as an attachment of that turn.
        "attachment": {"role": "user", "content": ".attachment.prompt"},
        "compaction": {
            "role": SUMMARY, "first": ".told.preservedSegment.headUuid",
            "before": ".told.preTokens .told.pre_tokens", "after": ".told.postTokens .told.post_tokens",
        },
    },
    convert=_about,
)  # fmt: skip
