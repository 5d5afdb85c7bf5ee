"""Whether a session really says what a model wants remembered of it.

A model may invent a rule, widen one, or take a sentence out of a file for the user's. So each entry names
the message it comes from, and only what the user typed, the assistant said, or a tool really did can bear it:
what tools and files print bears nothing.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence

from tui_app.context.facts.commands import only_looks, untold_runs
from tui_app.context.facts.dialogue import ANSWERED, decision_facts
from tui_app.context.facts.files import file_trails
from tui_app.context.facts.observations import (
    Reading,
    Said,
    checks,
    command_of,
    read_items,
    worked,
)
from tui_app.context.facts.rules import asks, find_rules, prose, sounds_decided
from tui_app.context.facts.shell import normal_command
from tui_app.context.message_marks import is_note
from tui_app.context.secrets import mask_secrets
from tui_app.context.summaries.prompt import fitted, inert, transcript
from tui_app.context.view import Item, is_summary, is_system
from tui_app.memory.entries import (
    EXTRACTION,
    NEGATION,
    WEIGHTS,
    Draft,
    Entry,
    EntryKind,
    NotRemembered,
    checked,
    gives_orders,
)
from tui_app.records import frozen

_WORD = re.compile(r"[^\W_]{3,60}")
_NAME = re.compile(r"`([^`]{1,200})`|(?<![\w/.])([\w.-]*[/\\][\w./\\-]+)|(?<!\w)(\d[\w.]*)")
"""What the source must contain letter by letter: names in code marks, paths, numbers."""
_DEED = re.compile(
    r"(?:\b(?:created|written|edited|changed|deleted|read|undone|worked|failed before)\b)(?:\s?\d+\s?×)?"
)
"""What was done as the board itself says it: borne by the deed."""
_RULE = 0.75
_OTHER = 0.6
"""Share of an entry's words that its source must hold."""


@frozen
class Evidence:
    """What a session holds that can bear an entry."""

    typed: Mapping[int, str]
    """By the number of its message, what the user typed."""
    spoken: Mapping[int, str]
    commands: Sequence[str]
    """Commands that worked, without their decoration."""
    files: frozenset[str]
    """Paths that something was done to."""

    def check(self, text: str, kind: EntryKind, source: int) -> None:
        """Make sure that an entry is borne by the message it names.

        Raises:
            NotRemembered: if it is not; the message says what is missing.
        """
        match kind:
            case "rule":
                self._check_rule(text, source)
            case "command":
                named = re.search(r"`([^`]{1,400})`", text)
                said = normal_command(named[1] if named else text)
                if not said or not any(said == one or said in one.split(" && ") for one in self.commands):
                    raise NotRemembered("no command that worked in this session matches it")
                self._check_rest(text.replace(named[0], " ") if named else "")
            case "file":
                known = {path.rsplit("/", 1)[-1] for path in self.files} - {""}
                there = (name for name in known if re.search(rf"(?<![\w.-]){re.escape(name)}(?![\w-])", text))
                names = sorted(there, key=len, reverse=True)
                if not names:
                    raise NotRemembered("this session changed no file of that name")
                # A text without the names of files, and the folders in front of them.
                self._check_rest(
                    re.sub(rf"(?<![\w.-])[\w./~-]*(?:{'|'.join(map(re.escape, names))})(?![\w-])", " ", text)
                )
            case _:
                heard = self.typed.get(source) or self.spoken.get(source)
                if heard is None:
                    raise NotRemembered(f"#{source} is not a message of the user or the assistant")
                if gives_orders(heard) and gives_orders(text):
                    raise NotRemembered("it repeats an instruction from the transcript")
                if _share(_words(text), heard) < _OTHER:
                    raise NotRemembered(f"#{source} does not say that")
                _names(text, heard)

    def _check_rest(self, rest: str) -> None:
        """Make sure that what is claimed of a command or a file was said: what was done bears its name alone.

        Args:
            rest: What stands beside the name.
        """
        wanted = _words(_DEED.sub(" ", rest))
        if not wanted:
            return
        known = " ".join((*self.files, *self.commands))
        for said in (*self.typed.values(), *self.spoken.values()):
            negated = bool(NEGATION.search(rest)) <= bool(NEGATION.search(said))
            ordered = gives_orders(said) and gives_orders(rest)
            if negated and not ordered and _share(wanted, said) >= _OTHER:
                _names(_DEED.sub(" ", rest), f"{said} {known}")
                return
        raise NotRemembered("nothing in this session says what it claims about that name")

    def _check_rule(self, text: str, source: int) -> None:
        said = self.typed.get(source)
        if said is None:
            raise NotRemembered(f"#{source} is not a message with words of the user")
        wanted, negated = _words(text), bool(NEGATION.search(text))
        own = tuple(prose(said))
        for sentence in (*own, " ".join(own)):
            if _share(wanted, sentence) >= _RULE and bool(NEGATION.search(sentence)) == negated:
                _names(text, said)
                return
        raise NotRemembered(f"the user does not say that in #{source}; quote their own words")


def evidence_of(items: Sequence[Item]) -> Evidence:
    """Collect what a session holds."""
    # Collect what a session holds that has been taken apart already.
    reading = read_items(items)
    commands = (normal_command(command_of(action)) for action in reading.actions if worked(action))
    return Evidence(
        typed=_by_key(reading.typed),
        spoken=_by_key(reading.spoken),
        commands=tuple(dict.fromkeys(filter(None, commands))),
        files=frozenset(trail.path for trail in file_trails(reading)),
    )


def _by_key(said: Sequence[Said]) -> dict[int, str]:
    texts: dict[int, str] = {}
    for one in said:
        texts[one.key] = f"{texts[one.key]}\n{one.text}" if one.key in texts else one.text
    return texts


def _words(text: str) -> frozenset[str]:
    return frozenset(word.casefold() for word in _WORD.findall(text))


def _share(wanted: frozenset[str], said: str) -> float:
    return len(wanted & _words(said)) / len(wanted) if wanted else 0.0


def _names(text: str, said: str) -> None:
    folded = said.casefold()
    for match in _NAME.finditer(text):
        name = next(filter(None, match.groups())).rstrip(".")
        if name.casefold() not in folded:
            raise NotRemembered(f"its source does not name {name}")


# A session as the model reads it that keeps the board: data between markers, in parts that fit it.

MOST_PARTS = 8
"""Parts that are read of one session, the newest; what is before them is left to the rules."""
_RESULT_LIMIT = 600
"""Characters of a tool result that are shown: it bears no entry, it only says what was going on."""


@frozen
class Part:
    """A stretch of a session."""

    text: str
    first: int
    """Log number of its first message."""
    last: int
    """Log number of its last message."""


def parts_of(items: Sequence[Item], budget: int, count: Callable[[str], int]) -> list[Part]:
    """Cut what was said into parts.

    Args:
        items: The messages to read, oldest first; the board, system prompts and summaries are left out.
        budget: Tokens a part may take.
        count: Tokens of a text.

    Returns:
        The newest parts, oldest first; every message is in one of them whole, or clipped in its middle.
    """
    parts: list[Part] = []
    texts: list[str] = []
    keys: list[int] = []
    room = budget
    for item in items:
        if is_note(item.message) or is_system(item.message) or is_summary(item.message):
            continue
        for block in transcript([item], mask_secrets, _RESULT_LIMIT):
            text = fitted(block, budget, count)
            cost = count(text) + 1
            if texts and cost > room:
                parts.append(Part("\n".join(texts), keys[0], keys[-1]))
                texts, keys, room = [], [], budget
            texts.append(text)
            keys.append(item.key)
            room -= cost
    if texts:
        parts.append(Part("\n".join(texts), keys[0], keys[-1]))
    return parts[-MOST_PARTS:]


def fitted_board(board: Sequence[Entry], budget: int, count: Callable[[str], int]) -> list[Entry]:
    """The entries that have room, the weightiest first.

    Args:
        board: All entries, the weightiest first.
        budget: Tokens that they may take.
        count: Counts the tokens of a text.
    """
    chosen: list[Entry] = []
    for entry in board:
        budget -= count(_line(entry)) + 1
        if budget < 0:
            break
        chosen.append(entry)
    return chosen


def _line(entry: Entry) -> str:
    return f"{entry.id} {entry.kind}: {entry.text}"


def request_for(part: Part, board: Sequence[Entry]) -> str:
    """What the model is asked about one part."""
    standing = "\n".join(map(_line, board)) or "(nothing yet)"
    return (
        f"<board>\n{_safe(standing)}\n</board>\n"
        f"<transcript>\n{_safe(part.text)}\n</transcript>\n"
        "Bring the board up to date with this stretch of a session that is over, then say done."
    )


def _safe(text: str) -> str:
    """Text that can neither close nor open the markers around it."""
    return inert(text).replace("<board", "<\\board").replace("</board", "<\\/board")


# What is worth remembering of a session, found by rules and without any model.
#
# Rules of the user in their own words, decisions, commands that did something and worked, and the files that
# most of the work was about, each with what was done. What only looked, was tried once or failed is left out,
# so that a board says something and is no list of names.

_MOST: dict[EntryKind, int] = {"rule": 20, "decision": 8, "command": 6, "file": 6}
"""Entries of a kind that one session yields at most."""
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
"""Lines of a list that was handed over, such as the steps of a plan."""
_REASON = re.compile(
    r"(?i)\b(?:because|since|so that|in order to|rather than|instead of|to avoid|decided|chose|chosen"
    r"|agreed|opted|settled on|going with|root cause|trade-?off|weil|damit|statt|entschieden|parce que"
    r"|afin de|décidé|plutôt que|porque|para que|decidido|en lugar de)\b|因为|决定|选择|原因|而不是"
)
"""A decision is worth keeping with its reason, or where it says that it is one."""
_USE = r"(?:use|go with|take|stay with|stick (?:to|with)|keep)(?! (?:it|this|that|them|these|those)\b)"
_CHOSEN = re.compile(
    r"(?i)^(?:(?:okay|ok|yes|good|fine|then|so|and|ja|gut|also|oui|bon|s[ií]|да|好的?|はい|네)(?!\w)[,.:，、]?\s?){0,3}"
    rf"(?:(?:we(?:'ll| will| shall| are going to|'re going to)? {_USE}|let['’]?s {_USE}"
    r"|we(?:['’]re| are) (?:using|going with)|i(?:['’]ve| have)? (?:decided|choose|chose)|go with"
    r"|wir (?:nehmen|nutzen|benutzen|verwenden|setzen auf|bleiben bei)|(?:nehmen|nutzen|bleiben) wir"
    r"|utilisons|on (?:utilise|prend|garde|part sur)|nous (?:utilisons|prenons|gardons)|usamos|usaremos"
    r"|usemos|utilizamos|vamos (?:con|a usar|usar)|usiamo|useremo|andiamo con|używamy|użyjemy|we gebruiken"
    r"|vi (?:använder|bruker|bruger)|(?:мы )?(?:используем|берём|берем|выбираем|остановимся на)"
    r"|давай(?:те)? (?:возьм|использ|остан)\w*|نستخدم|سنستخدم|لنستخدم)\b"
    r"|那?(?:我们|咱们|就|决定)(?:还是|就|决定|都|会|要)?(?:采?用|使用|选))"
    r"|(?:を使(?:います|う|いましょう)|にし(?:ましょう|ます)|に決め(?:ました|た)|を採用(?:します|する)"
    r"|(?:으로|로) (?:하자|합시다|가자|결정)|를? (?:쓰자|씁시다|사용하자|사용합시다)"
    r"|kullan(?:ıyoruz|acağız|alım))[。.!]?$"
)
"""How a user says that something is chosen: for all who work there, and for good."""
_LONGEST_CHOICE = 200
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
            lie elsewhere are left out. Without any, files are named as they were.

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
        weight=round(WEIGHTS[kind] * factor, 3),
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
    rules = {text for text, _, _ in _rules(reading)}
    yield from (choice for choice in _choices(reading) if choice[0] not in rules)
    for fact in decision_facts(reading):
        _, answered, answer = fact.text.partition(ANSWERED)
        told = len(answer.split()) >= _SAYS_SOMETHING
        if told if answered else sounds_decided(fact.text) and _REASON.search(fact.text):
            yield fact.text, int(fact.source.removeprefix("#") or 0), 1.2 if answered else 1.0


def _choices(reading: Reading) -> Iterator[_Found]:
    """What the user has decided, in their own words."""
    for said in reading.typed:
        for sentence in prose(said.text):
            decided = _CHOSEN.search(sentence) or (sounds_decided(sentence) and _REASON.search(sentence))
            if decided and len(sentence) <= _LONGEST_CHOICE and not asks(sentence):
                yield sentence, said.key, 1.3


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


_FINDERS: tuple[tuple[EntryKind, Callable[[Reading], Iterator[_Found]]], ...] = (
    ("rule", _rules),
    ("decision", _decisions),
    ("command", _commands),
)
