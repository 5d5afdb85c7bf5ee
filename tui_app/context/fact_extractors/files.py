"""What happened to files: one line a file, with what was really done to it."""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from tui_app.context.fact_extractors.git import ON_TRAILS, Effect
from tui_app.context.fact_extractors.outcomes import command_of, worked
from tui_app.context.fact_extractors.ranking import make_fact
from tui_app.context.fact_extractors.reading import Action, Reading, argument_texts, first_text
from tui_app.context.fact_extractors.shell import file_effects
from tui_app.context.fact_extractors.trails import Trail, take_in
from tui_app.context.fact_extractors.words import words
from tui_app.events import Fact

PATH_NAMES = (
    "file_path", "filePath", "path", "filepath", "filename", "file_name", "notebook_path", "target_file",
    "TargetFile", "relative_path", "absolute_path", "AbsolutePath", "file", "relative_workspace_path", "uri",
)  # fmt: skip
"""Names that agents give the argument holding a file's path."""
_SOURCE_NAMES = ("source", "src", "from", "old_path", "source_path", "oldPath")
_TARGET_NAMES = ("destination", "dest", "target", "to", "new_path", "destination_path", "newPath")

_SPLIT_MOVE = re.compile(r"(?i)move|rename")
_SPLIT = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_CREATED = re.compile(r"(?i)\b(?:created|new file|creating)\b")
_DIRECTORY = re.compile(r"(?i)^\s*(?:directory|here's the files|<entries>|<type>directory)")
_PATCH_LINE = re.compile(r"(?m)^\*\*\* (Add File|Update File|Delete File|Move to): (.{1,500})$")
_PATCH_VERBS = {
    "Add File": "created",
    "Update File": "edited",
    "Delete File": "deleted",
    "Move to": "created",
}
_SEARCHES = words(
    "grep search find list ls glob rg diagnostics directory folder tree todo todos plan screenshot image"
)
_WORD_VERBS = (
    ("deleted", words("delete remove rm unlink")),
    ("written", words("write create save put overwrite")),
    (
        "edited",
        words("edit replace patch multiedit insert update modify append change strreplace rewrite"),
    ),
    ("read", words("read view open cat show get fetch load")),
)
_SUBCOMMANDS = {
    "view": "read", "read": "read", "create": "created", "write": "written", "str_replace": "edited",
    "insert": "edited", "edit": "edited", "append": "edited", "undo_edit": "edited", "delete": "deleted",
}  # fmt: skip


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
    return first_text(args, PATH_NAMES).removeprefix("file://")


def verb_of(action: Action) -> str:
    """What a file tool does by its name and arguments; empty for every other tool."""
    subcommand = action.args.get("command")
    if isinstance(subcommand, str) and subcommand in _SUBCOMMANDS:
        return _SUBCOMMANDS[subcommand]
    words = {word.lower() for word in _SPLIT.findall(action.tool.rsplit("__", 1)[-1])}
    if words & _SEARCHES:
        return ""
    for verb, names in _WORD_VERBS:
        if words & names:
            return "created" if verb == "written" and _CREATED.search(action.result[:300]) else verb
    return ""


def _effects(action: Action) -> Iterator[Effect]:
    command = command_of(action)
    if command:
        yield from file_effects(command)
    if command or "patch" in action.tool.lower():
        for text in argument_texts(action.args):
            yield from _patch_effects(text)
        if command:
            return
    path = target_of(action.args)
    moved_from, moved_to = first_text(action.args, _SOURCE_NAMES), first_text(action.args, _TARGET_NAMES)
    if moved_from and moved_to and _SPLIT_MOVE.search(action.tool):
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
