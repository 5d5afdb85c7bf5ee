"""One walk through a day's work, the same for every protocol.

Read a file, edit it (approved), run a command (approved), compact manually, send more than the server
accepts, and continue.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from tests.conversation.driving import Desk, assert_valid, done, of, send
from tests.servers.proxy import Proxy
from tests.servers.wire import problems
from tui_app.conversation.approvals import Decision
from tui_app.conversation.assembly import OpenSession
from tui_app.conversation.work import Compact
from tui_app.events import (
    ApprovalDecided,
    ApprovalRequested,
    CompactionComplete,
    CompactionStart,
    Error,
    Record,
    ToolResult,
    TurnEnd,
)

ASKS = "At most about"
"""A phrase in every request for a summary."""
NOTES = (
    "Title: Tide table\n## Intent\nKeep the tide table right.\n## Done so far\ntide.txt was read and edited."
)
LINE = "High water stands at noon, low water at six, and the ferry leaves between the two.\n"
OLD, NEW = "Monday: low at six", "Monday: low at seven"
COMMAND = "wc -l tide.txt"
STEPS = ("[read] What is in tide.txt?", "[edit] Low water is at seven.", "[run] Count its lines.")
FULL, GO_ON = "[full] Compare it with this: ", "[on] What did we do?"


@dataclass(frozen=True)
class Sizes:
    """Sizes of the texts, in lines of about 20 tokens (90 where a token is about a byte)."""

    file: int
    prompt: int


def lay_out(desk: Desk, sizes: Sizes) -> None:
    """Write the file to work on."""
    (desk.cwd / "tide.txt").write_text(f"{OLD}.\n" + LINE * sizes.file)


async def walk(desk: Desk, opened: OpenSession, proxy: Proxy, sizes: Sizes, *, alternating: bool) -> None:
    """Do the whole walk, and check each step."""
    lay_out(desk, sizes)
    read, edit, run = [await allowed(opened, text) for text in STEPS]
    assert [decision(records) for records in (read, edit, run)] == [[], ["allowed"], ["allowed"]]
    assert [outcomes(records) for records in (read, edit, run)] == [["success"]] * 3
    assert (desk.cwd / "tide.txt").read_text().startswith(f"{NEW}.\n")
    assert str(sizes.file + 1) in results(run)[0].text
    await done(opened.conversation, Compact())
    assert [one.trigger for one in compactions(logged(opened))] == ["manual"]
    more = [await allowed(opened, GO_ON + LINE * (sizes.prompt // 4)) for _ in range(3)]
    full = await allowed(opened, FULL + LINE * sizes.prompt)
    assert "overflow" in [one.trigger for one in started(logged(opened))]
    on = await allowed(opened, GO_ON)
    assert len(compactions(logged(opened))) >= 2
    assert_valid(opened.conversation)
    for records in (read, edit, run, full, *more, on):
        assert [one.message for one in of(records, Error) if isinstance(one, Error)] == []
        assert [one.outcome for one in of(records, TurnEnd) if isinstance(one, TurnEnd)] == ["done"]
    looked_at([sent.body for sent in proxy.sent], alternating=alternating)


def looked_at(bodies: Sequence[dict[str, object]], *, alternating: bool) -> None:
    """Every request, also after a compaction, is valid for a strict provider."""
    assert len(bodies) >= 10
    assert [found for body in bodies for found in problems(body, alternating=alternating)] == []


async def allowed(opened: OpenSession, text: str) -> list[Record]:
    """Send a prompt and approve every tool call."""
    records: list[Record] = []
    async for record in send(opened.conversation, text):
        records.append(record)
        if isinstance(record.data, ApprovalRequested):
            opened.conversation.tooling.approvals.decide(record.data.id, Decision("once"))
    await opened.conversation.settle()
    return records


def logged(opened: OpenSession) -> list[Record]:
    return [record for record, _ in opened.store.records(opened.conversation.session)]


def results(records: list[Record]) -> list[ToolResult]:
    return [one for one in of(records, ToolResult) if isinstance(one, ToolResult)]


def outcomes(records: list[Record]) -> list[str]:
    return [one.outcome for one in results(records)]


def decision(records: list[Record]) -> list[str]:
    return [one.decision for one in of(records, ApprovalDecided) if isinstance(one, ApprovalDecided)]


def started(records: list[Record]) -> list[CompactionStart]:
    return [one for one in of(records, CompactionStart) if isinstance(one, CompactionStart)]


def compactions(records: list[Record]) -> list[CompactionComplete]:
    ended = [one for one in of(records, CompactionComplete) if isinstance(one, CompactionComplete)]
    return [one for one in ended if one.outcome == "success"]
