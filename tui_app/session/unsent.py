"""Prompts that were written in a folder and never sent, because the person left first.

They stand in no session: one may not even have begun. A line of JSON for each, so that windows closed at the
same moment do not write over each other.
"""

import json
import os
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path

from tui_app.atomic import make_private, write_atomic

MOST = 50
"""Prompts of one folder that are kept, the newest ones."""


def keep_unsent(file: Path, folder: Path, prompts: Sequence[str]) -> None:
    """Keep prompts until they are sent; blocks on the disk.

    Args:
        file: Where they are kept.
        folder: Where they were written.
        prompts: Oldest first.

    Raises:
        OSError: if the disk refuses.
    """
    if not prompts:
        return
    make_private(file.parent)
    lines = "".join(f"{line_of(folder, text)}\n" for text in prompts)
    target = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        # Behind a line that a crash has left half written.
        os.write(target, f"\n{lines}".encode())
        os.fsync(target)
    finally:
        os.close(target)


def unsent(file: Path, folder: Path) -> list[str]:
    """What is kept for a folder, oldest first, each text once; nothing where it cannot be read. Blocks."""
    texts = [text for where, text in lines_of(file) if where == str(folder)]
    newest_last = reversed(dict.fromkeys(reversed(texts)))
    return list(newest_last)[-MOST:]


def forget_unsent(file: Path, folder: Path, prompt: str) -> None:
    """Keep a prompt no longer: it was sent; blocks on the disk.

    Raises:
        OSError: if the disk refuses.
    """
    lines = lines_of(file)
    left: dict[str, list[str]] = {}
    for where, text in lines:
        if (where, text) != (str(folder), prompt):
            left.setdefault(where, []).append(text)
    kept = [line_of(where, text) for where, texts in left.items() for text in texts[-MOST:]]
    if len(kept) < len(lines):
        write_atomic(file, "".join(f"{line}\n" for line in kept))


def line_of(folder: Path | str, text: str) -> str:
    """A prompt and where it was written, as one line of JSON."""
    # Escaped, so that half surrogate pairs are text like any other.
    return json.dumps({"folder": str(folder), "text": text})


def lines_of(file: Path) -> list[tuple[str, str]]:
    """Folders and texts, oldest first; lines that are none of ours are passed over."""
    try:
        written = file.read_text("utf-8", "replace").splitlines()
    except OSError:
        return []
    return list(_read(written))


def _read(lines: Iterable[str]) -> Iterable[tuple[str, str]]:
    for line in lines:
        with suppress(ValueError, KeyError, TypeError):
            each = json.loads(line)
            if isinstance(each["folder"], str) and isinstance(each["text"], str):
                yield each["folder"], each["text"]
