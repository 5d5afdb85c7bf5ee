"""Secrets are masked before anything is summarised: keys, tokens and passwords, known by their shape.

The shapes are those that the issuers publish (OpenAI and Anthropic ``sk-``, GitHub ``ghp_``, AWS ``AKIA``,
Slack ``xox``, Google ``AIza``, JSON web tokens, PEM blocks). Every pattern is bounded or free of nested
repetition, so masking takes linear time whatever the text.
"""

import math
import re
from collections import Counter
from collections.abc import Callable

_Replace = str | Callable[[re.Match[str]], str]

_PEM = re.compile(r"-----BEGIN ([A-Z ]{0,40}PRIVATE KEY(?: BLOCK)?)-----")
_SHAPES: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"(?<![A-Za-z0-9_-])sk-[A-Za-z0-9_-]{16,250}"), "api key"),
    (re.compile(r"\b[rs]k_(?:live|test)_[A-Za-z0-9]{10,250}"), "api key"),
    (re.compile(r"\bgh[pousr]_[A-Za-z0-9]{20,255}"), "github token"),
    (re.compile(r"\bgithub_pat_[A-Za-z0-9_]{20,255}"), "github token"),
    (re.compile(r"\bglpat-[A-Za-z0-9_-]{16,250}"), "gitlab token"),
    (re.compile(r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b"), "aws key"),
    (re.compile(r"\bxox[abeoprs]-[A-Za-z0-9-]{8,250}"), "slack token"),
    (re.compile(r"\bAIza[A-Za-z0-9_-]{30,60}"), "google key"),
    (re.compile(r"\b(?:hf|npm|pypi|dop_v1|shpat)[_-][A-Za-z0-9_-]{24,255}"), "token"),
    (re.compile(r"\beyJ[A-Za-z0-9_-]{8,4000}\.[A-Za-z0-9_-]{8,4000}\.[A-Za-z0-9_-]{0,4000}"), "web token"),
)
_BEARER = re.compile(r"(?i)\b(bearer|basic)([ \t]{1,4})([A-Za-z0-9._~+/=-]{16,4000})")
_URL_PASSWORD = re.compile(r"(://[^\s/:@\"']{1,80}:)([^\s/@\"']{3,200})(@)")
_NAMED = re.compile(
    r"(?i)(?<![a-z])(pass(?:word|wd|phrase)?|pwd|secret|token|api[_-]?key|access[_-]?key|private[_-]?key"
    r"|client[_-]?secret|auth(?:orization)?|credentials?|kennwort|passwort|contraseña|mot de passe)"
    r"([\"']?[ \t]{0,4}[:=][ \t]{0,4})([\"']?)([^\s\"',;`<>(){}\[\]]{4,400})"
)
_ALWAYS_SECRET = frozenset({"password", "passwd", "passphrase", "pwd", "kennwort", "passwort", "contraseña"})
_PLACEHOLDER = re.compile(
    r"(?i)^(?:\$|%|xxx|\*\*\*|\.\.\.|<|your|none$|null$|true$|false$|str\b|string|example)"
)


def mask_secrets(text: str) -> str:
    """Replace what looks like a secret by ``[masked: kind]``; everything else stays as it is.

    Args:
        text: Any text, of any length.

    Returns:
        The text with keys, tokens, passwords and private key blocks masked. Masking twice changes nothing.
    """
    text = _mask_pem(text)
    for pattern, kind in _SHAPES:
        text = pattern.sub(f"[masked: {kind}]", text)
    text = _BEARER.sub(_mask_bearer, text)
    text = _URL_PASSWORD.sub(r"\1[masked: password]\3", text)
    return _NAMED.sub(_mask_named, text)


def _mask_pem(text: str) -> str:
    """Mask whole private key blocks; a block that was cut off is masked to the end of the text."""
    pieces: list[str] = []
    position = 0
    while match := _PEM.search(text, position):
        footer = f"-----END {match[1]}-----"
        end = text.find(footer, match.end())
        pieces += [text[position : match.start()], "[masked: private key]"]
        position = len(text) if end < 0 else end + len(footer)
    return "".join([*pieces, text[position:]])


def _mask_bearer(match: re.Match[str]) -> str:
    if not _looks_random(match[3]):
        return match[0]
    return f"{match[1]}{match[2]}[masked: token]"


def _mask_named(match: re.Match[str]) -> str:
    """Mask ``name = value`` when the name says password, or the value looks random."""
    name, value = match[1].lower(), match[4]
    if _PLACEHOLDER.match(value):
        return match[0]
    if name in _ALWAYS_SECRET:
        kind = "password"
    elif _looks_random(value):
        kind = "secret"
    else:
        return match[0]
    return f"{match[1]}{match[2]}{match[3]}[masked: {kind}]"


def _looks_random(value: str) -> bool:
    """Whether a value is long and mixed enough to be a generated one and not a word, a path or a name."""
    if len(value) < 12 or not any(char.isdigit() for char in value) or value.count("/") > 2:
        return False
    sample = value[:200]
    total = len(sample)
    entropy = -sum(n / total * math.log2(n / total) for n in Counter(sample).values())
    return entropy >= 3.0
