"""Shell lines, parsed by the grammar of bash: the simple commands of a line, in order, with their words.

A parser, not a shell: what only a shell knows (variables, globs, substitutions) is kept as written, and
marked as "anything" in :attr:`Word.known`.
"""

import posixpath
import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Literal

from tui_app.records import frozen
from tui_app.text import visible, words

if TYPE_CHECKING:
    from tree_sitter import Node, Parser

LONGEST = 20_000
"""Maximum characters of a line; longer ones are scripts with data in them."""
_READABLE = bytes([*range(128), *[ord("_")] * 128])
"""The grammar's scanner looks every character up in a table for ASCII, and reads beyond it."""
_MISREAD = re.compile(
    rb"\\\\|(?<!\$)\{(?=\S)|(?<![^\s;&|(){}`])(?:case|for|function|if|select|until|while)(?=[^\s\w;&|<>()\\])"
)
"""What the grammar misreads: an escaped backslash, a list in braces, a word that begins like a keyword."""
Joint = Literal["", "&&", "||", ";", "|", "&"]

ANYTHING = "\ue000"
"""Marks unknown text that may contain blanks: it may be several words, or none."""
ANY_WORD = "\ue001"
"""Marks unknown text within one word."""
GAP = "\ue002"
"""Marks what splits a word, such as ``$IFS``."""
_QUOTABLE = "{},*?[]"
_AS_THEY_ARE = {sign: chr(0xE010 + at) for at, sign in enumerate(_QUOTABLE)}
_PLAIN_AGAIN = str.maketrans({quoted: sign for sign, quoted in _AS_THEY_ARE.items()})
_QUOTED = str.maketrans(_AS_THEY_ARE)
_OWN_SIGNS = re.compile("[\ue000-\ue01f]")
_PLAIN_WORD = re.compile(r"""(?:[^\s|&;<>()$`\\*?\[\]#{}!"'~]|(?<=\w)~|'[^']*'|"(?:[^"$`\\]|\\[$`"\\])*")+""")
"""A word that every shell reads in the same way, with or without quotes."""


@frozen
class Word:
    """One word of a command."""

    text: str
    """Without quotes; an expansion as written."""
    known: str
    """With marks for unknown text, and for quoted characters of patterns and lists."""
    is_plain: bool = False
    """Whether every shell passes it on as ``text``."""
    is_quoted: bool = False


@frozen
class SimpleCommand:
    """One program with its arguments."""

    words: tuple[str, ...]
    """Without quotes and assignments; an expansion as written."""
    text: str
    """As written, without redirections."""
    joint: Joint
    """The operator before it."""
    writes: tuple[tuple[str, bool], ...] = ()
    """Files its output is redirected to, and whether they are appended to."""
    nested: bool = False
    """Whether it is in a loop, a condition, a function or a substitution."""
    parts: tuple[Word, ...] = ()
    """All its words, including assignments before the program."""
    reads: tuple[str, ...] = ()
    """Files its input is redirected from."""
    fed: bool = False
    """Whether its input is another command's output, or only known when it runs."""
    left: bool = False
    """Whether the shell does not wait for it: ``&`` follows."""

    @property
    def program(self) -> str:
        """Name of the program without folder; empty for a bare assignment."""
        return posixpath.basename(self.words[0]) if self.words else ""


@frozen
class ShellLine:
    """A parsed line."""

    commands: tuple[SimpleCommand, ...] = ()
    texts: tuple[str, ...] = ()
    """Text that is not a command but may contain some: comments, here-documents, values of variables."""
    is_whole: bool = True
    """Whether all of it was parsed."""
    is_plain: bool = False
    """Whether it only consists of commands of plain words, joined by ``&&``, ``||``, ``|`` and ``;``."""


@lru_cache(maxsize=4_096)
def read_line(line: str) -> ShellLine:
    """Parse one or more lines, as a shell is given them."""
    source = _OWN_SIGNS.sub("\ufffd", line[:LONGEST]).encode("utf-8", "replace")
    readable = _MISREAD.sub(lambda found: b"_" * len(found[0]), source.translate(_READABLE))
    reader = _Reader(source)
    try:
        root = _parser().parse(readable).root_node
        commands = tuple(reader.commands(root))
        is_plain = len(line) <= LONGEST and not root.has_error and reader.is_plain(line, commands)
    except RecursionError:  # nested deeper than any real line
        return ShellLine(is_whole=False)
    is_whole = len(line) <= LONGEST and not root.has_error
    return ShellLine(commands, tuple(reader.texts), is_whole, is_plain)


def simple_commands(line: str) -> tuple[SimpleCommand, ...]:
    """Return the commands of a line as written; here-documents are data.

    What cannot be parsed is left out.
    """
    return read_line(line).commands


def without_signs(word: str) -> str:
    """Replace the marks for quoted characters in a known word by the characters."""
    return word.translate(_PLAIN_AGAIN)


def producer(line: str) -> str:
    """Return the part of a line that decides its outcome, which identifies repeated runs.

    It has no leading ``cd``, no filters at the end of a pipe, no redirections, and nothing that only runs a
    program (``uv run``, ``python -m``, ``timeout 60``).
    """
    commands = [each for each in simple_commands(line) if not each.nested]
    commands = [each for each in commands if not (each.writes and each.program in _PRINTERS)] or commands
    while len(commands) > 1 and commands[0].program in _MOVES:
        commands = commands[1:]
    while len(commands) > 1 and commands[-1].joint == "|" and commands[-1].program in FILTERS:
        commands = commands[:-1]
    kept: list[str] = []
    for place, each in enumerate(commands):
        text = " ".join(map(_quoted, program_words(each.words))) or each.text
        kept.append(text if not place else f"{'' if each.joint == ';' else ' '}{each.joint} {text}")
    return "".join(kept) or " ".join(line.split())


def leaves_running(line: str) -> bool:
    """Whether something started by a line keeps running after the line has ended."""
    left = False
    for each in simple_commands(line):
        left = each.left or (left and each.program not in {"wait", "kill", "pkill", "killall"})
    return left


def folder_entered(line: str) -> str:
    """Return the folder that a line enters before it runs anything; empty for none."""
    first = simple_commands(line)[:1]
    return first[0].words[1] if first and first[0].program == "cd" and len(first[0].words) == 2 else ""


def before_last(line: str) -> str:
    """Return what has to succeed before the last command of a line runs; empty for none."""
    commands = [each for each in simple_commands(line) if not each.nested]
    while commands and commands[-1].joint == "|":
        commands.pop()
    if len(commands) < 2 or any(each.joint != "&&" for each in commands[1:]):
        return ""
    return " && ".join(each.text for each in commands[:-1])


def _quoted(word: str) -> str:
    return word if word and not _MEANS_MORE.search(word) else shlex.quote(word)


def program_words(words: Sequence[str]) -> tuple[str, ...]:
    """Return the words of a command without what only finds and runs its program."""
    rest = tuple(words)
    while rest:
        size = _runner(rest)
        if not size or size >= len(rest):
            return rest
        rest = rest[size:]
    return rest


def hides_failure(line: str) -> bool:
    """Whether a line may succeed although what it runs has failed: it has a pipe, ``||`` or ``;``."""
    commands = simple_commands(line)
    return any(each.joint in {"|", "||", ";"} for each in commands[1:])


FILTERS = words("grep egrep rg sed awk wc sort uniq cut tr jq column tail head cat less more tee xargs")
"""Programs at the end of a pipe that select what is shown of an output."""
_PRINTERS = frozenset({"cat", "echo", "printf", "tee"})
"""Programs that write given text to a file: what the line does comes after them."""
_MEANS_MORE = re.compile(r"[\s;&|<>()\"'`\\#]")
"""Characters with a meaning to a shell if they are not quoted."""
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
    """Return how many leading words only run what follows."""
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
    # Imported with the first command, not with the program: two libraries.
    import tree_sitter_bash
    from tree_sitter import Language, Parser

    return Parser(Language(tree_sitter_bash.language()))


class _Reader:
    """Single-use walker of a syntax tree."""

    def __init__(self, source: bytes) -> None:
        self.texts: list[str] = []
        self._source = source
        self._joint: Joint = ""
        self._spans: list[tuple[int, int]] = []
        """Positions of words and operators: in a plain line only blanks are between them."""

    def is_plain(self, line: str, commands: Sequence[SimpleCommand]) -> bool:
        words = [word for each in commands for word in each.parts]
        if not words or not line.isprintable() or visible(line) != line:
            return False
        left = bytearray(self._source)
        joints = 0
        for start, end in self._spans:
            joints += self._source[start:end].decode("ascii", "replace") in _PLAIN_JOINTS
            left[start:end] = b" " * (end - start)
        flat = not any(each.nested or "=" in each.parts[0].text for each in commands)
        covered = not left.strip(b" ") and joints == len(commands) - 1
        return flat and covered and all(word.is_plain for word in words)

    def commands(self, node: "Node", nested: bool = False, fed: bool = False) -> Iterator[SimpleCommand]:
        if node.type in _COMMANDS:
            yield self._command(node, nested, fed)
            for child in _substitutions(node):
                yield from self._substituted(child)
            return
        if node.type == "redirected_statement":
            yield from self._redirected(node, nested, fed)
            return
        inside = nested or node.type in _BLOCKS
        fed = fed or node.type == "function_definition"
        for child, follows in zip(node.children, [*node.children[1:], None], strict=False):
            if not child.is_named:
                if child.type in _JOINTS:
                    self._joint = _JOINTS[child.type]
                    self._spans += [(child.start_byte, child.end_byte)] * (child.type in _PLAIN_JOINTS)
                    fed = fed or self._joint == "|"
            elif child.type in _TEXTS:
                self.texts.append(_unquoted(self._text(child)))
                for each in _substitutions(child):
                    yield from self._substituted(each)
            else:
                found = self.commands(child, inside, fed)
                left = follows is not None and follows.type == "&"
                yield from (replace(each, left=True) for each in found) if left else found
                if node.type in {"program", "subshell", "compound_statement"}:
                    self._joint = ";"

    def _substituted(self, node: "Node") -> Iterator[SimpleCommand]:
        # `>(…)` reads what is written to it.
        yield from self.commands(node, nested=True, fed=self._text(node).startswith(">("))

    def _redirected(self, node: "Node", nested: bool, fed: bool) -> Iterator[SimpleCommand]:
        redirects = node.children_by_field_name("redirect")
        fed = fed or any(map(self._feeds, redirects))
        first = node.named_children[0] if node.named_children else node
        body = list(self.commands(first, nested, fed)) if first not in redirects else []
        more = tuple(self._words_after(redirects))
        if not body and more:
            body.append(SimpleCommand((), "", self._joint, nested=nested, fed=fed))
        if body:
            last = _without_descriptor(body[-1], first, redirects)
            words = tuple(word.text for word in more)
            body[-1] = replace(
                last,
                words=(*last.words, *words),
                text=" ".join(filter(None, (last.text, *words))),
                writes=(*last.writes, *self._files(redirects, ">")),
                reads=(*last.reads, *(name for name, _ in self._files(redirects, "<"))),
                parts=(*last.parts, *more),
            )
        yield from body
        self.texts += [self._text(each)[3:] for each in redirects if each.type == "herestring_redirect"]
        for redirect in redirects:
            # A pipe after the beginning of a here-document is parsed as part of it.
            for child in redirect.named_children if redirect.type == "heredoc_redirect" else ():
                if child.type == "heredoc_body":
                    self.texts.append(self._text(child))
                elif child.type in {"pipeline", "command", "list"}:
                    yield from self.commands(child, nested, fed=child.type == "pipeline")
            for child in _substitutions(redirect):
                yield from self._substituted(child)

    def _feeds(self, redirect: "Node") -> bool:
        """Whether the input of a redirection is only known when it is read."""
        match redirect.type:
            case "heredoc_redirect":
                return any(
                    child.named_children for child in redirect.children if child.type == "heredoc_body"
                )
            case "herestring_redirect":
                return any(sign in self._text(redirect) for sign in "$`")
        reads = any(child.type in ("<", "<&", "<>") for child in redirect.children)
        to = redirect.child_by_field_name("destination")
        return reads and to is not None and _STREAM.match(self._text(to)) is not None

    def _command(self, node: "Node", nested: bool, fed: bool) -> SimpleCommand:
        redirects = [child for child in node.children if child.type in _REDIRECTS]
        fed = fed or any(map(self._feeds, redirects))
        own = [child for child in node.children if child.type not in _REDIRECTS]
        parts: list[Word] = []
        words: list[str] = []
        for nodes in _adjacent(own):
            word = self._word(*nodes)
            parts.append(word)
            if nodes[0].type != "variable_assignment":
                words.append(word.text)
                self._spans.append((nodes[0].start_byte, nodes[-1].end_byte))
        tail = tuple(self._words_after(redirects))
        named = [child for child in own if child.type != "variable_assignment"]
        text = " ".join(" ".join(self._text(child) for child in named).split())
        words += [word.text for word in tail]
        self.texts += [self._text(each)[3:] for each in redirects if each.type == "herestring_redirect"]
        made = SimpleCommand(
            tuple(words),
            text,
            self._joint,
            tuple(self._files(redirects, ">")),
            nested,
            (*parts, *tail),
            tuple(name for name, _ in self._files(redirects, "<")),
            fed,
        )
        self._joint = ";"
        return made

    def _files(self, redirects: Sequence["Node"], sign: str) -> Iterator[tuple[str, bool]]:
        """Yield files that a command writes or reads by redirections, and whether they are appended to."""
        inner = [
            child for each in redirects if each.type == "heredoc_redirect" for child in each.named_children
        ]
        for each in (*redirects, *inner):
            if each.type != "file_redirect":
                continue
            operator = next((child.type for child in each.children if not child.is_named), "")
            to = each.child_by_field_name("destination")
            number = each.child_by_field_name("descriptor")
            errors = number is not None and self._text(number) == "2"
            if to is not None and sign in operator and not errors and to.type != "number":
                yield self._word(to).text, ">>" in operator

    def _words_after(self, redirects: Sequence["Node"]) -> Iterator[Word]:
        """Yield words of a command after a redirection's target, which the grammar makes part of it."""
        for each in redirects:
            targets = _adjacent(each.children_by_field_name("destination"))
            given = _adjacent([child for child in each.named_children if child.type in _ARGUMENTS])
            for nodes in targets[1:] if each.type == "file_redirect" else given * (each.type in _HERE):
                yield self._word(*nodes)

    def _text(self, node: "Node") -> str:
        return self._source[node.start_byte : node.end_byte].decode("utf-8", "replace")

    def _word(self, *nodes: "Node") -> Word:
        written = self._source[nodes[0].start_byte : nodes[-1].end_byte].decode("utf-8", "replace")
        is_translated = len(nodes) > 1 and nodes[0].type == "$"
        known = _WILD.sub(ANY_WORD, "".join(map(self._known, nodes[is_translated:])))
        is_plain = _PLAIN_WORD.fullmatch(written) is not None
        text = "".join(map(self._as_written, nodes))
        return Word(text, known, is_plain, any(sign in written for sign in "'\"\\"))

    def _as_written(self, node: "Node") -> str:
        match node.type:
            case "raw_string":
                return self._text(node)[1:-1]
            case "string":
                return re.sub(r"\\([\"\\$`])", r"\1", self._text(node)[1:-1])
            case "concatenation" | "command_name":
                return "".join(self._as_written(child) for child in node.children)
            case "word":
                return re.sub(r"\\(.)", r"\1", self._text(node))
            case _:
                return self._text(node)

    def _known(self, node: "Node", quoted: bool = False) -> str:
        """Return a word as far as it is known before it runs."""
        text = self._text(node)
        match node.type:
            case "raw_string":
                return text[1:-1].translate(_QUOTED)
            case "ansi_c_string":
                return ANY_WORD if "\\" in text else text[2:-1].translate(_QUOTED)
            case "string" | "translated_string" | "concatenation" | "command_name" | "variable_assignment":
                return self._pieces(node, quoted or node.type.endswith("string"))
            case "simple_expansion" | "expansion":
                return _expanded(text, quoted)
            case "command_substitution":
                return ANY_WORD if quoted else ANYTHING
            case "process_substitution" | "arithmetic_expansion" | "brace_expression":
                return ANY_WORD
            case _ if quoted:
                return re.sub(r"\\([\"\\$`\n])", r"\1", text).translate(_QUOTED)
            case _ if node.children and node.type not in ("word", "number"):
                return self._pieces(node, quoted)
            case _:
                return re.sub(r"\\(.)", lambda found: found[1].translate(_QUOTED), text, flags=re.DOTALL)

    def _pieces(self, node: "Node", quoted: bool) -> str:
        """Join the children of a node and the text between them, for which some strings have no node."""
        found, at = "", node.start_byte
        for child in node.children:
            between = self._source[at : child.start_byte].decode("utf-8", "replace")
            found += between.translate(_QUOTED) if quoted else between
            found += "" if child.type in ('"', '$"', "$") else self._known(child, quoted)
            at = child.end_byte
        return found


_BLOCKS = words(
    "for_statement c_style_for_statement while_statement if_statement case_statement "
    "function_definition command_substitution process_substitution"
)
_JOINTS: dict[str, Joint] = {"&&": "&&", "||": "||", "|": "|", "|&": "|", "&": "&", ";": ";", "\n": ";"}
_PLAIN_JOINTS = frozenset({"&&", "||", "|", ";"})
_COMMANDS = frozenset({"command", "declaration_command", "test_command", "unset_command"})
_TEXTS = frozenset({"variable_assignment", "variable_assignments", "heredoc_body", "comment"})
_REDIRECTS = frozenset({"file_redirect", "herestring_redirect", "heredoc_redirect"})
_HERE = frozenset({"heredoc_redirect"})
_ARGUMENTS = words(
    "word string raw_string concatenation simple_expansion expansion command_substitution number"
)
_WILD = re.compile(r"[*?]|\[[^\s\]]{1,99}\]")
_STREAM = re.compile(r"<\(|/dev/|/proc/|\d+$|\$")
"""Sources that are not files to look at."""


def _adjacent(nodes: Sequence["Node"]) -> list[list["Node"]]:
    """Group nodes with no blank between them into words: the grammar splits some."""
    found: list[list[Node]] = []
    for node in nodes:
        if found and found[-1][-1].end_byte == node.start_byte:
            found[-1].append(node)
        else:
            found.append([node])
    return found


def _without_descriptor(command: SimpleCommand, node: "Node", redirects: Sequence["Node"]) -> SimpleCommand:
    """Remove a ``{name}`` at a command's end, which is the descriptor of the redirection right after it."""
    is_behind = bool(redirects) and node.end_byte == redirects[0].start_byte
    if not is_behind or len(command.words) < 2 or not _DESCRIPTOR.fullmatch(command.words[-1]):
        return command
    return replace(command, words=command.words[:-1], parts=command.parts[:-1])


_DESCRIPTOR = re.compile(r"\{\w+\}|\d+")


def _unquoted(text: str) -> str:
    return re.sub(r"[\"'\\]", "", text).removeprefix("#")


def _expanded(text: str, quoted: bool) -> str:
    name = text.strip("${}")
    if name.startswith("IFS"):
        return " " if quoted else GAP
    if name == "PWD":
        return "."
    return ANY_WORD if quoted and name not in ("@", "*") and "[@]" not in name else ANYTHING


def _substitutions(node: "Node") -> Iterator["Node"]:
    for child in node.named_children:
        if child.type in {"command_substitution", "process_substitution"}:
            yield child
        else:
            yield from _substitutions(child)
