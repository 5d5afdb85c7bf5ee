"""The work of ``plimsoll memory run``: sessions are read for their boards, as behind the screen."""

from dataclasses import asdict

from tui_app.cli.command import FAILED, OK, CommandFailed
from tui_app.cli.output import print_json, say, tell
from tui_app.conversation.memory import RUNNING, outcome_text
from tui_app.conversation.memory_reader import Reading, read_sessions, waiting
from tui_app.conversation.open_request import Opening
from tui_app.session.lock import SessionLocked
from tui_app.session.port import SessionInfo, SessionStore


async def run(opening: Opening, store: SessionStore, wanted: SessionInfo | None, *, as_json: bool) -> int:
    """Read one session, or all that wait.

    Args:
        opening: Settings and folders.
        store: Where the sessions are.
        wanted: Which one; None for all that wait.
        as_json: Print JSON.

    Raises:
        CommandFailed: if another program is reading, or the session is open somewhere.
    """
    readings: list[Reading] = []
    try:
        sessions = [wanted] if wanted is not None else waiting(store, opening)
        async for reading in read_sessions(opening, store, sessions):
            readings.append(reading)
            if not as_json:
                _say(reading)
    except SessionLocked as locked:
        raise CommandFailed(f"{RUNNING} It is done in {locked}.") from locked
    if as_json:
        print_json({"sessions": [_json(reading) for reading in readings]})
    elif not readings:
        tell("No session waits to be read. To read one all the same: plimsoll memory run ID")
    if wanted is not None and readings and readings[0].held:
        raise CommandFailed(f"Session {wanted.id} is open in {readings[0].held}: it is read when it ends.")
    return FAILED if wanted is not None and readings and readings[0].elsewhere else OK


def _say(reading: Reading) -> None:
    if reading.held:
        tell(f"{reading.session}: open in {reading.held}, read when it ends")
    elif reading.elsewhere:
        tell(f"{reading.session}: its folder {reading.elsewhere} is on another machine; read it there")
    elif reading.done is None:
        say(f"{reading.session}: nothing new since it was read last")
    else:
        say(f"{reading.session}: {outcome_text(reading.done)}")


def _json(reading: Reading) -> dict[str, object]:
    done = asdict(reading.done) if reading.done is not None else None
    return {
        "session": reading.session,
        "held": reading.held,
        "elsewhere": reading.elsewhere,
        "consolidated": done,
    }
