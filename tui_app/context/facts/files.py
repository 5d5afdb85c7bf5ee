"""What happened to files: one line a file, with what was really done to it."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from tui_app.context.facts.observations import (
    Action,
    Reading,
    argument_texts,
    clip,
    command_of,
    first_text,
    make_fact,
    one_line,
    worked,
)
from tui_app.context.facts.shell import ON_TRAILS, WHOLE_TREE, Effect, file_effects
from tui_app.context.tool_words import (
    EDIT_LIST_ARGUMENTS,
    MOVES,
    NEW_TEXT_ARGUMENTS,
    OLD_TEXT_ARGUMENTS,
    PATCH_WORD,
    PATH_ARGUMENTS,
    SOURCE_ARGUMENTS,
    SUBCOMMANDS,
    TARGET_ARGUMENTS,
    verb_of_name,
)
from tui_app.events import Fact
from tui_app.records import frozen

# What was done to one file, and what of it was undone or committed since.


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
    """Whether what was done to it was undone, and nothing was done since."""
    added: bool = False
    """Whether git was told of it since it was created."""
    settled: dict[str, int] = field(default_factory=dict)
    """What had been done when everything was committed last: that is not undone."""

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
        """The deeds as a user reads them, without reading when there was more: ``created, edited 3×``."""
        done = [
            verb if self.counts[verb] < 2 else f"{verb} {self.counts[verb]}×"
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


_CREATED = re.compile(r"(?i)\b(?:created|new file|creating)\b")
_DIRECTORY = re.compile(r"(?i)^\s*(?:directory|here's the files|<entries>|<type>directory)")
_PATCH_LINE = re.compile(r"(?m)^\*\*\* (Add File|Update File|Delete File|Move to): (.{1,500})$")
_PATCH_VERBS = {
    "Add File": "created",
    "Update File": "edited",
    "Delete File": "deleted",
    "Move to": "created",
}


def file_trails(reading: Reading, earlier: Iterable[Trail] = ()) -> list[Trail]:
    """Collect what was done to every file, in order of first touch.

    Args:
        reading: The history.
        earlier: Trails carried over from before it; they are added to.

    Returns:
        One trail a file. Failed, refused and unanswered calls leave none.
    """
    trails: dict[str, Trail] = {trail.path: trail for trail in earlier}
    touches = [
        (effect, action) for action in reading.actions if worked(action) for effect in _effects(action)
    ]
    for trail in trails.values():
        # Whether it was committed since is not known any more.
        trail.settle()
    deeds = (effect.path for effect, _ in touches if effect.verb not in ON_TRAILS)
    whole = _whole_paths([*trails, *deeds])
    for effect, action in touches:
        if effect.verb in ON_TRAILS:
            take_in(trails.values(), effect, action.key, action.index)
            continue
        path = whole.get(effect.path, effect.path)
        trail = trails.setdefault(path, Trail(path))
        trail.add(effect.verb, action.key, action.index)
    return list(trails.values())


def file_facts(reading: Reading) -> list[Fact]:
    """Facts ``path · deeds``; changed files weigh more than those only read."""
    return [
        make_fact(
            reading,
            "file",
            f"{trail.path} · {trail.deeds()}",
            key=trail.key,
            index=trail.index,
            factor=1.0 if trail.changed() else 0.35,
            times=sum(trail.counts.values()),
        )
        for trail in file_trails(reading)
    ]


def target_of(args: Mapping[str, Any]) -> str:
    """The path a call is about, or an empty string."""
    return first_text(args, PATH_ARGUMENTS).removeprefix("file://")


def verb_of(action: Action) -> str:
    """What a file tool does by its name and arguments; empty for every other tool."""
    subcommand = action.args.get("command")
    if isinstance(subcommand, str) and subcommand in SUBCOMMANDS:
        return SUBCOMMANDS[subcommand]
    verb = verb_of_name(action.tool)
    return "created" if verb == "written" and _CREATED.search(action.result[:300]) else verb


def _effects(action: Action) -> Iterator[Effect]:
    command = command_of(action)
    if command:
        yield from file_effects(command)
    if command or PATCH_WORD in action.tool.lower():
        for text in argument_texts(action.args):
            yield from _patch_effects(text)
        if command:
            return
    path = target_of(action.args)
    moved_from, moved_to = (
        first_text(action.args, SOURCE_ARGUMENTS),
        first_text(action.args, TARGET_ARGUMENTS),
    )
    if moved_from and moved_to and MOVES.search(action.tool):
        yield Effect(moved_from, "deleted")
        yield Effect(moved_to, "created")
    elif path and "\n" not in path and len(path) < 500:
        verb = verb_of(action)
        if verb and not (verb == "read" and _DIRECTORY.match(action.result[:200])):
            yield Effect(path, verb)


def _patch_effects(text: str) -> Iterator[Effect]:
    if "*** " in text:
        for kind, path in _PATCH_LINE.findall(text):
            yield Effect(path.strip(), _PATCH_VERBS[kind])


def _whole_paths(paths: Iterable[str]) -> dict[str, str]:
    """Map relative paths to the one absolute path that ends in them; ambiguous ones stay as they are."""
    known = dict.fromkeys(paths)
    by_name: dict[str, list[str]] = {}
    for path in known:
        if path.startswith(("/", "~")) or path[1:3] in {":\\", ":/"}:
            by_name.setdefault(path.rsplit("/", 1)[-1], []).append(path)
    whole: dict[str, str] = {}
    for path in known:
        relative = path.removeprefix("./")
        if path.startswith(("/", "~")):
            continue
        candidates = by_name.get(relative.rsplit("/", 1)[-1], [])
        fitting = [candidate for candidate in candidates[:50] if candidate.endswith("/" + relative)]
        whole[path] = fitting[0] if len(fitting) == 1 else relative
    return whole


# Paths told short: ``…/`` stands for the folder most of them share; files of one folder stand below it.

SHORT = "…/"
_FEWEST = 3
"""Paths below which naming the folder costs more than it saves."""
_SHORTEST = 12
"""Characters of a folder below which there is nothing to save."""
_MOST_OF_THEM = 0.6
_STANDS_FOR = re.compile(r"(?m)^- …/ stands for (/[^\n]{1,400})/$")
_FOLDER = re.compile(r"- ([^\s`]{1,400}/)")


def common_root(paths: Iterable[str], fewest: int = _FEWEST) -> str:
    """The folder of most absolute paths that saves most when told short; empty when none is worth naming."""
    absolute = [path for path in paths if path.startswith("/")]
    if len(absolute) < fewest:
        return ""
    counts: Counter[str] = Counter()
    for path in absolute:
        place = path.find("/", 1)
        while place > 0:
            counts[path[:place]] += 1
            place = path.find("/", place + 1)
    wanted = max(fewest, _MOST_OF_THEM * len(absolute))
    fitting = [folder for folder, count in counts.items() if count >= wanted and len(folder) >= _SHORTEST]
    return max(fitting, key=lambda folder: (counts[folder] * len(folder), len(folder)), default="")


def root_line(root: str) -> str:
    """The sentence that says what ``…/`` stands for."""
    return f"{SHORT} stands for {root}/"


def root_in(summary: str) -> str:
    """The folder that ``…/`` stands for in a summary; empty when it names none."""
    match = _STANDS_FOR.search(summary)
    return match[1] if match else ""


def shortened(text: str, root: str) -> str:
    """A text with every path below the folder told short."""
    return text.replace(f"{root}/", SHORT) if root else text


def ending_of(path: str) -> str:
    """A path by its name and the folder above it: enough to know it by where its whole path stands nearby."""
    return "/".join(path.rsplit("/", 2)[-2:])


def folder_of(path: str) -> str:
    """The folder below which a path can stand, with its last slash; empty for one that must stand alone."""
    folder = path[: path.rfind("/") + 1]
    return folder if len(folder) > 1 and _FOLDER.fullmatch(f"- {folder}") else ""


@dataclass(slots=True)
class WholePaths:
    """Spells the paths of a summary out again, line by line."""

    root: str = ""
    folder: str = ""

    def line(self, line: str) -> str:
        """The line with whole paths; empty for one that only says how others are shortened."""
        if self.folder and line.startswith("  ") and not line[2:].startswith(" "):
            line = f"- {self.folder}{line[2:]}"
        elif named := root_in(line):
            self.root = named
            return ""
        elif match := _FOLDER.fullmatch(line):
            self.folder = match[1]
            return ""
        else:
            self.folder = ""
        return line.replace(SHORT, f"{self.root}/") if self.root else line


def whole_paths(summary: str) -> str:
    """A summary with every path spelt out."""
    paths = WholePaths()
    return "\n".join(map(paths.line, summary.splitlines()))


# What was last changed in a file, in the words of the change itself: its most telling new line.

LAST_CHANGE = ", last change: `"
"""Stands between a path and the line."""
LINE_LIMIT = 110
_CHANGES_SHORTEST = 8


@frozen
class Change:
    """The newest edit of one file."""

    path: str
    line: str
    key: int
    index: int


def last_changes(reading: Reading) -> Iterator[Change]:
    """Yield the newest edit of every file, newest first; edits that only took something away are left out."""
    seen: set[str] = set()
    undone: list[str] = []
    for action in reversed(reading.actions):
        path = target_of(action.args)
        if (command := command_of(action)) and "git" in command and worked(action):
            _note_undone(undone, command)
        if not path or path in seen or verb_of(action) != "edited" or not worked(action):
            continue
        if any(concerns(target, path) for target in undone):
            continue
        if line := _telling(action):
            seen.add(path)
            yield Change(path, line, action.key, action.index)


def _note_undone(undone: list[str], command: str) -> None:
    """Read a command from its end: what was undone before a commit was something else."""
    for effect in reversed(list(file_effects(command))):
        if effect.verb == "committed":
            undone.clear()
        elif effect.verb == "undone":
            undone.append(effect.path)


def _telling(action: Action) -> str:
    """The longest of the first few new lines: the first are what the edit is about, the longest says most."""
    lines: list[str] = []
    for new, old in _pairs(action.args):
        before = set(map(str.strip, old.splitlines()))
        added = (one_line(line) for line in new.splitlines() if line.strip() not in before)
        lines += [line for line in added if len(line) >= _CHANGES_SHORTEST and any(map(str.isalpha, line))][
            :4
        ]
    return clip(max(lines, key=len), LINE_LIMIT).replace("`", "'") if lines else ""


def _pairs(args: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    if new := first_text(args, NEW_TEXT_ARGUMENTS):
        yield new, first_text(args, OLD_TEXT_ARGUMENTS)
    for name in EDIT_LIST_ARGUMENTS:
        edits = args.get(name)
        for edit in edits if isinstance(edits, list) else ():
            if isinstance(edit, Mapping) and (new := first_text(edit, NEW_TEXT_ARGUMENTS)):
                yield new, first_text(edit, OLD_TEXT_ARGUMENTS)
