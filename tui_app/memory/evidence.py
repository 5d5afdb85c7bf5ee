"""Evidence in a session for proposed board entries, and entries found by rules.

A model may invent a rule, widen one, or mistake a sentence in a file for the user's. So each entry names its
source message, and only what the user typed, the assistant wrote, or a tool really did counts as evidence:
output of tools and content of files does not.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import accumulate
from operator import attrgetter

from tui_app.context.binding.sources import squeeze
from tui_app.context.binding.statements import anchors_in
from tui_app.context.ledger.facts import decision_text
from tui_app.context.ledger.ledger import AssistantText, Ledger, Prompt, Run, is_look
from tui_app.context.message_marks import is_note
from tui_app.context.shell_line import producer
from tui_app.context.summaries.prompt import fitted, inert, transcript
from tui_app.context.user_text import own_words, sentences
from tui_app.context.views.view import Item, is_summary, is_system
from tui_app.memory.entries import EXTRACTION, WEIGHTS, Draft, Entry, EntryKind, NotRemembered, checked
from tui_app.records import frozen
from tui_app.system.secrets import mask_secrets

_WORD = re.compile(r"[^\W_]{3,60}")
_SHARE = 0.6
"""Minimum share of an entry's words that its source must contain."""


@frozen
class Evidence:
    """Content of a session that can support an entry."""

    typed: Mapping[int, str]
    """What the user typed, by message number."""
    spoken: Mapping[int, str]
    commands: Mapping[str, str]
    """Successful commands by their producer, with their number of runs."""
    files: Mapping[str, str]
    """Changed paths, with what was done to them."""

    def check(self, text: str, kind: EntryKind, source: int) -> None:
        """Check that the source message supports an entry.

        Raises:
            NotRemembered: if it does not; the message is what is missing.
        """
        match kind:
            case "rule":
                message = self.typed.get(source)
                if message is None:
                    raise NotRemembered(f"#{source} is not a message with words of the user")
                if not _is_stated(text, own_words(message)):
                    raise NotRemembered(f"the user does not say that in #{source}; quote their own words")
            case "command":
                named = re.search(r"`([^`]{1,400})`", text)
                done = self.commands.get(producer(named[1] if named else text))
                if done is None:
                    raise NotRemembered("no command that worked in this session matches it")
                self._check_rest(text.replace(named[0], " ") if named else "", [done])
            case "file":
                changes = [change for path, change in self.files.items() if path.rsplit("/", 1)[-1] in text]
                if not changes:
                    raise NotRemembered("this session changed no file of that name")
                self._check_rest(re.sub(r"\S*[./]\S*", " ", text), changes)
            case _:
                self._check_note(text, source)

    def _check_note(self, text: str, source: int) -> None:
        message = self.typed.get(source) or self.spoken.get(source)
        if message is None:
            raise NotRemembered(f"#{source} is not a message of the user or the assistant")
        # An address that only a tool's output or the assistant names must not be recommended.
        given = squeeze("\n".join(self.typed.values()))
        if any(each.kind == "address" and squeeze(each.text) not in given for each in anchors_in(text)):
            raise NotRemembered("the user never gave the address in it")
        if not _supports(message, text):
            raise NotRemembered(f"#{source} does not say that")

    def _check_rest(self, rest: str, done: Sequence[str]) -> None:
        """Check that a claim besides a name was stated, or is what was done."""
        sources = (*done, *self.typed.values(), *self.spoken.values())
        if _words(rest) and not any(_supports(source, rest) for source in sources):
            raise NotRemembered("nothing in this session says what it claims about that name")


def evidence_of(items: Sequence[Item]) -> Evidence:
    ledger = Ledger.from_items(items)
    return Evidence(
        typed=_by_key(ledger.prompts()),
        spoken=_by_key(ledger.assistant_texts()),
        commands={run.command: _worked(run) for run in ledger.runs().values() if run.outcome.ok},
        files={path: trail.describe() for path, trail in ledger.files().items() if trail.is_changed},
    )


def _by_key(messages: Sequence[Prompt | AssistantText]) -> dict[int, str]:
    texts: dict[int, str] = {}
    for one in messages:
        texts[one.key] = f"{texts[one.key]}\n{one.text}" if one.key in texts else one.text
    return texts


def _words(text: str) -> frozenset[str]:
    return frozenset(word.casefold() for word in _WORD.findall(text))


def _is_stated(text: str, own: str) -> bool:
    """Whether a text is in the user's own words rather than only quoted."""
    claim = squeeze(text.strip(" .。!！"))
    for anchor in anchors_in(own):
        if anchor.kind == "quote" and claim in squeeze(anchor.text):
            own = own.replace(anchor.text, " ")
    return claim in squeeze(own)


def _supports(message: str, text: str) -> bool:
    """Whether a message contains most words of a text, and all its names, numbers and quotes."""
    words, folded = _words(text), squeeze(message)
    if any(squeeze(anchor.text) not in folded for anchor in anchors_in(text)):
        return False
    return not words or len(words & _words(message)) >= _SHARE * len(words) or squeeze(text) in folded


MOST_PARTS = 8
"""Maximum parts read of one session, the newest; earlier ones are left to the rules."""
_RESULT_LIMIT = 600
"""Maximum characters of a tool result: it is only context, never evidence."""


@frozen
class Part:
    """A stretch of a session."""

    text: str
    first: int
    """Log number of its first message."""
    last: int
    """Log number of its last message."""


def parts_of(items: Sequence[Item], budget: int, count: Callable[[str], int]) -> list[Part]:
    """Split messages into parts.

    Args:
        items: The messages to read, oldest first; the board, system prompts and summaries are left out.
        budget: Maximum tokens of a part.
        count: Tokens of a text.

    Returns:
        The newest parts, oldest first; each message is in one of them whole, or clipped in its middle.
    """
    groups: list[list[tuple[int, str]]] = []
    room = 0
    for item in items:
        if is_note(item.message) or is_system(item.message) or is_summary(item.message):
            continue
        for block in transcript([item], mask_secrets, _RESULT_LIMIT):
            text = fitted(block, budget, count)
            cost = count(text) + 1
            if not groups or cost > room:
                groups.append([])
                room = budget
            groups[-1].append((item.key, text))
            room -= cost
    newest = groups[-MOST_PARTS:]
    return [Part("\n".join(text for _, text in group), group[0][0], group[-1][0]) for group in newest]


def fitted_board(board: Sequence[Entry], budget: int, count: Callable[[str], int]) -> list[Entry]:
    """Return the entries that fit, heaviest first.

    Args:
        board: All entries, heaviest first.
        budget: Maximum tokens.
        count: Counts the tokens of a text.
    """
    sizes = accumulate(count(entry.line) + 1 for entry in board)
    return [entry for entry, size in zip(board, sizes, strict=True) if size <= budget]


def request_for(part: Part, board: Sequence[Entry]) -> str:
    listing = "\n".join(entry.line for entry in board) or "(nothing yet)"
    return (
        f"<board>\n{_safe(listing)}\n</board>\n"
        f"<transcript>\n{_safe(part.text)}\n</transcript>\n"
        "Bring the board up to date with this stretch of a session that is over, then say done."
    )


def _safe(text: str) -> str:
    """Keep text from closing or opening the markers around it."""
    return inert(text).replace("<board", "<\\board").replace("</board", "<\\/board")


_MOST: Mapping[EntryKind, int] = {"rule": 12, "decision": 8, "command": 6, "file": 6}
"""Maximum entries of each kind from one session."""
_LONGEST_RULE, _LONGEST_PROMPT = 200, 600
"""Maximum characters of a sentence that may be a rule, and of a prompt that is not just a task description.
"""
_SAYS_SOMETHING = 3
"""Minimum words of a sentence or answer that is understandable later."""
_PROVED = 2
"""Runs of a command, and changes to a file, from which it is worth an entry."""
_QUESTION = ("?", "？", "؟")


def drafts_of(
    items: Sequence[Item], session: str, after: int = 0, folders: Sequence[str] = ()
) -> list[Draft]:
    """Find entries that later sessions can use.

    Args:
        items: Every original message of the session, in order.
        session: Its id.
        after: Log number up to which it has already been read; nothing is found before it.
        folders: The session's folder, and the repository's: files are named relative to them, and others are
            left out. Without any, files keep their names.

    Returns:
        Drafts, oldest source first within a kind. The same messages always give the same drafts.
    """
    ledger = Ledger.from_items(items)
    found = [*_rules(ledger), *_decisions(ledger), *_commands(ledger), *_files(ledger, folders)]
    drafts: list[Draft] = []
    for kind, most in _MOST.items():
        fresh = [draft for draft in found if draft.kind == kind and draft.seq > after and _is_valid(draft)]
        best = sorted(fresh, key=attrgetter("weight", "seq"), reverse=True)[:most]
        drafts += [replace(draft, session=session) for draft in sorted(best, key=attrgetter("seq"))]
    return drafts


def _draft(kind: EntryKind, text: str, seq: int, factor: float) -> Draft:
    """Build a draft whose weight is a multiple of its kind's."""
    return Draft(text=text, kind=kind, made_by=EXTRACTION, seq=seq, weight=round(WEIGHTS[kind] * factor, 3))


def _is_valid(draft: Draft) -> bool:
    try:
        return bool(checked(draft.text, by_person=False))
    except NotRemembered:
        return False


def _rules(ledger: Ledger) -> Iterator[Draft]:
    """Yield short sentences of the user that name something in the code, or were repeated."""
    mentions: dict[str, list[tuple[int, str, bool]]] = {}
    for prompt in ledger.prompts():
        whole = own_words(prompt.text)
        for sentence in sentences(whole):
            if len(sentence) <= _LONGEST_RULE and not sentence.rstrip("\"')*_` ").endswith(_QUESTION):
                entry = (prompt.key, sentence, len(whole) <= _LONGEST_PROMPT)
                mentions.setdefault(sentence.casefold(), []).append(entry)
    for times in mentions.values():
        key, sentence, brief = times[-1]
        long_enough = len(sentence.split()) >= _SAYS_SOMETHING or not sentence.isascii()
        named = any(anchor.kind not in {"number", "quote"} for anchor in anchors_in(sentence))
        if long_enough and (len(times) > 1 or (named and brief)):
            yield _draft("rule", sentence, key, 0.8 + 0.1 * min(len(times), 4))


def _decisions(ledger: Ledger) -> Iterator[Draft]:
    for decision in ledger.decisions():
        text = f"{decision.text} {decision.answer}"
        if decision.answer and (len(text.split()) >= _SAYS_SOMETHING or not text.isascii()):
            yield _draft("decision", decision_text(decision), decision.key, 1.2)


def _commands(ledger: Ledger) -> Iterator[Draft]:
    for run in ledger.runs().values():
        worked = _times(run)
        if run.outcome.ok and not is_look(run.command) and (worked >= _PROVED or run.outcome.counts):
            factor = (1.2 if run.outcome.counts else 0.8) + 0.05 * min(worked, 6)
            yield _draft("command", f"`{run.command}` · {_worked(run)}", run.key, factor)


def _times(run: Run) -> int:
    return sum(action.outcome.ok for action in run.actions)


def _worked(run: Run) -> str:
    """Format how often a command succeeded: ``worked 2×, failed before``."""
    times = f"worked {_times(run)}×" if _times(run) > 1 else "worked"
    return times + (", failed before" if _times(run) < len(run.actions) else "")


def _files(ledger: Ledger, folders: Sequence[str]) -> Iterator[Draft]:
    for trail in ledger.files().values():
        changes, path = sum(trail.counts.values()), _inside(trail.path, folders)
        if path and changes >= _PROVED and not trail.gone:
            yield _draft("file", f"{path} · {trail.describe()}", trail.key, 0.8 + 0.05 * min(changes, 8))


def _inside(path: str, folders: Sequence[str]) -> str:
    """Return a path relative to the folder around it; empty if it is in none of them."""
    if not folders or not (path.startswith(("/", "~")) or path[1:3] in {":\\", ":/"}):
        return path
    names = (path.removeprefix(f"{folder.rstrip('/')}/") for folder in folders)
    return next((name for name in names if name != path), "")
