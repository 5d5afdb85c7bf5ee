"""Guards: rules of the user that code can check, whatever the model still remembers."""

import os
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path, PurePath

from tui_app.agent.approvals import programs
from tui_app.agent.approvals.command_line import Folder, written_by
from tui_app.agent.approvals.denials import Found, find_in, read
from tui_app.agent.approvals.programs import program_of
from tui_app.agent.approvals.reach import arguments_of, kinds_of
from tui_app.agent.approvals.rules import Action, path_concerns
from tui_app.context.ledger.effects import file_effects
from tui_app.context.ledger.tools import Command, FileUse, operations
from tui_app.context.shell_line import SimpleCommand, simple_commands
from tui_app.events import GuardSet
from tui_app.tool_specs import TOOLS

_MOVES = frozenset({"cd", "pushd", "popd"})
_NOWHERE = ("/dev/null", "/dev/stdout", "/dev/stderr", "/dev/tty")
_CHANGES = frozenset({"created", "edited", "written"})
_WHOLE = frozenset({"deleted", "moved", "undone", "cleaned"})
"""Operations on a folder that affect everything in it."""


def breaks(guard: GuardSet, action: Action, folder: Folder) -> Found:
    """Whether a call does what a guard forbids."""
    if action.looks or (action.kind == "other" and action.tool in TOOLS):
        return "no"
    lines = list(_lines(action))
    match guard.forbids:
        case "command":
            return max((find_in(line, guard.what) for line in lines), default="no")
        case "edits":
            hit = any(_concerns(guard.what, path, folder, whole=whole) for path, whole in _changed(action))
            return "surely" if hit else "no"
        case "writes":
            others = action.kind == "other" and not operations(action.tool, arguments_of(action))
            unknown = not all(map(_looks, chain.from_iterable(map(simple_commands, lines))))
            return "surely" if others or unknown or any(True for _ in _changed(action)) else "no"
        case "tests":
            return "no"  # it applies to the end of a turn


def only_looks(line: str) -> bool:
    """Whether nothing in a line can change anything, as far as its programs are known."""
    commands = simple_commands(line)
    writes = (path for each in commands for path, _ in each.writes)
    return bool(commands) and all(map(_looks, commands)) and all(path in _NOWHERE for path in writes)


def _looks(command: SimpleCommand) -> bool:
    return command.program in _MOVES or not command.words or programs.only_looks(command.words)


def _lines(action: Action) -> Iterator[str]:
    if action.kind == "command":
        yield action.subject
    elif action.kind == "other":
        for each in operations(action.tool, arguments_of(action)):
            if isinstance(each, Command):
                yield each.line


def _changed(action: Action) -> Iterator[tuple[str, bool]]:
    """Paths a call certainly changes, and whether with everything below them."""
    if action.kind == "file":
        yield from ((each, False) for each in (action.subject, *action.spelled))
    elif action.kind == "other":
        for each in operations(action.tool, arguments_of(action)):
            if isinstance(each, FileUse) and each.verb != "read":
                yield from ((path, each.verb in _WHOLE) for path in (each.path, each.to) if path)
    for line in _lines(action):
        yield from _changed_by(line)


def _changed_by(line: str) -> Iterator[tuple[str, bool]]:
    for effect in file_effects(line):
        if effect.deed in _CHANGES or effect.deed in _WHOLE:
            yield from ((path, effect.deed in _WHOLE) for path in (effect.path, effect.to) if path)
    inside, own = PurePath(), set[tuple[str, ...]]()
    for command in simple_commands(line):
        own.add(tuple(word.casefold() for word in command.words))
        if command.program in _MOVES:
            inside = inside.joinpath(*command.words[1:2])
        written = ((path, False) for path, _ in command.writes if path not in _NOWHERE)
        yield from ((str(inside / path), whole) for path, whole in (*written, *_targets(command.words)))
    # Quoted commands, as after `bash -c`.
    for part in read(line).parts:
        if part.runs and part.words not in own:
            yield from _targets(part.words)


def _targets(words: Sequence[str]) -> Iterator[tuple[str, bool]]:
    if not words:
        return
    use = program_of(words)
    given = use.arguments(words)
    options = (each.text for each in given if each.role == "named" and each.text.startswith("-"))
    # After an unknown option, an operand may be anything.
    if "writes" in use.program.operands or all(use.program.option(each)[0] for each in options):
        yield from ((each.text, each.text != ".") for each in given if each.role in ("writes", "moves"))
    yield from ((path, False) for path in written_by(given, None, ["."]))
    # git may discard a branch as well as a file; its effects tell which.
    if words[use.begins] != "git" and "deletes" in kinds_of(" ".join(words), surely=True):
        yield from ((each.rpartition("=")[2], True) for each in words[use.begins + 1 :] if each[:1] != "-")


def _concerns(pattern: str, path: str, folder: Folder, *, whole: bool) -> bool:
    guarded, name = (shown_path(each, folder) for each in (pattern, path))
    return path_concerns(guarded, name) or (whole and (name == "." or f"{guarded}/".startswith(f"{name}/")))


def shown_path(path: str, folder: Folder) -> str:
    """A path relative to the workspace, if it is inside."""
    root, plain = os.path.realpath(folder.root or "."), os.path.normpath(Path(path).expanduser())
    return os.path.relpath(plain, root) if f"{plain}/".startswith(f"{root}/") else plain
