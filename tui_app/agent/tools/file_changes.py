"""Changing files: planned first, so that it can be shown, then carried out as planned or not at all.

Between plan and deed a person may think for minutes. So the folder is walked anew, from the root down and
without following any link, and a file that is not what the plan saw is left alone.
"""

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from stat import S_IMODE, S_ISREG

from tui_app.agent.tools.diffs import counts_of, diff_of
from tui_app.agent.tools.edits import replace_piece
from tui_app.agent.tools.workspace import ToolProblem, Workspace, open_regular
from tui_app.atomic import sync_folder

MAX_BYTES = 4_000_000
"""A file that is written or edited may be this large."""
CHANGED = "{} has changed since; read it again before you change it."


@dataclass(frozen=True, slots=True, kw_only=True)
class FileChange:
    """What is to become of one file."""

    path: Path
    """Resolved."""
    shown: str
    """Relative to the workspace."""
    before: bytes | None
    """None for a file that does not exist yet."""
    after: bytes
    mode: int | None
    """Rights of the file as it is."""
    diff: str
    note: str


def plan_write(ws: Workspace, path: str, content: str) -> FileChange:
    """Plan to give a file a content, whatever it holds now.

    Raises:
        ToolProblem: if the path is none that may be written.
    """
    real = ws.writable(path)
    after = _encoded(content)
    before, mode = _present(real)
    if before == after:
        raise ToolProblem(f"{ws.display(real)} holds exactly that already; nothing was written.")
    text = None if before is None else _decoded(before)
    if before is not None and text is None:
        diff, note = f"+{len(after):,} bytes", f"replaces a binary file of {len(before):,} bytes"
    else:
        diff = diff_of(text, content, ws.display(real))
        note = "new file" if before is None else f"overwrites, {counts_of(diff)}"
    return FileChange(
        path=real, shown=ws.display(real), before=before, after=after, mode=mode, diff=diff, note=note
    )


def plan_edit(ws: Workspace, path: str, old: str, new: str, *, every: bool = False) -> FileChange:
    """Plan to replace a piece of a file; see ``replace_piece``.

    Raises:
        ToolProblem: if there is no such file, or no such piece in it.
    """
    real = ws.writable(path)
    before, mode = _present(real)
    if before is None:
        raise ToolProblem(f"There is no file {path!r:.200} to edit; create it with write_file.")
    text = _decoded(before)
    if text is None:
        raise ToolProblem(f"{ws.display(real)} is not UTF-8 text and cannot be edited.")
    edited = replace_piece(text, old, new, every=every)
    diff = diff_of(text, edited.text, ws.display(real))
    loose = ", white space ignored" if edited.how == "white space" else ""
    times = f", {edited.count} times" if edited.count > 1 else ""
    return FileChange(
        path=real,
        shown=ws.display(real),
        before=before,
        after=_encoded(edited.text),
        mode=mode,
        diff=diff,
        note=f"{counts_of(diff)}{times}{loose}",
    )


def check_unchanged(ws: Workspace, change: FileChange) -> None:
    """See that a file is still what a plan saw.

    Raises:
        ToolProblem: if it is not.
    """
    with _folder_of(ws, change.path, make=False) as folder:
        if (None if folder is None else _read_at(folder, change.path.name)) != change.before:
            raise ToolProblem(CHANGED.format(change.shown))


def carry_out(ws: Workspace, change: FileChange) -> None:
    """Write a file as planned: whole or not at all, with the rights it had.

    Raises:
        ToolProblem: if it is not what the plan saw any more, or a link stands where a folder was.
        OSError: if the disk refuses.
    """
    put_bytes(ws, change.path, change.after, expected=change.before, mode=change.mode, shown=change.shown)


def put_bytes(
    ws: Workspace, path: Path, data: bytes | None, *, expected: bytes | None, mode: int | None, shown: str
) -> None:
    """Replace a file that holds what is expected; ``None`` stands for no file, before and after.

    Raises:
        ToolProblem: if it holds something else, or a link stands where a folder was.
        OSError: if the disk refuses.
    """
    with _folder_of(ws, path, make=data is not None) as folder:
        present = None if folder is None else _read_at(folder, path.name)
        if present != expected:
            raise ToolProblem(CHANGED.format(shown))
        if folder is None:
            return
        if data is None:
            with suppress(FileNotFoundError):
                os.unlink(path.name, dir_fd=folder)
        else:
            _replace_at(folder, path.name, data, mode)
        sync_folder(folder)


def _replace_at(folder: int, name: str, data: bytes, mode: int | None) -> None:
    temporary = f".{name[:50]}.{secrets.token_hex(6)}.tmp"
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    # A new file gets the rights that any program of the person would give it.
    file = os.open(temporary, flags, 0o666 if mode is None else 0o600, dir_fd=folder)
    try:
        with os.fdopen(file, "wb") as stream:
            if mode is not None:
                os.fchmod(stream.fileno(), mode)
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
    except BaseException:
        with suppress(OSError):
            os.unlink(temporary, dir_fd=folder)
        raise


@contextmanager
def _folder_of(ws: Workspace, path: Path, *, make: bool) -> Iterator[int | None]:
    """The open folder of a resolved path, walked from the root without following links.

    None where it does not exist and is not to be made.
    """
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
    open_now = os.open(ws.root, flags)
    try:
        for part in path.parent.relative_to(ws.root).parts:
            try:
                inner = _opened(open_now, part, flags, make=make)
            except FileNotFoundError:
                yield None
                return
            except NotADirectoryError as error:
                raise ToolProblem(f"{path.parent.name!r:.200} is no folder any more.") from error
            os.close(open_now)
            open_now = inner
        yield open_now
    finally:
        os.close(open_now)


def _opened(folder: int, name: str, flags: int, *, make: bool) -> int:
    try:
        return os.open(name, flags, dir_fd=folder)
    except FileNotFoundError:
        if not make:
            raise
    except OSError as error:
        # Where a link stands now, some systems say ELOOP.
        raise NotADirectoryError(str(error)) from error
    with suppress(FileExistsError):
        os.mkdir(name, dir_fd=folder)
    return os.open(name, flags, dir_fd=folder)


def _read_at(folder: int, name: str) -> bytes | None:
    """The bytes of a regular file in an open folder; None where there is none.

    Raises:
        ToolProblem: if something else stands there.
    """
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        file = os.open(name, flags, dir_fd=folder)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise ToolProblem(f"{name!r:.200} cannot be written: {error.strerror or error}.") from error
    with os.fdopen(file, "rb") as stream:
        if not S_ISREG(os.fstat(stream.fileno()).st_mode):
            raise ToolProblem(f"{name!r:.200} is not a regular file and is not written.")
        return stream.read(MAX_BYTES + 1)


def _present(real: Path) -> tuple[bytes | None, int | None]:
    """What a file holds and its rights; Nones where there is none.

    Raises:
        ToolProblem: if it is no file that can be changed.
    """
    try:
        mode = real.stat().st_mode
    except FileNotFoundError:
        return None, None
    except OSError as error:
        raise ToolProblem(f"{real.name!r:.200} cannot be reached: {error.strerror or error}.") from error
    if not S_ISREG(mode):
        raise ToolProblem(f"{real.name!r:.200} is not a regular file and is not written.")
    with open_regular(real) as file:
        data = file.read(MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        raise ToolProblem(f"{real.name!r:.200} is larger than {MAX_BYTES:,} bytes and is not changed.")
    return data, S_IMODE(mode)


def _encoded(text: str) -> bytes:
    try:
        data = text.encode()
    except UnicodeEncodeError as error:
        raise ToolProblem("The text holds half a character and cannot be written as UTF-8.") from error
    if len(data) > MAX_BYTES:
        raise ToolProblem(f"That is larger than {MAX_BYTES:,} bytes; write it in several files.")
    return data


def _decoded(data: bytes) -> str | None:
    if b"\0" in data:
        return None
    try:
        return data.decode()
    except UnicodeDecodeError:
        return None
