"""What the user wants: standing rules and requests, word for word, and which of them a later one replaced."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from operator import itemgetter

from tui_app.context.facts.observations import (
    Reading,
    Said,
    looks_pasted,
    make_fact,
    reads_reported,
    sentences,
)
from tui_app.context.user_text import is_speech, stems_of, without_quotes, words
from tui_app.events import Fact
from tui_app.records import frozen

# The words that mark a rule, a decision, a plan or a question.
#
# English first; German, French, Spanish and Chinese in their commonest forms.

_OPINION = re.compile(
    r"(?i)^(?:and |but |ok,? |hm+,? )?(?:i|it|that|this|there|they|he|she)\b['’\w]{0,3} (?:\w+ )?(?:do"
    r"|does|did|is|are|was|were|ca|could|have|has)(?:n['’]?t\b|\b)"
)
_STRONG = re.compile(
    r"(?i)\b(?:always|never|must|must\s?n[o']?t|do\s?n[o'’]?t|do not|don'?t|have to|has to|make sure"
    r"|be sure|ensure"
    r"|no matter|under no circumstances|at all times|required?|forbidden|prohibited|not allowed|shall|should"
    r"|should\s?n[o'’]?t|avoid|stop|keep|remember|prefer|from now on|going forward|every time|without"
    r"|ask (?:me )?before"
    r"|can(?:no|['’])t|wo n't|won['’]t|stick to|refrain|leave"
    r"|immer|niemals|nie|muss|musst|müssen|darf|darfst|dürfen|bitte kein\w*|vermeide\w*|nicht mehr"
    r"|ab jetzt|stets"
    r"|toujours|jamais|doit|dois|devez|évite[rz]?|ne \w+ pas|n['’]\w+ pas|interdit"
    r"|siempre|nunca|jamás|debe[ns]?|debes|evita[r]?|hay que|prohibido|sempre|mai|devi|deve|devono"
    r"|altijd|nooit|alltid|aldrig|zawsze|nigdy|всегда|никогда|нельзя|обязательно|завжди|ніколи|asla)\b"
    r"|必须|不要|不能|禁止|务必|总是|始终|绝不|请勿|别|一定要|不准|してはいけない|必ず|しないで|常に|絶対|항상|절대|반드시|دائما|أبدا"
)
_WEAK = re.compile(
    r"(?i)\b(?:only|instead|use|using|used|not|no|rather than|just|nur|statt(?:dessen)?|nicht|kein\w*"
    r"|nutze|verwende\w*"
    r"|benutze\w*|seulement|uniquement|utilise[rz]?|plutôt|pas|sólo|solo|solamente|usa[r]?|utiliza[r]?|no"
    r"|en (?:vez|lugar) de)\b|n['’]t\b|只|仅|使用|改用|而不是|没有|使って"
)
_DECISION = re.compile(
    r"(?i)\b(?:decided|decision|decide|chose|chosen|going with|go with|went with|opted|settled on|agreed"
    r"|the (?:right|best|cleanest"
    r"|simplest) (?:approach|fix|option|solution|way)|rather than|instead of|because|root cause"
    r"|the fix (?:is|was)|trade-?off|we(?:'ll| will) use|i(?:'ll| will) use|entschieden|entscheidung"
    r"|stattdessen|weil"
    r"|décidé|décision|parce que|plutôt que|decidido|decidimos|decisión|porque|en lugar de)\b"
    r"|决定|因为|原因|选择"
)
_DIAGNOSIS = re.compile(
    r"(?i)\b(?:the (?:issue|problem|bug|cause) (?:is|was)|turns out|this means)\b|did\s?n['’]t work"
)
"""What was found out on the way: of use until it is mended, and most of it is soon."""
_NEXT = re.compile(
    r"(?i)\b(?:next(?: steps?)?|remaining|still need|need to|needs to|to do|todo|left to do|then i(?:'ll"
    r"| will)|i(?:'ll| will)|let me|let's"
    r"|now i|not yet|follow-?up|als nächstes|noch offen|ensuite|il reste|prochaine étape|a continuación"
    r"|falta|siguiente)\b|接下来|下一步|还需要"
)


@lru_cache(maxsize=2_048)
def rule_strength(sentence: str) -> int:
    """2 for words that command (always, never, …), 1 for those that steer (use, not, only, …), else 0."""
    strong = bool(_STRONG.search(sentence))
    if strong and not _OPINION.match(sentence):
        return 2
    return 1 if strong or _WEAK.search(sentence) else 0


def sounds_decided(sentence: str) -> bool:
    """Whether a sentence gives a choice or a reason."""
    return bool(_DECISION.search(sentence))


def diagnoses(sentence: str) -> bool:
    """Whether a sentence says what is wrong."""
    return bool(_DIAGNOSIS.search(sentence))


def looks_ahead(sentence: str) -> bool:
    """Whether a sentence says what is to be done next."""
    return bool(_NEXT.search(sentence))


def asks(sentence: str) -> bool:
    """Whether a sentence is a question."""
    return sentence.rstrip("\"')*_` ").endswith(("?", "？"))


# What a rule is about, so that two of them can be compared.

_VALUE = re.compile(r"`[^`]{1,80}`|\"[^\"]{1,80}\"|'[^']{1,80}'|\b\d[\w.,:/-]{0,40}")
_AROUND = "`\"'.,:;/"
_WORD = re.compile(r"[^\W\d_]{2,40}")
_CARRIERS = words(
    "the an to of in on for and or is it be with by as at that this please use using used set make do not "
    "don dont never always must should only instead actually no now we you me my your our its rather than "
    "from wait sorry correction will can let want der die das ein eine und oder nicht nur bitte le la les "
    "un une et ou pas el los las uno una y o solo may might ok okay well longer anymore jetzt ab sofort "
    "désormais ahora immer nie"
)
_NEGATION = re.compile(
    r"(?i)\b(?:not|never|no|don['’]?t|avoid|without|stop|nicht|kein\w*|nie|niemals|pas|jamais|nunca)\b"
    r"|n['’]t\b|不|别"
)


@frozen
class Subject:
    """What a rule is about."""

    text: str
    about: frozenset[str]
    """Its content words, without its values."""
    values: frozenset[str]
    forbids: bool


@lru_cache(maxsize=2_048)  # each compaction compares all standing rules again
def subject_of(text: str) -> Subject:
    """Take a rule apart into its content words and its values."""
    found = (word.casefold() for word in _WORD.findall(_VALUE.sub(" ", text)))
    return Subject(
        text=text,
        about=frozenset(word for word in found if word not in _CARRIERS),
        values=frozenset(value.casefold().strip(_AROUND) for value in _VALUE.findall(text)),
        forbids=_NEGATION.search(text) is not None,
    )


# Taking a rule back: by which words the user does it, and which rule they mean.

_FORGETS = re.compile(
    r"(?i)(?<!never )(?<!n['’]t )(?<!not )\b(?:forget (?:what i|about|my|the|that|this|all)|never ?mind"
    r" (?:what i|about|my|the|that)|(?:disregard|ignore|drop|scrap|lift|cancel|undo|revoke|withdraw"
    r"|take back) (?:what i (?:said|wrote)|(?:my|the|that|this) (?:\w+ )?(?:rule|instruction|ban|restriction"
    r"|prohibition|limit|requirement)))\b"
    r"|\b(?:rule|ban|restriction|instruction|prohibition|requirement)\b.{0,80}\b(?:no longer (?:applies"
    r"|holds|counts)|(?:does|do)(?:n['’]?t| not) apply|is (?:off|gone|lifted|void|history))\b"
    r"|\b(?:vergiss|vergesst|vergessen sie) (?:was ich|die|das|meine)\b"
    r"|\b(?:gilt|gelten)\b.{0,40}\bnicht mehr\b"
    r"|\bhat sich erledigt\b|\bist aufgehoben\b"
    r"|\boubli(?:e|ez) (?:ce que|la|le|ma|mes)\b|\bne s['’]appliquent? plus\b"
    r"|\bolvid(?:a|e|en) (?:lo que|la|el|mi)\b|\bya no (?:se aplica|vale|rige)\b|忘掉|忘了我|收回|作废"
)
"""What was said before is void."""
_LEAVE = re.compile(
    r"(?i)\byou(?:['’]re| are)? (?:now )?(?:may|can|free to|allowed to)(?! not|n['’]t)\b.{0,160}\b(?:now"
    r"|again|after all|from now on)\b|\bnow (?:you )?(?:may|can)(?! not)\b|\byou (?:may|can) now\b(?! not)"
    r"|\bfrom now on you (?:may|can)\b(?! not)"
    r"|\b(?:is|are|['’]s) (?:now |again )?(?:fine|ok|okay|allowed|permitted|all right|alright) (?:now|again"
    r"|after all|from now on)\b|\b(?:is|are) now (?:fine|ok|okay|allowed|permitted)\b|\bafter all\b"
    r"|\bdarf(?:st)?\b(?! nicht| kein).{0,120}\b(?:jetzt|wieder|doch|nun|ab jetzt|ab sofort)\b"
    r"|\b(?:jetzt|nun|ab jetzt|ab sofort) (?:darfst|dürfen)\b(?! nicht)"
    r"|\b(?:ist|sind) (?:jetzt|nun|wieder|doch|ab jetzt) (?:erlaubt|in ordnung|ok|okay)\b"
    r"|\b(?:tu peux|vous pouvez) (?:maintenant|désormais|à nouveau)\b|\bahora (?:ya )?puedes\b|\bya puedes\b"
    r"|现在可以|可以.{0,30}了"
)
"""What was forbidden is allowed."""
_RELEASE = re.compile(
    r"(?i)(?<!never )(?<!n['’]t )(?<!not )\bstop \w+ing\b|\bno longer\b|\bany ?more\b"
    r"|\b(?:do not|don['’]?t|needn['’]t) (?:need|have) to\b|\bnicht mehr\b"
    r"|\b(?:brauchst|musst) (?:du )?nicht\b|\bn(?:e |['’])\w+ plus\b|\bya no\b|不用|不必|不再"
)
"""What was asked for is not asked for any more."""
_OWN_WORDS = words(
    "forget what said about all mind disregard ignore drop scrap lift cancel undo revoke withdraw take back "
    "rule ban restriction instruction prohibition requirement applies holds counts apply does off gone "
    "lifted void allowed free are again after fine okay permitted alright right need have has any more "
    "stop longer can you vergiss was ich die meine gilt gelten mehr regel hat sich erledigt aufgehoben "
    "darfst wieder doch nun erlaubt sind ordnung brauchst musst du oublie ce que peux maintenant nouveau "
    "plus olvida puedes ya but then so"
)
"""Words by which something is undone; the others say what."""
_ENDING = re.compile(r"(?<=...)(?:ing|ed|es|s|e)$")


@lru_cache(maxsize=2_048)  # each compaction looks at all standing rules again
def retraction(sentence: str) -> int:
    """How plainly a sentence takes a rule back: 2 when it says so, 1 when it may do so, else 0."""
    if _FORGETS.search(sentence):
        return 2
    return 1 if _LEAVE.search(sentence) or _RELEASE.search(sentence) else 0


def shared_words(new: Subject, old: Subject) -> int:
    """How much of what a rule is about is named by a sentence that takes something back."""
    return len(_stems(new) & _stems(old)) + len(new.values & old.values)


def takes_back(new: Subject, old: Subject) -> bool:
    """Whether a sentence takes back just this rule, all of it, and speaks of nothing else."""
    if new.values != old.values or not (stems := _stems(old)) or _stems(new) != stems:
        return False
    cue = _LEAVE if old.forbids else _RELEASE
    return bool(_FORGETS.search(new.text) or cue.search(new.text))


def _stems(subject: Subject) -> frozenset[str]:
    return frozenset(_stem(word) for word in subject.about if word not in _OWN_WORDS)


def _stem(word: str) -> str:
    short = _ENDING.sub("", word)
    return short[:-1] if len(short) > 3 and short[-1] == short[-2] else short


# Which rule takes the place of another: only where that is plain, for a rule kept too long harms less.
#
# A rule that says the same of another thing stands beside the first ("Never edit `a`.", "Never edit `b`.").
# It replaces it when the user says so ("instead", "from now on", …), says the opposite of the very same
# thing, or gives another value to something that has one value only, such as a port.

_TAKES_BACK = re.compile(
    r"(?i)^\W*(?:(?:no|nein|non)\b(?=\s{0,3}[,.;:!–—-])|nope\b|sorry\b|wait\b|doch\b|en fait\b|不对|不是)"
    r"|\b(?:actually|instead(?! of)|scratch that|changed? my mind|change (?:it|that|this|to|from)"
    r"|switch(?:ed)? to|correction|i meant|rather(?! than)"
    r"|stattdessen|doch lieber|plutôt(?! que)|finalement|mejor|en (?:vez|lugar) de eso|en realidad)\b"
    r"|改成|改为|改用"
)
"""Cues of a correction, whatever is corrected."""
_FROM_NOW_ON = re.compile(
    r"(?i)\b(?:from now on|now use|not anymore|no longer|ab jetzt|ab sofort|nicht mehr|désormais"
    r"|dorénavant|a partir de ahora|de ahora en adelante|ya no)\b|从现在起|以后"
)
"""Cues that also introduce rules that change nothing, such as a second prohibition."""
_INSTEAD_OF = re.compile(
    r"(?i)\b(?:instead of|rather than|statt|anstatt|plutôt que|au lieu d[e']|en (?:vez|lugar) de)\b(.{1,200})"
)
"""What stands behind is what goes."""
_BESIDES = re.compile(
    r"(?i)\b(?:also|too|as well|additionally|in addition|besides|auch|zusätzlich|außerdem|aussi|également"
    r"|también|además)\b|还|也"
)
_ONE_VALUE = re.compile(
    r"(?i)\b(?:use|set|keep|make|take|listen|serve|bind|benutze|nutze|nimm|verwende|setze|utilise[rz]?"
    r"|usa|utiliza)\b.{0,60}\b(?:port|puerto|timeout|time limit|limit|version|line[- ](?:length|width)|width"
    r"|log level|default|seed|locale|theme)\b|\bformat\w{0,5} (?:\w{1,20} ){0,3}with\b"
)
"""Things that have one value at a time."""


def replaces(new: Subject, old: Subject) -> bool:
    """Whether a newer rule plainly takes the place of an older one; in doubt both stand.

    Args:
        new: What was said later.
        old: What was said before.
    """
    if not new.about or not old.about or not _plainly(new, old):
        return False
    return not asks(new.text) and not _BESIDES.search(new.text)


def adds(sentence: str) -> bool:
    """Whether a sentence says that what it asks for comes on top."""
    return _BESIDES.search(sentence) is not None


def _plainly(new: Subject, old: Subject) -> bool:
    # Words are compared before cues are looked for: most pairs of rules have nothing in common.
    if takes_back(new, old):
        return True
    same = new.about == old.about
    if new.forbids != old.forbids:
        return same and new.values == old.values
    return ((same or _near(new, old)) and _corrects(new, old)) or (same and _one_value(new, old))


def _corrects(new: Subject, old: Subject) -> bool:
    """Whether the user says that this is a correction, and it can be one of the older rule."""
    if _TAKES_BACK.search(new.text):
        return True
    if gone := _INSTEAD_OF.search(new.text):
        named = subject_of(gone[1])
        return bool(named.values & old.values if named.values else named.about & old.about)
    return not new.forbids and bool(_FROM_NOW_ON.search(new.text) and not _FROM_NOW_ON.search(old.text))


def _near(new: Subject, old: Subject) -> bool:
    """Whether two rules share most of their words."""
    shared, smaller = len(new.about & old.about), min(len(new.about), len(old.about))
    return smaller >= 2 and shared * 2 >= smaller and shared * 3 >= len(new.about | old.about)


def _one_value(new: Subject, old: Subject) -> bool:
    one = len(new.values) == len(old.values) == 1
    return one and not new.forbids and all(_ONE_VALUE.search(rule.text) for rule in (new, old))


REQUEST_LIMIT = 12_000
"""Characters of a request that are kept; only pasted documents are longer."""
CLIPPED = " characters omitted]…"
"""End of the mark in a clipped text: no sentence that holds it is the user's own."""
REPLACED = "replaced later: "
_BEHIND = 0.999
"""Weight of what takes a rule back, against that rule's: it comes right behind."""
_PASTED = 0.05
"""Weight of what only reads like a rule of the user's, against one that is: less than any file's."""
_MOST_SAID = 300
"""Sentences of the user's, the newest, that are judged one by one."""
_LOOK_BACK = 60
"""Rules a correction is compared with: bounds the work, and people correct what they said lately."""

_ADDRESS = re.compile(r"https?://\S+")
"""The words in one are nobody's."""
_BARE_COMMAND = re.compile(r"/[\w:-]{0,60}")
_ASKED_FOR = re.compile(
    r"(?i)(?:and |also |so |ok,? |please )*(?:can|could|would|will|shall|should|kannst|könntest|peux"
    r"|puedes)\b"
)
"""Questions that are requests."""


@frozen
class Rule:
    """One sentence of the user's that steers the work."""

    said: Said
    text: str
    strength: int
    times: int
    replaced: bool = False
    pasted: bool = False
    """Whether it reads like what a program said; then it stands behind all that is the user's own."""
    behind: int | None = None
    """Place of the message whose rule this one may take back: it must stand as long as that one does."""


def prose(typed: str) -> Iterator[str]:
    """The user's own sentences: without pasted blocks, program output, and what others wrote.

    Args:
        typed: What the user typed.
    """
    for sentence in sentences(without_quotes(typed)):
        if not looks_pasted(sentence) and not is_speech(
            sentence, directs=lambda said: rule_strength(said) == 2
        ):
            yield sentence


def find_rules(reading: Reading, earlier: Sequence[Rule] = ()) -> list[Rule]:
    """Collect the user's rules in order of time; repeated ones once, at their newest place.

    Args:
        reading: The history; only what was typed is read.
        earlier: Rules carried over from before it.

    Returns:
        Rules verbatim but for white space, with those marked that a later one replaced.
    """
    found = {rule.text.casefold(): replace(rule, pasted=reads_reported(rule.text)) for rule in earlier}
    for said in reading.typed:
        for sentence in prose(said.text):
            worded = _ADDRESS.sub("", sentence)
            strength = max(rule_strength(worded), retraction(worded))
            if not strength or len(sentence) < 6 or CLIPPED in sentence:
                continue
            if asks(sentence):
                if strength < 2 and not _ASKED_FOR.match(sentence):
                    continue
                strength = 1
            known = found.pop(sentence.casefold(), None)
            times = known.times + 1 if known else 1
            found[sentence.casefold()] = Rule(
                said, sentence, strength, times, pasted=reads_reported(sentence)
            )
    return _behind_theirs(_mark_replaced(list(found.values())))


def rule_facts(reading: Reading) -> list[Fact]:
    """Facts for the user's rules; a replaced one becomes a light ``detail`` that says so."""
    facts: list[Fact] = []
    for rule in find_rules(reading):
        place = {"key": rule.said.key, "index": rule.said.index}
        if rule.replaced:
            facts.append(make_fact(reading, "detail", REPLACED + rule.text, factor=0.5, **place))
        else:
            factor = _PASTED if rule.pasted else 1.2 if rule.strength == 2 else 0.8
            if rule.behind is not None:
                factor, place["index"] = factor * _BEHIND, rule.behind
            facts.append(make_fact(reading, "rule", rule.text, factor=factor, times=rule.times, **place))
    return facts


def said_facts(reading: Reading) -> list[Fact]:
    """Facts for what else the user said, in any language: sentences that no word marks as a rule.

    Words can tell a rule in few languages. What they do not find is still the user's, and is judged.
    """
    rules = {rule.text.casefold() for rule in find_rules(reading)}
    whole = {reading.typed[-1].text, first_request(reading.typed).text} if reading.typed else set()
    found: dict[str, Fact] = {}
    for said in reading.typed:
        for sentence in prose(said.text) if said.text not in whole else ():
            flat = sentence.casefold()
            if flat not in rules and CLIPPED not in sentence and len(stems_of(sentence)) > 1:
                found.pop(flat, None)
                found[flat] = make_fact(reading, "said", sentence, key=said.key, index=said.index)
    return list(found.values())[-_MOST_SAID:]


def request_facts(reading: Reading) -> list[Fact]:
    """The first and the latest request, verbatim; only a pasted document is clipped, with a mark."""
    if not reading.typed:
        return []
    chosen = [first_request(reading.typed), reading.typed[-1]]
    return [
        make_fact(
            reading,
            "request",
            clip_middle(said.text, REQUEST_LIMIT),
            key=said.key,
            index=said.index,
            factor=1.3,
        )
        for said in dict.fromkeys(chosen)
    ]


def first_request(typed: Sequence[Said]) -> Said:
    """The first thing the user asked for; a bare slash command steers the program and asks for nothing.

    Raises:
        IndexError: if nothing was typed.
    """
    asking = (said for said in typed if not is_bare_command(said.text))
    return next(asking, typed[0])


def is_bare_command(text: str) -> bool:
    """Whether a prompt is nothing but a slash command, which steers the program and asks for nothing."""
    return _BARE_COMMAND.fullmatch(text) is not None


def clip_middle(text: str, limit: int) -> str:
    """Keep head and tail of a text that is too long, with a mark of what is missing between them.

    Args:
        text: Any text.
        limit: Characters to keep at most; three quarters of them from the head.

    Returns:
        The text itself when it fits, or when the mark is no shorter than what it stands for. Words
        are never cut in two where there is white space to cut at.
    """
    if len(text) <= limit:
        return text
    head = text[: max(1, limit * 3 // 4)]
    tail = text[-max(1, limit // 4) :]
    if (cut := max(head.rfind(" "), head.rfind("\n"))) > 0:
        head = head[:cut]
    starts = [place for place in (tail.find(" "), tail.find("\n")) if place >= 0]
    tail = tail[min(starts) + 1 :] if starts else tail
    omitted = len(text) - len(head) - len(tail)
    shown = f"{head.rstrip()} …[{omitted}{CLIPPED} {tail.lstrip()}"
    return shown if len(shown) < len(text) else text


def _mark_replaced(rules: list[Rule]) -> list[Rule]:
    """Mark every rule that a newer one takes back or gives another value."""
    subjects = [subject_of(rule.text) for rule in rules]
    gone = [False] * len(rules)
    for new in range(len(rules)):
        for old in range(max(0, new - _LOOK_BACK), new):
            apart = rules[old].said.index != rules[new].said.index
            gone[old] = gone[old] or (apart and replaces(subjects[new], subjects[old]))
    return [replace(rule, replaced=over) for rule, over in zip(rules, gone, strict=True)]


def _behind_theirs(rules: list[Rule]) -> list[Rule]:
    """Give what takes a rule back the strength and the place of that rule, where it still stands."""
    placed: list[Rule] = []
    for rule in rules:
        meant = _meant(rule, placed[-_LOOK_BACK:]) if retraction(rule.text) else None
        strength = max(rule.strength, meant.strength) if meant else rule.strength
        placed.append(replace(rule, strength=strength, behind=meant.said.index if meant else None))
    return placed


def _meant(rule: Rule, before: Sequence[Rule]) -> Rule | None:
    """The standing rule that a sentence which takes something back has most words of."""
    subject = subject_of(rule.text)
    standing = [(shared_words(subject, subject_of(old.text)), old) for old in before if not old.replaced]
    shared, meant = max(standing, key=itemgetter(0), default=(0, rule))
    return meant if shared else None


# Which of the user's sentences no longer hold because they gave another value later.
#
# Only where that is plain: a correction ("no, port 9090") that names the thing again, against the value that
# held last, or a rule that another rule took the place of. In doubt a sentence stays as it is.

_LABELLED = re.compile(
    r"(?i)(?<![\w`])([^\W\d_]{3,30})(?:\s{0,3}[:=]|\s+(?:is|to|of|be|ist|auf|est|es))?\s+"
    r"(`[^`\n]{1,80}`|\"[^\"\n]{1,80}\"|\d[\w.:/-]{0,40})"
)
"""A word and the value behind it."""
_DENIES = re.compile(r"(?i)\bnot\b|n['’]t\b|\bnever\b|\bnicht\b|\bkein|\bpas\b|\bnie(?:mals)?\b|不|别")
REPLACED_LATER = "(replaced later)"
_SUPERSEDED_AROUND = '`".,:;/'


@frozen
class _Given:
    """A value that a sentence gives to something."""

    key: int
    index: int
    sentence: str
    label: str
    value: str


def superseded(typed: Sequence[Said]) -> tuple[tuple[int, str], ...]:
    """Find the sentences that a later message of the user replaced.

    Args:
        typed: What the user typed, in order of time.

    Returns:
        Log number and sentence of each, in order of time.
    """
    gone = dict.fromkeys(
        (rule.said.key, rule.text) for rule in find_rules(Reading(typed=list(typed))) if rule.replaced
    )
    held: dict[str, list[_Given]] = {}
    for said in typed:
        for given in _values(said):
            before = held.setdefault(given.label, [])
            if before and before[-1].value != given.value and before[-1].index != given.index:
                # Whether a sentence sounds like a correction of what was said before.
                if _TAKES_BACK.search(given.sentence) is not None:
                    gone |= dict.fromkeys((old.key, old.sentence) for old in before)
                before.clear()
            before.append(given)
    return tuple(sorted(gone))


def marked(key: int, text: str, replaced: Sequence[tuple[int, str]]) -> str:
    """A message with a mark behind each of its sentences that does not hold any more.

    Args:
        key: Its log number.
        text: What the user typed.
        replaced: As ``superseded`` gives it.
    """
    for where, sentence in replaced:
        if where == key:
            text = text.replace(sentence, f"{sentence} {REPLACED_LATER}", 1)
    return text


def _values(said: Said) -> Iterator[_Given]:
    """What a message gives one value to, without what it forbids, asks or adds."""
    for sentence in prose(said.text):
        if asks(sentence) or adds(sentence) or _DENIES.search(sentence):
            continue
        found = [
            (label.casefold(), value.strip(_SUPERSEDED_AROUND))
            for label, value in _LABELLED.findall(sentence)
        ]
        labels = [label for label, _ in found]
        for label, value in found:
            if labels.count(label) == 1:
                yield _Given(said.key, said.index, sentence, label, value)
