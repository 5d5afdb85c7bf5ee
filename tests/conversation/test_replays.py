"""Models that repeat finished work after compactions, by each kind of writer: every repeat is detected."""

from collections.abc import Sequence
from pathlib import Path
from random import Random

import pytest

from tests.conversation.driving import Desk, done, of, send
from tests.conversation.test_approvals import NO, ONCE, command, working
from tests.quality.writers import ACCEPTED, WITH_SOURCES, WRITERS, ScriptedWriter
from tests.servers.behaviours import Behaviour, Text, tool
from tests.servers.fake_openai import FakeOpenAI
from tui_app.context.summaries.prompt import SummaryTask
from tui_app.context.views.view import to_messages
from tui_app.conversation.assembly import OpenSession
from tui_app.conversation.work import Compact
from tui_app.events import ApprovalRequested, CallRepeated, QuestionAsked, Record, ToolResult

KINDS = [name for name in WRITERS if name not in WITH_SOURCES]
MANY = 20
"""Compactions of a long session."""
ROUNDS = 7
"""Compactions before the session is closed and resumed."""
DAYS = "days.md"
LONG = "high water in the north harbour, " * 120


def check(number: int) -> Behaviour:
    return command(f"sh check.sh {number}")


def closed(number: int) -> Behaviour:
    return tool("edit_file", path=DAYS, old_text=f"day {number}: open", new_text=f"day {number}: closed")


def unwanted(number: int) -> Behaviour:
    return tool("write_file", path=f"unwanted-{number}.md", content=f"Day {number} as the model likes it\n")


def question(number: int) -> Behaviour:
    return tool("ask_user", question=f"Which berth on day {number}?", choices=["east", "west"])


def task(number: int, state: str) -> Behaviour:
    return tool("todo", items=[{"text": f"enter day {number}", "state": state}])


class Harbour:
    """A session whose model makes scripted calls, and whose user answers approvals by their content."""

    def __init__(self, opened: OpenSession, server: FakeOpenAI, writer: ScriptedWriter, seen: int) -> None:
        self.opened, self.server, self.writer, self.seen = opened, server, writer, seen

    async def does(self, *calls: Behaviour) -> list[Record]:
        self.server.add(*calls, Text(f"Well. {LONG}"))
        records, asked, tooling = list[Record](), set[str](), self.opened.conversation.tooling
        async for record in send(self.opened.conversation, f"Go on with the harbour. {LONG}"):
            records.append(record)
            match record.data:
                case ApprovalRequested(id=id, subject=subject) if id not in asked:
                    asked.add(id)
                    assert tooling.approvals.decide(id, NO if subject.startswith("unwanted") else ONCE)
                case QuestionAsked(id=id):
                    tooling.questions.reply(id, "east")
        return records

    async def compacts(self) -> None:
        """Compact with the writer's own notes on everything so far; rejected notes are replaced by code."""
        await self.does()  # so that earlier messages are no longer the newest turn
        history = self.opened.conversation.history
        items = [item for item in history.items() if item.key > self.seen]
        self.writer.log += to_messages(items)
        self.seen = max(self.seen, *(item.key for item in items))
        before = len(history.view.compactions)
        self.server.fallback = Text(self.writer.write(SummaryTask(items=tuple(items))))
        await done(self.opened.conversation, Compact())
        if len(history.view.compactions) == before:
            assert self.writer.name not in ACCEPTED
            await done(self.opened.conversation, Compact(extract=True))
        assert len(history.view.compactions) == before + 1


def told(records: list[Record]) -> dict[str, str]:
    """Return the repeat notices by kind, and assert that the model got each one.

    It is the first line of the result, or a refusal.
    """
    results = {one.tool_call_id: one.text for one in of(records, ToolResult) if isinstance(one, ToolResult)}
    found: dict[str, str] = {}
    for one in of(records, CallRepeated):
        assert isinstance(one, CallRepeated)
        first = results[one.tool_call_id].splitlines()[0]
        assert first == f"[{one.text}]" or (one.kind == "refused" and first.startswith("Not done"))
        found[one.kind] = one.text
    return found


@pytest.mark.parametrize(
    "kinds",
    [
        pytest.param(KINDS, id="in turn"),
        *(pytest.param([kind] * MANY, id=kind, marks=pytest.mark.endurance) for kind in KINDS),
    ],
)
@pytest.mark.timeout(900)
async def test_what_was_done_is_told_and_what_is_due_is_not(
    kinds: Sequence[str], desk: Desk, fake_openai: FakeOpenAI
) -> None:
    (desk.cwd / "check.sh").write_text("echo $1 passed in 0.01s\n")
    (desk.cwd / DAYS).write_text("".join(f"day {number}: open;\n" for number in range(1, MANY + 1)))
    writer, chance, session, seen = ScriptedWriter("", []), Random(kinds[0]), "", 0
    for start in range(0, len(kinds), ROUNDS):
        async with working(desk, fake_openai, session=session, allow=("run_command",)) as opened:
            session, harbour = opened.conversation.session, Harbour(opened, fake_openai, writer, seen)
            for number, writer.name in enumerate(kinds[start : start + ROUNDS], start + 1):
                await one_day(harbour, desk.cwd / DAYS, number, chance.randint(1, number))
            seen = harbour.seen
    assert len(opened.conversation.history.view.compactions) == len(kinds)


def opens(days: Path, number: int) -> None:
    """Reopen a day in the file, as an edit by the user."""
    days.write_text(days.read_text().replace(f"day {number}: closed", f"day {number}: open"))


async def one_day(harbour: Harbour, days: Path, number: int, old: int) -> None:
    new = await harbour.does(
        *(tool("read_file", path=DAYS), closed(number), unwanted(number), check(number)),
        *(question(number), task(number, "done")),
    )
    assert not told(new)
    await harbour.compacts()

    again = await harbour.does(
        *(check(number), closed(old), unwanted(old), question(old), task(old, "pending"))
    )
    assert told(again).keys() == {"command", "edit", "refused", "question", "task"}

    opens(days, old)
    due = await harbour.does(
        *(check(number), check(MANY + number), command("ls"), tool("read_file", path=DAYS), closed(old)),
        *(question(MANY + number), task(MANY + number, "pending")),
    )
    assert not told(due)
