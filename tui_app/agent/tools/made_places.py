"""Files made by a sandboxed command that other programs run or follow: the user decides whether they stay."""

import asyncio
import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from tui_app.agent.approvals.rules import Action, Gate
from tui_app.autorun import (
    MOST_FOLDERS,
    AutorunPlaces,
    Stamp,
    changes_between,
    content,
    digest,
    files_of,
    is_showable,
    put_back,
    remove,
    stamp,
)
from tui_app.sandbox import Confinement
from tui_app.tool_specs import WRITE_FILE

_MOST_QUESTIONS = 20


@dataclass(slots=True, kw_only=True)
class MadePlaces:
    """Such files of one command, checked after it has ended, or from time to time while it runs."""

    gate: Gate
    """Asks for approval."""
    inside: Confinement
    """The sandbox of the command, with the state before it ran."""
    command: Action
    """The action that the command itself was approved with."""
    answered: dict[Path, Stamp]
    """Approved files in the state that was shown; shared by all commands of a session."""
    written: Mapping[Path, str]
    """SHA-256 of files written by the session's own tools, which were approved separately."""
    by: str
    """Words for it: ``the command``."""
    _declined: set[Path] = field(default_factory=set)
    _said: set[str] = field(default_factory=set)

    async def ask(self) -> list[str]:
        """Ask about each file, and remove those that are declined. Returns rows for the model."""
        after = await asyncio.to_thread(self.inside.autorun)
        rows, waiting = await asyncio.to_thread(self._looked_at, after)
        try:
            while waiting:
                rows += await self._ask_about(waiting[0], after.places[waiting[0]])
                del waiting[0]
        except asyncio.CancelledError:
            # Stopping at a question is no approval.
            await asyncio.to_thread(lambda: [_revert(path, self.inside) for path in waiting])
            raise
        if not after.is_whole:
            rows.append(f"[Only {MOST_FOLDERS:,} folders were looked through for what programs obey.]")
        new = [row for row in rows if row not in self._said]
        self._said.update(rows)
        return new

    def unapproved(self) -> list[str]:
        """Files that were not asked about. Blocks."""
        new, _ = self._unapproved(self.inside.autorun())
        shown = map(self.inside.shown, new[:_MOST_QUESTIONS])
        return [f"[{each} is new and was not approved: programs obey it.]" for each in shown]

    def _unapproved(self, after: AutorunPlaces) -> tuple[list[Path], list[Path]]:
        """New files without approval, and changed ones. Blocks."""
        made, changed = changes_between(self.inside.below, after)
        new = [path for path in made if self.answered.get(path) != after.places[path]]
        return [path for path in new if not self._is_written(path)], changed

    def _looked_at(self, after: AutorunPlaces) -> tuple[list[str], list[Path]]:
        """Remove files that were declined before or cannot be shown. Blocks.

        Returns:
            Rows for the model, and the files to ask about.
        """
        made, changed = self._unapproved(after)
        rows = [f"[{self.inside.shown(path)} was changed: programs obey it.]" for path in changed]
        again = [path for path in made if path in self._declined or not is_showable(path)]
        if len(made) > _MOST_QUESTIONS:
            # Too many questions for a user.
            again = made
        removed = [_revert(path, self.inside) for path in again if os.path.lexists(path)]
        rows += removed[:_MOST_QUESTIONS]
        if (more := len(removed) - _MOST_QUESTIONS) > 0:
            rows.append(f"[And {more:,} more: a command may leave {_MOST_QUESTIONS} of them.]")
        return rows, [path for path in made if path not in again]

    async def _ask_about(self, path: Path, seen: Stamp) -> list[str]:
        shown, old = self.inside.shown(path), self.inside.below.texts.get(path)
        deed, undone = ("made", "removes") if old is None else ("changed", "undoes")
        asked = replace(
            self.command,
            tool=WRITE_FILE.name,
            kind="file",
            subject=shown,
            detail=await asyncio.to_thread(content, path, shown, old),
            note=f"{deed} by {self.by}; no {undone} it",
            guarded=f"always asked: programs obey {path.name}",
        )
        # A background command may have changed it since it was shown.
        if await self.gate(asked) or await asyncio.to_thread(stamp, path) != seen:
            self._declined.add(path)
            return [await asyncio.to_thread(_revert, path, self.inside)]
        self.answered[path] = seen
        return []

    def _is_written(self, path: Path) -> bool:
        """Whether everything in a place is as the session's own tools wrote it."""
        files = files_of(path) if self.written else []
        return bool(files) and all(
            file in self.written and self.written[file] == digest(file) for file in files
        )


def remove_unapproved(inside: Confinement) -> list[str]:
    """Remove such files without asking the user. Returns rows for the model. Blocks."""
    made, _ = changes_between(inside.below, inside.autorun())
    # Existing files may have been changed by the user meanwhile: do not discard them without asking.
    changed = [path for path in made if path in inside.below.texts]
    removed = [_revert(path, inside) for path in made if path not in changed]
    return [*removed, *(f"[{inside.shown(path)} was changed: programs obey it.]" for path in changed)]


def _revert(path: Path, inside: Confinement) -> str:
    shown, old = inside.shown(path), inside.below.texts.get(path)
    try:
        if old is None:
            remove(path)
        else:
            put_back(path, old)
    except OSError as error:
        return f"[{shown} could not be removed ({error.strerror}); programs obey it.]"
    return f"[{shown} was {'removed' if old is None else 'put back'} again: programs obey it.]"
