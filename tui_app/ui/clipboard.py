"""The user's clipboard: ways to reach it, and whether copying succeeded."""

import re
import shutil
import subprocess
import sys
from asyncio import Future
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, Protocol, runtime_checkable

from textual.app import App

from tui_app.system.pictures import image_type

Outcome = Literal["copied", "sent", "refused"]
"""A program took the text; the terminal was asked and does not answer; or the terminal is known to ignore it.
"""
_LIMIT_S = 3.0
_PICTURES = ("image/png", "image/jpeg", "image/webp", "image/gif")
_APPLE_DATA = re.compile(r"«data PNGf([0-9A-F]+)»".encode())


@runtime_checkable
class Copying(Protocol):
    """An application that reports whether copying succeeded."""

    copying: Future[Outcome]
    """Outcome for the text copied last."""


async def copy(app: App[Any], text: str, what: str = "") -> str:
    """Copy a text to the clipboard; returns the result as a sentence.

    Args:
        app: Asks the terminal to take it.
        text: The text.
        what: Its description, such as ``2 lines``; empty for the short form in a row of keys.
    """
    app.copy_to_clipboard(text)
    return outcome_text(await app.copying if isinstance(app, Copying) else "sent", what)


def keep(text: str, env: Mapping[str, str]) -> Outcome:
    """Pass a text to the clipboard program of the system; blocks until it is done.

    The terminal itself (OSC 52) gives no answer.

    Args:
        text: The text.
        env: Environment variables that identify the terminal and display.
    """
    if any(_takes(command, text, env) for command in _programs(env)):
        return "copied"
    # Terminals known to ignore OSC 52.
    silent = any(env.get(name) for name in ("TMUX", "STY", "VTE_VERSION"))
    silent = silent or env.get("TERM_PROGRAM") == "Apple_Terminal" or env.get("TERM") == "linux"
    return "refused" if silent else "sent"


def outcome_text(outcome: Outcome, what: str) -> str:
    """Word the result of copying.

    Args:
        outcome: From :func:`keep`.
        what: Description of the text; empty for the short form in a row of keys.
    """
    short, long = {
        "copied": ("copied all", f"Copied {what}."),
        "sent": ("sent to the clipboard", f"Sent {what} to the terminal's clipboard."),
        "refused": ("not copied", _REFUSED),
    }[outcome]
    return long if what else short


_REFUSED = "Not copied: this terminal takes no text. Drag with shift held, or use /export."


def _programs(env: Mapping[str, str]) -> list[Sequence[str]]:
    """Return commands that take a text on stdin, nearest clipboard first."""
    found: list[Sequence[str]] = []
    if env.get("TMUX"):
        # tmux's buffer, and with -w the clipboard of the terminal around it; versions before 3.2 lack -w.
        found += [("tmux", "load-buffer", "-w", "-"), ("tmux", "load-buffer", "-")]
    if env.get("WAYLAND_DISPLAY"):
        found.append(("wl-copy",))
    if env.get("DISPLAY"):
        found += [("xclip", "-selection", "clipboard"), ("xsel", "--clipboard", "--input")]
    if sys.platform == "darwin" and not env.get("SSH_CONNECTION"):
        found.append(("pbcopy",))
    if env.get("WSL_DISTRO_NAME"):
        found.append(("clip.exe",))
    return found


def _run(command: Sequence[str], env: Mapping[str, str], text: bytes | None = None) -> bytes | None:
    """Run a program that takes a text, or returns output; None if it is missing or fails."""
    program = shutil.which(command[0], path=env.get("PATH"))
    if program is None:
        return None
    takes = text is not None
    try:
        done = subprocess.run(
            [program, *command[1:]],
            input=text or b"",
            # A program that serves the text keeps its streams open.
            stdout=subprocess.DEVNULL if takes else subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=_LIMIT_S,
            check=False,
            # Some programs keep serving the text, even after this one has ended.
            start_new_session=takes,
            env=dict(env),
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return (done.stdout or b"") if done.returncode == 0 else None


def _takes(command: Sequence[str], text: str, env: Mapping[str, str]) -> bool:
    data = text.encode("utf-16-le" if command[0] == "clip.exe" else "utf-8", "replace")
    return _run(command, env, data) is not None


NO_READER = "No clipboard reader found: install wl-clipboard, xclip or pngpaste."
NO_PICTURE = "There is no picture on the clipboard."


def read_picture(env: Mapping[str, str]) -> bytes | str:
    """Return the picture on the clipboard, or a sentence why there is none; blocks.

    Args:
        env: Environment variables that identify the display.
    """
    readers = [each for each in _picture_readers(env) if shutil.which(each[0], path=env.get("PATH"))]
    for command in readers:
        data = _run(command, env) or b""
        if command[0] == "osascript" and (found := _APPLE_DATA.search(data)):
            data = bytes.fromhex(found[1].decode())
        if image_type(data):
            return data
    return NO_PICTURE if readers else NO_READER


def _picture_readers(env: Mapping[str, str]) -> Iterator[Sequence[str]]:
    """Return commands that write the clipboard's picture to stdout."""
    if env.get("WAYLAND_DISPLAY"):
        yield from (("wl-paste", "--no-newline", "--type", kind) for kind in _PICTURES)
    if env.get("DISPLAY"):
        yield from (("xclip", "-selection", "clipboard", "-target", kind, "-out") for kind in _PICTURES)
    if sys.platform == "darwin" and not env.get("SSH_CONNECTION"):
        yield ("pngpaste", "-")
        yield ("osascript", "-e", "get the clipboard as «class PNGf»")
