"""The reach of calls: which ones leave this machine or cannot be undone, and what they act on."""

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, lru_cache
from itertools import chain
from pathlib import Path
from typing import Any

from tui_app.agent.approvals.command_line import Folder
from tui_app.agent.approvals.denials import find_in, read
from tui_app.agent.approvals.programs import UNKNOWN, program_of
from tui_app.agent.approvals.rules import Action
from tui_app.context.ledger.origins import Operand, normal
from tui_app.context.ledger.tools import Command, argument_texts, operations
from tui_app.context.shell_line import simple_commands
from tui_app.files import object_in, toml_beside
from tui_app.paths import from_home
from tui_app.records import frozen
from tui_app.system.hosts import is_this_machine, plain_host
from tui_app.tool_specs import TOOLS

_LEAVES, _OUTSIDE = "leaves this machine", "leads out of the folder"
_WHY = {
    "network": _LEAVES, "packages": _LEAVES, "publish": _LEAVES,
    "credentials": "shows or changes keys", "deletes": "cannot be taken back",
}  # fmt: skip
_URL = re.compile(r"(?i)\b[a-z][a-z0-9+.-]{1,20}://([^\s\"'`<>|\\^{}\x00-\x1f]+)")
_AT_HOST = re.compile(r"(?<![\w./-])[\w.+-]+@([\w-]+(?:\.[\w-]+)+)")
_BARE = re.compile(r"(?:(?:[\w-]+\.)+[a-zA-Z][\w-]*|\d{1,3}(?:\.\d{1,3}){3})(?:[:/].*)?")
_TOKENS = re.compile(r"[\s|&;<>()$`\"'=]+")
_PATH = re.compile(r"(?:^|(?<=[=@:,]))(?:~|/|\.\.(?=/|$))[^\s:,]*")
_NAMES = re.compile(r"[a-z0-9_]+")
_HARMLESS = re.compile(r"/dev/(?:null|std\w+|tty|fd/\d+)")


@frozen
class Reach:
    """The reach of one call."""

    why: str = ""
    """Why it reaches out, or what cannot be undone; empty for ordinary work."""
    operands: tuple[Operand, ...] = ()


def reach_of(action: Action, folder: Folder) -> Reach:
    """The reach of a call, as far as its arguments tell."""
    match action.kind:
        case "address":
            return Reach(_LEAVES, tuple(_addresses([action.subject], hosts_only=True)))
        case "command":
            return _command_reach(action.subject, folder)
        case "file":
            paths = tuple(_paths([action.subject], folder))
            return Reach(_OUTSIDE if paths else "", paths)
        case "other" if action.tool not in TOOLS:
            return _call_reach(action, folder)
        case _:
            return Reach()


def _call_reach(action: Action, folder: Folder) -> Reach:
    """The reach of a call to a tool of an MCP server, or of the user's own agent."""
    args = arguments_of(action)
    texts = list(argument_texts(args))
    addresses, paths = tuple(_addresses(texts)), tuple(_paths(texts, folder))
    lines = [each.line for each in operations(action.tool, args) if isinstance(each, Command)]
    run = [_command_reach(line, folder) for line in lines]
    why = next(filter(None, (each.why for each in run)), "")
    why = why or (_LEAVES if addresses else _OUTSIDE if paths else "")
    return Reach(why, (*addresses, *paths, *chain.from_iterable(each.operands for each in run)))


def arguments_of(action: Action) -> Mapping[str, Any]:
    """The arguments of a call whose subject is JSON."""
    args = object_in(action.subject)
    return {"": action.subject} if args is None else args


@lru_cache(maxsize=256)
def _command_reach(line: str, folder: Folder) -> Reach:
    kinds = kinds_of(line)
    commands = [each for each in simple_commands(line) if each.words]
    words = [word for each in commands for word in (*each.words, *(to for to, _ in each.writes), *each.reads)]
    reaching = any(_WHY[kind] == _LEAVES for kind in kinds)
    # An unknown program may contact any address it is given.
    asks = reaching or any(program_of(each.words).program is UNKNOWN for each in commands)
    bare = bool({"network", "publish"} & {*kinds})
    addresses = tuple(_addresses([line, *words], bare=bare)) if asks else ()
    others = (*addresses, *_paths(words, folder))
    if others and not kinds:
        return Reach(_LEAVES if addresses else _OUTSIDE, others)
    # Quoted commands too, as after `bash -c`.
    whole = [each.words for each in commands] + [each.words for each in read(line).parts if each.runs]
    for each in whole:
        if "deletes" in kinds_of(" ".join(each), surely=True):
            others += tuple(Operand("path", (form,)) for form in _named(each))
    operands = dict.fromkeys(_as_a_whole(each) for each in whole if _is_telling(each, kinds))
    return Reach(_WHY[kinds[0]] if kinds else "", (*others, *operands))


def _as_a_whole(words: Sequence[str]) -> Operand:
    exact, bare = (normal(" ".join(each)) for each in (words, [word for word in words if word[:1] != "-"]))
    return Operand("command", (bare if " " in bare else exact,), exact)


@lru_cache(maxsize=256)  # of a line, and of each of its commands
def kinds_of(line: str, *, surely: bool = False) -> tuple[str, ...]:
    """The ways in which a line reaches out or deletes, or may do so, by their names in the table."""
    unwanted = ("no", "perhaps") if surely else ("no",)
    names = set(_NAMES.findall(re.sub(r"[\"'\\]", "", line.casefold())))
    return tuple(
        kind
        for kind, patterns in _table().items()
        # Search only for programs whose name occurs.
        if any(first in names and find_in(line, pattern) not in unwanted for first, pattern in patterns)
    )


@cache
def _table() -> Mapping[str, Sequence[tuple[str, str]]]:
    table: dict[str, list[str]] = toml_beside(__file__, "reach")
    return {kind: [(_NAMES.findall(each)[0], each) for each in patterns] for kind, patterns in table.items()}


def _is_telling(words: Sequence[str], kinds: Sequence[str]) -> bool:
    """Whether a whole command is specific enough to have an origin: two words that only fetch are not."""
    own = kinds_of(" ".join(words)) if kinds else ()
    if own != ("packages",):
        return len(words) > (1 + (own == ("network",))) and (bool(own) or not kinds)
    # A command that only fetches what the project lists names nothing.
    return any(each.role in ("package", "argument") for each in program_of(words).arguments(words))


def _named(words: Sequence[str]) -> Iterator[str]:
    """Paths that a command deletes. Only names like those of files count: others are ordinary words."""
    for word in words[program_of(words).at :]:
        form = normal(os.path.normpath(word))
        if not word.startswith("-") and re.search(r"\w[./]\w", form):
            yield form


def _addresses(texts: Sequence[str], *, bare: bool = False, hosts_only: bool = False) -> Iterator[Operand]:
    """Hosts, each with its parent domains, and their pages; each once."""
    places = [found[1] for text in texts for pattern in (_URL, _AT_HOST) for found in pattern.finditer(text)]
    tokens = [token for text in texts for token in _TOKENS.split(text)] if bare else []
    found: dict[Operand, None] = {}
    for written in (*places, *filter(_BARE.fullmatch, tokens)):
        place = re.split(r"[?#]", written, maxsplit=1)[0]
        name = place.partition("/")[0].rpartition("@")[2]
        host = plain_host(name if name.startswith("[") else name.partition(":")[0])
        if not host or is_this_machine(host):
            continue
        labels = host.split(".") if re.search(r"[^\d.:]", host.replace(":", "")) else []
        wider = (".".join(labels[at:]) for at in range(1, len(labels) - 1))
        forms = (host, normal(name.partition(":")[0]), *wider)
        found[Operand("address", tuple(dict.fromkeys(filter(None, forms))))] = None
        page = normal(place.rpartition("@")[2]).rstrip("/.,;)")
        if "/" in page and not hosts_only:
            found[Operand("address", (page,))] = None
    yield from found


def _paths(words: Sequence[str], folder: Folder) -> Iterator[Operand]:
    """Paths outside of the folder, as written and as resolved."""
    home, root = str(Path.home()), os.path.realpath(folder.root or ".")
    inside = (root, *map(str, folder.added))
    for word in dict.fromkeys(words):
        for found in _PATH.finditer(word) if "://" not in word else ():
            path = found[0].rstrip("/")
            real = os.path.normpath(root / from_home(path))
            if (
                len(path) < 2
                or _HARMLESS.fullmatch(path)
                or any(f"{real}/".startswith(f"{each}/") for each in inside)
            ):
                continue
            forms = [path, real, real.replace(home, "~", 1) if real.startswith(f"{home}/") else real]
            yield Operand("path", tuple(dict.fromkeys(map(normal, forms))))
