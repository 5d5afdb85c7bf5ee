"""What was done to one file, and what of it was taken back or committed since."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from tui_app.context.fact_extractors.git import WHOLE_TREE, Effect


@dataclass(slots=True)
class Trail:
    """Everything that was done to one file."""

    path: str
    counts: dict[str, int] = field(default_factory=dict)
    key: int = 0
    index: int = 0
    gone: bool = False
    """Whether the last thing done to it was its deletion."""
    undone: bool = False
    """Whether what was done to it was taken back, and nothing was done since."""
    added: bool = False
    """Whether git was told of it since it was created."""
    settled: dict[str, int] = field(default_factory=dict)
    """What had been done when everything was committed last: that is not taken back."""

    def add(self, verb: str, key: int, index: int, times: int = 1) -> None:
        """Note one more deed; a file that is written again after its deletion is there again."""
        if verb == "undone":
            self.undone = True
            return
        if self.undone and verb != "read":
            self.counts, self.undone, self.gone = dict(self.settled), False, False
        if self.gone and verb == "written":
            verb = "created"
        self.counts[verb] = self.counts.get(verb, 0) + times
        self.gone = verb == "deleted" or (self.gone and verb == "read")
        if verb != "read" or not self.changed():
            self.key, self.index = key, index

    def changed(self) -> bool:
        """Whether anything but reading was done."""
        return any(verb != "read" for verb in self.counts)

    def deeds(self) -> str:
        """The deeds as a person reads them, without reading when there was more: ``created, edited 3×``."""
        done = [
            _times(verb, self.counts[verb])
            for verb in ("created", "written", "edited")
            if self.counts.get(verb)
        ]
        if self.gone or (self.undone and self.counts.get("deleted")):
            done.append("deleted")
        if self.undone:
            done.append("undone")
        return ", ".join(done) or "read"

    def settle(self) -> None:
        """Note that what was done so far is kept for good."""
        if not self.undone:
            self.settled, self.added = dict(self.counts), False

    def is_new(self) -> bool:
        """Whether it was created since the last commit."""
        return self.counts.get("created", 0) > self.settled.get("created", 0)

    def undo(self, key: int, index: int) -> None:
        """Take back what was done since the last commit."""
        if _changes(self.counts) == _changes(self.settled):
            return
        if _changes(self.settled):
            self.counts, self.gone = dict(self.settled), False
        else:
            self.undone, self.gone, self.key, self.index = True, False, key, index


def take_in(trails: Iterable[Trail], effect: Effect, key: int, index: int) -> None:
    """Let a command that says something of earlier deeds tell on the files it concerns.

    Args:
        trails: What was done to files before.
        effect: One of ``ON_TRAILS``.
        key: Log number of the command's message.
        index: Its place.
    """
    for trail in trails:
        if not concerns(effect.path, trail.path):
            continue
        match effect.verb:
            case "committed":
                trail.settle()
            case "added":
                trail.added = True
            case "cleaned" if trail.is_new() and not (trail.added or trail.gone or trail.undone):
                trail.add("deleted", key, index)
            case "undone" if effect.path != WHOLE_TREE or trail.added or not trail.is_new():
                trail.undo(key, index)


def concerns(target: str, path: str) -> bool:
    """Whether a path is what a command names, or lies in it."""
    if target == WHOLE_TREE:
        return True
    target = target.removeprefix("./").rstrip("/")
    return f"/{path.removeprefix('./')}/".endswith(f"/{target}/") or f"/{target}/" in f"/{path}"


def _changes(counts: Mapping[str, int]) -> dict[str, int]:
    return {verb: count for verb, count in counts.items() if verb != "read"}


def _times(verb: str, count: int) -> str:
    return verb if count < 2 else f"{verb} {count}×"
