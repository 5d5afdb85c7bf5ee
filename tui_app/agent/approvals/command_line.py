"""What rules allow of a command line: its words, read the one way in which every shell reads them."""

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field, replace
from functools import cache
from pathlib import Path, PurePath
from typing import Literal

from tui_app.agent.approvals.places import obeyed
from tui_app.records import frozen
from tui_app.text import visible

# What programs do with what they are given: run it, read a program from it, do the same by other names.

RUNNERS = frozenset(
    {
        "eval", "exec", "command", "env", "sudo", "doas", "xargs", "sh", "bash", "dash", "zsh", "ksh",
        "busybox", "toybox", "parallel",
    }
)  # fmt: skip
"""Programs whose arguments are a command."""
_INTERPRETER = (
    r"(?:python|pypy|perl|ruby|node|nodejs|deno|bun|php|lua|luajit|tclsh|pwsh|osascript|Rscript|guile)[\d.]*"
)
INTERPRETED = re.compile(rf"(?<![\w.-]){_INTERPRETER}(?![\w.-])", re.IGNORECASE)
_BEFORE_PROGRAM = re.compile(r"\w+\+?=.*|if|then|else|elif|do|while|until|time|!|\{", re.DOTALL)


def program_at(words: Sequence[str]) -> int | None:
    """Where the program of a command stands."""
    return next((at for at, word in enumerate(words) if not _BEFORE_PROGRAM.fullmatch(word)), None)


_SAME = (
    ("git push", "git send-pack", "git http-push", "git subtree push", "git svn dcommit", "git p4 submit"),
    ("git commit", "git commit-tree"),
    ("git fetch", "git fetch-pack", "git http-fetch", "git remote update"),
    ("npm install", "npm i", "npm in", "npm ins", "npm add", "npm ci", "npm install-test", "npm it"),
    ("npm uninstall", "npm remove", "npm rm", "npm r", "npm un", "npm unlink"),
    ("npm run", "npm run-script", "npm rum", "npm urn"),
    ("docker rm", "docker container rm"),
    ("docker run", "docker container run"),
    ("docker rmi", "docker image rm"),
    ("docker exec", "docker container exec"),
)
"""What programs do under other names of theirs: the first of each stands for all."""


def same_as(wanted: Sequence[str]) -> Iterator[list[str]]:
    """What does the same as the words of a rule."""
    for first, *others in _SAME:
        begins = first.split()
        if list(wanted[: len(begins)]) == begins:
            yield from ([*other.split(), *wanted[len(begins) :]] for other in others)


_SHELL = re.compile(r"(?:ba|da|z|k|mk|pdk|c|tc|a|r|rba|fi|ya|xon)?sh[\d.]*|nu|elvish|busybox|toybox")
_READS_TEXT = frozenset({"at", "batch", "source", "."})
_IN_FRONT = RUNNERS | {
    "nohup", "timeout", "nice", "ionice", "setsid", "stdbuf", "unbuffer", "time", "chroot", "flock", "ssh",
    "strace", "chrt", "taskset", "unshare", "nsenter", "bwrap", "firejail", "su", "runuser", "builtin",
}  # fmt: skip
"""Programs behind which another one stands that is run."""
_STDIN = frozenset({"-", "-s", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"})
_WITH_VALUE = frozenset({"-o", "+o", "-O", "+O", "-W", "-X", "-I", "-r", "--rcfile", "--init-file"})


def reads_program(words: Sequence[str]) -> bool:
    """Whether a command runs the text that it is fed, as a shell does without a file or a text of its own."""
    start = program_at(words)
    if start is None:
        return False
    names = [word.rsplit("/", 1)[-1].casefold() for word in words]
    if names[start] == "ssh":
        return sum(not word.startswith("-") for word in words[start + 1 :]) == 1 or _reads_behind(
            names, start
        )
    return _reads_behind(names, start)


def _reads_behind(names: Sequence[str], start: int) -> bool:
    places = range(start, len(names) if names[start] in _IN_FRONT else start + 1)
    for at in places:
        rest = names[at + 1 :]
        if names[at] in _READS_TEXT:
            return names[at] in ("at", "batch") or bool({"stdin", "0"} & {*rest})
        if _SHELL.fullmatch(names[at]) or INTERPRETED.fullmatch(names[at]):
            operands = [
                word
                for before, word in zip(("", *rest), rest, strict=False)
                if not word.startswith(("-", "+")) and before not in _WITH_VALUE
            ]
            if not operands or _STDIN & {*rest} or {"stdin"} & {*rest}:
                return True
    return False


# A line that rules may allow is commands of plain and quoted words, joined by `&&`, `||`, `|` and `;`.
# Everything else a shell reads (substitutions, globs, redirections, assignments in front) is never allowed.

EXACT = "= "
"""In front of a rule's command line: that line and no other."""
MORE = " …"
"""Behind the first words of a rule's command: whatever follows them."""
_WORD = r"""(?:[^\s|&;<>()$`\\*?\[\]#{}!"'~]|(?<=\w)~|'[^']*'|"(?:[^"$`\\]|\\.)*")+"""
_TOKEN = re.compile(rf"(?P<blank> +)|(?P<join>&&|\|\|?|;)|(?P<word>{_WORD})")
_QUOTED = re.compile(r"""'([^']*)'|"((?:[^"\\]|\\.)*)\"""")


@frozen
class Command:
    """One command of a line."""

    words: tuple[str, ...]
    quoted: frozenset[int] = frozenset()
    """Which words are spelled with quotes."""
    join: str = ""
    """The sign between it and the command in front of it."""

    @property
    def is_fed(self) -> bool:
        """Whether it reads what another command prints."""
        return self.join == "|"


def parse_line(line: str) -> tuple[Command, ...]:
    """The commands of a line that rules may allow; empty for any other line."""
    if not line.isprintable() or visible(line) != line:
        return ()
    commands: list[Command] = []
    words: list[str] = []
    quoted: set[int] = set()
    at, join = 0, ""
    while at <= len(line):
        found = _TOKEN.match(line, at)
        if found is None and at < len(line):
            return ()
        if found is None or found["join"]:
            if not words or "=" in words[0]:
                return ()
            commands.append(Command(tuple(words), frozenset(quoted), join))
            join = found["join"] if found is not None else ""
            words, quoted = [], set()
        elif word := found["word"]:
            if (plain := _QUOTED.sub(_unquoted, word)) != word:
                quoted.add(len(words))
            words.append(plain)
        at = found.end() if found is not None else len(line) + 1
    return tuple(commands)


def _unquoted(found: re.Match[str]) -> str:
    single, double = found.groups()
    return single if double is None else re.sub(r'\\([$`"\\])', r"\1", double)


def without_signs(pattern: str) -> str:
    """The command of a rule without what says whether more may follow; three dots do as well."""
    return pattern.removeprefix(EXACT).removesuffix(MORE).removesuffix(" ...")


def exact_pattern(line: str) -> str:
    """The pattern of a rule that allows a command line and no other; empty where no rule may allow it."""
    return f"{EXACT}{line.strip()}" if parse_line(line.strip()) else ""


def first_words(words: Sequence[str]) -> int:
    """How many words of a command say what it does: the program with its subcommand.

    Returns:
        None at all for programs of which the first words say nothing, as they run others or destroy.
    """
    if words[0] in _SAYS_NOTHING:
        return 0
    if words[0] in _INTERPRETERS:
        return 3 if words[1:2] == ("-m",) and len(words) > 2 else 0
    if (known := _known(words)) and known[0].reads:
        return known[1]
    count = 1
    while count < min(3, len(words)) and _SUBCOMMAND.fullmatch(words[count]):
        count += 1
    return count


_SUBCOMMAND = re.compile(r"[a-z][a-z0-9:_-]*")
_SHELLS = frozenset({"bash", "dash", "fish", "ksh", "sh", "zsh"})
_INTERPRETERS = frozenset({"node", "perl", "php", "python", "python3", "ruby"})
_SAYS_NOTHING = _SHELLS | {
    "busybox", "chmod", "chown", "chroot", "command", "dd", "doas", "env", "eval", "exec", "ionice", "kill",
    "killall", "mkfs", "nice", "nohup", "npx", "parallel", "pkill", "rm", "rmdir", "setsid", "shred",
    "source", "ssh", "stdbuf", "strace", "su", "sudo", "time", "timeout", "toybox", "unlink", "watch",
    "xargs",
}  # fmt: skip
_READ_COMMANDS = frozenset({"xargs", "parallel"})
"""What they are fed becomes words of a command."""


# The folder that commands run in, and which paths in it a rule has to name.


@frozen
class Folder:
    """Where commands run."""

    root: Path | None = None
    """Links are followed from here; None where nothing is known but the names."""
    closed: tuple[Path, ...] = ()
    """The program's own folders."""

    def objection(self, word: str, inside: Sequence[str], *, reads: bool, follows: bool = False) -> str:
        """Why a rule that does not name a word does not allow it; empty where it may be any operand.

        Args:
            word: As the program is given it: a path, or with one behind ``:``, ``=`` or ``,``.
            inside: Folders below the root that the command may run in.
            reads: Whether the program only reads what it is named.
            follows: Whether it follows links that it comes across in a folder.
        """
        for piece in dict.fromkeys((word, *re.split("[:=,]", word))):
            if piece.startswith(("/", "~")) or ".." in piece.split("/") or _REMOTE.match(word):
                return _OUTSIDE
            for place in inside:
                path = os.path.normpath(f"{place}/{piece}")
                if self.root is not None:
                    real = Path(os.path.realpath(self.root / path))
                    if not real.is_relative_to(root := Path(os.path.realpath(self.root))):
                        return _OUTSIDE
                    if any(real.is_relative_to(os.path.realpath(each)) for each in self.closed):
                        return "is in this program's own folder"
                    if follows and real.is_dir():
                        return "is a folder, in which links may lead out"
                    path = str(PurePath(real).relative_to(root))
                if not reads and (part := obeyed(path)):
                    return f"is in {part}, which programs obey" if part != word else "is obeyed by programs"
        return ""


ANYWHERE = Folder()
_UNNAMED = "is not named by the rule"
_OUTSIDE = "leads out of the folder"
_REMOTE = re.compile(r"[\w.-]+@[\w.-]+:")


# Whether rules that name the first words of commands allow a line.


@frozen
class Allowance:
    """What rules that allow say of a line."""

    patterns: tuple[str, ...] = ()
    """Those that together allow it; none where they do not."""
    missing: str = ""
    """What the rule that comes closest does not name, and why it would have to."""


NOTHING = Allowance()


def allowance(line: str, patterns: Sequence[str], folder: Folder = ANYWHERE) -> Allowance:
    """Whether patterns allow a line: one of them all of it, or each of its commands is allowed by one."""
    commands = parse_line(line.strip())
    if not commands:
        return NOTHING
    for pattern in patterns:
        if pattern.startswith(EXACT) and parse_line(pattern.removeprefix(EXACT)) == commands:
            return Allowance((pattern,))
    used: list[str] = []
    missing: list[str] = []
    inside = ["."]
    for command in commands:
        found, why = _allowed_by(command, patterns, folder, inside)
        used.append(found)
        missing.append(why)
        if command.words[0] == "cd":
            inside += [f"{place}/{command.words[-1]}" for place in inside]
    if all(used):
        return Allowance(tuple(dict.fromkeys(used)))
    return Allowance(missing=next(filter(None, missing), ""))


def _allowed_by(
    command: Command, patterns: Sequence[str], folder: Folder, inside: Sequence[str]
) -> tuple[str, str]:
    """The pattern that allows a command; else what is missing."""
    missing = ""
    for pattern in patterns:
        if pattern.startswith(EXACT):
            continue
        wanted = tuple(without_signs(pattern).split())
        count = len(wanted)
        words = command.words
        # What may stand between a program and its subcommand is passed over, unless the rule begins so too.
        while words[1:2] and words[1] in _GLOBALS.get(words[0], ()) and words[1:2] != wanted[1:2]:
            words = (words[0], *words[2:])
        at = len(command.words) - len(words)
        if not wanted or words[:count] != wanted or any(each < count + at for each in command.quoted):
            continue
        why = _unnamed(Command(words, join=command.join), count, folder, inside)
        if not why:
            return pattern, ""
        missing = why
    return "", missing


def _unnamed(command: Command, named: int, folder: Folder, inside: Sequence[str]) -> str:
    """What of a command goes beyond the words of a rule, which are its first ones; empty if nothing does."""
    words = command.words
    if words[0] in _MOVES and (words[0] != "cd" or len(words) != 2 or words[1] == "-" or command.is_fed):
        return f"{words[0]} leads to a folder that is not known"
    if command.is_fed and (reads_program(words) or any(word in _READ_COMMANDS for word in words)):
        return f"{words[0]} runs what it reads"
    program, at = _known(words) or (_UNKNOWN, 1)
    for number, role in enumerate(_roles(words[at:], program), at):
        if role == "other":
            program = replace(program, reads=False)  # what such an option makes of files is not known
        if number >= named and (why := _objection(words[number], role, program, folder, inside)):
            return f"{words[number]} {why}"
    return ""


_Role = Literal["harmless", "text", "script", "other", "operand"]


def _roles(words: Sequence[str], program: "_Program") -> Iterator[_Role]:
    """What each word behind a program is to it."""
    texts, is_value, is_end = program.texts, False, False
    for word, following in zip(words, [*words[1:], ""], strict=False):
        if is_value or word in ("--", "-"):
            is_end = is_end or (word == "--" and not is_value)
            yield "other" if is_value and program.may_obey(word) else "harmless"
            is_value = False
        elif word.startswith("-") or (word.startswith("+") and not program.takes_plus):
            kind = program.kind(word, following)
            if is_end and kind == "value":  # a file of such a name takes none
                kind = "other"
            is_value = kind == "value"
            texts = 0 if kind == "other" else texts
            yield "other" if kind == "other" else "harmless"
        elif texts or program.takes_keys:
            texts = max(0, texts - 1)
            program = replace(program, takes_keys=False)
            yield "other" if not program.texts else "script" if program.script else "text"
        else:
            yield "operand"


def _objection(word: str, role: _Role, program: "_Program", folder: Folder, inside: Sequence[str]) -> str:
    match role:
        case "harmless" | "text":
            return ""
        case "script":
            return "" if program.script is None or program.script.fullmatch(word) else _UNNAMED
        case "other":
            return _UNNAMED
        case "operand":
            if program.takes_no_files or (not program.reads and _NO_OPERAND.search(word)):
                return _UNNAMED
            if program.is_remote and ":" in word:
                return _OUTSIDE
            return folder.objection(word, inside, reads=program.reads, follows=program.follows)


_MOVES = frozenset({"cd", "chdir", "pushd", "popd"})
_NO_OPERAND = re.compile(r"^@|^[\w.-]+[:?+!]*=(?!=)|[\s;|&<>()$`\\\"']")
"""What is more than a file or a name: a list of arguments, an assignment, text that may be a command."""
_GLOBALS = {"git": ("--no-pager", "-P", "--no-optional-locks")}


# Options that neither write nor run anything nor name a file, for programs in daily use. Reviewed one by one.
#
# What is not listed has to be named by the rule. `-n:` and `--since=` have a value of their own, `-o:a|b` one
# of these, `-j:#` a number or none, `--color[=]` one behind the sign or none; `-1` is numbers, `+` words that
# begin so. `text`: the first operand is a pattern or program, no file; `texts`: all of them are.
# `keys`: it is options without a dash. `remote`: `host:path` leads elsewhere. `named`: operands are no files.
# `follows`: links within a folder are followed.

_Kind = Literal["alone", "value", "other"]


@frozen
class _Program:
    options: Mapping[str, str] = field(default_factory=dict)
    """What each takes: nothing, ``:`` a value, ``?`` one behind ``=``, ``#`` a number, or one of these."""
    reads: bool = False
    texts: int = 0
    takes_plus: bool = False
    script: re.Pattern[str] | None = None
    is_remote: bool = False
    takes_no_files: bool = False
    """Whether its operands are hosts, settings or commands."""
    takes_keys: bool = False
    """Whether the first operand is options without a dash."""
    follows: bool = False
    """Whether it follows links that it comes across in a folder."""

    def kind(self, word: str, following: str) -> _Kind:
        """What a word is that looks like an option."""
        name, equals, value = word.partition("=")
        takes = self.options.get(name)
        if takes is not None and not equals:
            return self._next(takes, following)
        if takes is not None:
            return self._value(takes, value, "alone") if takes and len(name) > 2 else "other"
        if re.fullmatch(r"-\d+", word) and "-1" in self.options:
            return "alone"
        return "other" if word.startswith(("--", "+")) else self._bundle(word[1:], following)

    def may_obey(self, value: str) -> bool:
        """Whether a value would be more than harmless, should its option turn out to take none."""
        return value.startswith("-") and not _BELOW_ZERO.fullmatch(value) and self.kind(value, "") == "other"

    def _bundle(self, letters: str, following: str) -> _Kind:
        for at, letter in enumerate(letters, 1):
            takes = self.options.get(f"-{letter}")
            if takes is None:
                break
            if takes:
                value = letters[at:]
                return self._value(takes, value, "alone") if value else self._next(takes, following)
        else:
            return "alone"
        return "other"

    def _next(self, takes: str, following: str) -> _Kind:
        if takes in ("", "?") or (takes == "#" and not following.isdigit()):
            return "alone"
        return self._value(takes, following, "value")

    @staticmethod
    def _value(takes: str, value: str, kind: _Kind) -> _Kind:
        fits = takes in (":", "?") or (takes == "#" and value.isdigit()) or value in takes.split("|")
        # As a format of git it starts a program that checks signatures.
        return kind if fits and "%G" not in value else "other"


_BELOW_ZERO = re.compile(r"-\d*\w?")
_UNKNOWN = _Program()
_DIFFS = (
    "-p -u --patch -s --no-patch --stat[=] --shortstat --numstat --name-only --name-status --summary"
    " --check -U[=] --unified[=] --word-diff[=] --color[=] --no-color --diff-filter= -w -b --ignore-all-space"
    " --ignore-space-change -M --no-renames --minimal --patience --histogram --raw -z -R --relative"
    " --no-ext-diff --no-textconv --exit-code -q --quiet"
)
_LOGS = (
    f"{_DIFFS} -1 -n: -i -E -F --oneline --graph --decorate[=] --no-decorate --all --branches --tags"
    " --remotes --max-count= --skip= --since= --until= --after= --before= --author= --committer= --grep="
    " -S: -G: --pretty[=] --format[=] --date= --abbrev-commit --no-merges --merges --first-parent --reverse"
    " --follow --topo-order --date-order --left-right --cherry-pick --invert-grep"
)
_GREPS = (
    "-1 -n -i -v -l -L -c -w -x -o -h -H -s -q -E -F -P -G -a -I -A: -B: -C: -m: --line-number"
    " --ignore-case --count --files-with-matches --word-regexp --only-matching --no-messages"
    " --fixed-strings --extended-regexp --context= --after-context= --before-context= --max-count="
    " --include= --exclude= --exclude-dir= --color[=] -r --recursive text"
)
_PYTEST = (
    "-q -v -x -s -l -k: -m: -r: --quiet --verbose --exitfirst --maxfail= --tb= --lf --ff --last-failed"
    " --sw --failed-first --durations= --co --collect-only --no-header --no-summary --showlocals --color="
    " -vv --version"
)
_CARGO = (
    "--release --all --workspace --quiet -q --verbose -v --lib --bins --tests --examples --all-targets"
    " --all-features --no-default-features --features= -F: --package= -p: --locked --offline --frozen -j:"
    " --jobs= --no-run --no-fail-fast --doc --keep-going"
)
_READERS = {
    "ls": (
        "-1 -a -A -l -h -t -r -S -R -d -F -i -s -p -c -u -U -X -n -g -o -G -k -m -x -C -Q -q -N -b -v"
        " --all --almost-all --human-readable --reverse --recursive --directory --color[=] --sort= --time="
    ),
    "cat": "-n -b -s -e -t -v -A -E -T -u --number --number-nonblank --squeeze-blank --show-all",
    "head": "-1 -n: -c: -q -v --lines= --bytes= --quiet",
    "tail": "-1 -n: -c: -q -v -r --lines= --bytes= --quiet +",
    "wc": "-l -w -c -m -L --lines --words --bytes --chars",
    "nl": "-b: -w: -s:",
    "tac": "",
    "date": "-u -I[=] -R --utc --iso-8601[=] --rfc-3339= +",
    "stat": "-L -c: --format= --printf= --terse",
    "file": "-b -i -k --brief --mime --mime-type",
    "du": "-s -h -a -c -d: -k -m -x --summarize --human-readable --max-depth= --total --all",
    "tree": "-a -d -f -i -s -h -L: -I: -P: --dirsfirst --noreport --prune",
    "diff": (
        "-u -r -q -y -w -b -B -i -N -a -U: -W: --unified[=] --brief --recursive --side-by-side --color[=]"
        " follows"
    ),
    "cmp": "-s -l -b",
    "comm": "-1 -2 -3",
    "cut": "-d: -f: -c: -b: -s --delimiter= --fields= --complement",
    "sort": (
        "-n -r -u -k: -t: -f -h -V -b -s -c -C -g -M -d -i -R -z --numeric-sort --reverse --unique --key="
    ),
    "column": "-t -s: -c:",
    "md5sum": "-b",
    "sha256sum": "-b",
    "grep": _GREPS,
    "egrep": _GREPS,
    "fgrep": _GREPS,
    "git grep": f"{_GREPS} --cached --untracked",
    "rg": (
        "-1 -n -N -i -S -s -v -w -x -l -c -o -F -U -P -H -I -p -u -. -A: -B: -C: -m: -t: -T: -g: -d: -j:"
        " --type= --type-not= --glob= --iglob= --max-count= --context= --after-context= --before-context="
        " --hidden --no-ignore --files-with-matches --files-without-match --count --count-matches"
        " --heading --no-heading --line-number --no-line-number --ignore-case --smart-case"
        " --case-sensitive --fixed-strings --multiline --word-regexp --only-matching --invert-match --json"
        " --stats --color= --sort= --max-depth= --max-columns= --trim --column --with-filename"
        " --no-filename --no-messages --pretty text"
    ),
    "sed": "-n -E -r -s -u --quiet --silent --regexp-extended text",
    "awk": "-F: -v: text",
    "jq": (
        "-r -c -n -s -e -S -M -C -a -j -R --raw-output --compact-output --null-input --slurp"
        " --exit-status --sort-keys --tab --indent= text"
    ),
    "find": (
        "-name: -iname: -path: -ipath: -regex: -iregex: -type:b|c|d|f|l|p|s -maxdepth: -mindepth: -size:"
        " -mtime: -mmin: -atime: -amin: -ctime: -cmin: -newer -newermt: -empty -print -print0 -ls -prune"
        " -not -a -o -and -or -perm: -user: -group: -executable -readable -writable -depth -mount -xdev"
        " -printf: -quit -links:"
    ),
    "git status": (
        "-s -b -v -z -u[=] --short --branch --long --verbose --porcelain[=] --ignored[=] --show-stash"
        " --untracked-files[=]"
    ),
    "git log": _LOGS,
    "git show": _LOGS,
    "git diff": f"{_DIFFS} --cached --staged --merge-base --ignore-blank-lines",
    "git blame": "-w -L: -s -e -M -C -t --date= --since= --line-porcelain --porcelain",
    "git ls-files": (
        "-c -d -m -o -s -t -u -v -z --cached --deleted --modified --others --stage --exclude-standard"
    ),
    "git branch": (
        "-a -r -v -vv --list --show-current --all --remotes --merged --no-merged --contains --sort="
        " --format= --color[=] --no-color"
    ),
    "git rev-parse": (
        "--short[=] --abbrev-ref --show-toplevel --verify --is-inside-work-tree --git-dir -q --quiet"
    ),
    "git remote": "-v --verbose remote",
    "git describe": "--tags --always --dirty[=] --long --abbrev=",
    "git add": "-A -u -n -v -N --all --update --dry-run --intent-to-add --verbose",
}  # fmt: skip
"""Those that only read what their operands name; ``git add`` leaves the files as they are."""
_OTHERS = {
    "git commit": "-a -m: -q -v --all --message= --quiet --verbose --dry-run",
    "git checkout": "-q -b: --quiet",
    "git switch": "-q -c: --quiet --create=",
    "git fetch": "-a -p -t -q -v --all --prune --tags --quiet --verbose --dry-run remote",
    "git pull": "-q -v --quiet --verbose --dry-run remote",
    "git push": "-n -q -v --dry-run --quiet --verbose remote",
    "git clone": "-q -v --quiet --verbose remote",
    "git ls-remote": "-q --quiet remote",
    "pytest": _PYTEST,
    "unittest": "-q -v -f -b -c -k: --quiet --verbose --failfast --buffer --catch --locals",
    "npm run": "-s --silent --if-present",
    "npm test": "-s --silent --if-present",
    "cargo build": _CARGO,
    "cargo check": _CARGO,
    "cargo test": _CARGO,
    "go build": "-v -race",
    "go test": "-v -race -run: -count: -short -failfast -timeout: -bench: -cover -parallel: -skip: -list:",
    "go vet": "-v",
    "make": "-j:# -k -s -n -B -i -q --jobs=# --keep-going --silent --dry-run --always-make",
    "docker ps": "-a -q -l -n: -s --all --quiet --latest --no-trunc --size --format= --filter= -f:",
    "docker images": "-a -q --all --quiet --no-trunc --digests --format= --filter= -f:",
    "docker logs": "-t -n: --tail= --since= --until= --timestamps --details",
    "kubectl get": (
        "-n: -A -l: -L: -o:wide|yaml|json|name --namespace= --all-namespaces --selector= --show-labels"
        " --no-headers --field-selector= --sort-by="
    ),
    "pip list": "-o -u --outdated --uptodate --user --local --not-required --format=columns|freeze|json",
    "mkdir": "-p -v --parents --verbose",
    "uniq": "-c -d -u -i -f: -s: -w: --count --repeated --unique",
    "ps": "-e -f -A -a -u: -x -o: -p: -l texts",
    "echo": "-n -e -E texts",
    "printf": "texts",
    "tr": "-d -s -c -C texts",
    "tar": "keys",
    "ar": "keys",
    "rsync": "remote",
    "scp": "remote",
    "sftp": "remote",
    **dict.fromkeys(("curl", "wget", "http", "https", "aria2c", "lynx", "w3m", "ping", "nc"), "named"),
    **dict.fromkeys(("ncat", "telnet", "ftp", "dig", "host", "nslookup", "whois"), "named"),
    **dict.fromkeys(("git config", "git submodule", "npm config", "pip config", "yarn config"), "named"),
}  # fmt: skip
_FLAGS = _READERS | _OTHERS
_RUN = (
    ("uv", "run"), ("poetry", "run"), ("pipenv", "run"), ("pdm", "run"), ("hatch", "run"), ("bundle", "exec"),
    ("npx",), ("bunx",), ("python", "-m"), ("python3", "-m"),
)  # fmt: skip
"""What only finds a program and runs it."""
# Whether a sign between square brackets ends an expression is not the same everywhere: there is none.
_EXPRESSION = r"(?:(?!END)[^\\[]|\\.|\[\^?(?:(?!END)[^][\\]|\[:\w+:\])+\])*"
_REPLACED = _EXPRESSION.replace("END", r"\1")
_ADDRESS = rf"(?:\d+|\$|/{_EXPRESSION.replace('END', '/')}/)"
_SCRIPTS = {
    # Printing, deleting, substituting; not `e`, which runs, nor `w`, which writes.
    "sed": rf"""(?x) (?: (?: ^|; ) \s* (?: {_ADDRESS} (?: ,\s*(?:[+~]?\d+|{_ADDRESS}) )? )? \s* !?
        (?: [pdq=] | s([/|,\#]){_REPLACED}\1(?:(?!\1)[^\\]|\\.)*\1[gpiI\d]* ) \s* )+ ;?""",
    "awk": r"(?!.*(?:system|getline|fflush|close|ARG|ENVIRON|PROCINFO|SYMTAB|FUNCTAB|[|>@])).*",
    "jq": r"(?!.*(?:\b(?:import|include|env|input_filename)\b|ENV|\$__)).*",
    # Without a dash `e` shows what other programs were given.
    "ps": r"[acfhjlrTuwx]+|[\d,]+",
}


@cache
def _program(key: str) -> _Program:
    options: dict[str, str] = {}
    marks: set[str] = set()
    for token in _FLAGS[key].split():
        if not token.startswith("-"):
            marks.add(token)
        elif token.endswith("[=]"):
            options[token.removesuffix("[=]")] = "?"
        else:
            found = re.fullmatch(r"(--?[^:=]+)(?:[:=](.*))?", token)
            name, values = found.groups() if found else (token, None)
            options[name] = "" if values is None else values or ":"
    return _Program(
        options,
        reads=key in _READERS or "texts" in marks,
        texts=1 if "text" in marks else 1_000_000 if "texts" in marks else 0,
        takes_plus="+" in marks,
        script=re.compile(_SCRIPTS[key], re.DOTALL) if key in _SCRIPTS else None,
        is_remote="remote" in marks,
        takes_no_files="named" in marks,
        takes_keys="keys" in marks,
        follows="follows" in marks,
    )


def _known(words: Sequence[str]) -> tuple[_Program, int] | None:
    """What is known of the program of a command, and how many words name it."""
    start = next((len(each) for each in _RUN if tuple(words[: len(each)]) == each), 0)
    for count in (2, 1):
        if (key := " ".join(words[start : start + count])) in _FLAGS:
            return _program(key), start + count
    return None
