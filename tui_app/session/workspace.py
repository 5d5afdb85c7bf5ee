"""A session's folder: checkpoints, tool outputs and the full history as files to read and search."""

import json
import re
import shutil
from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

from tui_app.files import write_atomic
from tui_app.records import frozen
from tui_app.session.stores.store import SessionNotFound, is_session_id

TOOL_OUTPUTS, TEMPORARY = "tool_outputs", "tmp"
_LONGEST_NOTE = 1_000_000
"""Maximum bytes read from a plan or todo list; far more than fits anywhere."""


@frozen(kw_only=True)
class Checkpoint:
    """One row of the checkpoint index."""

    number: int
    title: str
    file: str
    """File name inside ``checkpoints/``."""
    time: float


class _Inside:
    """Descriptor of a path inside a session's folder."""

    def __init__(self, *parts: str) -> None:
        self._parts = parts

    def __get__(self, folder: "SessionFolder", _owner: type) -> Path:
        return folder.path.joinpath(*self._parts)


@frozen
class SessionFolder:
    """The folder of one session's files."""

    path: Path

    @classmethod
    def named(cls, sessions_dir: Path, session: str) -> "SessionFolder":
        """Return the folder of a session.

        Raises:
            SessionNotFound: if the id is not valid, as it may be from another machine.
        """
        if not is_session_id(session):
            raise SessionNotFound(f"{session[:40]!r} is no id of a session. See: plimsoll sessions")
        return cls(sessions_dir / session)

    checkpoints = _Inside("checkpoints")
    """Summaries of compactions, one file each, and their index."""
    index_file = _Inside("checkpoints", "index.md")
    """Lists the present checkpoints."""
    tool_outputs = _Inside(TOOL_OUTPUTS)
    """Tool results too large for the context."""
    conversation_history = _Inside("conversation_history")
    """The history before each compaction."""
    kept_files = _Inside("kept_files")
    """Contents of workspace files before tools changed them."""
    workspace_file = _Inside("workspace.yaml")
    """Has the number of checkpoints and the name of the latest."""
    plan_file = _Inside("plan.md")
    """The plan of this session, Markdown."""
    todo_file = _Inside("todo")
    """The todo list of this session."""
    lock_file = _Inside("writer.lock")
    """Lock of the only process that may write."""
    background_lock = _Inside("background.lock")
    """Lock of that process while it runs in the background."""

    def read_note(self, file: Path) -> str:
        """Return the text of the plan or the todo list; empty if it is missing or unreadable."""
        with suppress(OSError), file.open("rb") as stream:
            return stream.read(_LONGEST_NOTE).decode("utf-8", "replace")
        return ""

    def tool_output_names(self) -> list[str]:
        try:
            return [path.name for path in self.tool_outputs.iterdir()]
        except OSError:
            return []

    def write_tool_output(self, name: str, text: str) -> None:
        """Write the full text of a tool result.

        Args:
            name: Path relative to the session's folder.
            text: The result; line ends and lone surrogates are written unchanged.

        Raises:
            OSError: if it cannot be written.
        """
        write_atomic(self.path / name, text, errors="surrogatepass")

    def write_history(self, number: int, messages_json: str, readable: str) -> Path:
        """Save the history before compaction ``number`` as JSON and as Markdown.

        Returns:
            Path of the Markdown file.

        Raises:
            OSError: if a file cannot be written; at most files that nothing refers to were changed.
        """
        messages, text = self.history_files(number)
        write_atomic(messages, messages_json)
        write_atomic(text, readable)
        return text

    def history_files(self, number: int) -> tuple[Path, Path]:
        """Return the paths of the history before compaction ``number``: JSON, and Markdown."""
        stem = self.conversation_history / f"{number:03d}-before-compaction"
        return stem.with_suffix(".json"), stem.with_suffix(".md")

    def write_checkpoint(
        self, number: int, title: str, text: str, *, time: float, earlier: Sequence[Checkpoint]
    ) -> Checkpoint:
        """Write a checkpoint, its index, and the count in ``workspace.yaml``.

        Replaces a file of the same number that a crash left: numbers come from the log, not from the disk.

        Args:
            number: Number of the compaction in this session, from 1.
            title: A few words; used in the file name.
            text: The summary, Markdown.
            time: Seconds since the epoch.
            earlier: The earlier checkpoints.

        Raises:
            OSError: if a file cannot be written.
        """
        name = f"{number:03d}-{slug(title)}.md"
        for stale in self.checkpoints.glob(f"{number:03d}-*.md"):
            if stale.name != name:
                stale.unlink()
        self.write_checkpoint_file(name, number, title, text)
        checkpoint = Checkpoint(number=number, title=title, file=name, time=time)
        self.write_index([*earlier, checkpoint])
        return checkpoint

    def write_checkpoint_file(self, name: str, number: int, title: str, text: str) -> None:
        """Write the file of a checkpoint and nothing else.

        Raises:
            OSError: if it cannot be written.
        """
        write_atomic(self.checkpoints / name, f"# {number:03d} {title}\n\n{text.strip()}\n")

    def unfinished(self) -> list[Path]:
        """Return the files that a killed process left incomplete. Call it only while holding the lock."""
        return [path for path in self.path.rglob(".*.tmp") if path.is_file()]

    def write_index(self, checkpoints: Sequence[Checkpoint]) -> None:
        """Write ``checkpoints/index.md`` and ``workspace.yaml`` for the checkpoints in the log."""
        lines: list[str] = []
        for each in checkpoints:
            title = re.sub(r"[\[\]\r\n]", " ", each.title)
            moment = datetime.fromtimestamp(each.time, tz=UTC)
            lines.append(f"- [{each.number:03d} {title}]({each.file}) · {moment:%Y-%m-%d %H:%M} UTC")
        write_atomic(self.index_file, "\n".join(["# Checkpoints", "", *lines, ""]))
        latest = json.dumps(checkpoints[-1].file) if checkpoints else "null"
        write_atomic(self.workspace_file, f"summary_count: {len(checkpoints)}\nlatest_checkpoint: {latest}\n")

    def listed(self) -> int | None:
        """Return the number of checkpoints in ``workspace.yaml``; None if it is missing or invalid."""
        try:
            first = self.workspace_file.read_text("utf-8").partition("\n")[0]
        except (OSError, UnicodeDecodeError):
            return None
        number = first.removeprefix("summary_count: ")
        return int(number) if number.isdecimal() else None

    def has_index(self) -> bool:
        """Return whether the index and the count exist, right or wrong."""
        return self.index_file.is_file() and self.listed() is not None

    def remove(self) -> None:
        """Delete the folder; only with its session, at the user's request."""
        shutil.rmtree(self.path, ignore_errors=True)


def slug(title: str) -> str:
    """Make a part of a file name: lower case words joined by hyphens, at most 40 characters."""
    words = re.findall(r"\w+", title.lower(), flags=re.UNICODE)
    return "-".join(words)[:40].strip("-") or "checkpoint"
