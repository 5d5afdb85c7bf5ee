"""The latest prompt of a history for the offline model, with the results found for it so far."""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from pydantic_ai.messages import (
    CompactionPart,
    ModelMessage,
    ModelRequest,
    ModelResponse,
    TextContent,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)

from tui_app.context.counting.attachments import file_name, file_text
from tui_app.context.message_marks import is_note_part, is_shell_part
from tui_app.records import frozen
from tui_app.references import AFTER, MENTION, mentions
from tui_app.tool_specs import GLOB, GREP, LS, READ_FILE, RUN_COMMAND, SEARCH_HISTORY, WRITE_FILE

INTRODUCTION = "I'm a search, not a language model: I quote matching passages."
MAX_TERMS = 5


class Passage(NamedTuple):
    """One line of a file, an attachment or piped input."""

    path: str
    line: int
    text: str


@frozen
class Found:
    """One tool call of this turn with its result."""

    tool: str
    args: dict[str, Any]
    text: str
    ok: bool
    denied: bool = False
    """Whether a rule or the user denied it."""


@frozen
class Step:
    """One tool call to make."""

    tool: str
    args: dict[str, Any]


@frozen
class Question:
    """The parsed prompt."""

    order: Step | None = None
    """The call it asks for, if it is a command."""
    terms: tuple[str, ...] = ()
    """Search terms: names from code first, then the longest."""
    words: tuple[str, ...] = ()
    """All words that may be terms, in order."""
    files: tuple[str, ...] = ()
    """Paths in the prompt that are not attached."""


@frozen
class Turn:
    """The turn at the end of the history."""

    prompt: str
    question: Question
    asked_at: str
    """Time of the question, as ISO text. Makes the call ids of equal questions differ."""
    found: tuple[Found, ...]
    rounds: int
    """Number of responses to this question so far."""
    introduced: bool
    """Whether the session has already been told that a search answers."""
    attached: Mapping[str, str]
    """Texts of the attached files and piped input, by name."""

    def results(self, tool: str) -> Iterator[str]:
        """Results of the successful calls of one tool."""
        return (each.text for each in self.found if each.tool == tool and each.ok)


def read_turn(messages: Sequence[ModelMessage]) -> Turn:
    """Find the latest user prompt and everything done for it since.

    Summaries, system prompts and notes of the program are never taken for the question, wherever they are.
    """
    prompts = (
        (at, part)
        for at, message in reversed(list(enumerate(messages)))
        if isinstance(message, ModelRequest)
        for part in reversed(message.parts)
        if isinstance(part, UserPromptPart) and not is_note_part(part) and not is_shell_part(part)
        if _items(part)
    )
    at, prompt = next(prompts, (-1, None))
    items = _items(prompt) if prompt else []
    # Of a picture, only its name is used.
    attached = {file_name(item): text for item in items if (text := file_text(item))}
    rest = [item.content if isinstance(item, TextContent) else item for item in items if not file_name(item)]
    text = "\n".join(each for each in rest if isinstance(each, str)).strip()
    since = messages[at + 1 :]
    return Turn(
        prompt=text,
        question=understand(text, attached),
        asked_at=prompt.timestamp.isoformat() if prompt else "",
        found=tuple(_found(since)),
        rounds=sum(isinstance(message, ModelResponse) for message in since),
        introduced=any(
            # A summary replaces turns that included it.
            isinstance(part, CompactionPart) or (isinstance(part, TextPart) and INTRODUCTION in part.content)
            for message in messages
            for part in message.parts
        ),
        attached=attached,
    )


def _items(part: UserPromptPart) -> list[Any]:
    """The pieces of a prompt; empty if it has neither text nor attachments."""
    items = [part.content] if isinstance(part.content, str) else list(part.content)
    return [item for item in items if not isinstance(item, str) or item.strip()]


def _found(messages: Sequence[ModelMessage]) -> Iterator[Found]:
    calls: dict[str, ToolCallPart] = {}
    for part in (part for message in messages for part in message.parts):
        if isinstance(part, ToolCallPart):
            calls[part.tool_call_id] = part
        elif isinstance(part, ToolReturnPart) and (call := calls.get(part.tool_call_id)):
            text = part.model_response_str(wrap_if_error=False)
            outcome = part.outcome
            yield Found(part.tool_name, call.args_as_dict(), text, outcome == "success", outcome == "denied")


_HIT = re.compile(r"^(?P<path>[^\n]+?):(?P<line>\d+): (?P<text>[^\n]*)$", re.MULTILINE)
_NUMBERED = re.compile(r"^(?P<line>\d+)\t(?P<text>[^\n]*)$", re.MULTILINE)


def passages(found: Iterable[Found], attached: Mapping[str, str] | None = None) -> list[Passage]:
    """Collect every line that was attached or shown by ``grep`` and ``read_file``, once, in file order."""
    known = {
        (name, number): line
        for name, text in (attached or {}).items()
        for number, line in enumerate(text.removesuffix("\n").split("\n"), 1)
    }
    for each in found:
        if each.ok and each.tool == READ_FILE.name:
            path = str(each.args["path"]).removeprefix("./")
            # A search may have shown only part of a long line.
            known |= {(path, int(match["line"])): match["text"] for match in _NUMBERED.finditer(each.text)}
        elif each.ok and each.tool == GREP.name:
            for match in _HIT.finditer(each.text):
                known.setdefault((match["path"], int(match["line"])), match["text"])
    return [Passage(*place, known[place]) for place in sorted(known)]


_READ_CHARS = 20_000
"""Of a longer prompt, only the start and the end are parsed."""
_PATH = r"""(?P<path>[`'("]*@"[^"\n]+"\S*?|\S+?)"""
_COMMANDS = (
    (LS.name, rf"(?:list files|ls)(?: {_PATH})?"),
    (READ_FILE.name, rf"read {_PATH}(?::(?P<start>\d{{1,9}})(?:-(?P<lines>\d{{1,9}}))?)?"),
    (GLOB.name, r"find (?P<pattern>\S*[*?]\S*)"),
    (GREP.name, r"grep (?P<pattern>[^\n]+)"),
    (RUN_COMMAND.name, r"run:[ \t]*(?P<command>[^\n]+)"),
    (WRITE_FILE.name, r"""write[ \t]+(?P<path>@"[^"\n]+"|[^\s:]+):\s*(?P<content>\S(?s:.*))"""),
    (SEARCH_HISTORY.name, r"(?s:.*)(?<!\w)(?P<query>#\d{1,12})\b(?s:.*)"),
)
"""Each tool with its pattern, whose group names are the tool's arguments."""
HITS = 60
"""Hits requested per term: enough to rank, and small relative to the window."""
_PAGE = 200
"""Lines read of a requested file."""
_FILE = re.compile(r"(?<![\w@.+-])(?:[\w.-]+/)*[\w-][\w.-]*\.[A-Za-z]\w{0,7}(?!@)")
_LIKE_FILE = re.compile(r"[^\s()]*\.[A-Za-z]\w{0,4}")
"""Pattern of a mentioned file: ``@x.setter`` and ``@app.get(`` are code."""
_MAX_FILES = 4
_WORD = re.compile(r"\w[\w./\\-]*\w|\w")
_QUOTED = re.compile(r"`([^`\n]{2,80})`|\"([^\"\n]{2,80})\"")
_CODE = re.compile(r"[_./\d]|[a-z][A-Z]")


def understand(prompt: str, attached: Collection[str] = ()) -> Question:
    """Parse a prompt: a command if it is one, otherwise its words.

    Args:
        prompt: The user's text.
        attached: Names of its attachments.
    """
    for tool, form in _COMMANDS:
        if match := re.fullmatch(form, prompt.strip(), re.IGNORECASE):
            return _command(tool, match.groupdict(""))
    half = _READ_CHARS // 2
    text = prompt if len(prompt) <= _READ_CHARS else f"{prompt[:half]}\n{prompt[-half:]}"
    mentions = ((quoted, quoted or bare.rstrip(AFTER)) for quoted, bare in MENTION.findall(text))
    named = [path for quoted, path in mentions if quoted or _LIKE_FILE.fullmatch(path)]
    text = MENTION.sub(lambda at: " " if (at[1] or at[2].rstrip(AFTER)) in attached else at[0], text)
    named += _FILE.findall(MENTION.sub(" ", text))
    words = [word.strip("./\\-") for word in _WORD.findall(_QUOTED.sub(" ", text))]
    words = [word if _CODE.search(word) else word.lower() for word in words]
    words = [word for word in words if len(word) > 2] or words
    # Only length tells how specific a word is; of two equally long ones, the later comes first.
    telling = sorted(reversed(dict.fromkeys(words)), key=lambda word: (not _CODE.search(word), -len(word)))
    quoted = [one or two for one, two in _QUOTED.findall(text)]
    return Question(
        terms=tuple(dict.fromkeys([*quoted, *telling]))[:MAX_TERMS],
        words=tuple(words),
        files=tuple(path for path in dict.fromkeys(named) if path not in attached)[:_MAX_FILES],
    )


def _command(tool: str, given: dict[str, str]) -> Question:
    args: dict[str, Any] = {name: value.strip() for name, value in given.items()}
    terms: tuple[str, ...] = ()
    if word := args.get("path"):
        args["path"] = next(iter(mentions(word)), word.strip("`'\""))
    if tool == READ_FILE.name:
        first = int(args["start"] or 1)
        last = int(args["lines"] or args["start"] or _PAGE)
        args |= {"start": first, "lines": max(1, last - first + 1)}
    elif tool == WRITE_FILE.name:
        args["content"] += "\n"
    elif tool == GREP.name:
        terms = (args["pattern"].strip("`'\""),)
        args = {"pattern": exact_pattern(terms[0]), "ignore_case": True, "limit": HITS}
    return Question(Step(tool, {name: value or "." for name, value in args.items()}), terms)


def exact_pattern(text: str) -> str:
    """A regular expression for a text, with only the necessary escapes."""
    return re.sub(r"\\([- ])", r"\1", re.escape(text))
