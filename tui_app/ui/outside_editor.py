"""Editing the prompt in the user's own editor."""

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
_KEPT = "The draft is kept."


class EditorProblem(Exception):
    """Raised if the text could not be edited, with the reason; the draft is kept."""


def edit_draft(app: "Host", session: ChatSession, start: str) -> None:
    """Edit the prompt in the user's own editor.

    Args:
        app: Releases the terminal meanwhile.
        session: Reports errors.
        start: Initial text instead of the draft; empty for the draft.
    """
    launch, prompt, problem = session.launch, app.chat.pane.prompt.editor, ""
    text = start or prompt.draft
    try:
        command = editor_command(launch.env)
        with app.suspend():
            try:
                text = edited(command, text, launch.env, launch.cwd)
            except EditorProblem as error:  # raised out of the block, it would leave the screen suspended
                problem = str(error)
    except SuspendNotSupported:
        problem = "There is no terminal for an editor here. Write in the prompt."
    except EditorProblem as error:
        problem = str(error)
    if problem:
        session.reply(problem)
        prompt.restore_prompt(start)
    elif text != prompt.draft:
        prompt.replace_draft(text)


def editor_command(env: Mapping[str, str]) -> list[str]:
    """Return the editor command from VISUAL or EDITOR.

    Raises:
        EditorProblem: If none is set, or it cannot be parsed.
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
    """Edit a text in a temporary file that only the user can read; blocks.

    Raises:
        EditorProblem: If the editor cannot be started, ends with an error, or the file cannot be used.
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
    # Editors add a line end to every file.
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

    # Before it starts, because the user may press a key at once.
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
    """Replace signal handlers, which also hides the signals from the event loop.

    They are not ignored, because the editor would inherit that.
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
    """Do nothing: keys that the terminal turns into signals are meant for the editor."""
