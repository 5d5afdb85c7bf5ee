"""Shell lines, read by the grammar of bash: the simple commands of a line, in order, with their words.

A reader, not a shell: variables, globs and substitutions are left as they are written.
"""

import posixpath
import re
import shlex
from collections.abc import Iterator, Sequence
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Literal

from tui_app.records import frozen
from tui_app.text import words

if TYPE_CHECKING:
    from tree_sitter import Node, Parser

LONGEST = 20_000
"""Characters of a line that are read; longer ones are scripts with data in them."""
_READABLE = bytes([*range(128), *[ord("_")] * 128])
"""The grammar's scanner looks every sign up in a table for ASCII, and reads beyond it."""
Joint = Literal["", "&&", "||", ";", "|", "&"]


@frozen
class SimpleCommand:
    """One program with its arguments."""

    words: tuple[str, ...]
    """Without quotes and assignments; an expansion as it is written."""
    text: str
    """As written, without redirections."""
    joint: Joint
    """What stands before it."""
    writes: tuple[tuple[str, bool], ...] = ()
    """Files that its output goes to, and whether it is appended."""
    nested: bool = False
    """Whether it stands in a loop, a condition, a function or a substitution."""

    @property
    def program(self) -> str:
        """Its name, without folder; empty for a bare assignment."""
        return posixpath.basename(self.words[0]) if self.words else ""


@lru_cache(maxsize=4_096)
def simple_commands(line: str) -> tuple[SimpleCommand, ...]:
    """Take a shell line apart.

    Args:
        line: One or more lines as a shell is given them; here-documents are data.

    Returns:
        Its commands in order of writing; what cannot be parsed is left out.
    """
    source = line[:LONGEST].encode("utf-8", "replace")
    try:
        return tuple(_commands(_parser().parse(source.translate(_READABLE)).root_node, _State(source)))
    except RecursionError:  # deeper than anybody writes
        return ()


def producer(line: str) -> str:
    """The part of a line whose outcome counts, by which two runs are the same.

    Without a leading ``cd``, the filters at the end of a pipe, redirections, and what only runs a program
    (``uv run``, ``python -m``, ``timeout 60``).
    """
    commands = [each for each in simple_commands(line) if not each.nested]
    commands = [each for each in commands if not (each.writes and each.program in _PRINTERS)] or commands
    while len(commands) > 1 and commands[0].program in _MOVES:
        commands = commands[1:]
    while len(commands) > 1 and commands[-1].joint == "|" and commands[-1].program in FILTERS:
        commands = commands[:-1]
    kept: list[str] = []
    for place, each in enumerate(commands):
        text = " ".join(map(_quoted, bare_words(each.words))) or each.text
        kept.append(text if not place else f"{'' if each.joint == ';' else ' '}{each.joint} {text}")
    return "".join(kept) or " ".join(line.split())


def _quoted(word: str) -> str:
    return word if word and not _MEANS_MORE.search(word) else shlex.quote(word)


def bare_words(words: Sequence[str]) -> tuple[str, ...]:
    """The words of a command without what only finds and runs its program."""
    rest = tuple(words)
    while rest:
        size = _runner(rest)
        if not size or size >= len(rest):
            return rest
        rest = rest[size:]
    return rest


def hides_failure(line: str) -> bool:
    """Whether a line may end well although what it runs has failed: a filter stands at its end, or ``||``."""
    commands = simple_commands(line)
    return any(each.joint in {"|", "||", ";"} for each in commands[1:])


FILTERS = words("grep egrep rg sed awk wc sort uniq cut tr jq column tail head cat less more tee xargs")
"""Programs at the end of a pipe that choose what is shown of an output."""
_PRINTERS = frozenset({"cat", "echo", "printf", "tee"})
"""Programs that write a file of what they are given: the line is about what comes next."""
_MEANS_MORE = re.compile(r"[\s;&|<>()\"'`\\#]")
"""Signs that mean something to a shell where they are not quoted."""
_MOVES = frozenset({"cd", "pushd", "export", "source", "set", "."})
_RUNNERS: tuple[tuple[str, ...], ...] = (
    ("uv", "run"), ("poetry", "run"), ("pipenv", "run"), ("pdm", "run"), ("rye", "run"), ("hatch", "run"),
    ("pnpm", "exec"), ("npm", "exec"), ("yarn", "exec"), ("bundle", "exec"), ("npx",), ("bunx",), ("sudo",),
    ("env",), ("time",), ("nohup",), ("command",), ("exec",),
)  # fmt: skip
_PYTHON = re.compile(r"python(?:3(?:\.\d{1,2})?)?$")
_DURATION = re.compile(r"\d+(?:\.\d+)?[smhd]?$")
_TIMEOUT_VALUES = frozenset({"-k", "-s", "--kill-after", "--signal"})
_SKIPPED = frozenset({"-y", "--yes", "--", "-p"})
"""Options of runners that take no value."""


def _runner(words: Sequence[str]) -> int:
    """How many words at the beginning only run what follows."""
    program = posixpath.basename(words[0])
    if program == "timeout":
        # Its options first; -k and -s take a value.
        at = 1
        while at < len(words) and words[at].startswith("-"):
            at += 2 if words[at] in _TIMEOUT_VALUES else 1
        return at + 1 if at < len(words) and _DURATION.match(words[at]) else 0
    if _PYTHON.match(program) and words[1:2] == ("-m",):
        return 2
    for row in _RUNNERS:
        if (program, *words[1 : len(row)]) == row:
            size = len(row)
            while size < len(words) and (
                words[size] in _SKIPPED or (program == "env" and "=" in words[size])
            ):
                size += 1
            return size
    return 0


@cache
def _parser() -> "Parser":
    # With the first command, not with the program: two libraries.
    import tree_sitter_bash
    from tree_sitter import Language, Parser

    return Parser(Language(tree_sitter_bash.language()))


class _State:
    """The source, and what stands before the next command."""

    def __init__(self, source: bytes) -> None:
        self.source = source
        self.joint: Joint = ""

    def text(self, node: "Node") -> str:
        return self.source[node.start_byte : node.end_byte].decode("utf-8", "replace")


_BLOCKS = words(
    "for_statement c_style_for_statement while_statement if_statement case_statement "
    "function_definition command_substitution process_substitution"
)
_JOINTS: dict[str, Joint] = {"&&": "&&", "||": "||", "|": "|", "|&": "|", "&": "&", ";": ";", "\n": ";"}
_COMMANDS = frozenset({"command", "declaration_command", "test_command", "unset_command"})


def _commands(node: "Node", state: _State, nested: bool = False) -> Iterator[SimpleCommand]:
    if node.type in _COMMANDS:
        yield _command(node, state, nested)
        for child in _substitutions(node):
            yield from _commands(child, state, nested=True)
        return
    if node.type == "redirected_statement":
        yield from _redirected(node, state, nested)
        return
    inside = nested or node.type in _BLOCKS
    for child in node.children:
        if not child.is_named:
            if child.type in _JOINTS:
                state.joint = _JOINTS[child.type]
        elif child.type not in {"variable_assignment", "heredoc_body", "comment"}:
            yield from _commands(child, state, inside)
            if node.type in {"program", "subshell", "compound_statement"}:
                state.joint = ";"


def _redirected(node: "Node", state: _State, nested: bool) -> Iterator[SimpleCommand]:
    body = list(_commands(node.named_children[0], state, nested)) if node.named_children else []
    if body:
        last = body[-1]
        writes = (*last.writes, *_writes(node, state))
        body[-1] = SimpleCommand(last.words, last.text, last.joint, writes, last.nested)
    yield from body
    for redirect in node.children_by_field_name("redirect"):
        # A pipe behind the beginning of a here-document is parsed into it.
        for child in redirect.named_children if redirect.type == "heredoc_redirect" else ():
            if child.type in {"pipeline", "command", "list"}:
                yield from _commands(child, state, nested)


def _command(node: "Node", state: _State, nested: bool) -> SimpleCommand:
    words = tuple(
        _word(child, state)
        for child in node.children
        if child.type not in {"variable_assignment", "file_redirect", "herestring_redirect"}
    )
    named = [child for child in node.children if child.type not in {"file_redirect", "variable_assignment"}]
    text = " ".join(state.text(child) for child in named)
    command = SimpleCommand(words, " ".join(text.split()), state.joint, tuple(_writes(node, state)), nested)
    state.joint = ";"
    return command


def _writes(node: "Node", state: _State) -> Iterator[tuple[str, bool]]:
    redirects = list(node.children_by_field_name("redirect"))
    redirects += [
        child for each in redirects if each.type == "heredoc_redirect" for child in each.named_children
    ]
    for each in redirects:
        if each.type != "file_redirect":
            continue
        operator = next((child.type for child in each.children if not child.is_named), "")
        to = each.child_by_field_name("destination")
        errors = (number := each.child_by_field_name("descriptor")) is not None and state.text(number) == "2"
        if to is not None and ">" in operator and not errors and to.type != "number":
            yield _word(to, state), ">>" in operator


def _word(node: "Node", state: _State) -> str:
    match node.type:
        case "raw_string":
            return state.text(node)[1:-1]
        case "string":
            return re.sub(r"\\([\"\\$`])", r"\1", state.text(node)[1:-1])
        case "concatenation":
            return "".join(_word(child, state) for child in node.children)
        case "word":
            return re.sub(r"\\(.)", r"\1", state.text(node))
        case _:
            return state.text(node)


def _substitutions(node: "Node") -> Iterator["Node"]:
    for child in node.named_children:
        if child.type in {"command_substitution", "process_substitution"}:
            yield child
        else:
            yield from _substitutions(child)
