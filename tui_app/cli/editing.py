"""The work of ``plimsoll compact --edit-summary``: other words for the newest summary, as one event."""

from tui_app.cli.compacting import opened_session
from tui_app.cli.exits import OK, CommandFailed
from tui_app.cli.hints import for_shell
from tui_app.cli.output import print_json, say
from tui_app.conversation.open_request import Opening
from tui_app.conversation.work import EditSummary
from tui_app.events import CompactionEdited, Notice, Record
from tui_app.ui import format as numbers


async def edit_summary(opening: Opening, text: str, *, as_json: bool) -> int:
    """Give the newest summary that stands other words.

    Args:
        opening: Which session, with which model and window.
        text: The notes as they are to be.
        as_json: Print JSON.

    Returns:
        The exit code.

    Raises:
        CommandFailed: if there is no such summary, or the words cannot stand there.
    """
    heard: list[Record] = []
    async with opened_session(opening) as opened:
        conversation = opened.conversation
        if not conversation.history.view.compactions:
            raise CommandFailed("Nothing to edit: no compaction stands.")
        await opened.prepare()
        opened.bus.listen(heard.append)
        conversation.submit(EditSummary(0, text))
        await conversation.settle()
    edits = [record.data for record in heard if isinstance(record.data, CompactionEdited)]
    if not edits:
        reasons = [record.data.text for record in heard if isinstance(record.data, Notice)]
        raise CommandFailed(for_shell(" ".join(reasons)) or "The summary was not edited.")
    _show(conversation.session, edits[-1], as_json=as_json)
    return OK


def _show(session: str, edit: CompactionEdited, *, as_json: bool) -> None:
    if as_json:
        print_json(
            {
                "session": session,
                "edited": edit.compaction,
                "tokens_before": edit.tokens_before,
                "tokens_after": edit.tokens_after,
                "retention": edit.retention,
                "summary": edit.summary,
            }
        )
    else:
        sizes = f"{numbers.tokens(edit.tokens_before)} to {numbers.tokens(edit.tokens_after)} tokens"
        say(f"Edited the summary #{edit.compaction}: {sizes}")
