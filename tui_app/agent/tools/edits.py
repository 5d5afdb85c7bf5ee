"""Changes of files: planned and shown first, then carried out if the file is still what the plan saw."""

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from glob import escape
from pathlib import Path
from stat import S_IMODE

from tui_app.agent.tools.diffs import BOM, counts_of, decoded, diff_of
from tui_app.agent.tools.replacements import like_lines, replace_piece
from tui_app.agent.tools.workspace import ToolProblem, Workspace, open_at, open_regular
from tui_app.files import replace_at, sync_folder
from tui_app.records import frozen
from tui_app.system.descriptors import folder_of
from tui_app.tool_specs import WRITE_FILE

MAX_BYTES = 4_000_000
"""Maximum bytes of a file that is written or edited."""
CHANGED = "{} has changed since you read it; read it again before you change it."


@frozen(kw_only=True)
class FileChange:
    """A planned change of one file."""

    path: Path
    """Resolved."""
    shown: str
    """Relative to the workspace."""
    before: bytes | None = None
    """None for a file that does not exist yet."""
    after: bytes = b""
    mode: int | None = None
    """Current permissions of the file."""
    diff: str = ""
    note: str = ""
    whole: bool = False
    """Whether the whole content is replaced."""


def plan_write(ws: Workspace, path: str, content: str) -> FileChange:
    """Plan to replace the whole content of a file.

    Raises:
        ToolProblem: if the path may not be written.
    """
    now = _present(ws, path)
    text = decoded(now.before)
    content = content if text is None else like_before(text, content)
    after = _encoded(content)
    if now.before == after:
        raise ToolProblem(f"{now.shown} already has exactly this content; nothing was written.")
    diff = diff_of(text, content, now.shown)
    note = "new file" if now.before is None else f"overwrites, {counts_of(diff)}"
    if now.before is not None and text is None:
        note = f"replaces a binary file of {len(now.before):,} bytes"
    return replace(now, after=after, diff=diff, note=note, whole=True)


def like_before(before: str, content: str) -> str:
    """A new content with the old one's line ends and byte order mark, which models do not see.

    Unchanged lines keep their ends. Content with such ends itself is unchanged.
    """
    if before.startswith(BOM) and not content.startswith(BOM):
        content = BOM + content
    if "\r" in content or "\r\n" not in before:
        return content
    return like_lines(content, before, "\r\n")


def plan_edit(ws: Workspace, path: str, old: str, new: str, *, every: bool = False) -> FileChange:
    """Plan to replace a piece of a file; see ``replace_piece``.

    Raises:
        ToolProblem: if there is no such file, or no such piece in it.
    """
    now = _present(ws, path)
    if now.before is None:
        raise ToolProblem(f"There is no file {path!r:.200} to edit; create it with {WRITE_FILE.name}.")
    text = decoded(now.before)
    if text is None:
        raise ToolProblem(f"{now.shown} is not UTF-8 text and cannot be edited.")
    edited = replace_piece(text, old, new, every=every)
    diff = diff_of(text, edited.text, now.shown)
    loose = ", white space ignored" if edited.how == "white space" else ""
    times = f", {edited.count} times" if edited.count > 1 else ""
    return replace(now, after=_encoded(edited.text), diff=diff, note=f"{counts_of(diff)}{times}{loose}")


def check_unchanged(change: FileChange) -> None:
    """Check that a file is still as it was when the change was planned.

    Raises:
        ToolProblem: if it is not.
    """
    with _folder_of(change.path, make=False) as folder:
        if (None if folder is None else _read_at(folder, change.path.name)) != change.before:
            raise ToolProblem(CHANGED.format(change.shown))


def carry_out(change: FileChange) -> None:
    """Write a file as planned: completely or not at all, with its permissions.

    Raises:
        ToolProblem: if it has changed since it was planned, or a link has replaced a folder.
        OSError: if the disk refuses.
    """
    put_bytes(change.path, change.after, expected=change.before, mode=change.mode, shown=change.shown)


def put_bytes(
    path: Path, data: bytes | None, *, expected: bytes | None, mode: int | None, shown: str
) -> None:
    """Replace a file that has the expected content; ``None`` means no file, before and after.

    Raises:
        ToolProblem: if it has another content, or a link has replaced a folder.
        OSError: if the disk refuses.
    """
    with _folder_of(path, make=data is not None) as folder:
        present = None if folder is None else _read_at(folder, path.name)
        if present != expected:
            raise ToolProblem(CHANGED.format(shown))
        if folder is None:
            return
        if data is not None:
            replace_at(folder, path.name, data, mode)
            return
        with suppress(FileNotFoundError):
            os.unlink(path.name, dir_fd=folder)
        sync_folder(folder)


def remove_halves(path: Path) -> None:
    """Remove partial files that a killed process has left next to a file."""
    for each in path.parent.glob(f".{escape(path.name[:50])}.{'[0-9a-f]' * 12}.tmp"):
        each.unlink(missing_ok=True)


@contextmanager
def _folder_of(path: Path, *, make: bool) -> Iterator[int | None]:
    """The open folder of a resolved path; None if it does not exist and is not to be made."""
    with ExitStack() as stack:
        try:
            folder, _ = stack.enter_context(folder_of(path, make=make))
        except FileNotFoundError:
            yield None
            return
        except NotADirectoryError as error:
            raise ToolProblem(f"{path.parent.name!r:.200} is no longer a folder.") from error
        yield folder


def _read_at(folder: int, name: str) -> bytes | None:
    """The bytes of a regular file in an open folder; None if there is none.

    Raises:
        ToolProblem: if it is not a regular file, or cannot be read.
    """
    try:
        with open_at(folder, name) as file:
            return file.read(MAX_BYTES + 1)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise ToolProblem(f"{name!r:.200} cannot be written: {error.strerror or error}.") from error


def _present(ws: Workspace, path: str) -> FileChange:
    """Content and permissions of a file, without any change planned.

    Raises:
        ToolProblem: if it is no file that can be changed.
    """
    real = ws.writable(path)
    now = FileChange(path=real, shown=ws.display(real))
    if not os.path.lexists(real):
        return now
    with open_regular(real) as file:
        mode = S_IMODE(os.fstat(file.fileno()).st_mode)
        data = file.read(MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        raise ToolProblem(f"{real.name!r:.200} is larger than {MAX_BYTES:,} bytes and is not changed.")
    return replace(now, before=data, mode=mode)


def _encoded(text: str) -> bytes:
    try:
        data = text.encode()
    except UnicodeEncodeError as error:
        raise ToolProblem("The text contains half a character and cannot be written as UTF-8.") from error
    if len(data) > MAX_BYTES:
        raise ToolProblem(f"That is larger than {MAX_BYTES:,} bytes; write it in several files.")
    return data
