"""Putting together what a conversation needs of the context board."""

import time

from tui_app.conversation.boards import boards_in, lock_of
from tui_app.conversation.bus import EventBus
from tui_app.conversation.remembering.inbox import BoardInbox
from tui_app.conversation.remembering.reader import SessionReader
from tui_app.conversation.remembering.remembering import Remembering
from tui_app.conversation.remembering.telling import LogOf, Telling
from tui_app.conversation.request import Opening
from tui_app.conversation.session_history import SessionHistory
from tui_app.conversation.writers import SummaryWriters
from tui_app.session.workspace import SessionFolder
from tui_app.settings.memory import memory_settings


def remembering_of(
    opening: Opening,
    history: SessionHistory,
    writers: SummaryWriters,
    bus: EventBus,
) -> Remembering:
    """Everything about memory of one conversation.

    Args:
        opening: Which session.
        history: Its view.
        writers: Know the models, and who watches requests.
        bus: Where the end of each turn is heard.
    """
    settings, paths = memory_settings(opening.settings.memory), opening.paths
    boards = boards_in(opening.database)
    log = LogOf(history.store, time.time, history.session, history.append)
    telling = Telling(boards, log, history.store)
    remembering = Remembering(
        history=history,
        boards=boards,
        inbox=BoardInbox(history, boards, opening.database, opening.cwd, settings),
        reader=SessionReader(
            boards,
            opening.database,
            writers.shelf,
            writers.text,
            settings,
            opening.settings.summary_timeout_s,
            writers.observers,
            told=telling.tell,
        ),
        telling=telling,
        lock=lock_of(paths),
        folder=lambda session: SessionFolder(paths.sessions_dir / session),
        cwd=opening.cwd,
        settings=settings,
    )
    bus.listen(remembering.heard)
    return remembering
