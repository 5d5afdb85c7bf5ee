"""Choose which of the user's own words stand beside a summary, word for word."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from operator import attrgetter, itemgetter

from pydantic_ai.messages import ToolCallPart, ToolReturnPart

from tui_app.context.compaction.plan import Addition
from tui_app.context.facts.dialogue import written_since
from tui_app.context.facts.observations import Said, one_line, sentences
from tui_app.context.facts.rules import is_bare_command, marked, prose, rule_strength, superseded
from tui_app.context.secrets import mask_secrets
from tui_app.context.summaries.prompt import clip, prompts_of
from tui_app.context.user_text import said_in_refusal, typed_text
from tui_app.context.view import Item

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


@dataclass(frozen=True, slots=True, kw_only=True)
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
    while len(taken) > 1 and _cost(drafts, count) > budget:
        taken.pop().kept.pop()
    chosen = tuple((draft.key, draft.shown()) for draft in drafts if draft.kept)
    return UserWords(prompts=chosen, omitted=omitted + len(said) - len(chosen))


def _cost(drafts: Sequence["_Draft"], count: Callable[[str], int]) -> int:
    return sum(count(draft.shown()) + _FRAMING for draft in drafts if draft.kept)


@dataclass(frozen=True, slots=True)
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
        if not any(map(str.isalnum, self._rest())):
            return shown.strip()
        short = f"{shown.strip()} …[{missing} characters omitted]…"
        return short if len(short) < len(self.text) else self.text

    def _rest(self) -> str:
        """What was not taken."""
        rest, end = "", 0
        for piece, _ in sorted(self.kept, key=lambda taken: taken[0].start):
            rest, end = rest + self.text[end : piece.start], piece.end
        return rest + self.text[end:]


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
