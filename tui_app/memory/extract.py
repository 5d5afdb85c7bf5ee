"""What is worth remembering of a session, found by rules and without any model.

Rules of the user in their own words, decisions, commands that did something and worked, and the files that
most of the work was about, each with what was done. What only looked, was tried once or failed is left out,
so that a board says something and is no list of names.
"""

import re
from collections.abc import Callable, Iterator, Sequence

from tui_app.context.facts.commands import only_looks, untold_runs
from tui_app.context.facts.dialogue import ANSWERED, decision_facts
from tui_app.context.facts.files import file_trails
from tui_app.context.facts.observations import Reading, checks, command_of, read_items
from tui_app.context.facts.rules import asks, find_rules, sounds_decided
from tui_app.context.view import Item
from tui_app.events import Fact
from tui_app.memory.entries import EXTRACTION, Draft, EntryKind
from tui_app.memory.guard import NotRemembered, checked

_MOST: dict[EntryKind, int] = {"rule": 20, "decision": 8, "command": 6, "file": 6}
"""Entries of a kind that one session yields at most."""
_WEIGHTS: dict[EntryKind, float] = {"rule": 4.0, "decision": 2.0, "command": 1.5, "file": 1.2}
_STANDING = re.compile(
    r"(?i)\b(?:always|never|every time|from now on|going forward|no matter|under no circumstances"
    r"|at all times|prefer|avoid|must(?:\s?n[o'’]?t)?|refrain|stick to|make sure|ask (?:me )?before"
    r"|not allowed|forbidden|immer|niemals|nie|ab jetzt|stets|vermeide\w*|musst?|müssen|darf(?:st)?|dürfen"
    r"|toujours|jamais|évite[rz]?|doit|dois|devez|interdit|siempre|nunca|jamás|evita[r]?|debe[ns]?"
    r"|prohibido)\b"
    r"|(?:^|[,;:.–-] |\bplease |\band |\bbut |\bso )"
    r"(?:do not|don['’]?t|bitte (?:nicht|kein\w*)|keep|leave)\b"
    r"|必须|不要|禁止|务必|总是|始终|绝不|请勿|一定要|不准|必ず|しないで"
)
"""Words that make a rule hold beyond the task at hand; most that steer are about that task alone."""
_ITEM = re.compile(r"^\s*(?:\d{1,3}[.)]|[-*#>|])\s")
"""Lines of a list somebody handed over, such as the steps of a plan."""
_REASON = re.compile(
    r"(?i)\b(?:because|since|so that|in order to|rather than|instead of|to avoid|decided|chose|chosen"
    r"|agreed|opted|settled on|going with|root cause|trade-?off|weil|damit|statt|entschieden|parce que"
    r"|afin de|décidé|plutôt que|porque|para que|decidido|en lugar de)\b|因为|决定|选择|原因|而不是"
)
"""A decision is worth keeping with its reason, or where it says that it is one."""
_SAYS_SOMETHING = 3
"""Words of an answer that can be understood later."""
_PROVED = 2
"""Runs of a command that checks nothing after which it is worth knowing."""
_WORKED_ON = 2
"""Changes to a file after which it matters."""


def drafts_of(
    items: Sequence[Item], session: str, after: int = 0, folders: Sequence[str] = ()
) -> list[Draft]:
    """Find what a session leaves for later ones.

    Args:
        items: Every message of the session, in order, as it was said; a later one may take one back.
        session: Its id.
        after: Log number up to which it has been read before; nothing is found in front of it.
        folders: Where the session was held, and the repository's: files are named from there, and those that
            lie elsewhere are no concern of it. Without any, files are named as they were.

    Returns:
        Drafts, oldest source first within a kind. The same messages always give the same drafts.
    """
    reading = read_items(items)
    drafts: list[Draft] = []
    for kind, found in _FINDERS:
        drafts += [_draft(kind, one, session) for one in _best(kind, found(reading), after)]
    files = _best("file", _files(reading, folders), after)
    return [*drafts, *(_draft("file", one, session) for one in files)]


def _draft(kind: EntryKind, found: "_Found", session: str) -> Draft:
    text, seq, factor = found
    return Draft(
        text=text,
        kind=kind,
        made_by=EXTRACTION,
        session=session,
        seq=seq,
        weight=round(_WEIGHTS[kind] * factor, 3),
    )


_Found = tuple[str, int, float]
"""Text, log number of its source, and how much it counts among its kind."""


def _best(kind: EntryKind, found: Iterator[_Found], after: int) -> list[_Found]:
    fresh = [one for one in found if one[1] > after and _may_stand(one[0])]
    best = sorted(fresh, key=lambda one: (one[2], one[1]), reverse=True)[: _MOST[kind]]
    return sorted(best, key=lambda one: one[1])


def _may_stand(text: str) -> bool:
    try:
        return bool(checked(text, by_person=False))
    except NotRemembered:
        return False


def _rules(reading: Reading) -> Iterator[_Found]:
    for rule in find_rules(reading):
        stands = _STANDING.search(rule.text) or (rule.times > 1 and rule.strength > 1)
        if (
            stands
            and not (rule.replaced or rule.pasted)
            and not _ITEM.match(rule.text)
            and not asks(rule.text)
        ):
            yield rule.text, rule.said.key, 0.7 + 0.15 * rule.strength + 0.05 * min(rule.times, 4)


def _decisions(reading: Reading) -> Iterator[_Found]:
    for fact in decision_facts(reading):
        _, answered, answer = fact.text.partition(ANSWERED)
        told = len(answer.split()) >= _SAYS_SOMETHING
        if told if answered else sounds_decided(fact.text) and _REASON.search(fact.text):
            yield fact.text, _source(fact), 1.2 if answered else 1.0


def _commands(reading: Reading) -> Iterator[_Found]:
    for run in untold_runs(reading):
        command = command_of(run.action)
        if not command or not run.ok or only_looks(command):
            continue
        check = checks(command)
        if check or run.times >= _PROVED:
            times = f"worked {run.times}×" if run.times > 1 else "worked"
            after = ", failed before" if run.was_broken else ""
            factor = (1.2 if check else 0.8) + 0.05 * min(run.times, 6)
            yield f"`{run.what}` · {times}{after}", run.action.key, factor


def _files(reading: Reading, folders: Sequence[str]) -> Iterator[_Found]:
    for trail in file_trails(reading):
        changes = sum(count for verb, count in trail.counts.items() if verb != "read")
        path = _inside(trail.path, folders)
        if path and changes >= _WORKED_ON and not trail.gone:
            yield f"{path} · {trail.deeds()}", trail.key, 0.8 + 0.05 * min(changes, 8)


def _inside(path: str, folders: Sequence[str]) -> str:
    """A path as it reads from a folder it lies in; empty where it lies in none of them."""
    if not folders or not (path.startswith(("/", "~")) or path[1:3] in {":\\", ":/"}):
        return path
    names = (path.removeprefix(f"{folder.rstrip('/')}/") for folder in folders)
    return next((name for name in names if name != path), "")


def _source(fact: Fact) -> int:
    """Log number of the message a fact comes from."""
    return int(fact.source.removeprefix("#") or 0)


_FINDERS: tuple[tuple[EntryKind, Callable[[Reading], Iterator[_Found]]], ...] = (
    ("rule", _rules),
    ("decision", _decisions),
    ("command", _commands),
)
