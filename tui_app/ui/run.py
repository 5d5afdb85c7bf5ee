"""Starting the screen: preparing the process, and the one call that runs the application."""

import gc
import os
import sys
from dataclasses import replace

from tui_app.ui.launch import Launch
from tui_app.ui.terminal_output import discard_output
from tui_app.ui.words.text import clean

_COLOUR_SYSTEMS = ("auto", "standard", "256", "truecolor")
_SWITCH_S = 0.001
"""Seconds after which a busy thread yields to the screen's thread; with Python's own 5 ms, frames are late.
"""


def run_app(launch: Launch) -> int:
    """Show the screen until the user leaves.

    Returns:
        The process's exit code.
    """
    # Start-up creates hardly any garbage, and collecting it takes a sixth of the time to the prompt.
    gc.disable()
    _adapt_environment()
    from tui_app.ui.app import FaultConsole, PlimsollApp

    sys.setswitchinterval(_SWITCH_S)
    if not launch.settings.color:
        # The only setting for this that Textual reads when the application is made.
        os.environ["NO_COLOR"] = "1"
    if not launch.settings.plain and not _paints_signs():
        launch = replace(launch, settings=replace(launch.settings, plain=True))
    if launch.settings.plain:
        from tui_app.ui.widgets.scroll_bars import use_plain_bars

        use_plain_bars()
    app = PlimsollApp(launch)
    if sys.platform != "win32":
        from textual.drivers.linux_driver import LinuxDriver

        from tui_app.ui.terminal_input import TerminalDriver

        # A driver named in the environment is kept.
        if app.driver_class is LinuxDriver:
            app.driver_class = TerminalDriver
    app.error_console = faults = FaultConsole()
    app.run(mouse=launch.settings.mouse)
    left = _leave_running(app.detached, launch) if app.detached else ""
    _print_farewell(left or app.farewell, app.ended_by or faults.log_faults(launch.paths.log_file))
    # Everything is closed. Searching all loaded objects for cycles would only delay the shell.
    gc.freeze()
    return app.return_code or 0


def _leave_running(words: tuple[str, ...], launch: Launch) -> str:
    """Continue the closed session in a background process; returns what to print about it."""
    from tui_app.session.background import StartFailed, begin

    command = launch.env.get("PLIMSOLL_COMMAND", "plimsoll")
    try:
        session, output = begin(words, cwd=launch.cwd, env=launch.env)
    except StartFailed as failed:
        return f"It does not run in the background: {clean(str(failed))}\nResume: {command} attach"
    ways = f"Back to it: {command} attach {session}\nStop it: {command} stop {session}"
    return "\n".join(filter(None, (clean(output), "It runs in the background.", ways)))


def _adapt_environment() -> None:
    """Remove environment variables that contradict the terminal, before Textual reads them."""
    for name in ("COLUMNS", "LINES"):
        os.environ.pop(name, None)
    if os.environ.get("TEXTUAL_COLOR_SYSTEM") not in _COLOUR_SYSTEMS:
        os.environ.pop("TEXTUAL_COLOR_SYSTEM", None)
    if not os.isatty(2) and os.isatty(1):
        # Textual paints on stderr.
        vars(sys)["__stderr__"] = sys.__stdout__


def _paints_signs() -> bool:
    """Return whether the terminal's encoding has the program's signs.

    Otherwise they would be printed as question marks.
    """
    encoding = sys.__stderr__.encoding if sys.__stderr__ is not None else "utf-8"
    try:
        "⊖┃━→✓…".encode(encoding)
    except UnicodeEncodeError:
        return False
    return True


def _print_farewell(text: str, trouble: str) -> None:
    """Print on the restored terminal what ended the program and how to resume; ignores a closed terminal."""
    try:
        if trouble:
            print(trouble, file=sys.stderr)
        if text:
            print(text)
        sys.stdout.flush()
        sys.stderr.flush()
    except OSError:
        # What is still buffered would fail again when the interpreter exits and change the exit code.
        discard_output(sys.stdout.fileno(), sys.stderr.fileno())
