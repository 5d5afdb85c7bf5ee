"""Messages as plain text, names and sentences in it, and deeds that lines report. No product code is used."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pydantic_ai.messages import (
    BaseToolCallPart,
    BaseToolReturnPart,
    CompactionPart,
    ModelMessage,
    ModelResponse,
    RetryPromptPart,
    TextPart,
    UserPromptPart,
)

# Messages as plain text, and the names and sentences in it. Shares no code with the product it judges.


def words(text: str) -> frozenset[str]:
    return frozenset(text.split())


ENDINGS = words(
    "py js ts tsx jsx mjs cjs go rs java kt c h cc cpp hpp cs rb php swift sh bash ps1 md mdx txt json jsonl "
    "yaml yml toml ini cfg lock xml html css scss vue svelte sql proto tf bicep gradle env csv ipynb lua "
    "pony mod sum log plist svg tcss"
)
_FILE = re.compile(r"[\w@.+~-]*[\w@+~-]\.([A-Za-z]{1,6})(?![\w])")
_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]{3,80}")
_SHAPE = re.compile(r"[a-z0-9][A-Z]|[A-Za-z0-9]_[A-Za-z0-9]")
_BLOCK = re.compile(r"<([a-z]+(?:[-_][a-z]+)+)>.*?</\1>", re.DOTALL)
_FENCE = re.compile(r"^\s*(```|~~~).*?^\s*\1", re.DOTALL | re.MULTILINE)
_SENTENCE = re.compile(r"(?<=[.!?])\s+|\n+")
_BULLET = re.compile(r"^(?:[-*+•>#\s]+|\d{1,2}[.)]\s+)+")
_SPACE = re.compile(r"\s+")
_STEERS = re.compile(r"(?i)\b(?:must|never|do ?n['’]t|dont|always|only|instead|use|not)\b")
_REQUEST = re.compile(r"(?i)(?:and |also |so |ok,? |please )*(?:can|could|would|will) you\b")
_CORRECTS = re.compile(
    r"(?i)^(?:no[,. ]|nope|actually|wait[, ]|sorry[, ]|correction)|\binstead\b|\bi meant\b"
)
_DECLINED = re.compile(r"(?s)the user said:(.+)$")
_PROGRAM_TEXT = ("[Request interrupted", "This session is being continued", "Caveat:")


def flat(text: str) -> str:
    """The text with every run of white space replaced by one space."""
    return _SPACE.sub(" ", text).strip()


def files_in(text: str) -> set[str]:
    """Names of files, without folders."""
    return {match[0] for match in _FILE.finditer(text) if _is_file(match)}


def identifiers_in(text: str) -> set[str]:
    """Identifiers: with an underscore inside or in camel case, without names of files."""
    return {name for name in _IDENTIFIER.findall(_FILE.sub(_not_a_file, text)) if _SHAPE.search(name)}


def _not_a_file(match: re.Match[str]) -> str:
    return " " if _is_file(match) else match[0]


def _is_file(match: re.Match[str]) -> bool:
    """Whether a name is a file's, by its extension; ``console.log`` and ``cmd.Env`` are code."""
    shouted = match[0].isupper() and match[1].lower() in ENDINGS
    return (match[1] in ENDINGS or shouted) and match[0] not in {"console.log", "process.env"}


def names_in(text: str) -> set[str]:
    """Names of files and identifiers."""
    return files_in(text) | identifiers_in(text)


def leaves(value: Any) -> Iterator[str]:
    """Every string inside a value, nested ones included."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for inner in value.values():
            yield from leaves(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from leaves(inner)


def result_of(part: BaseToolReturnPart | RetryPromptPart) -> str:
    """A tool's result as text."""
    return part.content if isinstance(part.content, str) else json.dumps(part.content, default=str)


def message_text(message: ModelMessage, *, labels: bool = True) -> str:
    """One message; every argument of a call on its own line, after the names of tool and argument."""
    lines: list[str] = []
    for part in message.parts:
        match part:
            case UserPromptPart():
                pieces = [part.content] if isinstance(part.content, str) else part.content or ()
                lines += [piece for piece in pieces if isinstance(piece, str)]
            case TextPart() | CompactionPart():
                lines.append(part.content or "")
            case BaseToolCallPart():
                args = part.args_as_dict()
                label = f"{part.tool_name} {{}}: " if labels else ""
                lines += [label.format(name) + text for name in args for text in leaves(args[name])]
            case BaseToolReturnPart() | RetryPromptPart():
                lines.append(result_of(part))
    return "\n".join(lines)


def text_of(messages: Iterable[ModelMessage]) -> str:
    return "\n".join(map(message_text, messages))


def typed_in(messages: Iterable[ModelMessage]) -> list[str]:
    """The user's prompts in order, without text that programs added around them."""
    typed: list[str] = []
    for message in messages:
        for part in message.parts:
            if isinstance(part, UserPromptPart):
                pieces = [part.content] if isinstance(part.content, str) else part.content or ()
                text = "\n".join(piece for piece in pieces if isinstance(piece, str))
                own = _BLOCK.sub("", text).strip()
                if own and not own.startswith(_PROGRAM_TEXT):
                    typed.append(own)
            elif isinstance(part, BaseToolReturnPart) and part.outcome == "denied":
                typed += [said.strip() for said in _DECLINED.findall(result_of(part))]
    return typed


def sentences(text: str) -> list[str]:
    """Sentences of prose, without fenced code and lines of logs."""
    found: list[str] = []
    for piece in _SENTENCE.split(_FENCE.sub("\n", text)):
        sentence = flat(_BULLET.sub("", piece))
        letters = sum(char.isalpha() or char == " " for char in sentence)
        if len(sentence.split()) >= 3 and len(sentence) <= 500 and letters >= 0.75 * len(sentence):
            found.append(sentence)
    return found


def steering(typed: Sequence[str]) -> list[str]:
    """The user's sentences that say what must or must not be done; of questions, only requests."""
    found = (sentence for text in typed for sentence in sentences(text) if _STEERS.search(sentence))
    return list(dict.fromkeys(s for s in found if not s.endswith("?") or _REQUEST.match(s)))


def correcting(typed: Sequence[str]) -> list[str]:
    """Sentences in which the user takes something back."""
    return list(dict.fromkeys(s for text in typed[1:] for s in sentences(text) if _CORRECTS.search(s)))


def spoken_in(messages: Iterable[ModelMessage], limit: int, *, calls_only: bool = False) -> str:
    """Text and tool inputs of the first so many responses, or the inputs alone."""
    responses = [message for message in messages if isinstance(message, ModelResponse)][:limit]
    if calls_only:
        responses = [
            replace(each, parts=[part for part in each.parts if isinstance(part, BaseToolCallPart)])
            for each in responses
        ]
    return "\n".join(message_text(message, labels=False) for message in responses)


# Whether a line reports what was done to a file. Shares neither code nor words with the product it judges.


_SAID = {
    "created": re.compile(
        r"(?i)(?<![\w/-])(?:created|creates|wrote|written|writes|added|new files?|renamed|moved"
        r"|copied)(?!\w|\.\w)"
    ),
    "edited": re.compile(
        r"(?i)(?<![\w/-])(?:edited|edits|modified|modifications|modifies|updated|updates|changed|changes|fixed"
        r"|replaced|rewritten|rewrote|patched|refactored|wrote|written)(?!\w|\.\w)"
    ),
    "deleted": re.compile(r"(?i)(?<![\w/-])(?:deleted|removed|renamed|moved|deletes|removes)(?!\w|\.\w)"),
}
"""Verbs that report; what only could or should be done does not count."""
_DENIED = re.compile(r"(?i)\b(?:not|never|n['’]t|be)(?: yet| been| being)? \w+")
_TOOLS = {
    "created": re.compile(r"(?i)write|create|save"),
    "edited": re.compile(r"(?i)edit|replace|patch|insert|append|update|write"),
    "deleted": re.compile(r"(?i)delete|remove"),
}
_BEFORE = {
    "created": re.compile(
        r"(?:\S ?(?<![-=\d>&])> ?|\b(?:touch|tee|cp|mv) [^;&|>]*|\*\*\* (?:Add File|Move to): )[\"']?$"
    ),
    "edited": re.compile(r"(?:>> ?|\b(?:sed -i|tee -a)[^;&|]*|\*\*\* Update File: )[\"']?$"),
    "deleted": re.compile(r"(?:\b(?:rm|mv) [^;&|]*|\*\*\* Delete File: )[\"']?$"),
}
"""Commands and patch lines that end with the path."""
_ACCEPTED = {
    "created": ("created",),
    "edited": ("edited",),
    "written": ("created", "edited"),
    "deleted": ("deleted",),
}
_CALL = re.compile(r"^(\w+) (\w+): ")
_PATHS = frozenset(["file_path", "path", "filePath", "notebook_path", "filename", "target_file", "file"])
_HEADING = re.compile(r"^(?:#|\*\*).*|.*:\s*(?:\*\*)?$")
_LONGEST = 1_000


@dataclass(frozen=True, slots=True)
class Place:
    """An occurrence of a file's name: the line before and after it, and the heading above."""

    before: str
    after: str
    heading: str


def places_of(path: str, text: str, others: Iterable[str]) -> list[Place]:
    """Every line that names a file; by its bare name only if no other file has that name."""
    parts = path.rsplit("/", 2)
    endings = [path, "/".join(parts[-2:])]
    if sum(other.rsplit("/", 1)[-1] == parts[-1] for other in others) < 2:
        endings.append(parts[-1])
    pattern = re.compile(r"(?<![\w-])(?:" + "|".join(map(re.escape, endings)) + r")(?![\w-])")
    found: list[Place] = []
    heading = ""
    for line in text.splitlines():
        matches = list(pattern.finditer(line))
        found += (_place(line, match, heading) for match in matches)
        if not matches and _HEADING.match(line):
            heading = line[:200]
    return found


def _place(line: str, match: re.Match[str], heading: str) -> Place:
    start = max(line.rfind(mark, 0, match.start()) for mark in " \t\"'`(>") + 1
    return Place(line[:start][-_LONGEST:], line[match.end() :][:_LONGEST], heading)


def right_verb(places: Sequence[Place], verbs: Sequence[str]) -> bool:
    """Whether any occurrence reports one of the file's deeds; the deletion, if that was the last."""
    wanted = ["deleted"] if verbs[-1] == "deleted" else [kind for verb in verbs for kind in _ACCEPTED[verb]]
    return any(_says(place, kind) for place in places for kind in set(wanted))


def _says(place: Place, kind: str) -> bool:
    if _BEFORE[kind].search(place.before):
        return True
    if call := _CALL.match(place.before):
        return call[2] in _PATHS and not place.before[call.end() :] and bool(_TOOLS[kind].search(call[1]))
    return any(_SAID[kind].search(said) for said in _reports(place))


def _reports(place: Place) -> Iterator[str]:
    for said in (f"{place.before} {place.after}", place.heading):
        yield _DENIED.sub(" ", said)
