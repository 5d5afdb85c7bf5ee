"""The user's words in a replacement: whole and newest first while there is room, then the best sentences."""

from collections.abc import Collection, Sequence
from itertools import pairwise
from textwrap import shorten

from tui_app.context.compaction.sections import (
    CLIPPED_HEADING,
    LAST_SAID,
    LAST_WORDS,
    NAMES_HEADING,
    RULES_HEADING,
    STANDING,
    WORDS_HEADING,
    Count,
)
from tui_app.context.ledger.ledger import Ledger, Prompt
from tui_app.context.ledger.name_lines import RankedName, chosen_names, name_lines
from tui_app.context.user_text import beginning, clipped, one_line, own_words, sentences
from tui_app.records import frozen
from tui_app.system.secrets import mask_secrets

_FRAMING = 5
"""Tokens of the bullet and the number before a prompt."""

_SHORTEST_PIECE = 160
"""Characters below which a clipped piece is meaningless."""

_RULES_SHARE = 0.4
"""Share of the room for words that sentences of clipped prompts may take."""

_LONG_SENTENCE = 400

_MARK = 48
"""Approximate characters of the mark in a clipped text and of the white space cut with it."""


@frozen
class UserWordsSection:
    """The user's own words, as far as there is room for them."""

    prompts: tuple[tuple[int, str], ...] = ()
    """Number and text as shown, oldest first."""
    rules: tuple[tuple[int, str], ...] = ()
    """Sentences of clipped prompts, word for word."""
    omitted: int = 0
    clipped: int = 0
    latest: int = 0
    """The newest prompt of the session, which usually stays as its own message."""

    @property
    def text(self) -> str:
        if not self.prompts:
            return ""
        heading = CLIPPED_HEADING if self.clipped or self.omitted else WORDS_HEADING
        lines = [
            # Later lines must not look like headings or items of this section.
            f"- #{key}{' (latest)' if key == self.latest else ''}: "
            + "\n  ".join(line for line in text.strip().splitlines() if line.strip())
            for key, text in reversed(self.prompts)
        ]
        if self.omitted:
            more = "prompt is" if self.omitted == 1 else "prompts are"
            lines.append(f"- ({self.omitted} more {more} left out here)")
        return "\n".join([heading, *lines])

    @property
    def rules_text(self) -> str:
        if not self.rules:
            return ""
        return "\n".join([RULES_HEADING, *(f"- {text} (#{key})" for key, text in self.rules)])


def user_words_section(
    prompts: Sequence[Prompt], budget: int, count: Count, in_sight: Collection[int] = ()
) -> UserWordsSection:
    """Choose the user's words that fit.

    The latest prompt comes first, then the newest of the rest, each whole; prompts without pasted blocks
    precede those with. A prompt that does not fit is clipped to its head and tail, and its sentences compete
    by shortness, repetition and age for a place word for word.

    Args:
        prompts: All that the user typed, oldest first.
        budget: Maximum tokens.
        count: Tokens of a text.
        in_sight: Messages that stay: their prompts are not repeated.
    """
    texts: dict[int, str] = {}
    for prompt in prompts:
        if prompt.key not in in_sight:
            text = mask_secrets(prompt.text)
            texts[prompt.key] = f"{texts[prompt.key]}\n{text}" if prompt.key in texts else text
    # A repeated prompt keeps its newest place.
    newest_of = {one_line(text): key for key, text in texts.items()}
    repeated = {key: text for key, text in texts.items() if newest_of[one_line(text)] == key}
    costs = {key: count(text) + _FRAMING for key, text in repeated.items()}
    if budget <= 0 or not repeated:
        return UserWordsSection(omitted=len(repeated))
    if sum(costs.values()) <= budget:
        return UserWordsSection(prompts=tuple(repeated.items()), latest=prompts[-1].key)
    newest = max(repeated)
    pasted = {key for key, text in repeated.items() if 2 * len(own_words(text)) < len(text)}
    order = sorted(repeated, key=lambda key: (key != newest, key in pasted, -key))
    left, shown = budget - int(budget * _RULES_SHARE), dict[int, str]()
    for key in order:
        if costs[key] <= left:
            shown[key] = repeated[key]
            left -= costs[key]
    lacking = [key for key in order if key not in shown]
    rules = _rules([(key, repeated[key]) for key in lacking], int(budget * _RULES_SHARE), count)
    left = budget - sum(costs[key] for key in shown) - sum(count(text) + _FRAMING for _, text in rules)
    clipped_now = 0
    # The first request states the subject.
    for place, key in enumerate(sorted(lacking, key=lambda key: (key != newest, key != min(repeated), -key))):
        share = left // (len(lacking) - place)
        chars = len(repeated[key]) * max(0, share - _FRAMING) // max(1, costs[key]) - _MARK
        if chars < _SHORTEST_PIECE:
            continue
        text = clipped(repeated[key], chars)
        cost = count(text) + _FRAMING
        if cost <= left:
            shown[key] = text
            left -= cost
            clipped_now += text != repeated[key]
    return UserWordsSection(
        prompts=tuple(sorted(shown.items())),
        rules=tuple(rules),
        omitted=len(repeated) - len(shown),
        clipped=clipped_now,
        latest=prompts[-1].key,
    )


def _rules(prompts: Sequence[tuple[int, str]], budget: int, count: Count) -> list[tuple[int, str]]:
    """Return the highest ranking sentences of clipped prompts: short, repeated and newer ones."""
    found: dict[str, tuple[float, int, int, str]] = {}
    times: dict[str, int] = {}
    for place, (key, text) in enumerate(prompts):
        for at, sentence in enumerate(sentences(own_words(text))):
            if "“ …" in sentence:  # it quotes text from elsewhere
                continue
            flat = sentence.casefold()
            times[flat] = times.get(flat, 0) + 1
            short = max(0.0, 1 - len(sentence) / _LONG_SENTENCE)
            rank = short + 0.3 * (1 - place / len(prompts)) + 0.2 * (at == 0) + 0.5 * (times[flat] > 1)
            if len(sentence) > 5 and rank > found.get(flat, (0.0,))[0]:
                found[flat] = (rank, key, at, sentence)
    chosen: list[tuple[int, int, str]] = []
    for _, key, at, sentence in sorted(found.values(), reverse=True):
        cost = count(sentence) + _FRAMING
        if cost <= budget:
            budget -= cost
            chosen.append((key, at, sentence))
    return [(key, sentence) for key, _, sentence in sorted(chosen)]


def state_notes(ledger: Ledger, budget: int, count: Count, in_sight: Collection[int] = ()) -> str:
    """Return the state of the work in the speakers' own words, for a replacement without a model.

    These are the assistant's last removed texts, and the result of each request: whole lines, the newest
    first while there is room.

    Args:
        ledger: The whole session.
        budget: Maximum tokens.
        count: Tokens of a text.
        in_sight: Messages that stay: their content is not repeated.
    """
    prompts = list(ledger.prompts())
    # The announcement of a call adds nothing to the call.
    words = [each for each in ledger.assistant_texts() if not each.text.rstrip().endswith((":", "：", "..."))]
    earlier: dict[int, str] = {}
    for prompt, following in pairwise(prompts):
        answers = [each for each in words if prompt.key < each.key < following.key]
        if answers and answers[-1].key not in in_sight:
            asked, answered = beginning(one_line(prompt.text), 60), _beginning(answers[-1].text, 320)
            earlier[answers[-1].key] = f"- #{prompt.key} {asked} → {answered} (#{answers[-1].key})"
    leaving = [each for each in words if each.key not in in_sight]
    lines = [
        f"- {_beginning(each.text, LAST_WORDS)} (#{each.key})"
        for each in leaving[-LAST_SAID:]
        if each.key not in earlier
    ]
    left, kept = budget - count(STANDING) - _FRAMING, list[str]()
    for line in (*reversed(lines), *reversed(earlier.values())):
        if (cost := count(line) + 1) <= left:
            left -= cost
            kept.append(line)
    omitted = len(lines) + len(earlier) - len(kept)
    if omitted:
        kept.append(f"- ({omitted} earlier {'answer is' if omitted == 1 else 'answers are'} left out here)")
    return mask_secrets("\n".join([STANDING, *reversed(kept)])) if kept else ""


def _beginning(text: str, limit: int) -> str:
    """Return the first words of a text without its code, tables and drawings."""
    return shorten(one_line(own_words(text)) or one_line(text), limit, placeholder=" …")


def names_section(
    ranked: Sequence[RankedName], text: str, budget: int, count: Count
) -> tuple[str, list[RankedName]]:
    """Return names that will be needed and are nowhere else in a replacement, within a budget."""
    lacking = [one for one in ranked if one.name not in text]
    chosen = chosen_names(lacking, budget - count(NAMES_HEADING), count)
    return ("\n".join([NAMES_HEADING, *name_lines(chosen)]), chosen) if chosen else ("", [])
