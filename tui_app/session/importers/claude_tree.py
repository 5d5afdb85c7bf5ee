"""Which records of a Claude Code transcript make up the conversation, and in which order.

The file is append-only and its records form a tree: a rewind starts a new branch, and the conversation is
the path from the last leaf to the root. Parallel tool calls hang beside each other, so their results stand
on side branches although they belong to the conversation; those are put back.
"""

from bisect import bisect_left
from collections import Counter
from dataclasses import dataclass, field
from heapq import merge

from tui_app.session.importers.content import block_list, of_type
from tui_app.session.importers.fields import record_text
from tui_app.session.importers.source import Json, Line, shown
from tui_app.session.importers.timeline import Timeline

CONVERSATION = ("user", "assistant")
BOOKKEEPING = frozenset({
    "agent-color", "agent-name", "agent-setting", "ai-title", "attachment", "attribution-snapshot",
    "content-replacement", "custom-title", "file-history-delta", "file-history-snapshot", "last-prompt",
    "mode", "permission-mode", "pr-link", "progress", "queue-operation", "summary", "system", "tag",
    "task-summary", "worktree-state",
})  # fmt: skip
"""Record types that are no messages of the conversation."""


@dataclass
class Tree:
    """The records of a transcript by id."""

    by_id: dict[str, Line] = field(default_factory=dict)
    talk: list[Line] = field(default_factory=list)
    """Messages of the conversation on all its branches, in file order."""
    aside: Counter[str] = field(default_factory=Counter)
    """Bookkeeping records by type."""
    mended: int = 0
    """Links to records that are not in the file."""
    linear: bool = False
    """No message has an id: the order of the file is all there is."""

    def path(self) -> list[Line]:
        """The records from the root to the last leaf, and what hangs beside it but belongs to it."""
        if self.linear or not self.talk:
            return self.talk
        chain = self._chain(self.talk[-1])
        found = {id(line.data) for line in chain}
        off = [line for line in self.talk if id(line.data) not in found]
        return list(merge(chain, _rescued(chain, off), key=lambda line: line.number))

    def _chain(self, leaf: Line) -> list[Line]:
        chain: list[Line] = []
        seen: set[int] = set()
        line: Line | None = leaf
        while line is not None and line.number not in seen:
            seen.add(line.number)
            chain.append(line)
            line = self._parent(line)
        return chain[::-1]

    def _parent(self, line: Line) -> Line | None:
        parent = record_text(line.data, "parentUuid") or record_text(line.data, "logicalParentUuid")
        if not parent and not _continues(line.data):
            return None
        if parent in self.by_id:
            return self.by_id[parent]
        # A lost or damaged record must not cut off everything before it.
        self.mended += bool(parent)
        place = bisect_left(self.talk, line.number, key=lambda other: other.number)
        return self.talk[place - 1] if place else None


def message_of(record: Json) -> Json:
    """The API message of a record; empty when it has none."""
    value = record.get("message")
    return value if isinstance(value, dict) else {}


def is_claude_record(record: Json) -> bool:
    """Whether a record can only be a message of a Claude Code transcript."""
    return record.get("type") in CONVERSATION and "content" in message_of(record)


def plant(lines: tuple[Line, ...], report: Timeline) -> Tree:
    """Sort the records of a file into a tree; what is none of its records is reported."""
    # The transcript of a sub-agent that stands in a file of its own is all side chain: there it is the talk.
    alone = not any(is_claude_record(line.data) and not line.data.get("isSidechain") for line in lines)
    bare = not any(is_claude_record(line.data) and record_text(line.data, "uuid") for line in lines)
    tree = Tree(linear=bare)
    for line in lines:
        _place(tree, line, report, alone=alone)
    return tree


def _place(tree: Tree, line: Line, report: Timeline, *, alone: bool) -> None:
    record = line.data
    kind = record_text(record, "type")
    uuid = record_text(record, "uuid")
    if uuid and uuid in tree.by_id:
        return report.skip(line.number, f"record id {shown(uuid)} was already used in this file")
    if kind not in CONVERSATION:
        if kind not in BOOKKEEPING:
            return report.skip(line.number, f"unknown record type {shown(record.get('type'))}")
        tree.aside[kind] += 1
    elif problem := _problem(record, linear=tree.linear):
        return report.skip(line.number, problem)
    elif record.get("isSidechain") and not alone:
        report.left_out["records of sub-agents were left out"] += 1
    else:
        tree.talk.append(line)
    if uuid:
        tree.by_id[uuid] = line
    return None


def _problem(record: Json, *, linear: bool) -> str:
    if not is_claude_record(record):
        return f"{record['type']} record without a message"
    if not isinstance(message_of(record)["content"], str | list):
        return f"{record['type']} message whose content is neither text nor a list"
    if not linear and not record_text(record, "uuid"):
        return f"{record['type']} record without an id"
    return ""


def _continues(record: Json) -> bool:
    return record.get("subtype") == "compact_boundary" or bool(record.get("isCompactSummary"))


def _rescued(chain: list[Line], off: list[Line]) -> list[Line]:
    """Records beside the path: further parts of its responses, and results of calls open on it."""
    ids = {record_text(message_of(line.data), "id") for line in chain} - {""}
    parts = [line for line in off if record_text(message_of(line.data), "id") in ids]
    calls = {record_text(block, "id") for block in _blocks(chain + parts, "tool_use")}
    open_calls = calls - {record_text(block, "tool_use_id") for block in _blocks(chain, "tool_result")} - {""}
    results: list[Line] = []
    for line in off:
        targets = {record_text(block, "tool_use_id") for block in _blocks([line], "tool_result")} & open_calls
        if targets:
            open_calls -= targets
            results.append(line)
    return sorted(parts + results, key=lambda line: line.number)


def _blocks(lines: list[Line], kind: str) -> list[Json]:
    contents = (block_list(message_of(line.data).get("content")) for line in lines)
    return [block for content in contents for block in of_type(content, kind)]
