"""The words that mark a rule, a decision, a plan or a question.

English first; German, French, Spanish and Chinese in their commonest forms.
"""

import re

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
    r"|siempre|nunca|jamás|debe[ns]?|debes|evita[r]?|hay que|prohibido)\b"
    r"|必须|不要|不能|禁止|务必|总是|始终|绝不|请勿|别|一定要|不准|してはいけない|必ず|しないで"
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
