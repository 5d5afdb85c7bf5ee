"""Files of a session: what was done to each, in order, and its current state."""

import posixpath
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from tui_app.context.ledger.effects import ON_EARLIER, WHOLE_TREE, Effect, pattern_of
from tui_app.records import frozen


@frozen
class FileDeed:
    """One call's action on a file."""

    effect: Effect
    key: int
    """Log number of the call's result."""
    tool: str
    size: int = 0
    """Characters written; 0 if unknown."""


@dataclass(slots=True)
class FileTrail:
    """Everything that was done to one file."""

    path: str
    counts: dict[str, int] = field(default_factory=dict)
    keys: list[int] = field(default_factory=list)
    """Log numbers of the deeds, oldest first."""
    reads: list[int] = field(default_factory=list)
    size: int = 0
    gone: bool = False
    moved_to: str = ""
    moved_from: str = ""
    undone: bool = False
    """Whether its changes were undone, and nothing was done since."""
    staged: dict[str, int] | None = None
    """Counts when it was added to git; None if that is committed, or never happened."""
    commits: list[tuple[int, dict[str, int]]] = field(default_factory=list)
    """Number and counts of each commit with the file: committed changes are not undone."""
    held: tuple[dict[str, int], bool] | None = None
    """Counts when it was stashed, and whether it was deleted."""

    @property
    def settled(self) -> dict[str, int]:
        """Counts at the last commit."""
        return self.commits[-1][1] if self.commits else {}

    @property
    def is_known(self) -> bool:
        """Whether git knows the file."""
        new = self.counts.get("created", 0) > self.settled.get("created", 0)
        return self.staged is not None or not new

    @property
    def is_changed(self) -> bool:
        return bool(self.counts)

    @property
    def key(self) -> int:
        """The newest deed, or the newest read of a file that was only read."""
        return (self.keys or self.reads)[-1]

    def describe(self) -> str:
        """Format the state: ``created, edited 3×``."""
        if not self.is_changed:
            return "only read"
        done = [
            verb if self.counts[verb] < 2 else f"{verb} {self.counts[verb]}×"
            for verb in ("created", "written", "edited")
            if self.counts.get(verb)
        ]
        if self.moved_from:
            done.append(f"moved from {self.moved_from}")
        if self.moved_to and self.gone:
            done.append(f"moved to {self.moved_to}")
        elif self.gone or (self.undone and self.counts.get("deleted")):
            done.append("deleted")
        if self.undone:
            done.append("undone")
        return ", ".join(done)

    def add(self, deed: str, key: int, how: str = "") -> None:
        """Record a deed; a file that is written after its deletion exists again."""
        if deed == "read":
            self.reads.append(key)
            return
        there = (self.keys or self.reads) and not (self.gone or (self.undone and self.counts.get("created")))
        if how == "if new" and there:
            return
        if self.undone:
            self.counts, self.undone, self.gone = dict(self.settled), False, False
        if self.gone and deed == "written":
            deed = "created"
        self.counts[deed] = self.counts.get(deed, 0) + 1
        self.gone = deed == "deleted"
        self.keys.append(key)
        if how == "staged":
            self.staged = dict(self.counts)

    def move(self, new: "FileTrail", key: int, how: str = "") -> None:
        """Move to another path; ``new`` is the file there."""
        self.add("deleted", key, how)
        self.moved_to = new.path
        new.add("moved", key, how)
        new.moved_from = self.path

    def take_back(self, effect: Effect, key: int, commit: int) -> None:
        """Apply a command that affects earlier deeds to this file.

        Args:
            effect: Its effect.
            key: Log number of the call's result.
            commit: Number of the newest commit after it.
        """
        match effect.deed:
            case "committed" if not self.undone:
                every = "all" in effect.how and self.is_known
                if every or self.staged is not None:
                    self.commits.append((commit, dict(self.counts if every else self.staged or {})))
                self.staged = None
            case "uncommitted":
                while self.commits and self.commits[-1][0] > commit:
                    self.staged = self.commits.pop()[1]
            case "added":
                self.staged = dict(self.counts)
            case "cleaned" if not (self.is_known or self.gone or self.undone):
                self.add("deleted", key)
            case "undone" if effect.path != WHOLE_TREE or self.is_known:
                self._undo(key)
            case "stashed" if not self.undone and (self.is_known or effect.how == "all"):
                self.held = dict(self.counts), self.gone
                self._undo(key)
            case "restored" if self.held is not None:
                since = Counter({} if self.undone else self.counts) - Counter(self.settled)
                self.counts, self.undone = dict(Counter(self.held[0]) + since), False
                self.gone, self.held = self.held[1], None
                self.keys.append(key)

    def _undo(self, key: int) -> None:
        if self.counts == self.settled:
            return
        if self.settled:
            self.counts, self.gone = dict(self.settled), False
        else:
            self.undone, self.gone = True, False
        self.keys.append(key)


def file_trails(deeds: Iterable[FileDeed]) -> dict[str, FileTrail]:
    """Add up what was done to files.

    Args:
        deeds: In chronological order.

    Returns:
        Trails by path, in order of first use; a relative path and the only absolute path that ends in it are
        one file.
    """
    deeds = list(deeds)
    named = dict.fromkeys(path for each in deeds for path in (each.effect.path, each.effect.to) if path)
    trails = _Trails(_whole_paths(named))
    for each in deeds:
        trails.add(each)
    return trails.by_path


class _Trails:
    def __init__(self, whole: Mapping[str, str]) -> None:
        self.whole = whole
        self.by_path: dict[str, FileTrail] = {}
        self.commit = 0
        """Number of the newest commit; those before the session are negative."""

    def add(self, each: FileDeed) -> None:
        effect = each.effect
        path, to = (self.whole.get(path, path) for path in (effect.path, effect.to))
        if pattern := pattern_of(path) if path != WHOLE_TREE else None:
            self._each(each, pattern)
            return
        match effect.deed:
            case deed if deed in ON_EARLIER:
                self.commit += deed == "committed" and "amended" not in effect.how
                self.commit -= int(effect.how) if deed == "uncommitted" else 0
                for known in self.by_path.values():
                    if concerns(effect.path, known.path):
                        known.take_back(effect, each.key, self.commit)
            case "moved":
                # A target that is a folder gets the file inside.
                to = posixpath.join(to, posixpath.basename(path)) if to and self.below(to) else to
                for known in self.below(path) or [self.at(path)]:
                    new = self.at(to + known.path[len(path) :]) if to else FileTrail("elsewhere")
                    known.move(new, each.key, effect.how)
            case "deleted":
                for known in self.below(path) or [self.at(path)]:
                    known.add("deleted", each.key, effect.how)
            case deed:
                self.at(path).add(deed, each.key, effect.how)
                self.at(path).size += each.size

    def _each(self, deed: FileDeed, pattern: re.Pattern[str]) -> None:
        """Apply a deed to each known file that matches a pattern; other matches are unknown."""
        path, to = deed.effect.path, deed.effect.to
        # Several files can only be moved to a folder.
        folder = posixpath.dirname(to) if posixpath.basename(to) == posixpath.basename(path) else to
        if deed.effect.deed in {"written", "created"}:
            return
        for known in [each for each in self.by_path.values() if pattern.fullmatch(each.path)]:
            target = posixpath.join(folder, posixpath.basename(known.path)) if folder else ""
            self.add(replace(deed, effect=replace(deed.effect, path=known.path, to=target)))

    def at(self, path: str) -> FileTrail:
        return self.by_path.setdefault(path, FileTrail(path))

    def below(self, folder: str) -> list[FileTrail]:
        """Return the known files in a folder."""
        inside = f"{folder}/"
        return [known for path, known in self.by_path.items() if path.startswith(inside) and not known.gone]


def concerns(target: str, path: str) -> bool:
    """Whether a path is the target of a command, or inside it."""
    if target == WHOLE_TREE:
        return True
    target = target.removeprefix("./").rstrip("/")
    return f"/{path.removeprefix('./')}/".endswith(f"/{target}/") or f"/{target}/" in f"/{path}"


def _whole_paths(paths: Mapping[str, None]) -> dict[str, str]:
    """Map relative paths to the only absolute path that ends in them; ambiguous ones are unchanged.

    A bare name may be any file's: it is mapped only if another path was given relative to the same folder.
    """
    by_name: dict[str, dict[str, None]] = {}
    relatives: list[str] = []
    for path in paths:
        if path.startswith(("/", "~")) or path[1:3] in {":\\", ":/"}:
            above = path
            while above.strip("/"):
                by_name.setdefault(above.rsplit("/", 1)[-1], {})[above] = None
                above = above.rpartition("/")[0]
        else:
            relatives.append(path)
    whole = {path: path.removeprefix("./") for path in relatives}
    fits: dict[str, str] = {}
    for path, relative in whole.items():
        candidates = list(by_name.get(relative.rsplit("/", 1)[-1], ()))[:50]
        fitting = [each for each in candidates if each.endswith(f"/{relative}")]
        if len(fitting) == 1:
            fits[path] = fitting[0]
    folders = {found[: -len(whole[path])] for path, found in fits.items() if "/" in whole[path]}
    for path, found in fits.items():
        if found[: -len(whole[path])] in folders:
            whole[path] = found
    return whole
