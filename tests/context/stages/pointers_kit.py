"""Files on a disk that is none, and sessions that write to them."""

from collections.abc import Sequence
from hashlib import sha256
from typing import Any

from pydantic_ai.messages import ModelMessage

from tests.context.stages.stage_kit import call, check, names, result
from tui_app.context.policy import Pointers
from tui_app.context.tool_results.pointers import pointers
from tui_app.context.view import Item, Rewrite

BODY = "".join(f"line {number} of the file\n" for number in range(1, 101))
OTHER = BODY.replace("line", "LINE")
REPORT = "--- a\n+++ b\n" + "+added\n-removed\n" * 100


class Disk:
    """Files by path, and what was asked about them."""

    def __init__(self, **files: str) -> None:
        self.files = files
        self.asked: list[str] = []

    def checksum(self, path: str) -> str | None:
        self.asked.append(path)
        return sha256(self.files[path].encode()).hexdigest() if path in self.files else None

    def contains(self, path: str, text: str) -> bool:
        return text in self.files[path]


def run(items: Sequence[Item], disk: Disk, settings: Pointers | None = None) -> Rewrite | None:
    chosen = settings or Pointers()

    def stage(given: Sequence[Item]) -> Rewrite | None:
        return pointers(given, chosen, names(), on_disk=disk.checksum, contains=disk.contains)

    return check(items, stage)


def write(
    args: str | dict[str, Any], tool: str = "write_file", call_id: str = "w", answer: str = "ok"
) -> list[ModelMessage]:
    return [call(call_id, tool=tool, args=args), result(call_id, answer, tool=tool)]
