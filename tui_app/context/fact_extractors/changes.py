"""What was last changed in a file, in the words of the change itself: its most telling new line."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from tui_app.context.fact_extractors.files import target_of, verb_of
from tui_app.context.fact_extractors.language import clip, one_line
from tui_app.context.fact_extractors.outcomes import command_of, worked
from tui_app.context.fact_extractors.reading import Action, Reading, first_text
from tui_app.context.fact_extractors.shell import file_effects
from tui_app.context.fact_extractors.trails import concerns

LAST_CHANGE = ", last change: `"
"""Stands between a path and the line."""
LINE_LIMIT = 110
_SHORTEST = 8
_NEW = ("new_string", "newText", "new_text", "new_str", "newString", "replacement", "code_edit")
_OLD = ("old_string", "oldText", "old_text", "old_str", "oldString")
_EDITS = ("edits", "changes", "replacements")


@dataclass(frozen=True, slots=True)
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
        lines += [line for line in added if len(line) >= _SHORTEST and any(map(str.isalpha, line))][:4]
    return clip(max(lines, key=len), LINE_LIMIT).replace("`", "'") if lines else ""


def _pairs(args: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    if new := first_text(args, _NEW):
        yield new, first_text(args, _OLD)
    for name in _EDITS:
        edits = args.get(name)
        for edit in edits if isinstance(edits, list) else ():
            if isinstance(edit, Mapping) and (new := first_text(edit, _NEW)):
                yield new, first_text(edit, _OLD)
