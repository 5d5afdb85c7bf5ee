"""The latest prompt of a history as the offline model reads it, with what was found for it so far."""

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
    """One line of a file, of an attachment or of piped input."""

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
    """Whether a rule or the user said no to it."""


@frozen
class Step:
    """One tool call to make."""

    tool: str
    args: dict[str, Any]


@frozen
class Question:
    """A prompt as far as it was understood."""

    order: Step | None = None
    """The call that it asks for, where it is a command."""
    terms: tuple[str, ...] = ()
    """Words to look for, names from code first, then the longest."""
    words: tuple[str, ...] = ()
    """The words in their order, as far as they may be terms."""
    files: tuple[str, ...] = ()
    """Paths that the prompt names and that did not come with it."""


@frozen
class Turn:
    """The turn that the history ends in."""

    prompt: str
    question: Question
    asked_at: str
    """When the question was put, as ISO text; makes call ids of equal questions differ."""
    found: tuple[Found, ...]
    rounds: int
    """Responses already given to this question."""
    introduced: bool
    """Whether the session has already been told what answers."""
    attached: Mapping[str, str]
    """The text of the files and the piped input that came with the prompt, by name."""

    def results(self, tool: str) -> Iterator[str]:
        """What the calls of one tool returned that succeeded."""
        return (each.text for each in self.found if each.tool == tool and each.ok)


def read_turn(messages: Sequence[ModelMessage]) -> Turn:
    """Find the latest user prompt and everything that was done for it since.

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
    # A picture came along by its name alone.
    attached = {file_name(item): text for item in items if (text := file_text(item))}
    said = [item.content if isinstance(item, TextContent) else item for item in items if not file_name(item)]
    text = "\n".join(each for each in said if isinstance(each, str)).strip()
    since = messages[at + 1 :]
    return Turn(
        prompt=text,
        question=understand(text, attached),
        asked_at=prompt.timestamp.isoformat() if prompt else "",
        found=tuple(_found(since)),
        rounds=sum(isinstance(message, ModelResponse) for message in since),
        introduced=any(
            # A summary stands for turns in which it was said.
            isinstance(part, CompactionPart) or (isinstance(part, TextPart) and INTRODUCTION in part.content)
            for message in messages
            for part in message.parts
        ),
        attached=attached,
    )


def _items(part: UserPromptPart) -> list[Any]:
    """The pieces of a prompt; none where nothing was said and nothing came along."""
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
    """Collect every line that came along and that ``grep`` and ``read_file`` showed, once, in file order."""
    known = {
        (name, number): line
        for name, text in (attached or {}).items()
        for number, line in enumerate(text.removesuffix("\n").split("\n"), 1)
    }
    for each in found:
        if each.ok and each.tool == READ_FILE.name:
            path = str(each.args["path"]).removeprefix("./")
            # A search may have shown a long line only in part.
            known |= {(path, int(match["line"])): match["text"] for match in _NUMBERED.finditer(each.text)}
        elif each.ok and each.tool == GREP.name:
            for match in _HIT.finditer(each.text):
                known.setdefault((match["path"], int(match["line"])), match["text"])
    return [Passage(*place, known[place]) for place in sorted(known)]


_READ_CHARS = 20_000
"""Of a longer prompt its beginning and its end are read."""
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
"""The tool of each, and its form with the names of the tool's arguments."""
HITS = 60
"""Hits asked for per term: enough to rank, and small beside the window."""
_PAGE = 200
"""Lines read of a file that was asked for."""
_FILE = re.compile(r"(?<![\w@.+-])(?:[\w.-]+/)*[\w-][\w.-]*\.[A-Za-z]\w{0,7}(?!@)")
_LIKE_FILE = re.compile(r"[^\s()]*\.[A-Za-z]\w{0,4}")
"""How a file that is mentioned must look: ``@x.setter`` and ``@app.get(`` are code."""
_MAX_FILES = 4
_WORD = re.compile(r"\w[\w./\\-]*\w|\w")
_QUOTED = re.compile(r"`([^`\n]{2,80})`|\"([^\"\n]{2,80})\"")
_CODE = re.compile(r"[_./\d]|[a-z][A-Z]")


def understand(prompt: str, attached: Collection[str] = ()) -> Question:
    """Take a prompt for a command where it is one, else for the words that are in it.

    Args:
        prompt: What the user wrote.
        attached: Names of what came with it.
    """
    for tool, form in _COMMANDS:
        if match := re.fullmatch(form, prompt.strip(), re.IGNORECASE):
            return _command(tool, match.groupdict(""))
    half = _READ_CHARS // 2
    text = prompt if len(prompt) <= _READ_CHARS else f"{prompt[:half]}\n{prompt[-half:]}"
    said = ((quoted, quoted or bare.rstrip(AFTER)) for quoted, bare in MENTION.findall(text))
    named = [path for quoted, path in said if quoted or _LIKE_FILE.fullmatch(path)]
    text = MENTION.sub(lambda at: " " if (at[1] or at[2].rstrip(AFTER)) in attached else at[0], text)
    named += _FILE.findall(MENTION.sub(" ", text))
    words = [word.strip("./\\-") for word in _WORD.findall(_QUOTED.sub(" ", text))]
    words = [word if _CODE.search(word) else word.lower() for word in words]
    words = [word for word in words if len(word) > 2] or words
    # A word's length is all that says how telling it is; of two as long, the later one goes first.
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
    """A regular expression for a text, without more escapes than it needs."""
    return re.sub(r"\\([- ])", r"\1", re.escape(text))
