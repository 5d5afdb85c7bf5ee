"""Build the message that replaces compacted history: summary, the user's words, facts, and the way back."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from operator import attrgetter, itemgetter
from typing import Any

from pydantic_ai.messages import (
    CompactionPart,
    ModelMessage,
    ModelRequest,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
)

from tui_app.context.compaction.plan import Addition
from tui_app.context.facts.dialogue import written_since
from tui_app.context.facts.observations import Said, one_line, sentences, with_facts
from tui_app.context.facts.rules import is_bare_command, marked, prose, rule_strength, superseded
from tui_app.context.message_marks import ACKNOWLEDGEMENT_KIND, OWN
from tui_app.context.secrets import mask_secrets
from tui_app.context.summaries.prompt import clip, prompts_of
from tui_app.context.user_text import said_in_refusal, typed_text
from tui_app.context.view import Item, is_summary
from tui_app.events import Fact, Origin
from tui_app.records import frozen
from tui_app.tool_specs import SEARCH_HISTORY

# Which of the user's own words stand beside a summary, word for word.

Prompt = tuple[int, str]
"""Handle and text of something the user said."""
OMITTED = "- ({count} more of the user's messages are left out here)"
_GAP = " … "
_LEFT_OUT = re.compile(r" … | ?…\[\d{1,12} characters omitted\]…|\n\[… \d{1,12} characters left out …\]\n")
_FRAMING = 4
"""Tokens of the bullet and the handle around a prompt."""
_SHORTEST = 200
"""Characters below which a clipped piece says nothing."""
_STRONG, _WEAK, _SHORT, _NEW, _LONG = 0.6, 0.2, 0.5, 0.3, 400
"""What counts of a sentence: words that command or steer, shortness (nothing from so many characters on), and
how new it is. The words only rank: no language is left without a place."""


@frozen(kw_only=True)
class UserWords:
    """The user's own words, as far as there is room for them."""

    prompts: tuple[Prompt, ...] = ()
    """Oldest first."""
    omitted: int = 0
    """How many more there were."""
    replaced: tuple[Prompt, ...] = ()
    """Sentences that do not hold any more, because the user corrected them."""


def typed_prompts(items: Sequence[Item], earlier: Sequence[Prompt] = ()) -> list[Prompt]:
    """Collect what the user typed, each prompt once, without secrets and bare slash commands.

    Args:
        items: Messages; what the user said when they declined a tool call counts too, and what programs put
            around a prompt does not.
        earlier: Prompts that a summary carries from before them.
    """
    found = [*earlier]
    for item in items:
        texts = [typed_text(text) for _, text in prompts_of((item,))]
        for part in item.message.parts:
            if isinstance(part, ToolReturnPart) and part.outcome == "denied":
                texts.append(said_in_refusal(part.model_response_str()))
        found += ((item.key, text) for text in texts if text)
    return list(dict.fromkeys((key, mask_secrets(text)) for key, text in found if not is_bare_command(text)))


def choose_prompts(
    said: Sequence[Prompt], budget: int, count: Callable[[str], int], *, omitted: int = 0
) -> UserWords:
    """Pick what the user typed, word for word, within a budget.

    All of it stays while it fits. Else sentences of prose go before pasted blocks and what was said already,
    those of the first request before all others, new and short ones before old and long ones.

    Args:
        said: What the user typed, oldest first; the same prompt only once.
        budget: Tokens all of them may take.
        count: Tokens of a text.
        omitted: How many prompts are missing already.

    Returns:
        What has room, with marks where something is missing. A piece that is longer than half of the budget
        is clipped in the middle, one of the first request where it alone is longer than all of it.
    """
    if budget <= 0:
        return UserWords(omitted=omitted + len(said))
    if sum(count(text) + _FRAMING for _, text in said) <= budget:
        return UserWords(prompts=tuple(said), omitted=omitted)
    drafts = [_Draft(key, text) for key, text in said]
    pieces = sorted(
        (piece for place, (_, text) in enumerate(said) for piece in _pieces(place, text, len(said))),
        key=attrgetter("rank"),
        reverse=True,
    )
    told: set[str] = set()
    taken: list[_Draft] = []
    left = budget
    for piece in pieces:
        draft = drafts[piece.place]
        if (flat := one_line(piece.text).casefold()) in told:
            continue
        beside = 2 if draft.kept else _FRAMING
        share = (budget if piece.place == 0 else budget // 2) - beside
        shown, cost = piece.text, count(piece.text)
        if cost > share:
            shown = clip(shown, max(_SHORTEST, len(shown) * share // cost))
            # The mark itself takes room: where little is missing it would take more than that.
            shown = shown if len(shown) < len(piece.text) else piece.text
            cost = count(shown)
        if cost + beside > left and taken:
            continue
        told.add(flat)
        draft.kept.append((piece, shown))
        taken.append(draft)
        left -= cost + beside
    # The marks take room as well.
    while len(taken) > 1 and sum(count(draft.shown()) + _FRAMING for draft in drafts if draft.kept) > budget:
        taken.pop().kept.pop()
    chosen = tuple((draft.key, draft.shown()) for draft in drafts if draft.kept)
    return UserWords(prompts=chosen, omitted=omitted + len(said) - len(chosen))


@frozen
class _Piece:
    """A sentence of a prompt, or what stands between two of them."""

    place: int
    start: int
    end: int
    text: str
    rank: tuple[int, float, int]


@dataclass(slots=True)
class _Draft:
    """A prompt, and what of it has been taken."""

    key: int
    text: str
    kept: list[tuple[_Piece, str]] = field(default_factory=list)

    def shown(self) -> str:
        """What was taken, in order, with a mark where something is missing."""
        shown, end = "", 0
        for piece, text in sorted(self.kept, key=lambda taken: taken[0].start):
            between = self.text[end : piece.start]
            gap = any(map(str.isalnum, between))
            shown += _GAP if gap and shown else "" if gap else between
            shown, end = shown + text, piece.end
        missing = len(self.text) - sum(len(piece.text) for piece, _ in self.kept)
        # What was not taken.
        rest, end = "", 0
        for piece, _ in sorted(self.kept, key=lambda taken: taken[0].start):
            rest, end = rest + self.text[end : piece.start], piece.end
        if not any(map(str.isalnum, rest + self.text[end:])):
            return shown.strip()
        short = f"{shown.strip()} …[{missing} characters omitted]…"
        return short if len(short) < len(self.text) else self.text


def _pieces(place: int, text: str, prompts: int) -> Iterator[_Piece]:
    """Take a prompt apart into the sentences of its prose and what stands between them."""
    end = 0
    for sentence in prose(text):
        found = re.compile(r"\s+".join(map(re.escape, sentence.split(" ")))).search(text, end)
        if found is None:
            continue
        yield from _between(place, text, end, found.start())
        strength = rule_strength(sentence)
        rank = _NEW * place / prompts + (0, _WEAK, _STRONG)[strength]
        rank += _SHORT * max(0.0, 1 - len(sentence) / _LONG)
        first = 2 if place == 0 else 1
        yield _Piece(place, found.start(), found.end(), found[0], (first, rank, -found.start()))
        end = found.end()
    yield from _between(place, text, end, len(text))


def _between(place: int, text: str, start: int, end: int) -> Iterator[_Piece]:
    """What is no prose: of the first and the newest prompts before others."""
    if any(map(str.isalnum, text[start:end])):
        yield _Piece(place, start, end, text[start:end], (0, place or 1_000_000, -start))


def user_words_section(words: UserWords, summary: str) -> str:
    """The section with the user's words that the notes do not hold; empty where there are none."""
    said = _not_said(words, summary)
    lines = [f"- #{key}: {marked(key, text, words.replaced)}" for key, text in said]
    if said and words.omitted:
        lines.append(OMITTED.format(count=words.omitted))
    return "\n".join(["## Said by the user, word for word", *lines]) if said else ""


def user_words_tokens(words: UserWords, summary: str, count: Callable[[str], int]) -> int:
    """Tokens of the user's words beside a summary, those that the summary holds left out."""
    return sum(count(text) + _FRAMING for _, text in _not_said(words, summary))


def superseded_in(said: Sequence[Prompt], earlier: Sequence[Prompt] = ()) -> tuple[Prompt, ...]:
    """Find the sentences that the user has corrected since.

    Args:
        said: What the user typed.
        earlier: Sentences that had been corrected before.
    """
    typed = [Said(key, place, text) for place, (key, text) in enumerate(sorted(said, key=itemgetter(0)))]
    return tuple(dict.fromkeys((*earlier, *superseded(typed))))


# A plan is as old as its newest version: what the user has written since may have ended it.

_SINCE_LIMIT = 240


def dated(
    additions: Sequence[Addition], items: Sequence[Item], said: Sequence[Prompt]
) -> tuple[Addition, ...]:
    """Say of when plans and lists are, and quote what the user has written since.

    Args:
        additions: Texts that are carried; those that no tool writes stay as they are.
        items: Messages with the calls that wrote them.
        said: What the user typed.
    """
    written = {
        part.tool_name: item.key
        for item in items
        for part in item.message.parts
        if isinstance(part, ToolCallPart)
    }
    return tuple(
        _dated(each, written[each.tool], said) if each.tool in written else each for each in additions
    )


def _dated(addition: Addition, key: int, said: Sequence[Prompt]) -> Addition:
    since = written_since(said, key, addition.text)
    quoted = [f"- #{at}: {clip(text, _SINCE_LIMIT)}" for at, text in since]
    lines = [addition.text.strip()]
    lines += ["The user has written since, and may have ended or changed it:", *quoted] if quoted else []
    return replace(addition, heading=f"{addition.heading}, as written in #{key}", text="\n".join(lines))


def _not_said(words: UserWords, summary: str) -> list[Prompt]:
    """The prompts that do not stand in the notes already, sentence for sentence, and those to be marked."""
    flat, corrected = one_line(summary), {key for key, _ in words.replaced}
    return [(key, text) for key, text in words.prompts if key in corrected or not _stands_in(text, flat)]


def _stands_in(text: str, flat: str) -> bool:
    if one_line(text) in flat:
        return True
    if _LEFT_OUT.search(text):
        return all(one_line(piece) in flat for piece in _LEFT_OUT.split(text))
    pieces = list(sentences(text))
    rest = one_line(text)
    for piece in pieces:
        rest = rest.replace(piece, "", 1)
    return bool(pieces) and not any(map(str.isalnum, rest)) and all(piece in flat for piece in pieces)


# The message that replaces history.

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


@frozen(kw_only=True)
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


@frozen(kw_only=True)
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
        raise ValueError("This summary cannot be read.")
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
