"""Rules that allow command lines by their first words: every word of a line has to be covered.

Only lines of commands with plain and quoted words, joined by ``&&``, ``||``, ``|`` and ``;``, can be allowed.
Anything else in shell syntax (substitutions, globs, redirections, assignments) never is.
"""

import os
import posixpath
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path, PurePath

from tui_app.agent.approvals.denials import runs_unseen
from tui_app.agent.approvals.programs import Argument, Use, known_programs, program_named, program_of, shapes
from tui_app.context.shell_line import SimpleCommand, read_line
from tui_app.records import frozen
from tui_app.system.obeyed_places import obeyed

EXACT = "= "
"""Prefix of a rule that allows exactly one command line."""
MORE = " …"
"""Suffix of a rule's command: anything may follow its first words."""


@frozen
class Allowance:
    """The result of the allowing rules for a line."""

    patterns: tuple[str, ...] = ()
    """The patterns that together allow it; empty if they do not."""
    missing: str = ""
    """The word that the closest rule does not cover, and why it would have to."""


NOTHING = Allowance()


@frozen
class Folder:
    """Where commands run, and which paths in it a rule has to name."""

    root: Path | None = None
    """Links are followed from here; None if only names are known."""
    closed: tuple[Path, ...] = ()
    """The program's own folders."""
    added: tuple[Path, ...] = ()
    """Further folders the user has opened: their content counts as coming from there."""

    def outside_reason(self, word: str, inside: Sequence[str], *, follows: bool = False) -> str:
        """Why a rule has to name a word; empty if it may be any operand.

        Args:
            word: The word as the program gets it: a path, or one after ``:``, ``=`` or ``,``.
            inside: Folders below the root that the command may run in.
            follows: Whether the program follows links that it finds in a folder.
        """
        for piece in _pieces(word):
            if piece.startswith(("/", "~")) or ".." in piece.split("/") or _REMOTE.match(word):
                return _OUTSIDE
            for place in inside if self.root is not None else ():
                real = self._real(f"{place}/{piece}")
                if not real.is_relative_to(self._root):
                    return _OUTSIDE
                if any(real.is_relative_to(os.path.realpath(each)) for each in self.closed):
                    return "is in this program's own folder"
                if follows and real.is_dir():
                    return "is a folder, in which links may lead out"
        return ""

    def obeyed(self, word: str, inside: Sequence[str]) -> str:
        """Why no rule may allow writing to a word; empty if no program runs or follows what is there."""
        for piece in _pieces(word):
            for place in inside:
                path = os.path.normpath(f"{place}/{piece}")
                # By its own name, and by that of the place it links to.
                names = [path]
                if self.root is not None and (real := self._real(path)).is_relative_to(self._root):
                    names.append(str(PurePath(real).relative_to(self._root)))
                if part := next(filter(None, map(obeyed, names)), ""):
                    return f"is in {part}, which programs obey" if part != word else "is obeyed by programs"
        return ""

    def has(self, word: str, inside: Sequence[str]) -> bool:
        return self.root is not None and any(os.path.lexists(self._root / place / word) for place in inside)

    @property
    def _root(self) -> Path:
        return Path(os.path.realpath(self.root or "."))

    def _real(self, path: str) -> Path:
        return Path(os.path.realpath(self._root / path))


def _pieces(word: str) -> Iterator[str]:
    yield from dict.fromkeys((word, *re.split("[:=,]", word)))


ANYWHERE = Folder()
_UNNAMED = "is not named by the rule"
_OUTSIDE = "leads out of the folder"
_REMOTE = re.compile(r"[\w.-]+@[\w.-]+:")


def allowance(line: str, patterns: Sequence[str], folder: Folder = ANYWHERE) -> Allowance:
    """Whether patterns allow a line: one of them all of it, or each of its commands is allowed by one."""
    commands = plain_commands(line)
    if not commands:
        return NOTHING
    used: list[str] = []
    missing: list[str] = []
    inside = everywhere = ["."]
    moved: list[str] = []
    begun = _by_program(tuple(patterns))
    exact = next((each for each in begun.get(EXACT, ()) if _is_exact(each, commands)), "")
    for command in commands:
        # Only after `&&` is it certain that the folder was changed, and by no other branch.
        inside = everywhere if moved or command.joint in (";", "||") else inside
        if moved and command.joint == "&&" and all(each.joint != "||" for each in commands):
            inside = moved
        found, why = _allowed_by(command, begun, folder, inside, exact)
        used.append(found)
        missing.append(why)
        moved = [f"{place}/{command.words[-1]}" for place in inside] if command.words[0] == "cd" else []
        everywhere = everywhere + moved
    if all(used):
        return Allowance(tuple(dict.fromkeys(used)))
    return Allowance(missing=next(filter(None, missing), ""))


def prepare() -> None:
    """Load the grammar and the table of programs. Blocks: run it on a thread."""
    known_programs()
    read_line("true")
    obeyed("")


def plain_commands(line: str) -> tuple[SimpleCommand, ...]:
    """The commands of a line that rules may allow; empty for any other line."""
    found = read_line(line.strip())
    return found.commands if found.is_plain else ()


def without_more(pattern: str) -> str:
    """The command of a rule without its prefix or suffix; three ASCII dots count too."""
    return pattern.removeprefix(EXACT).removesuffix(MORE).removesuffix(" ...")


def exact_pattern(line: str, folder: Folder = ANYWHERE) -> str:
    """The pattern of a rule that allows exactly this line; empty if no rule may allow it."""
    pattern = f"{EXACT}{line.strip()}"
    return pattern if allowance(line, (pattern,), folder).patterns else ""


def command_prefix_length(words: Sequence[str]) -> int:
    """Number of words of a command that tell what it does: the program with its subcommand.

    Returns:
        0 for programs whose first words do not tell, because they run others or delete.
    """
    use = program_of(words)
    first = program_of(words[:1]).program
    if first.name in _SAYS_NOTHING or first.runs is not None or first.program:
        return use.at if use.begins and words[1:2] == ("-m",) else 0
    if use.program.looks:
        return use.at
    count = 1
    while count < min(3, len(words)) and _SUBCOMMAND.fullmatch(words[count]):
        count += 1
    return count


_SUBCOMMAND = re.compile(r"[a-z][a-z0-9:_-]*")
_SAYS_NOTHING = frozenset(
    {"chmod", "dd", "rm", "rmdir", "unlink", "shred", "kill", "pkill", "killall", "mkfs"}
)


@lru_cache(maxsize=8)
def _by_program(patterns: tuple[str, ...]) -> Mapping[str, Sequence[str]]:
    """Patterns by their program; those of whole lines by their prefix."""
    found: dict[str, list[str]] = {}
    for pattern in patterns:
        first = EXACT if pattern.startswith(EXACT) else (*_pattern_words(pattern), "")[0]
        found.setdefault(first, []).append(pattern)
    return found


def _is_exact(pattern: str, commands: Sequence[SimpleCommand]) -> bool:
    both = (plain_commands(pattern.removeprefix(EXACT)), commands)
    own, given = ([(each.joint, each.parts) for each in every] for every in both)
    return own == given


def _allowed_by(
    command: SimpleCommand,
    begun: Mapping[str, Sequence[str]],
    folder: Folder,
    inside: Sequence[str],
    exact: str,
) -> tuple[str, str]:
    """The pattern that allows a command, else what is missing."""
    missing = ""
    for pattern in (exact,) if exact else begun.get(command.words[0], ()):
        words, named = command.words, len(command.words)
        if not exact:
            prefix = _pattern_words(pattern)
            words, named = _without_globals(words, prefix), len(prefix)
            skipped = len(command.words) - len(words)
            if words[:named] != prefix or any(each.is_quoted for each in command.parts[: named + skipped]):
                continue
        why = _unnamed(words, named, command.fed and not exact, folder, inside)
        if not why:
            return pattern, ""
        missing = why
    return "", missing


@lru_cache(maxsize=1_024)
def _pattern_words(pattern: str) -> tuple[str, ...]:
    return tuple(without_more(pattern).split())


def _without_globals(words: tuple[str, ...], prefix: tuple[str, ...]) -> tuple[str, ...]:
    """Skip options between program and subcommand, unless the rule begins with them too."""
    known = program_of(words[:1]).program
    while words[1:2] and known.between and words[1] in known.options and words[1:2] != prefix[1:2]:
        words = (words[0], *words[2:])
    return words


def _unnamed(words: tuple[str, ...], named: int, is_fed: bool, folder: Folder, inside: Sequence[str]) -> str:
    """What in a command goes beyond a rule's words, which are its first ones; empty if nothing does."""
    if words[0] in _MOVES and (words[0] != "cd" or len(words) != 2 or words[1] == "-" or is_fed):
        return f"{words[0]} leads to a folder that is not known"
    use = program_of(words)
    is_put = any(row is not None and "words" in row.program for row in map(program_named, words[: use.at]))
    if is_fed and (is_put or runs_unseen(words, is_fed=True)):
        return f"{words[0]} runs what it reads"
    if use.begins and named <= use.begins:
        return f"{words[use.begins]} {_UNNAMED}"
    given = use.arguments(words)
    actions = sum(each.role == "actions" and use.at + each.at < named for each in given)
    actions += any(kind == "actions" for kind in use.program.operands) and named > use.at and not actions
    for each in given:
        is_named = use.at + each.at < named
        if why := _objection(each, use, folder, inside, is_named=is_named, has_action=bool(actions)):
            return f"{each.text} {why}"
    targets = written_by(given, folder.root, inside, is_contents="rsync" in use.program.name)
    for number, target in enumerate(targets):
        if number >= _MOST_ENTRIES:
            return f"{use.program.name} writes more files than can be looked at"
        if why := folder.outside_reason(target, ["."]) or folder.obeyed(target, ["."]):
            return f"{target} {why}"
    return ""


_MOVES = frozenset({"cd", "chdir", "pushd", "popd"})


def _objection(
    given: Argument, use: Use, folder: Folder, inside: Sequence[str], *, is_named: bool, has_action: bool
) -> str:
    word, program = given.text, use.program
    writes = given.role in ("writes", "folder", "moves", "packs", "argument", "actions")
    if writes and (why := folder.obeyed(word, inside)):
        return why
    if is_named or given.role in ("harmless", "text"):
        return ""
    is_never = program.never is not None and program.never.fullmatch(word)
    if is_never or given.role in ("named", "none"):
        return _UNNAMED
    if pattern := shapes().get(given.role):
        return "" if pattern.fullmatch(word) else _UNNAMED
    if "remote" in program.marks and (":" in word or word.startswith("//")):
        return _OUTSIDE
    is_unknown = (
        ("lists" in program.marks and word.startswith("@"))
        or (given.role in ("actions", "argument") and _NO_OPERAND.search(word))
        or (given.role == "actions" and word not in program.actions and (has_action or program.actions))
        or (given.role == "argument" and not (_PATH.search(word) or folder.has(word, inside)))
    )
    return _UNNAMED if is_unknown else folder.outside_reason(word, inside, follows="links" in program.marks)


_PATH = re.compile(r"[./]")
_NO_OPERAND = re.compile(r"^@|^[\w.-]+[:?+!]*=(?!=)|[\s;|&<>()$`\\\"']")
"""More than a file or a name: a list of arguments, an assignment, text that may be a command."""


_MOST_ENTRIES = 500
"""Maximum files of one command that are examined."""
_PACKED = (
    ".gz", "-gz", ".z", "-z", "_z", ".Z", ".bz2", ".bz", ".xz", ".lzma", ".zst", ".lz", ".lz4", ".tgz",
    ".taz", ".tbz", ".tbz2", ".txz", ".tlz", ".tzst",
)  # fmt: skip


def written_by(
    given: Sequence[Argument], root: Path | None, inside: Sequence[str], *, is_contents: bool = False
) -> Iterator[str]:
    """Files a command creates from others, as paths relative to the root.

    Args:
        given: The words of the command, each with its role.
        root: The open folder; None if only names are known.
        inside: Folders below it that the command may run in.
        is_contents: Whether a source folder with a trailing slash means only its content.
    """
    for each in given:
        if each.role == "packs":
            bare = [each.text.removesuffix(end) for end in _PACKED if each.text.endswith(end)]
            names = (*bare, *(f"{bare[0]}.tar" for _ in bare[:1]), *(f"{each.text}{end}" for end in _PACKED))
            yield from (os.path.normpath(f"{place}/{name}") for place in inside for name in names)
    operands = [each.text for each in given if each.role in ("copies", "moves", "links")]
    folders = [each.text for each in given if each.role == "folder"]
    sources, target = (operands, folders[-1]) if folders else (operands[:-1], (operands or [""])[-1])
    if not operands or not target:
        return
    if not sources and any(each.role == "links" for each in given):
        sources, target = operands, "."  # a link of that name, here
    for place in inside:
        if not sources:
            yield os.path.normpath(f"{place}/{target}")
        for source in sources:
            start, end = f"{place}/{source}", f"{place}/{target}"
            is_folder = bool(folders) or len(sources) > 1 or _is_folder(root, end)
            yield from _landings(root, start, end, is_folder=is_folder, is_contents=is_contents)
    if any(each.role == "links" for each in given):
        # Whatever is later written to one name is written to the other.
        yield from (os.path.normpath(f"{place}/{source}") for place in inside for source in sources)


def _landings(
    root: Path | None, source: str, target: str, *, is_folder: bool, is_contents: bool
) -> Iterator[str]:
    """The target path of a file, or of each file of a folder."""
    spread = source.endswith(("/.", "/..")) or (is_contents and source.endswith("/"))
    name = posixpath.basename(os.path.normpath(source))
    own = os.path.normpath(target if spread or not is_folder else f"{target}/{name}")
    if own != ".":
        yield own
    if is_folder and root is None and not spread:
        yield os.path.normpath(target)
    if root is None or not (root / source).is_dir():
        return
    start = root / source
    for folder, names, files in os.walk(start):
        inner = os.path.relpath(folder, start)
        yield from (os.path.normpath(f"{own}/{inner}/{each}") for each in (*names, *files))


def _is_folder(root: Path | None, path: str) -> bool:
    if path.endswith(("/", "/.", "/..")) or os.path.normpath(path) == ".":
        return True
    return root is not None and (root / path).is_dir()
