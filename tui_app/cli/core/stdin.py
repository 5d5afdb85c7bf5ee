"""Reading stdin: a prompt, input piped in with one, or a text instead of a file's."""

import os
import select
import stat
import sys
from io import BufferedReader
from typing import BinaryIO

from tui_app.cli.core.command import CommandFailed, Program, WrongUsage
from tui_app.cli.core.output import tell
from tui_app.references import mentions
from tui_app.text import is_large, plain_text

NO_PROMPT = "The prompt is empty. Say what to ask: plimsoll run PROMPT, or pipe it in."


def read_prompt(argument: str) -> str:
    """Read the prompt as text; invalid bytes become U+FFFD.

    Raises:
        WrongUsage: if it is empty or cannot be read.
    """
    raw: bytes | None = argument.encode("utf-8", "surrogateescape")
    if argument == "-":
        # Python has no stdin if the shell has closed it.
        try:
            raw = sys.stdin.buffer.read() if sys.stdin is not None else None
        except (OSError, ValueError):
            raw = None
    if raw is None:
        raise WrongUsage("The prompt cannot be read: stdin is closed. Give it as an argument, or pipe it in.")
    text = raw.decode("utf-8", "replace")
    if not text.strip():
        raise WrongUsage(NO_PROMPT if argument == "-" else "The prompt is empty.")
    return text.strip("\n")


PIPED_BYTES = 256 * 1024
"""Bytes of piped input that are kept, from both ends."""
MOST_BYTES = 64 * 1024 * 1024
"""Maximum bytes that are read: a pipe may be endless."""
_PATIENCE_S, _LONGEST_S = 3.0, 10.0
"""Seconds without piped input until the user is told, and until the prompt is sent without it."""


def read_piped() -> str:
    """Return the text piped in with a prompt; empty if there is none.

    Raises:
        WrongUsage: if it is no text.
    """
    if not is_piped():
        return ""
    try:
        head, tail, left_out = _both_ends(sys.stdin.buffer)
    except (OSError, ValueError, AttributeError):
        return ""
    if b"\0" in head + tail:
        raise WrongUsage("The piped input is not text. Name a file instead: @path attaches it.")
    if not left_out:
        text = plain_text((head + tail).decode("utf-8", "replace")).strip("\n")
        return text if text.strip() else ""
    tell(f"The piped input is too long: {left_out:,} bytes in its middle are left out.")
    first = head[: head.rfind(b"\n") + 1] or head
    last = tail[tail.find(b"\n") + 1 :] or tail
    left_out += len(head) - len(first) + len(tail) - len(last)
    ends = [plain_text(each.decode("utf-8", "replace")).strip("\n") for each in (first, last)]
    return f"\n[… {left_out:,} bytes left out here …]\n".join(ends).strip("\n")


def is_piped() -> bool:
    """Return whether stdin has piped input. Devices have none, and a pipe may be empty or stay open."""
    # Python has no stdin if the shell has closed it.
    if sys.stdin is None or sys.stdin.isatty():
        return False
    stream = getattr(sys.stdin, "buffer", None)
    if not isinstance(stream, BufferedReader):
        return True  # not a system file: it is read directly
    try:
        return _is_fed(stream) and bool(stream.peek(1))
    except (OSError, ValueError):
        return False


def _is_fed(stream: BufferedReader) -> bool:
    try:
        mode = os.fstat(stream.fileno()).st_mode
    except (OSError, ValueError):
        return True  # not a system file: it is read directly
    if not (stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)):
        return stat.S_ISREG(mode)
    if select.select([stream], [], [], _PATIENCE_S)[0]:
        return True
    tell("Waiting for piped input. To skip it: </dev/null")
    if select.select([stream], [], [], _LONGEST_S - _PATIENCE_S)[0]:
        return True
    tell("No input was piped in: the prompt is sent without it.")
    return False


def _both_ends(stream: BinaryIO) -> tuple[bytes, bytes, int]:
    """Return the beginning and end of a stream, and the number of bytes left out between."""
    half = PIPED_BYTES // 2
    head, tail, size = b"", b"", 0
    while size < MOST_BYTES and (chunk := stream.read(64 * 1024)):
        size += len(chunk)
        room = half - len(head)
        head += chunk[:room]
        tail = (tail + chunk[room:])[-half:] if len(chunk) > room else tail
    return head, tail, size - len(head) - len(tail)


def named_files(argument: str, prompt: str) -> tuple[str, ...]:
    """Return the paths of files mentioned in a prompt; as on the screen, those in a large paste do not count.

    Args:
        argument: The source of the prompt; piped input counts as pasted.
        prompt: Its text.
    """
    return () if argument == "-" and is_large(prompt) else mentions(prompt)


def read_text_argument(program: Program, name: str) -> str:
    """Return the text of a file, or of piped input.

    Raises:
        CommandFailed: if it cannot be read.
    """
    subject = "The piped input" if name == "-" else name
    try:
        # As bytes: on stdin Python may replace invalid UTF-8, which would then be kept as if intended.
        data = sys.stdin.buffer.read() if name == "-" else (program.cwd / name).read_bytes()
        text = data.decode().replace("\r\n", "\n")
    except UnicodeDecodeError:
        text = "\0"
    except AttributeError:
        text = ""  # the shell has closed it
    except OSError as error:
        raise CommandFailed(f"{name} cannot be read: {error.strerror or error}. Nothing changed.") from None
    if "\0" in text:
        raise CommandFailed(f"{subject} is not UTF-8 text. Nothing changed.")
    return text
