"""The work of ``plimsoll simulate``: replay, then table, JSON and drawing."""

from dataclasses import dataclass
from pathlib import Path

from tui_app.cli.command import FAILED, OK, Program, run_until_signal
from tui_app.cli.imports import complaint
from tui_app.cli.output import ProgressLine, print_json, say, tell
from tui_app.cli.simulation_output import plot, show
from tui_app.context.policy import Policy
from tui_app.conversation.replay import Transcript, read_session, read_transcript
from tui_app.conversation.simulate import CannotSimulate, Simulation, SimulationProgress, simulate
from tui_app.files import write_atomic
from tui_app.session.importers import ImportFormatError
from tui_app.session.port import SessionNotFound
from tui_app.ui.gauge_text import window_text


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What is to be replayed, and how it is shown."""

    sources: tuple[str, ...]
    """Files and ids of sessions."""
    windows: tuple[int, ...]
    """In tokens."""
    policies: tuple[Policy, ...]
    model: str
    """Empty takes the model that answered."""
    as_json: bool
    verbose: bool
    plot: Path | None


def replay_all(program: Program, asked: Asked) -> int:
    """Replay one conversation after the other; one that cannot be read does not keep the others out.

    Returns:
        The exit code.

    Raises:
        KeyboardInterrupt: after ctrl+c outside of a replay, such as while a file is read.
    """
    done: list[Simulation] = []
    try:
        stopped = _replay_each(program, asked, done)
    except KeyboardInterrupt:
        tell(_stopped(asked, len(done)))
        raise
    if stopped:
        tell(_stopped(asked, len(done)))
        return stopped
    if asked.as_json and done:
        print_json({"simulations": [simulation.to_json() for simulation in done]})
    if asked.plot is not None and done:
        write_atomic(asked.plot, plot(done))
        if not asked.as_json:
            say(f"Drawn: {asked.plot}")
    return OK if len(done) == len(asked.sources) else FAILED


def _replay_each(program: Program, asked: Asked, done: list[Simulation]) -> int:
    """Add what came of each conversation to what is done.

    Returns:
        The exit code of a signal that stopped a replay, else 0.
    """
    for source in asked.sources:
        try:
            with ProgressLine(f"Reading {source}") as line:
                # Outside of any loop, where ctrl+c ends the reading of a large file at once.
                transcript = _read(program, source)
                stopped = run_until_signal(_replay(transcript, asked, line, done))
        except (ImportFormatError, OSError, SessionNotFound, CannotSimulate) as error:
            tell(_why(program, source, error))
            continue
        if stopped:
            return stopped
        if not asked.as_json:
            show(done[-1], verbose=asked.verbose)
    return OK


def _stopped(asked: Asked, done: int) -> str:
    """What a replay leaves that was stopped: what was printed already, and no drawing."""
    drawing = " Nothing was drawn." if asked.plot is not None else ""
    return f"Stopped. Replayed: {done:,} of {len(asked.sources):,}.{drawing}"


async def _replay(transcript: Transcript, asked: Asked, line: ProgressLine, done: list[Simulation]) -> int:
    """Replay a conversation and add what came out to what is done."""

    def watch(progress: SimulationProgress) -> None:
        share = f"{progress.done * 100 // progress.total} %"
        where = f"{progress.policy} at {window_text(progress.window)}"
        line.update(f"Replaying {share}, {where}, {Path(transcript.name).name}")

    done.append(await simulate(transcript, asked.policies, asked.windows, asked.model, watch=watch))
    return OK


def _read(program: Program, source: str) -> Transcript:
    """A file of that name, else the session with that id."""
    path = Path(source)
    if path.exists():
        return read_transcript(path)
    with program.sessions() as store:
        return read_session(store, source)


def _why(program: Program, source: str, error: Exception) -> str:
    if isinstance(error, SessionNotFound):
        several = program.has_sessions and "more than one" in str(error)
        return str(error.args[0]) if several else f"There is no file and no session {source}."
    if isinstance(error, CannotSimulate):
        return str(error)
    return complaint(source, error)
