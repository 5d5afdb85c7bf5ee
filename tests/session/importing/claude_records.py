"""Hand-made records in the shape of Claude Code transcripts."""

import json
from pathlib import Path
from typing import Any

Record = dict[str, Any]


class Script:
    """Writes records one under the other; each hangs on the one before unless told otherwise."""

    def __init__(self) -> None:
        self.records: list[Record] = []

    def record(self, kind: str, **fields: Any) -> str:
        number = len(self.records)
        uuid = f"u{number}"
        parent = self.records[-1].get("uuid") if self.records else None
        record = {"type": kind, "uuid": uuid, "parentUuid": parent, "cwd": "/home/ann/shop"}
        record["timestamp"] = f"2026-03-01T10:{number // 60:02}:{number % 60:02}.000Z"
        self.records.append(record | fields)
        return str(self.records[-1]["uuid"])

    def user(self, content: Any, **fields: Any) -> str:
        return self.record("user", message={"role": "user", "content": content}, **fields)

    def says(self, message_id: str, *blocks: Record, usage: Record | None = None, **fields: Any) -> str:
        message = {"id": message_id, "role": "assistant", "model": "claude-opus-4-6", "content": list(blocks)}
        message |= {"usage": usage or {"input_tokens": 3, "output_tokens": 5}, "stop_reason": None}
        return self.record("assistant", message=message, **fields)

    def returns(self, call_id: str, content: Any, **fields: Any) -> str:
        return self.user([result(call_id, content)], **fields)

    def compacts(self, summary: str, trigger: str = "auto") -> None:
        last = self.records[-1]["uuid"]
        metadata = {"trigger": trigger, "preTokens": 171_000}
        self.record(
            "system",
            subtype="compact_boundary",
            parentUuid=None,
            logicalParentUuid=last,
            compactMetadata=metadata,
        )
        self.user(summary, isCompactSummary=True)

    def lines(self) -> list[bytes]:
        return [json.dumps(record).encode() for record in self.records]

    def write(self, folder: Path) -> Path:
        return write_lines(folder, self.lines())


def write_lines(folder: Path, lines: list[bytes]) -> Path:
    path = folder / "session.data"
    path.write_bytes(b"\n".join(lines) + b"\n")
    return path


def text(value: str) -> Record:
    return {"type": "text", "text": value}


def call(call_id: str, name: str = "Read", **args: Any) -> Record:
    return {"type": "tool_use", "id": call_id, "name": name, "input": args}


def result(call_id: str, content: Any, **fields: Any) -> Record:
    return {"type": "tool_result", "tool_use_id": call_id, "content": content} | fields
