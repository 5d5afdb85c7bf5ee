"""Writing the prompt in the user's own editor."""

import os
import shlex
import signal
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from textual.app import SuspendNotSupported

from tui_app.ui.chat.session import ChatSession

if TYPE_CHECKING:
    from tui_app.ui.host import Host

NO_EDITOR = "No editor is set. Set VISUAL or EDITOR, for example EDITOR=nano, and start again."
NO_TERMINAL = "There is no terminal for an editor here. Write in the prompt."
_KEPT = "The draft is kept."


class EditorProblem(Exception):
    """The text could not be edited; the message says why and that nothing is lost."""


def edit_draft(app: "Host", session: ChatSession, start: str) -> None:
    """Write the prompt in the user's own editor.

    Args:
        app: Gives the terminal away meanwhile.
        session: Says what went wrong.
        start: What to begin with in place of the draft; empty for the draft.
    """
    launch, prompt, problem = session.launch, app.chat.pane.prompt.editor, ""
    text = start or prompt.draft
    try:
        command = editor_command(launch.env)
        with app.suspend():
            try:
                text = edited(command, text, launch.env, launch.cwd)
            except EditorProblem as error:  # one that left the block would leave the screen suspended
                problem = str(error)
    except SuspendNotSupported:
        problem = NO_TERMINAL
    except EditorProblem as error:
        problem = str(error)
    if problem:
        session.reply(problem)
        prompt.restore_prompt(start)
    elif text != prompt.draft:
        prompt.replace_draft(text)


def editor_command(env: Mapping[str, str]) -> list[str]:
    """The editor and its arguments, from VISUAL or else EDITOR.

    Raises:
        EditorProblem: if none is set, or it cannot be understood.
    """
    chosen = env.get("VISUAL") or env.get("EDITOR") or ""
    try:
        command = shlex.split(chosen)
    except ValueError as error:
        raise EditorProblem(f"The editor {chosen!r:.60} cannot be parsed: {error}. {_KEPT}") from error
    if not command:
        raise EditorProblem(NO_EDITOR)
    return command


def edited(command: list[str], text: str, env: Mapping[str, str], cwd: Path) -> str:
    """Have a text edited in a file that nobody else can read and that is gone afterwards; blocks.

    Raises:
        EditorProblem: if the editor cannot be started, ends with an error, or the file cannot be used.
    """
    name = Path(command[0]).name
    try:
        handle, path = tempfile.mkstemp(prefix="plimsoll-", suffix=".md")
    except OSError as error:
        raise EditorProblem(f"No file for the editor could be made ({error.strerror}). {_KEPT}") from error
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(text.encode("utf-8", "replace"))
        code = _run([*command, path], env, cwd)
        saved = Path(path).read_bytes().decode("utf-8", "replace")
    except OSError as error:
        raise EditorProblem(f"{name} could not be used: {error.strerror}. {_KEPT}") from error
    finally:
        with suppress(OSError):
            Path(path).unlink()
    if code:
        raise EditorProblem(f"{name} ended with an error ({code}), so what it saved is not used. {_KEPT}")
    # Editors end every file with a line end.
    return saved if text.endswith("\n") else saved.removesuffix("\n").removesuffix("\r")


def _run(command: list[str], env: Mapping[str, str], cwd: Path) -> int:
    """Run the editor; a signal that ends the program meanwhile ends both."""
    process: subprocess.Popen[bytes] | None = None
    wanted_to_end = False

    def end(*_: object) -> None:
        nonlocal wanted_to_end
        wanted_to_end = True
        if process is not None:
            process.terminate()

    # Before it starts: it may be quick to ask for a key, and the user quick to press it.
    with _handled({signal.SIGINT: _the_editors, signal.SIGQUIT: _the_editors, signal.SIGTERM: end}):
        process = subprocess.Popen(command, env=dict(env), cwd=cwd)
        if wanted_to_end:
            process.terminate()
        code = process.wait()
    if wanted_to_end:
        signal.raise_signal(signal.SIGTERM)
    return code


@contextmanager
def _handled(handlers: Mapping[signal.Signals, Callable[..., None]]) -> Iterator[None]:
    """Have other handlers for some signals, of which the screen's loop hears nothing meanwhile.

    They are not ignored, because what is started would inherit that.
    """
    wakeup = signal.set_wakeup_fd(-1)
    before = {number: signal.signal(number, handler) for number, handler in handlers.items()}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        signal.set_wakeup_fd(wakeup)


def _the_editors(*_: object) -> None:
    """Keys that the terminal turns into signals mean the editor."""
