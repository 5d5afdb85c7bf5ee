"""What a shell command does to files, and what makes two commands the same command.

This is a reader, not a shell: words come from one linear pass, variables and globs are left alone, and what
is not certain is not claimed.
"""

import posixpath
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from tui_app.records import frozen

# What git does to files: what it removes and moves, and which changes it undoes or keeps for good.

WHOLE_TREE = "."
"""Path of what concerns every file."""
ON_TRAILS = frozenset({"undone", "cleaned", "added", "committed"})
"""Verbs that say something of earlier deeds only: that a change was undone, a file that git does not
know deleted, a file made known to it, and everything before kept."""
_OF_ONE = frozenset({"-m", "--message", "-C", "-c", "-s", "--source", "-e"})
"""Options whose value is the next word."""
_STAGED, _WORKTREE = frozenset({"-S", "--staged"}), frozenset({"-W", "--worktree"})
_ASKS = frozenset({"-p", "--patch", "--ours", "--theirs", "-b", "-B", "--orphan", "--detach"})
"""Options with which it is not known, or not so, that a file is as it was."""
_HERE = frozenset({"HEAD", "@"})


@frozen
class Effect:
    """One thing a command does to one file."""

    path: str
    verb: str
    """``created``, ``edited``, ``read``, ``deleted`` or ``written``; or one of ``ON_TRAILS``."""


def git_subcommand(arguments: Sequence[str]) -> list[str]:
    """The words of a git command from its subcommand on."""
    start = 0
    while start < len(arguments) and arguments[start].startswith("-"):
        start += 2 if arguments[start] in {"-C", "-c"} else 1
    return list(arguments[start:])


def git_effects(words: Sequence[str]) -> list[Effect]:
    """What a git command that worked has done to the changes before it.

    Args:
        words: The subcommand and its arguments.

    Returns:
        Effects; where it depends on another commit, which is not known, none.
    """
    if not words:
        return []
    options = {word for word in words[1:] if word.startswith("-")}
    match words[0]:
        case "commit" if not options & {"-n", "--dry-run"} or "-m" in options:
            return [Effect(WHOLE_TREE, "committed")]
        case "add" | "stage":
            plain = list(_plain(words[1:]))
            every = bool(options & {"-A", "--all"}) and not plain
            return [Effect(path, "added") for path in (plain or [WHOLE_TREE] * every)]
        case "checkout" if not options & _ASKS:
            return [Effect(path, "undone") for path in _checked_out(words[1:], options)]
        case "restore" if not options & _ASKS and (not options & _STAGED or options & _WORKTREE):
            source = _source(words)
            return [Effect(path, "undone") for path in _plain(words[1:]) if source in {"", *_HERE}]
        case "reset" if "--hard" in options:
            return [Effect(WHOLE_TREE, "undone")]
        case "clean" if _forced(options):
            return [Effect(path, "cleaned") for path in list(_plain(words[1:])) or [WHOLE_TREE]]
    return []


def _checked_out(words: Sequence[str], options: set[str]) -> Sequence[str]:
    if "--" in words:
        place = words.index("--")
        ref = [word for word in words[:place] if not word.startswith("-")]
        return words[place + 1 :] if not ref or ref[0] in _HERE else []
    plain = list(_plain(words))
    if options & {"-f", "--force"} and len(plain) < 2:
        return [WHOLE_TREE]
    # A word alone may name a branch: then no file of that name was changed.
    if plain[:1] and plain[0] in _HERE:
        return plain[1:]
    return [word for word in plain if len(plain) == 1 and "." in word]


def _source(words: Sequence[str]) -> str:
    for place, word in enumerate(words):
        if word in {"-s", "--source"}:
            return words[place + 1] if place + 1 < len(words) else "?"
        if word.startswith("--source="):
            return word.removeprefix("--source=")
    return ""


def _forced(options: set[str]) -> bool:
    letters = "".join(one for one in options if not one.startswith("--"))
    asks = "n" in letters or "i" in letters or "--dry-run" in options or "--interactive" in options
    return ("f" in letters or "--force" in options) and not asks


def _plain(words: Sequence[str]) -> Iterator[str]:
    """The words that are neither options nor their values."""
    value = False
    for word in words:
        if value:
            value = False
        elif word.startswith("-"):
            value = word in _OF_ONE
        else:
            yield word


LONGEST = 20_000
"""Characters of a command that are read; scripts longer than that are data."""

_WORDS = re.compile(
    r"'(?P<single>[^']*)'|\"(?P<double>(?:[^\"\\]|\\.)*)\"|(?P<redirect>\d?>>?(?:&\d)?|&>>?"
    r"|<<?<?)"
    r"|(?P<operator>&&|\|\|?|;|&|\n|\(|\))|(?P<word>[^\s'\"<>;|&()]+)|(?P<stray>['\"])"
)
_HEREDOC = re.compile(r"<<-?\s{0,4}(['\"]?)([A-Za-z_][A-Za-z0-9_]{0,60})\1")
_ENV = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=")
_NOISE_TAIL = re.compile(
    r"(?:\s+(?:2>&1|2>/dev/null|>/dev/null|&>/dev/null)|\s*\|\s*(?:tail|head|cat|less)\b[^|&;\n]{0,60})$"
)
_CD = re.compile(r"^\s*(?:cd|pushd)\s+[^\s;&|]{1,400}\s*(?:&&|;)\s*")
_RUNNER = re.compile(
    r"(?:(?:uv|poetry|pipenv|pdm|rye|hatch) run|npx(?: (?:-y|--yes))?|bunx|(?:pnpm|npm|yarn) exec(?: --)?"
    r"|(?:[^\s;&|]{0,300}/)?python(?:3(?:\.\d{1,2})?)? -m) (?=[^\s-])"
)
"""What only finds a program and runs it."""
_PLAIN_PATH = re.compile(r"[A-Za-z0-9_.~@/+:,=%\-\[\]\u00c0-\uffff ]{1,300}")
_READERS = frozenset({"cat", "head", "tail", "less", "more", "bat", "nl", "view"})
_FILTERS = frozenset({"grep", "egrep", "rg", "sed", "awk", "wc", "sort", "uniq", "cut", "tr", "jq", "column"})
"""Programs at the end of a pipe that only choose what is shown of an output."""
_WRAPPERS = frozenset({"sudo", "env", "time", "nohup", "command", "exec", "then", "do", "else", "!"})


def normal_command(command: str) -> str:
    """The command without what does not change its meaning: leading ``cd``, output tails, extra spaces.

    Args:
        command: A command line as it was run.

    Returns:
        One line to compare runs by.
    """
    text = without_heredocs(command[:LONGEST]).strip()
    while match := _CD.match(text):
        text = text[match.end() :]
    return _without_noise(" ".join(text.split()))


def _without_noise(text: str) -> str:
    while (shorter := _NOISE_TAIL.sub("", text)) != text:
        text = shorter
    return text


def plainly(command: str) -> str:
    """A command as it is spelled without what only runs a program: ``python -m pytest`` is ``pytest``.

    Args:
        command: A ``normal_command`` or ``producer``.
    """
    return " && ".join(map(_without_runners, command.split(" && ")))


def _without_runners(command: str) -> str:
    while match := _RUNNER.match(command):
        command = command[match.end() :]
    return command


def producer(command: str) -> str:
    """The command whose output is looked at: without the filters at the end of its pipe.

    Args:
        command: A command line as it was run.

    Returns:
        A beginning of the ``normal_command``; all of it where no filter follows, or where filters are all
        there is.
    """
    text = normal_command(command)
    operators = [match for match in _WORDS.finditer(text) if match["operator"]]
    while operators and operators[-1]["operator"] == "|":
        last = operators.pop()
        following = text[last.end() :].split(maxsplit=1)
        if not following or posixpath.basename(following[0]) not in _FILTERS:
            break
        text = _without_noise(text[: last.start()].rstrip())
    return text


def program_of(command: str) -> str:
    """The first program a command runs, without path, wrappers and assignments; may be empty."""
    for words, _ in _segments(without_heredocs(command[:LONGEST])):
        if words and words[0] not in {"cd", "pushd", "export", "source", "set"}:
            return posixpath.basename(words[0])
    return ""


def last_program_of(command: str) -> str:
    """The program whose exit code the whole command reports: the last one of a pipe; may be empty."""
    last = ""
    for words, _ in _segments(without_heredocs(command[:LONGEST])):
        last = posixpath.basename(words[0]) if words else last
    return last


def without_heredocs(command: str) -> str:
    """The command without the bodies of its here-documents, which are data and not commands."""
    if "<<" not in command:
        return command
    kept: list[str] = []
    waiting = ""
    for line in command.split("\n"):
        if waiting:
            waiting = "" if line.strip() == waiting else waiting
            continue
        kept.append(line)
        if match := _HEREDOC.search(line):
            waiting = match[2]
    return "\n".join(kept)


def file_effects(command: str) -> Iterator[Effect]:
    """Yield what a command that succeeded has done to files.

    Args:
        command: A command line; relative paths are taken from its own leading ``cd``.

    Yields:
        Effects in order. Globs, variables and devices are left out.
    """
    folder = ""
    for words, targets in _segments(without_heredocs(command[:LONGEST])):
        if words and words[0] in {"cd", "pushd"} and len(words) == 2:
            folder = posixpath.join(folder, words[1])
            continue
        program = _git_effects if words and posixpath.basename(words[0]) == "git" else _program_effects
        for effect in (*program(words), *targets):
            if effect.verb in ON_TRAILS and effect.path in {WHOLE_TREE, "./", ":/", "*"}:
                yield Effect(WHOLE_TREE, effect.verb)
            elif _is_file(effect.path) or effect.verb in ON_TRAILS:
                yield Effect(_join(folder, effect.path), effect.verb)


def _segments(command: str) -> Iterator[tuple[list[str], list[Effect]]]:
    """Split at operators; every segment has its words and the files its output is sent to.

    A quote that is never closed ends the reading: from there on nothing is certain.
    """
    words: list[str] = []
    targets: list[Effect] = []
    redirect = ""
    for match in _WORDS.finditer(command):
        kind, text = match.lastgroup, match[0]
        if kind == "stray":
            return
        if kind == "operator":
            yield _unwrapped(words), targets
            words, targets, redirect = [], [], ""
        elif kind == "redirect":
            redirect = text
        else:
            word = text if kind == "word" else text[1:-1]
            if not redirect:
                words.append(word)
            elif ">" in redirect and "&" not in redirect[1:] and redirect[0] != "2":
                targets.append(Effect(word, "edited" if ">>" in redirect else "written"))
            redirect = ""
    yield _unwrapped(words), targets


def _unwrapped(words: list[str]) -> list[str]:
    start = 0
    while start < len(words) and (words[start] in _WRAPPERS or _ENV.match(words[start])):
        start += 1
    return words[start:]


def _git_effects(words: list[str]) -> list[Effect]:
    """What git does; files that it only forgets (``--cached``) are still there."""
    if "-C" in words[1:-1]:
        place = words.index("-C")
        effects = _git_effects(words[:place] + words[place + 2 :])
        return [replace(effect, path=_join(words[place + 1], effect.path)) for effect in effects]
    match git_subcommand(words[1:]):
        case ["rm" | "mv", *arguments] if {"--cached", "-n", "--dry-run"} & {*arguments}:
            return []
        case ["rm" | "mv", *_] as moved:
            return _program_effects(moved)
        case others:
            return git_effects(others)


def _program_effects(words: list[str]) -> list[Effect]:
    if len(words) < 2:
        return []
    program, arguments = posixpath.basename(words[0]), words[1:]
    plain = [word for word in arguments if not word.startswith("-")]
    match program:
        case "rm" | "unlink" | "trash":
            return [Effect(path, "deleted") for path in plain]
        case "mv":
            if len(plain) != 2:
                return [Effect(path, "deleted") for path in plain[:-1]]
            return [Effect(plain[0], "deleted"), Effect(_into(plain[0], plain[1]), "created")]
        case "cp" | "install" if len(plain) == 2:
            return [Effect(_into(plain[0], plain[1]), "written")]
        case "tee" | "touch":
            verb = "created" if program == "touch" else "edited" if "-a" in arguments else "written"
            return [Effect(path, verb) for path in plain]
        case "sed" | "perl" | "gsed" if any(
            word.startswith(("-i", "-pi", "--in-place")) for word in arguments
        ):
            return [Effect(path, "edited") for path in plain if _named_file(path)]
        case _ if program in _READERS:
            return [Effect(path, "read") for path in plain if _named_file(path)]
    return []


def _into(source: str, target: str) -> str:
    """Where a file lands: in the target when that is a folder by its spelling, else at the target."""
    if target.endswith("/") or target in {".", ".."}:
        return posixpath.join(target, posixpath.basename(source))
    return target


def _named_file(path: str) -> bool:
    """Whether an argument reads like a file name, so that a script or a pattern is not taken for one."""
    name = posixpath.basename(path)
    return "." in name.strip(".") or "/" in path.strip("/")


def _is_file(path: str) -> bool:
    outside = path.startswith(("/dev/", "/proc/", "-", "~+", "http:", "https:")) or path.endswith("/")
    return not outside and path not in {".", ".."} and _PLAIN_PATH.fullmatch(path) is not None


def _join(folder: str, path: str) -> str:
    if not folder or path.startswith(("/", "~")):
        return path
    return posixpath.normpath(posixpath.join(folder, path))


# Commands that run in a folder, whether they go there or are told so.

_FOLDERS_CD = re.compile(r"^\s{0,20}(?:cd|pushd)\s{1,4}([^\s;&|]{1,300})\s{0,4}(?:&&|;)")
_OPTION = re.compile(r"\s(?:--prefix|--cwd|--dir|-C|--directory)(?:=|\s{1,4})([^\s;&|]{1,300})(?=\s|$)")
_WITH_OPTION = re.compile(r"^(?:npm|pnpm|yarn|bun|make|gmake|ninja|git|uv|poetry|go|just)\s")


def same_in_folder(one: str, other: str) -> bool:
    """Whether two command lines run the same in the same folder, which both of them name."""
    (first, here), (second, there) = _placed(one), _placed(other)
    return bool(here and there) and first == second and _same_folder(here, there)


def _placed(command: str) -> tuple[str, str]:
    """The command without its folder, and that folder; empty where none or more than one is named."""
    going = _FOLDERS_CD.match(command)
    text = normal_command(command)
    if not _WITH_OPTION.match(text):
        return plainly(text), going[1] if going else ""
    options = _OPTION.findall(text)
    named = [*options, *([going[1]] if going else [])]
    return plainly(_OPTION.sub("", text)), named[0] if len(named) == 1 else ""


def _same_folder(one: str, other: str) -> bool:
    first, second = (path.strip("\"'").removeprefix("./").rstrip("/") for path in (one, other))
    return first == second or first.endswith(f"/{second}") or second.endswith(f"/{first}")
