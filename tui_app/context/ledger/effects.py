"""Effects of a successful shell line on files: one row per program."""

import posixpath
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Literal

from tui_app.context.ledger.tools import SUBCOMMANDS
from tui_app.context.shell_line import SimpleCommand, program_words, simple_commands
from tui_app.records import frozen
from tui_app.text import words

WHOLE_TREE = "."
"""Path for effects on every file."""
Deed = Literal[
    "created", "edited", "written", "deleted", "read", "moved",
    "undone", "cleaned", "added", "committed", "uncommitted", "stashed", "restored",
]  # fmt: skip
ON_EARLIER = frozenset({"undone", "cleaned", "added", "committed", "uncommitted", "stashed", "restored"})
"""Deeds on earlier deeds only: changes undone, untracked files deleted, files added to git, commits made and
undone, changes stashed and restored.
"""


@frozen
class Effect:
    """One thing that was done to one file."""

    path: str
    deed: Deed
    to: str = ""
    """Where it is moved to; empty if an expansion determines that."""
    how: str = ""
    """``if new``: no effect on an existing file. ``staged``: git knows the file. ``all``: committed though
    not added. ``amended``: no additional commit. A number: so many commits.
    """


def file_effects(line: str, folder: str = "") -> Iterator[Effect]:
    """Yield what a successful line has done to files, in order; ``folder`` is where it was run.

    Expansions and devices are left out, as is everything that may not have run: after ``||``, in a loop, a
    condition or a function, and after an ``&&`` whose chain may have failed.
    """
    commands = [command for command in simple_commands(line) if not command.nested]
    places = _Places(line, folder)
    skips = False
    for command, has_run in zip(commands, _has_run(commands), strict=True):
        places.reach(command)
        skips = command.joint == "||" or (skips and command.joint == "|")
        words = program_words(command.words)
        if not words or skips or not has_run:
            continue
        if words[0] in FOLDERS:
            places.change(words)
            continue
        # A deleted or moved folder may be written with its slash.
        effects = [
            replace(each, path=each.path.rstrip("/")) if each.deed in {"deleted", "moved"} else each
            for each in _program_effects(words)
        ]
        effects += [Effect(path, "edited" if appended else "written") for path, appended in command.writes]
        for effect in effects:
            if effect.deed in ON_EARLIER and effect.path in {WHOLE_TREE, "./", ":/", "*"}:
                yield replace(effect, path=WHOLE_TREE)
            elif effect.deed in ON_EARLIER:
                if path := places.whole(effect.path):
                    yield replace(effect, path=path)
            elif _is_path(effect.path) and (path := places.whole(effect.path)):
                to = places.whole(effect.to) if _PLAIN_PATH.fullmatch(effect.to) else ""
                yield replace(effect, path=path, to=to)


def _has_run(commands: Sequence[SimpleCommand]) -> list[bool]:
    """Return which commands of a successful line have run.

    If the end of their chain of ``&&`` is not that of the line, everything before them in the chain must be
    of programs that do not fail silently.
    """
    last = max((at for at, each in enumerate(commands) if each.joint in {";", "||", "&"}), default=0)
    run, sure = list[bool](), True
    for at, command in enumerate(commands):
        if command.joint == "&&":
            sure = sure and prints_failures(commands[at - 1].words)
        elif command.joint != "|":
            sure = True
        run.append(sure or at >= last)
    return run


FOLDERS = frozenset({"cd", "pushd", "popd"})
"""Programs that change the folder of a line."""
_PLAIN_PATH = re.compile(r"[A-Za-z0-9_.~@/+:,=%*?\-\[\]\u00c0-\uffff ]{1,300}")
_PATTERN = re.compile(r"[*?]")


class _Places:
    """The folder at each position of a line; None if an expansion determines it."""

    def __init__(self, line: str, folder: str) -> None:
        self.line = line
        self.at = 0
        self.folder: str | None = folder
        self.before: str | None = None
        self.pushed: list[str | None] = []
        self.outside: list[tuple[str | None, list[str | None]]] = []
        """Folders of the subshells around a position."""

    def reach(self, command: SimpleCommand) -> None:
        """Advance to a command; at the end of a subshell the folder before it is restored."""
        for place, word in enumerate(command.text.split()):
            found = self.line.find(word, self.at)
            if found < 0:
                continue
            for sign in self.line[self.at : found] if not place else "":
                if sign == "(":
                    self.outside.append((self.folder, [*self.pushed]))
                elif sign == ")" and self.outside:
                    self.folder, self.pushed = self.outside.pop()
            self.at = found + len(word)

    def change(self, words: Sequence[str]) -> None:
        """Follow a ``cd``, ``pushd`` or ``popd``."""
        program, target = words[0], next((each for each in words[1:] if each == "-" or each[:1] != "-"), "~")
        folder = self.before if target == "-" else self.whole(target) or None
        if program == "popd":
            folder = self.pushed.pop() if self.pushed else None
        elif program == "pushd":
            self.pushed.append(self.folder)
        self.before, self.folder = self.folder, folder

    def whole(self, path: str) -> str:
        """Return a path including its folder; empty if that is unknown."""
        if not _PLAIN_PATH.fullmatch(path) or (self.folder is None and not path.startswith(("/", "~"))):
            return ""
        return _joined(self.folder or "", path)


def _is_path(path: str) -> bool:
    outside = path.startswith(("/dev/", "/proc/", "-", "~+", "http:", "https:", "&")) or path.endswith("/")
    return not outside and path not in {"", ".", ".."}


def _joined(folder: str, path: str) -> str:
    if not folder or path.startswith(("/", "~")):
        return path
    return posixpath.normpath(posixpath.join(folder, path))


def pattern_of(path: str) -> re.Pattern[str] | None:
    """Return a regular expression for a shell pattern; None if the path is not a pattern."""
    if not _PATTERN.search(path):
        return None
    signs = {"*": "[^/]*", "?": "[^/]"}
    form = "".join(signs.get(sign) or re.escape(sign) for sign in path.removeprefix("./"))
    return re.compile(f"(?:/.*/)?{form}" if "/" in path else form)


_Reader = Callable[[Sequence[str], Mapping[str, str]], Iterator[Effect]]
"""Effects of a program's operands, with its options and their values."""


def _each(deed: Deed, how: str = "") -> _Reader:
    return lambda operands, options: (Effect(path, deed, how=how) for path in operands)


def _files(deed: Deed) -> _Reader:
    """The same if an operand may be a pattern: only those that look like a file."""
    return lambda operands, options: (Effect(path, deed) for path in operands if _named_like_file(path))


def _moved(operands: Sequence[str], options: Mapping[str, str]) -> Iterator[Effect]:
    yield from (Effect(path, "moved", to) for path, to in _pairs(operands, options))


def _copied(operands: Sequence[str], options: Mapping[str, str]) -> Iterator[Effect]:
    if "-d" not in options:
        yield from (Effect(to, "written") for _, to in _pairs(operands, options))


def _pairs(operands: Sequence[str], options: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield each source with its destination: inside the target if that looks like a folder."""
    into = options.get("-t") or options.get("--target-directory") or ""
    *sources, target = [*operands, into] if into else operands or [""]
    is_folder = into or len(sources) > 1 or target.endswith("/") or target in {".", ".."}
    for path in sources:
        yield path, posixpath.join(target, posixpath.basename(path)) if is_folder else target


def _appended(operands: Sequence[str], options: Mapping[str, str]) -> Iterator[Effect]:
    yield from _each("edited" if options.keys() & {"-a", "--append"} else "written")(operands, options)


def _touched(operands: Sequence[str], options: Mapping[str, str]) -> Iterator[Effect]:
    if not options.keys() & {"-c", "--no-create"}:
        yield from _each("created", "if new")(operands, options)


def _in_place(operands: Sequence[str], options: Mapping[str, str]) -> Iterator[Effect]:
    """Yield files that a script is run on: the first operand is the script unless an option has it."""
    if any(option == "--in-place" or re.match(r"-[a-zA-Z]*i", option) for option in options):
        scripted = any(re.match(r"-[a-zA-Z]*[eEf]$|--expression|--file", option) for option in options)
        yield from _each("edited")(operands[0 if scripted else 1 :], options)


def _editor(operands: Sequence[str], options: Mapping[str, str]) -> Iterator[Effect]:
    if len(operands) > 1 and operands[0] in SUBCOMMANDS:
        yield Effect(operands[1], SUBCOMMANDS[operands[0]])


_PROGRAMS: Mapping[str, tuple[_Reader, str]] = {
    **dict.fromkeys(("rm", "unlink", "trash"), (_each("deleted"), "")),
    **dict.fromkeys(("cat", "less", "more", "nl", "view", "open"), (_files("read"), "")),
    **dict.fromkeys(("head", "tail"), (_files("read"), "-n -c --lines --bytes")),
    "bat": (_files("read"), "-r -l --line-range --language --style --theme"),
    "touch": (_touched, "-d -t -r --date --reference"),
    "create": (_files("created"), ""),
    "tee": (_appended, ""),
    "mv": (_moved, "-t -S --target-directory --suffix"),
    "cp": (_copied, "-t -S --target-directory --suffix"),
    "install": (_copied, "-t -S -m -o -g --target-directory --suffix --mode --owner --group"),
    **dict.fromkeys(("sed", "gsed"), (_in_place, "-e -f -l --expression --file --line-length")),
    "perl": (_in_place, "-e -E"),
    "str_replace_editor": (_editor, ""),
}
"""Effects of programs on their operands, and which of their options take a value."""
_ONLY_TELLS = frozenset({"--help", "--version"})
_MAY_NOT = re.compile(r"-[a-zA-Z]*[inI]|--(?:interactive|no-clobber|dry-run|just-print)")
_ASKING = frozenset({"rm", "mv", "cp"})
"""Programs that ask first, overwrite nothing or only simulate with these options."""


def _program_effects(words: Sequence[str]) -> Iterator[Effect]:
    program = posixpath.basename(words[0])
    if program == "git":
        yield from _git_effects(words[1:])
    elif program in _PROGRAMS:
        read, valued = _PROGRAMS[program]
        options, operands = _arguments(words[1:], valued.split())
        asks = program in _ASKING and any(map(_MAY_NOT.match, options))
        if not asks and not options.keys() & _ONLY_TELLS:
            yield from read(operands, options)


def _arguments(words: Sequence[str], valued: Collection[str]) -> tuple[dict[str, str], list[str]]:
    """Return options with their values, and operands; several letters after one dash are one option."""
    options, operands, last = dict[str, str](), list[str](), ""
    for at, word in enumerate(words):
        if last:
            options[last], last = word, ""
        elif word == "--":
            return options, operands + [each for each in words[at + 1 :] if each]
        elif word.startswith("--") and "=" in word:
            options[word.partition("=")[0]] = word.partition("=")[2]
        elif word.startswith("-") and word != "-":
            options[word] = ""
            # The last of several letters may take a value.
            letter = word if word[1] == "-" else f"-{word[-1]}"
            last = letter if letter in valued else ""
        elif word:
            operands.append(word)
    return options, operands


_TELLING = words(
    "cd pushd popd mkdir rmdir chmod chown ln git true : echo printf set unset export source . wait sleep "
    "exit kill trap"
)


def prints_failures(words: Sequence[str]) -> bool:
    """Whether a command's program cannot fail, or prints its name when it does."""
    bare = program_words(words)
    program = posixpath.basename(bare[0]) if bare else ":"
    return program in _TELLING or program in _PROGRAMS


def _named_like_file(path: str) -> bool:
    return "." in posixpath.basename(path).strip(".") or "/" in path.strip("/")


_WITH_VALUE = words("-m --message -C -c -s --source -e -F --file --author --date -t --template")
_UNCERTAIN = words("-p --patch --ours --theirs -b -B --orphan --detach -k --keep-index -S")
"""Options with which it is unknown whether a file was restored."""
_HERE = frozenset({"HEAD", "@", ""})
_BACK = re.compile(r"(?:HEAD|@)(?:(\^{1,20})|~(\d{0,4}))")


def _git_effects(arguments: Sequence[str]) -> Iterator[Effect]:
    start, folder = 0, ""
    while start < len(arguments) and arguments[start].startswith("-"):
        folder = arguments[start + 1] if arguments[start] == "-C" and start + 1 < len(arguments) else folder
        start += 2 if arguments[start] in {"-C", "-c"} else 1
    if start < len(arguments) and not _ONLY_TELLS & {*arguments}:
        for effect in _subcommand_effects(arguments[start], arguments[start + 1 :]):
            at_root = effect.path == WHOLE_TREE
            to = _joined(folder, effect.to) if effect.to else ""
            yield effect if at_root else replace(effect, path=_joined(folder, effect.path), to=to)


def _subcommand_effects(name: str, arguments: Sequence[str]) -> Iterator[Effect]:
    options, operands = _arguments(arguments, _WITH_VALUE)
    uncertain = options.keys() & _UNCERTAIN
    match name:
        case "rm" | "mv" if "--cached" not in options and not _only_shows(options):
            for effect in _PROGRAMS[name][0](operands, options):
                yield replace(effect, how="staged")
        case "add" | "stage" if not uncertain and not _only_shows(options):
            yield from _each("added")(operands or [WHOLE_TREE] * _has(options, "A", "--all"), options)
        case "checkout" if not uncertain:
            yield from _each("undone")(_checked_out(arguments, operands, options), options)
        case "restore" if not uncertain - {"-S"} and (
            not options.keys() & {"-S", "--staged"} or options.keys() & {"-W", "--worktree"}
        ):
            here = options.get("-s", options.get("--source", "")) in _HERE
            yield from _each("undone")(operands if here else [], options)
        case "clean" if not _has(options, "i", "--interactive") and not _only_shows(options):
            yield from _each("cleaned")(operands or [WHOLE_TREE], options)
        case "commit" | "reset" | "stash" if not uncertain and "--dry-run" not in options:
            yield from _kept(name, operands, options)


def _kept(name: str, operands: Sequence[str], options: Mapping[str, str]) -> Iterator[Effect]:
    """Yield what is committed, stashed, or no longer so."""
    match name, operands[:1]:
        case "commit", _:
            yield from _each("added")(operands, options)
            how = "all " * _has(options, "a", "--all") + "amended" * ("--amend" in options)
            yield Effect(WHOLE_TREE, "committed", how=how.strip())
        case "reset", _:
            if back := _BACK.fullmatch(operands[0] if operands else ""):
                count = len(back[1]) if back[1] else int(back[2] or 1)
                yield Effect(WHOLE_TREE, "uncommitted", how=str(count))
            if "--hard" in options:
                yield Effect(WHOLE_TREE, "undone")
        case _, ["pop" | "apply"]:
            yield Effect(WHOLE_TREE, "restored")
        case _, [] | ["push" | "save"]:
            how = "all" if _has(options, "ua", "--include-untracked", "--all") else ""
            paths = operands[1:] if operands[:1] == ["push"] else []
            yield from _each("stashed", how)(paths or [WHOLE_TREE], options)


def _has(options: Mapping[str, str], letters: str, *names: str) -> bool:
    """Whether one of the letters, alone or combined, or one of the long names is an option."""
    return any(option in names or re.match(rf"-[a-zA-Z]*[{letters}]", option) for option in options)


def _only_shows(options: Mapping[str, str]) -> bool:
    """Whether a subcommand only simulates."""
    return _has(options, "n", "--dry-run")


def _checked_out(
    arguments: Sequence[str], operands: Sequence[str], options: Mapping[str, str]
) -> Sequence[str]:
    if "--" in arguments:
        place = arguments.index("--")
        ref = [word for word in arguments[:place] if not word.startswith("-")]
        return arguments[place + 1 :] if not ref or ref[0] in _HERE else ()
    if options.keys() & {"-f", "--force"} and len(operands) < 2:
        return (WHOLE_TREE,)
    # A single word may name a branch: then no file of that name was changed.
    if operands[:1] and operands[0] in _HERE:
        return operands[1:]
    return [word for word in operands if len(operands) == 1 and "." in word]
