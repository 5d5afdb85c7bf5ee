"""What programs do with what they are given: run it, read a program from it, do the same by other names."""

import re
from collections.abc import Iterator, Sequence

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
