"""Build the message that replaces compacted history: summary, the user's words, facts, and the way back."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from operator import attrgetter
from typing import Any

from pydantic_ai.messages import (
    CompactionPart,
    ModelMessage,
    ModelRequest,
    ModelResponse,
    TextPart,
)

from tui_app.context.compaction.plan import Addition
from tui_app.context.compaction.user_words import Prompt, UserWords, user_words_section
from tui_app.context.facts.observations import with_facts
from tui_app.context.message_marks import ACKNOWLEDGEMENT_KIND, OWN
from tui_app.context.view import Item, is_summary
from tui_app.events import Fact, Origin
from tui_app.tool_specs import SEARCH_HISTORY

_MOST_KNOWN = 600
"""Facts that a summary keeps of what it stands for, for where its messages cannot be read any more."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_TAG = re.compile(r"<(\s*/?\s*conversation_summary)", re.IGNORECASE)
"""pydantic-ai sends a summary inside this tag; the text itself must not be able to close it."""
WAY_BACK = (
    f"Everything before this point is kept. {SEARCH_HISTORY.name} brings a message back, by its number, for "
    "example `#12`, or by words."
)
FACTS_HEADING = "## Also worth keeping"


@dataclass(frozen=True, slots=True, kw_only=True)
class PreviousSummary:
    """The content of a previous summary, so that it is updated and never wrapped in another one."""

    summary: str = ""
    prompts: tuple[Prompt, ...] = ()
    omitted: int = 0
    """Prompts that had no room then."""
    facts: str = ""
    """Lines put below the notes, because those lacked them."""
    known: tuple[Fact, ...] = ()
    """The facts of all that it stands for."""

    @property
    def notes(self) -> str:
        """Everything a new summary has to update, as one text."""
        return with_facts(self.summary, self.facts)

    replaced: tuple[Prompt, ...] = ()
    """Sentences that had been corrected by then."""


def earlier_summary(items: Sequence[Item]) -> PreviousSummary:
    """Collect the content of the summaries among ``items``; of other programs all is notes."""
    each = [earlier_part(part) for part in _parts(items)]
    return PreviousSummary(
        summary="\n\n".join(filter(None, (one.summary for one in each))),
        prompts=tuple(dict.fromkeys(prompt for one in each for prompt in one.prompts)),
        omitted=sum(one.omitted for one in each),
        facts="\n".join(filter(None, (one.facts for one in each))),
        known=tuple(dict.fromkeys(fact for one in each for fact in one.known)),
        replaced=tuple(dict.fromkeys(prompt for one in each for prompt in one.replaced)),
    )


def earlier_notes(items: Sequence[Item]) -> str:
    """The notes that a new summary has to update; cheaper than reading all that ``items`` carry."""
    parts = list(_parts(items))
    facts = (str(_own(part.metadata).get("facts", "")) for part in parts)
    return with_facts("\n\n".join(filter(None, map(_notes, parts))), "\n".join(filter(None, facts)))


def _parts(items: Sequence[Item]) -> Iterator[CompactionPart]:
    for item in items:
        if is_summary(item.message):
            yield from (part for part in item.message.parts if isinstance(part, CompactionPart))


def _notes(part: CompactionPart) -> str:
    return str(_own(part.metadata).get("summary") or part.content or "")


def _own(metadata: Mapping[str, Any] | None) -> Mapping[str, Any]:
    own = (metadata or {}).get(OWN)
    return own if isinstance(own, Mapping) else {}


def summary_message(
    summary: str,
    words: UserWords,
    facts: str,
    known: Sequence[Fact] = (),
    way_back: str = WAY_BACK,
    shown: str | None = None,
    *,
    additions: Sequence[Addition] = (),
    writer: Origin = "model",
) -> ModelRequest:
    """Build the request that stands for compacted history.

    The parts are also kept in the metadata, which is never sent, so that the next compaction updates them.

    Args:
        summary: The notes.
        words: What the user said.
        facts: What the notes left out.
        known: The facts so far, weightiest first; only kept in the metadata.
        way_back: How the model can get at what left; empty where it cannot.
        shown: The notes in a policy's own wording; None shows them as they are.
        additions: Texts from outside the conversation; not kept in the metadata, for they are read anew.
        writer: Who wrote the notes.
    """
    sections = [summary.strip() if shown is None else shown, user_words_section(words, summary)]
    if facts.strip():
        sections.append(f"{FACTS_HEADING}\n{facts.strip()}")
    sections += [addition.worded for addition in additions]
    sections.append(way_back)
    text = escaped("\n\n".join(filter(None, sections)))
    prompts = [[key, said] for key, said in words.prompts]
    own = {
        "summary": summary,
        "prompts": prompts,
        "omitted": words.omitted,
        "facts": facts,
        "replaced": [list(prompt) for prompt in words.replaced],
        "writer": writer,
        "origins": _origins(text, summary, user_words_section(words, summary), writer),
        "known": [[fact.kind, fact.text, fact.source, fact.weight] for fact in known[:_MOST_KNOWN]],
    }
    return ModelRequest(parts=[CompactionPart(text, metadata={OWN: own})], timestamp=_EPOCH)


def _origins(text: str, summary: str, said: str, writer: Origin) -> list[list[Origin | int]]:
    """Where the text comes from, in order: ``model``, ``user`` or ``code``, and how many characters.

    Args:
        text: The whole replacement.
        summary: The notes in it.
        said: The section with the user's words.
        writer: Who wrote the notes.
    """
    found: list[list[Origin | int]] = []
    end = 0
    parts: tuple[tuple[Origin, str], ...] = ((writer, escaped(summary.strip())), ("user", escaped(said)))
    for origin, part in parts:
        place = text.find(part, end) if part else -1
        if place >= 0:
            found += [["code", place - end], [origin, len(part)]]
            end = place + len(part)
    found.append(["code", len(text) - end])
    return [entry for entry in found if entry[1]]


def escaped(text: str) -> str:
    """Escape a text so that it cannot close the tag a summary is sent in."""
    return _TAG.sub(r"<\\\1", text)


def earlier_part(part: CompactionPart) -> PreviousSummary:
    """Read the content of one summary; one of another program counts as notes as a whole."""
    own = _own(part.metadata)
    return PreviousSummary(
        summary=_notes(part),
        prompts=_prompts(own, "prompts"),
        replaced=_prompts(own, "replaced"),
        omitted=int(own.get("omitted", 0)),
        facts=str(own.get("facts", "")),
        known=tuple(
            Fact(kind=kind, text=str(text), source=str(source), weight=float(weight))
            for kind, text, source, weight in (
                *own.get("known", ()),
                # Summaries of earlier versions kept the rules alone.
                *(("rule", *rule) for rule in own.get("rules", ())),
            )
        ),
    )


def _prompts(own: Mapping[str, Any], name: str) -> tuple[Prompt, ...]:
    return tuple((int(key), str(text)) for key, text in own.get(name, ()))


def acknowledging_response(text: str) -> ModelResponse:
    """The assistant's acknowledgement of a summary; its metadata tells it from a real response."""
    metadata = {OWN: {"kind": ACKNOWLEDGEMENT_KIND}}
    return ModelResponse(parts=[TextPart(text)], timestamp=_EPOCH, metadata=metadata)


# Which messages leave, as ranges of their log numbers.


def key_ranges(items: Sequence[Item], left: frozenset[int]) -> tuple[tuple[int, int], ...]:
    """Describe which visible messages leave, as inclusive ranges of their numbers.

    A range never covers the number of a message that stays, wherever in the view that stands.
    """
    ranges: list[tuple[int, int]] = []
    open_range = False
    for item in sorted(items, key=attrgetter("key")):
        if item.key not in left:
            open_range = False
        elif open_range:
            ranges[-1] = (ranges[-1][0], item.key)
        else:
            ranges.append((item.key, item.key))
            open_range = True
    return tuple(ranges)


# Editing a summary that is in place; what code has put beside the notes stays.
#
# The parts of a replacement are kept in its metadata, so they are found again in its text: the notes, what
# the user said, facts. Everything else in it, such as the plan and the way back, is left as it is.


@dataclass(frozen=True, slots=True, kw_only=True)
class RewordedSummary:
    """A summary message with edited notes or facts."""

    message: ModelRequest
    text: str
    """Its text as the model reads it."""


def parts_of(message: ModelMessage) -> PreviousSummary | None:
    """Read the parts of a summary message; None where it is none that can be read."""
    part = _part(message)
    return earlier_part(part) if part is not None else None


def reworded(message: ModelMessage, summary: str, facts: str) -> RewordedSummary:
    """Give a summary other notes and facts.

    What the user said and the old notes quoted is said beside the new ones where those do not.

    Args:
        message: The replacement as it is.
        summary: The new notes.
        facts: The lines below them, as they are to be.

    Raises:
        ValueError: if it is no summary that can be read here.
    """
    part, earlier = _part(message), parts_of(message)
    if part is None or earlier is None or not isinstance(message, ModelRequest):
        raise ValueError("This is no summary that can be read.")
    words = UserWords(prompts=earlier.prompts, omitted=earlier.omitted, replaced=earlier.replaced)
    # What stands in front of the notes, and what behind them. What was said beside them is taken out of that;
    # all up to there belongs to the notes' frame.
    content, notes = part.content or "", escaped(earlier.summary.strip())
    place = content.find(notes) if notes else -1
    # A marker says only how many messages are gone: notes stand in front of it.
    before, rest = (content[:place], content[place + len(notes) :]) if place >= 0 else ("", f"\n\n{content}")
    kept = earlier.facts.strip()
    old = [user_words_section(words, earlier.summary), f"{FACTS_HEADING}\n{kept}" if kept else ""]
    found: list[int] = []
    for section in filter(None, map(escaped, old)):
        at = rest.find(f"\n\n{section}")
        if at >= 0:
            found.append(at)
            rest = rest[:at] + rest[at + len(section) + 2 :]
    end = min(found, default=0)
    frame, behind = rest[:end], rest[end:]
    sections = [user_words_section(words, summary), f"{FACTS_HEADING}\n{facts}" if facts else ""]
    beside = "".join(f"\n\n{escaped(section)}" for section in sections if section)
    text = f"{before}{escaped(summary.strip())}{frame}{beside}{behind}"
    metadata = dict(part.metadata or {})
    own = dict(_own(metadata))
    writer: Origin = own.get("writer", "model") if summary == earlier.summary else "user"
    origins = _origins(text, summary, user_words_section(words, summary), writer)
    own |= {"summary": summary, "facts": facts, "writer": writer, "origins": origins}
    metadata[OWN] = own
    new = replace(part, content=text, metadata=metadata)
    return RewordedSummary(message=replace(message, parts=[new]), text=text)


def _part(message: ModelMessage) -> CompactionPart | None:
    if not isinstance(message, ModelRequest):
        return None
    parts = [part for part in message.parts if isinstance(part, CompactionPart) and part.content is not None]
    return parts[0] if len(parts) == len(message.parts) == 1 else None
