"""Taking a rule back: by which words the user does it, and which rule they mean."""

import re
from functools import lru_cache

from tui_app.context.fact_extractors.subjects import Subject
from tui_app.context.fact_extractors.words import words

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
"""Words by which something is taken back; the others say what."""
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
