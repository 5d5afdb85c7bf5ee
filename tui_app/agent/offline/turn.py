"""What the offline assistant needs to know of a history: the question, and what its tools found for it."""

import math
import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import PurePosixPath
from typing import Any, Literal

from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    TextContent,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)

from tui_app.agent.tools.files import CUT_BEFORE, CUT_MARK
from tui_app.context.counting.attachments import PIPED, file_name
from tui_app.context.message_marks import is_note_part, is_shell_part
from tui_app.records import frozen
from tui_app.references import AFTER, MENTION, mentions
from tui_app.tool_specs import GREP, READ_FILE

INTRODUCTION = (
    "I am an offline retrieval assistant, not a language model: I look for passages and quote them,"
    " I do not reason about them."
)


@frozen
class Found:
    """One tool call of this turn with its result."""

    tool: str
    args: dict[str, Any]
    text: str
    ok: bool
    denied: bool = False
    """Whether a rule or the user said no to it."""

    def arg(self, name: str) -> str:
        """An argument as text; empty when it was not given."""
        value = self.args.get(name, "")
        return value if isinstance(value, str) else str(value)


@frozen
class Turn:
    """The turn that the history ends in."""

    question: str
    asked_at: str
    """When the question was put, as ISO text; makes call ids of equal questions differ."""
    found: tuple[Found, ...]
    rounds: int
    """Responses already given to this question."""
    introduced: bool
    """Whether the visible conversation already says what this assistant is."""
    attached: tuple[str, ...] = ()
    """Paths of the files that came with the question."""


def read_turn(messages: Sequence[ModelMessage]) -> Turn:
    """Find the latest user prompt and everything that was done for it since.

    Summaries, system prompts and notes of the program are never taken for the question, wherever they stand.
    """
    prompts = (
        (at, part)
        for at, message in reversed(list(enumerate(messages)))
        if isinstance(message, ModelRequest)
        for part in reversed(message.parts)
        if isinstance(part, UserPromptPart)
        and not is_note_part(part)
        and not is_shell_part(part)
        and _text(part).strip()
    )
    at, prompt = next(prompts, (-1, None))
    since = messages[at + 1 :]
    said = (
        part.content
        for message in messages
        if isinstance(message, ModelResponse)
        for part in message.parts
        if isinstance(part, TextPart)
    )
    items = prompt.content if prompt and not isinstance(prompt.content, str) else ()
    return Turn(
        question=_text(prompt) if prompt else "",
        asked_at=prompt.timestamp.isoformat() if prompt else "",
        found=tuple(_found(since)),
        rounds=sum(isinstance(message, ModelResponse) for message in since),
        introduced=any(INTRODUCTION in text for text in said),
        # What was piped in is no file that it could read.
        attached=tuple(dict.fromkeys(name for item in items if (name := file_name(item)) not in ("", PIPED))),
    )


def _text(part: UserPromptPart) -> str:
    if isinstance(part.content, str):
        return part.content
    said = (item for item in part.content if not file_name(item))
    texts = (item.content if isinstance(item, TextContent) else item for item in said)
    return "\n".join(text for text in texts if isinstance(text, str))


def _found(messages: Sequence[ModelMessage]) -> list[Found]:
    calls: dict[str, ToolCallPart] = {}
    found: list[Found] = []
    for message in messages:
        for part in message.parts:
            if isinstance(part, ToolCallPart):
                calls[part.tool_call_id] = part
            elif isinstance(part, ToolReturnPart) and part.tool_call_id in calls:
                args = _args(calls[part.tool_call_id])
                ok = part.outcome == "success"
                text = part.model_response_str(wrap_if_error=False)
                found.append(Found(part.tool_name, args, text, ok, part.outcome == "denied"))
    return found


def _args(call: ToolCallPart) -> dict[str, Any]:
    try:
        return call.args_as_dict()
    except ValueError:
        return {}


# Which files a prompt names, and which of its words only look as if they did.

_MAX_BARE = 2
"""Paths without an ``@`` that are looked at."""
_FILE = re.compile(r"(?:[\w.-]+/)*[\w-][\w.-]*\.[A-Za-z]\w{0,7}")
_LIKE_FILE = re.compile(r"[^\s()]*\.[A-Za-z]\w{0,4}")
"""How a file that was not attached must look: ``@x.setter`` and ``@app.get(`` are code."""
_ADDRESS = re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+\S*")


def mentioned_files(text: str, attached: Collection[str] = ()) -> tuple[str, ...]:
    """The files that a prompt mentions or brings along; a decorator such as ``@property`` is none."""
    named = [
        path
        for quoted, bare in MENTION.findall(text)
        if (path := quoted or bare.rstrip(AFTER)) in attached or quoted or _LIKE_FILE.fullmatch(path)
    ]
    return tuple(dict.fromkeys([*named, *attached]))


def bare_files(text: str) -> tuple[str, ...]:
    """The files that a prompt names without an ``@``."""
    return tuple(dict.fromkeys(_FILE.findall(_ADDRESS.sub(" ", MENTION.sub(" ", text)))))[:_MAX_BARE]


def without_mentions(text: str, paths: Collection[str]) -> str:
    """The text without the mentions of these paths."""

    def rest(found: re.Match[str]) -> str:
        return " " if (found[1] or found[2].rstrip(AFTER)) in paths else found[0]

    return MENTION.sub(rest, text)


def plain_path(word: str) -> str:
    """The path that one word of a command means, be it mentioned or quoted."""
    return next(iter(mentions(word)), word.strip("`'\""))


# English words that say nothing about what a prompt is looking for.

STOP_WORDS = frozenset(
    {
        "a", "about", "above", "after", "again", "all", "also", "an", "and", "any", "anything",
        "are", "as", "at", "be", "because", "been", "before", "being", "below", "between", "both",
        "but", "by", "called", "can", "cannot", "code", "could", "define", "defined", "definition",
        "describe", "did", "do", "does", "doing", "done", "down", "during", "each", "exactly",
        "explain", "few", "file", "files", "find", "for", "from", "further", "get", "gets", "give",
        "go", "goes", "had", "happen", "happens", "has", "have", "having", "he", "hello", "help",
        "her", "here", "hers", "hey", "hi", "him", "his", "how", "i", "if", "implement",
        "implementation", "implemented", "in", "into", "is", "it", "its", "just", "know", "let",
        "like", "line", "lines", "look", "made", "make", "makes", "many", "me", "mean", "means",
        "more", "most", "much", "my", "need", "no", "nor", "not", "now", "of", "off", "ok", "okay",
        "on", "once", "only", "or", "other", "our", "out", "over", "own", "place", "please",
        "project", "put", "really", "s", "same", "say", "says", "see", "she", "should", "show",
        "so", "some", "something", "such", "take", "tell", "than", "thank", "thanks", "that", "the",
        "their", "them", "then", "there", "these", "they", "thing", "things", "this", "those",
        "through", "to", "too", "under", "until", "up", "use", "used", "uses", "using", "very",
        "want", "was", "way", "we", "were", "what", "when", "where", "whether", "which", "while",
        "who", "whom", "whose", "why", "will", "with", "work", "works", "would", "yes", "you",
        "your",
    }
)  # fmt: skip


# Understanding a prompt without a language model: a few plain commands, else words to look for.

Kind = Literal[
    "list", "read", "find", "search", "overview", "conversation", "general", "run", "write", "greeting",
]  # fmt: skip
About = Literal["", "asked", "named"]
"""Whether a prompt may be about this program: it asks how something is done, or it names the program."""

MAX_TERMS = 5
_READ_CHARS = 4_000
"""Characters of a prompt that are looked at: half from its start, half from its end."""
_COMMAND_CHARS = 300

_POLITE = re.compile(r"^(?:please|can you|could you|now)[, ]+", re.IGNORECASE)
_QUOTED_PATH = r'@"[^"\n]+"'
_LIST = re.compile(
    r"(?:ls|dir|(?:list|show|which|what)(?: me)?(?: all| the| are the| project)*"
    r" (?:files|folders?|directory))"
    r"(?: are (?:here|there))?(?: (?:in|of|under|at)(?: the)?(?: folder)?)?"
    rf"(?: (?P<path>{_QUOTED_PATH}|[^\s?]+))?",
    re.IGNORECASE,
)
_LS_PATH = re.compile(rf"ls (?P<path>{_QUOTED_PATH}|\S+)", re.IGNORECASE)
_SPAN = r"(?P<first>\d{1,9})(?:\s*(?:-|–|to|until|\.\.)\s*(?P<last>\d{1,9}))?"
_READ = re.compile(
    r"(?P<verb>read|open|cat|show|print|view|display)(?: me)?(?: the)?(?: file)?"
    rf"\s+(?P<path>{_QUOTED_PATH}|\S+?)"
    rf"(?:(?::|,?\s+(?:at |from )?lines?\s+){_SPAN})?",
    re.IGNORECASE,
)
_READ_LINES = re.compile(
    rf"(?:read|open|cat|show|print|view|display)(?: me)?(?: the)? lines? {_SPAN}"
    rf" (?:of|in|from)(?: the)?(?: file)? (?P<path>{_QUOTED_PATH}|\S+)",
    re.IGNORECASE,
)
_MENTIONED = rf"(?:{_QUOTED_PATH}|@[^\s\"]+)"
_READ_SEVERAL = re.compile(
    r"(?:read|open|cat|show|print|view|display)(?: me)?(?: the)?(?: files)?"
    rf"\s+(?P<paths>{_MENTIONED}(?:,?\s+(?:(?:and|&)\s+)?{_MENTIONED})+)",
    re.IGNORECASE,
)
_FIND = re.compile(
    r"(?:find|glob|list)(?: all)?(?: the)?(?: files)? ?(?P<pattern>\S*[*?]\S*)(?: files)?", re.I
)
_GREP = re.compile(r"(?:grep|rg|search for|look for) (?P<pattern>.+)", re.IGNORECASE)
_ORDER_CHARS = 8_000
_RUN = re.compile(r"run:[ \t]*(?P<command>[^\n]+)", re.IGNORECASE)
_WRITE = re.compile(
    rf"write[ \t]+(?P<path>{_QUOTED_PATH}|[^\s:]+):\s*(?P<text>\S.*)", re.IGNORECASE | re.DOTALL
)
_OVERVIEW = re.compile(
    r"\b(?:what (?:does|do|is|are)|describe|explain|summari[sz]e|overview of|about|purpose of)\b"
    r"[^.?!\n]{0,40}\b(?:project|repo|repository|codebase|code base|folder|directory|workspace|program|app)\b"
    r"|^(?:give (?:me )?an )?overview$|^what is (?:this|here)$",
    re.IGNORECASE,
)
_CONVERSATION = re.compile(
    r"#\d+\b|\b(?:earlier|previously|conversation|remember|recall|so far|this (?:chat|session)|"
    r"(?:did|have|had) (?:i|we|you)|(?:i|we|you) (?:said|asked|told|decided|agreed|mentioned|answered|wrote)|"
    r"(?:my|your|our) (?:first|last|previous|earlier) (?:question|message|prompt|answer|request))\b",
    re.IGNORECASE,
)
_HANDLE = re.compile(r"#(\d{1,12})\b")
_WORD = re.compile(r"[\w][\w./\\-]*[\w]|\w", re.UNICODE)
_QUOTED = re.compile(r"`([^`\n]{2,80})`|\"([^\"\n]{2,80})\"")
_HOW = re.compile(
    r"(?:(?:so|and|but|ok|okay|please)[, ]+)*"
    r"(?:how (?:do|can|could|should|would|to)\b|(?:can|could|may) i\b|where (?:do|can|are|is) (?:i|my)\b"
    r"|(?:what|which) (?:keys?|commands?|settings?)\b|is there (?:a|any) (?:keys?|commands?|settings?)\b)",
    re.IGNORECASE,
)
_CHORD = re.compile(
    r"\b(?:(?:ctrl|shift|alt)\+\w+|f\d{1,2})\b|(?<![\w./])/[a-z]{3,}\b(?![/.])", re.IGNORECASE
)
"""A key or a slash command, which only this program has."""
_PROGRAM = "plimsoll"
_SUFFIXES = ("ations", "ation", "ings", "ing", "ions", "ion", "ers", "ies", "er", "ed", "es", "s", "e", "y")


@frozen
class Question:
    """A prompt as far as it was understood."""

    kind: Kind
    terms: tuple[str, ...] = ()
    """Words to look for, most telling first; lower case unless they name something in code."""
    files: tuple[str, ...] = ()
    """Paths the prompt names."""
    mentioned: tuple[str, ...] = ()
    """Those of them that it mentions with ``@`` or brings along."""
    path: str = "."
    pattern: str = ""
    start: int = 1
    lines: int = 0
    """How many lines were asked for; 0 when the prompt does not say."""
    handle: str = ""
    """A message handle such as ``#142``."""
    phrases: tuple[tuple[str, str], ...] = ()
    """Telling words that stand next to each other."""
    about: About = ""
    words: tuple[str, ...] = ()
    """What to look for in the pages about this program: short words and keys too."""


def understand(prompt: str, attached: Collection[str] = ()) -> Question:
    """Sort a prompt into a kind and take from it what its kind needs.

    Args:
        prompt: What the user wrote.
        attached: Paths of the files that came with it.
    """
    order = _order(prompt)
    if order is not None:
        return order
    command = _POLITE.sub("", prompt.strip().rstrip(".?! "))
    direct = _command(command, attached) if len(command) <= _COMMAND_CHARS and "\n" not in command else None
    if direct is not None and not (direct.kind == "search" and attached):
        return direct
    half = _READ_CHARS // 2
    text = prompt if len(prompt) <= _READ_CHARS else f"{prompt[:half]}\n{prompt[-half:]}"
    mentioned = mentioned_files(text, attached)
    files = tuple(dict.fromkeys([*mentioned, *bare_files(text)]))
    plain = without_mentions(text, attached)
    terms = _terms(plain) or _terms(text)
    question = Question("general", terms, files, mentioned, phrases=_phrases(plain))
    if len(command) <= _COMMAND_CHARS and _OVERVIEW.search(command) and not files:
        return Question("overview", terms)
    if _CONVERSATION.search(text):
        handle = _HANDLE.search(text)
        question = replace(question, kind="conversation", handle=handle.group(0) if handle else "")
    if files or len(command) > _COMMAND_CHARS:
        return question
    question = replace(question, about=_about(command), words=_words(command))
    says_nothing = question.kind == "general" and not terms and not question.about
    return replace(question, kind="greeting") if command and says_nothing else question


def term_pattern(term: str) -> str:
    """A regular expression for a term that also meets its other word forms."""
    return rf"\b{_stem(term)}\b" if len(term) <= 3 else _stem(term)


def _stem(term: str) -> str:
    """The part of a term that its other forms share, as a regular expression."""
    stem = term
    if not _names_code(term) and " " not in term:
        endings = (end for end in _SUFFIXES if term.endswith(end) and len(term) - len(end) >= 4)
        stem = term.removesuffix(next(endings, ""))
    return re.escape(stem).replace(r"\-", "-").replace(r"\ ", " ")


def _order(prompt: str) -> Question | None:
    """An order to run or write something, which must be put in just this form: nothing is read into prose."""
    text = prompt.strip()
    if len(text) <= _ORDER_CHARS and (run := _RUN.fullmatch(text)):
        return Question("run", pattern=run["command"].strip())
    if len(text) <= _ORDER_CHARS and (write := _WRITE.fullmatch(text)):
        return Question("write", path=plain_path(write["path"]), pattern=f"{write['text'].strip()}\n")
    return None


def _command(text: str, attached: Collection[str]) -> Question | None:
    listed = _LS_PATH.fullmatch(text) or _LIST.fullmatch(text)
    if listed and "*" not in text:
        return Question("list", path=plain_path(listed.group("path") or "."))
    found = _FIND.fullmatch(text)
    if found:
        return Question("find", pattern=found.group("pattern"))
    if several := _READ_SEVERAL.fullmatch(text):
        paths = mentions(several.group("paths"))
        return Question("read", files=paths, path=paths[0])
    read = _READ_LINES.fullmatch(text) or _READ.fullmatch(text)
    if read and _names_file(read, attached):
        path = plain_path(read.group("path"))
        first = int(read.group("first") or 1)
        last = int(read.group("last") or first) if read.group("first") else 0
        return Question(
            "read", files=(path,), path=path, start=first, lines=max(0, last - first + 1) * bool(last)
        )
    searched = _GREP.fullmatch(text)
    if searched:
        pattern = searched.group("pattern").strip().strip("`'\"")
        return Question("search", terms=(pattern,), pattern=re.escape(pattern).replace(r"\ ", " "))
    return None


def _names_file(match: re.Match[str], attached: Collection[str]) -> bool:
    """``read notes`` names a file; ``show errors`` does not, unless it looks like a path."""
    verb = match.groupdict().get("verb")
    return (
        verb is None
        or verb.lower() in ("read", "open", "cat")
        or bool(re.search(r'[./]|^@"', match.group("path")))
        or plain_path(match.group("path")) in attached
    )


def _terms(text: str) -> tuple[str, ...]:
    quoted = [one or two for one, two in _QUOTED.findall(text)]
    words = [word.strip("./\\-") for word in _WORD.findall(_QUOTED.sub(" ", text))]
    kept = [word if _names_code(word) else word.lower() for word in words]
    useful = [
        word for word in kept if len(word) > 1 and word.lower() not in STOP_WORDS and not word.isdigit()
    ]
    ordered = sorted(dict.fromkeys(useful), key=lambda word: (not _names_code(word), -len(word)))
    telling = [word for word in ordered if len(word) > 3 or _names_code(word)]
    return tuple(dict.fromkeys([*quoted, *(telling or ordered)]))[:MAX_TERMS]


def _phrases(text: str) -> tuple[tuple[str, str], ...]:
    """Pairs of words with nothing between them; a word that says nothing ends a phrase."""
    words = [word.strip("./\\-").lower() for word in _WORD.findall(text)]
    pairs = pairwise(words)
    return tuple((one, two) for one, two in pairs if not {one, two} & STOP_WORDS)[:MAX_TERMS]


def _about(text: str) -> About:
    if _PROGRAM in text.lower() or _CHORD.search(text):
        return "named"
    return "asked" if _HOW.match(text) else ""


def _words(text: str) -> tuple[str, ...]:
    chords = [chord.lower() for chord in _CHORD.findall(text)]
    words = [word.strip("./\\-").lower() for word in _WORD.findall(_CHORD.sub(" ", text))]
    told = [word for word in words if word not in STOP_WORDS and word != _PROGRAM]
    return tuple(dict.fromkeys([*chords, *told]))[:MAX_TERMS]


def _names_code(word: str) -> bool:
    return bool(re.search(r"[_./\d]|[a-z][A-Z]", word))


# Lines that the tools brought back, ranked by how well they fit the words of a question.

_HIT = re.compile(r"^(?P<path>[^\n]+?):(?P<line>\d+): (?P<text>[^\n]*)$", re.MULTILINE)
_NUMBERED = re.compile(r"^(?P<line>\d+)\t(?P<text>[^\n]*)$", re.MULTILINE)
_DEFINES = re.compile(
    r"\s*(?:(?:export|pub|async|public|static)\s+)*(?:def|class|func|function|fn|type|#+)\s"
)
_IMPORTS = re.compile(r"\s*(?:from\s+\S+\s+import|import|#\s*include|use|using|require)\b")
"""A line that names something only to bring it in."""
_K1, _B = 1.2, 0.75
"""The usual constants of Okapi BM25 (Robertson and Zaragoza, 2009)."""
_DEFINITION_BONUS = 1.3
_PHRASE_BONUS = 2.5
_COVERED = 0.5
"""Added for each further term that a line holds."""
_NAME_BONUS = 1.4
"""For lines of a file that is called like a word of the question."""
_PROSE_BONUS, _DATA_PENALTY, _IMPORT_PENALTY = 2.0, 0.5, 0.4
_EXACT_BONUS = 1.5
"""For a term as it was written: an importer is more than an import."""
PROSE = (".md", ".rst", ".txt", ".adoc", ".org")
"""Files that people write for people."""
DATA = (".lock", ".json", ".csv")
LEGAL = ("license", "licence", "copying", "notice")
"""Beginnings of the names of files that hold the same words everywhere."""


@dataclass(frozen=True, slots=True, order=True)
class Passage:
    """One line of a file, as it stands there."""

    path: str
    line: int
    text: str
    whole: bool = True
    """False when the tool showed only a part of the line."""


def passages(found: Iterable[Found]) -> list[Passage]:
    """Collect every line that ``grep`` and ``read_file`` showed, each once, in file order."""
    known: dict[tuple[str, int], Passage] = {}
    shown: list[tuple[str, re.Match[str]]] = []
    for each in found:
        if each.ok and each.tool == READ_FILE.name:
            path = each.arg("path").removeprefix("./")
            shown += [(path, match) for match in _NUMBERED.finditer(each.text)]
        elif each.ok and each.tool == GREP.name:
            shown += [(match["path"], match) for match in _HIT.finditer(each.text)]
    for path, match in shown:
        text = match["text"]
        whole = not text.endswith(CUT_MARK) and CUT_BEFORE.match(text) is None
        passage = Passage(path, int(match["line"]), text.removesuffix(CUT_MARK), whole)
        place = (passage.path, passage.line)
        if place not in known or passage.whole:
            known[place] = passage
    return [known[place] for place in sorted(known)]


def ranked(
    candidates: Sequence[Passage], terms: Sequence[str], phrases: Sequence[tuple[str, str]] = ()
) -> list[Passage]:
    """Order the lines that hold a term by BM25 over the candidates, best first; ties keep file order.

    A line with more of the terms, with a phrase, with a heading or definition, or out of prose or of a file
    that is called like a term, goes first. A licence answers only who names it.
    """
    candidates = [
        each
        for each in candidates
        if names_file(each.path, terms) or not PurePosixPath(each.path).name.lower().startswith(LEGAL)
    ]
    exact = [re.compile(rf"(?<![^\W_]){re.escape(term)}(?![^\W_])", re.IGNORECASE) for term in terms]
    joined = [re.compile(rf"{_stem(one)}[^\W_]*[\s_-]+{_stem(two)}", re.IGNORECASE) for one, two in phrases]
    patterns = [re.compile(term_pattern(term), re.IGNORECASE) for term in terms]
    counts = [[len(pattern.findall(each.text)) for pattern in patterns] for each in candidates]
    lengths = [max(1, len(each.text.split())) for each in candidates]
    average = sum(lengths) / max(1, len(lengths))
    holding = [sum(1 for row in counts if row[at]) for at in range(len(patterns))]
    rarity = [math.log(1.0 + (len(candidates) - lines + 0.5) / (lines + 0.5)) for lines in holding]
    scores: list[float] = []
    for each, row, length in zip(candidates, counts, lengths, strict=True):
        damping = _K1 * (1.0 - _B + _B * length / average)
        score = sum(
            weight * (count * (_K1 + 1.0) / (count + damping))
            for weight, count in zip(rarity, row, strict=True)
        )
        score *= _DEFINITION_BONUS if _DEFINES.match(each.text) else 1.0
        score *= _IMPORT_PENALTY if _IMPORTS.match(each.text) else 1.0
        score *= 1.0 + _COVERED * (sum(map(bool, row)) - 1)
        score *= _EXACT_BONUS if any(pattern.search(each.text) for pattern in exact) else 1.0
        score *= _PHRASE_BONUS if any(pattern.search(each.text) for pattern in joined) else 1.0
        name = each.path.lower()
        score *= _PROSE_BONUS if name.endswith(PROSE) else _DATA_PENALTY if name.endswith(DATA) else 1.0
        score *= _NAME_BONUS if names_file(each.path, terms) else 1.0
        scores.append(score)
    order = sorted(range(len(candidates)), key=lambda at: (-scores[at], at))
    return [candidates[at] for at in order if scores[at] > 0.0]


def names_file(path: str, terms: Sequence[str]) -> bool:
    """Whether a file is called like one of the terms."""
    name = PurePosixPath(path).name
    return any(re.search(term_pattern(term), name, re.IGNORECASE) for term in terms)
