"""What may be remembered: one plain line, without secrets, that gives nobody orders in secret.

A board is read out to a model in every later session. A secret would be sent each time, and a sentence that a
file has put into a transcript would steer work that has nothing to do with it.
"""

import re
import unicodedata

from tui_app.context.secrets import mask_secrets

LONGEST = 400
"""Characters of an entry; what needs more belongs into a file of the repository."""
_SHORTEST = 4
_GAP = r"[\w\s,'\"-]{0,60}?"
_ORDERS = re.compile(
    r"(?i)\b(?:ignore|disregard|forget|override|bypass|overrule)\b" + _GAP
    + r"\b(?:instructions?|rules?|prompts?|guidelines?|directions?|polic(?:y|ies)|safety|approvals?"
    r"|restrictions?)\b"
    r"|\b(?:system|developer|hidden)\s+(?:prompt|message|instructions?)\b"
    r"|\b(?:new|updated|revised|real|true)\s+(?:system\s+)?instructions?\s*(?::|are\b)"
    r"|\byou\s+are\s+now\b|\bpretend\s+(?:to\s+be|you)\b|\bjailbreak|\bunrestricted\s+(?:mode|ai|assistant)\b"
    r"|\b(?:do\s+not|don['’]?t|never|without)\s+(?:tell|telling|inform|informing|mention|mentioning|alert"
    r"|alerting|ask|asking|notify|notifying)" + _GAP + r"\b(?:user|human|person|developer|owner|anyone)\b"
    r"|\b(?:send|upload|post|exfiltrate|forward|leak|email|transmit)\b" + _GAP
    + r"\b(?:to\s+https?:|to\s+[\w.-]+@|secrets?|credentials?|tokens?|api\s+keys?|passwords?"
    r"|environment\s+variables)"
    r"|\b(?:when|if|once)\s+you\s+(?:see|read|load)\s+(?:this|the)\s+(?:message|memory|entry|note|text)\b"
    r"|\b(?:curl|wget)\b[^|\n]{0,200}\|\s*(?:sudo\s+)?(?:ba|z|da)?sh\b|\bbase64\s+(?:-d|--decode)\b[^|\n]{0,80}\|"
)  # fmt: skip
"""Sentences that address the model behind the person's back, in the wordings that are in use."""
_MARKUP = re.compile(
    r"(?i)<\|[\w-]{1,40}\|>|</?\s*(?:system|assistant|user|human|instructions?|tool|function|context_board"
    r"|system[_-]reminder|transcript)\b[^>]{0,80}>|\[/?INST\]|^\s*(?:system|assistant|developer)\s*:"
)
"""Signs by which models tell who speaks; on a board they have no meaning but to deceive."""
_ESCAPES = re.compile(r"\x1b\[[0-?]{0,40}[ -/]{0,8}[@-~]|\x1b\][^\x07\x1b]{0,400}(?:\x07|\x1b\\\\)")
_INVISIBLE = frozenset({"Cc", "Cf", "Co", "Cs", "Cn"})


class NotRemembered(Exception):
    """An entry was refused; the message says why, as part of a sentence."""


def plain(text: str) -> str:
    """One line without characters that cannot be seen."""
    seen = "".join(
        " " if char.isspace() else "" if unicodedata.category(char) in _INVISIBLE else char
        for char in _ESCAPES.sub("", text)
    )
    return " ".join(seen.split())


def key_of(text: str) -> str:
    """What makes two entries the same one: their letters and digits, in any case."""
    words = re.findall(r"[^\W_]+", unicodedata.normalize("NFKC", text).casefold())
    return " ".join(words) or text.strip()


def checked(text: str, *, by_person: bool) -> str:
    """The text of an entry as it is kept.

    Args:
        text: What somebody wants remembered.
        by_person: Whether a person wrote it here and now: they may say what they like, but no secrets.

    Raises:
        NotRemembered: if it may not be kept.
    """
    # Measured before it is gone through: a million characters are refused at once.
    if len(text) > LONGEST * 10:
        raise NotRemembered(f"it is longer than {LONGEST} characters")
    said = plain(text)
    if len(said) < _SHORTEST:
        raise NotRemembered("it says nothing")
    if len(said) > LONGEST:
        raise NotRemembered(f"it is longer than {LONGEST} characters")
    if mask_secrets(said) != said or mask_secrets(text) != text:
        raise NotRemembered("it holds what looks like a secret")
    if not by_person and gives_orders(said):
        raise NotRemembered("it gives a model orders instead of saying what is so")
    return said


def gives_orders(text: str) -> bool:
    """Whether a text is made to steer a model behind a person's back."""
    folded = unicodedata.normalize("NFKC", text)
    return bool(_ORDERS.search(folded) or _MARKUP.search(folded))
