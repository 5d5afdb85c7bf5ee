"""Understanding a prompt without a language model: a few plain commands, else words to look for."""

import re
from collections.abc import Collection
from dataclasses import dataclass
from typing import Literal

from tui_app.agent.offline.naming import bare_files, mentioned_files, plain_path, without_mentions
from tui_app.agent.offline.words import STOP_WORDS
from tui_app.mentioned import mentions

Kind = Literal["list", "read", "find", "grep", "overview", "conversation", "general", "run", "write"]

MAX_TERMS = 5
_READ_CHARS = 4_000
"""Characters of a prompt that are looked at: half from its start, half from its end."""
_COMMAND_CHARS = 300

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
_SUFFIXES = ("ations", "ation", "ings", "ing", "ions", "ion", "ers", "ies", "er", "ed", "es", "s", "e", "y")


@dataclass(frozen=True, slots=True)
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


def understand(prompt: str, attached: Collection[str] = ()) -> Question:
    """Sort a prompt into a kind and take from it what its kind needs.

    Args:
        prompt: What the person wrote.
        attached: Paths of the files that came with it.
    """
    order = _order(prompt)
    if order is not None:
        return order
    command = _polite(prompt)
    direct = _command(command, attached) if len(command) <= _COMMAND_CHARS and "\n" not in command else None
    if direct is not None and not (direct.kind == "grep" and attached):
        return direct
    half = _READ_CHARS // 2
    text = prompt if len(prompt) <= _READ_CHARS else f"{prompt[:half]}\n{prompt[-half:]}"
    mentioned = mentioned_files(text, attached)
    files = tuple(dict.fromkeys([*mentioned, *bare_files(text)]))
    terms = _terms(without_mentions(text, attached)) or _terms(text)
    if len(command) <= _COMMAND_CHARS and _OVERVIEW.search(command) and not files:
        return Question("overview", terms)
    if _CONVERSATION.search(text):
        handle = _HANDLE.search(text)
        return Question("conversation", terms, files, mentioned, handle=handle.group(0) if handle else "")
    return Question("general", terms, files, mentioned)


def term_pattern(term: str) -> str:
    """A regular expression for a term that also meets its other word forms."""
    escaped = re.escape(_stem(term)).replace(r"\-", "-").replace(r"\ ", " ")
    return rf"\b{escaped}\b" if len(term) <= 3 else escaped


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
        return Question("grep", terms=(pattern,), pattern=re.escape(pattern).replace(r"\ ", " "))
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


def _polite(prompt: str) -> str:
    text = prompt.strip().rstrip(".?! ")
    return re.sub(r"^(?:please|can you|could you|now)[, ]+", "", text, flags=re.IGNORECASE)


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


def _names_code(word: str) -> bool:
    return bool(re.search(r"[_./\d]|[a-z][A-Z]", word))


def _stem(term: str) -> str:
    if _names_code(term) or " " in term:
        return term
    for suffix in _SUFFIXES:
        if term.endswith(suffix) and len(term) - len(suffix) >= 4:
            return term.removesuffix(suffix)
    return term
