"""Single messages of a session pinned, archived, moved to files or taken back from the command line."""

from collections.abc import Sequence

from tui_app.cli.command import CommandFailed
from tui_app.cli.failures import for_shell
from tui_app.conversation.assembly import OpenSession, open_session
from tui_app.conversation.open_request import Opening
from tui_app.conversation.work import Pin, Relieve, Restore, Work
from tui_app.events import Notice, Record
from tui_app.session.user_view import fold_user_view


async def steer(opening: Opening, steps: Sequence[tuple[str, int]]) -> None:
    """Do one thing after the other; each is an event of its own.

    Args:
        opening: Which session.
        steps: What is to be done, and the number of the message or of the call it answers.

    Raises:
        CommandFailed: as soon as one cannot be done; what was done before stays.
    """
    opened = open_session(opening)
    refused: list[str] = []

    def listen(record: Record) -> None:
        if isinstance(record.data, Notice):
            refused.append(for_shell(record.data.text))

    try:
        await opened.prepare()
        opened.bus.listen(listen)
        for step, number in steps:
            refused.clear()
            opened.conversation.submit(_work(opened, step, _message(opened, number)))
            await opened.conversation.settle()
            if refused:
                raise CommandFailed(f"--{step} #{number}: {refused[0]}")
    finally:
        await opened.close()


def _message(opened: OpenSession, number: int) -> int:
    """The message itself where the number is that of a tool call."""
    entries = fold_user_view(opened.store.heads(opened.conversation.session)).entries
    return next((entry.message for entry in entries if entry.seq == number), number)


def _work(opened: OpenSession, step: str, seq: int) -> Work:
    match step:
        case "pin" | "unpin":
            return Pin(seq, step == "pin")
        case "archive":
            return Relieve(seq, "archive")
        case "offload":
            return Relieve(seq, "offload")
        case _:
            if why := opened.conversation.outlook(seq).restore.refused:
                raise CommandFailed(f"--{step} #{seq}: {why}")
            heads = opened.conversation.history.view.visible()
            return Restore(next(head.form[0] for head in heads if head.seq == seq))
