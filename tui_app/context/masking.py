"""Masking of keys, tokens and passwords: in text that is summarised, logged, shown or exported.

Patterns follow the shapes the issuers publish. They catch what can be told by its form; a password in plain
prose cannot. Every repetition is bounded, so masking takes linear time, and masking twice changes nothing.
"""

import re

from tui_app.context.secret_headers import mask_headers
from tui_app.context.secret_options import mask_options
from tui_app.context.secret_places import mask_in_place
from tui_app.context.secret_shapes import mask_shapes
from tui_app.context.secret_words import MASK, NAMES, PASSWORDS, PLACEHOLDER, looks_random

__all__ = ["MASK", "mask_secrets", "names_secret"]

_KEY_HEADER = re.compile(r"-----BEGIN ([A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?)-----")
_KEY_BODY = re.compile(r"[A-Za-z0-9+/=\s\\]{0,20000}")
_MAX_KEY = 20_000
"""Characters within which the end of a private key block is looked for."""

_HEADER = re.compile(
    r"(?i)\b(bearer|basic|token)([ \t]{1,8})(?=[A-Za-z._~+/-]{0,4000}[0-9])[A-Za-z0-9._~+/-]{16,4000}={0,2}"
)
_URL_PASSWORD = re.compile(
    r"(?P<user>\b[a-zA-Z][a-zA-Z0-9+.-]{1,20}://[^\s/:@\"'\\]{0,100}:)[^\s/@\"'\\]{1,200}(?=@)"
)

_QUOTED = re.compile(
    rf"(?i)(?P<name>(?:{NAMES}|pwd)\\{{0,3}}[\"']?\s{{0,4}}(?::=|=>|:|=)\s{{0,4}})(?P<open>\\{{0,3}})(?P<quote>[\"'])"
    r"(?!\[secret removed\])(?:"
    r"(?<!\\[\"'])(?P<plain>(?:[^\"'\\\r\n]|\\[\"'\\/bfu]|\\\r?\n){4,500})(?=(?P=quote))"
    r"|(?<=\\[\"'])(?P<nested>(?:[^\"'\\\r\n]|\\\\\\[\"']){4,500})(?=\\{1,3}(?P=quote))"
    r")"
)
"""An escaped quote inside of a value does not end it; inside of an escaped string it is escaped twice."""
_BARE = re.compile(
    rf"(?i)(?P<name>(?:{NAMES}|pwd)(?:=|:\s{{1,2}}))(?P<value>[^\s\"'`,;&(){{}}\[\]<>$\\]{{4,200}})(?![\w(.])"
)
_TELLING = re.compile(
    rf"(?i)(?<![a-z])(?P<name>(?:{NAMES}|pwd|token|access[_-]?key|auth(?:orization)?)"
    r"\\{0,3}[\"']?[ \t]{0,4}(?::=|[:=])[ \t]{0,4}\\{0,3}[\"']?)"
    r"(?P<value>[^\s\"'`,;&(){}\[\]<>$\\]{4,400})(?![\w(.\[])"
)
"""Names that also stand before harmless values: these are masked only where they look like secrets."""
_PASS = re.compile(
    r"(?P<name>[Pp](?:(?<=_P)ASS|(?<![A-Za-z]P)ASS(?==)|(?<=[_-][Pp])ass|(?<=[a-z]P)ass)"
    r"\\{0,3}[\"']?[ \t]{0,4}(?::=|=>|[:=])[ \t]{0,4}\\{0,3}[\"']?)"
    r"(?P<value>[^\s\"'`,;&(){}\[\]<>$\\]{4,200})(?![\w(.\[])"
)
"""The end of many names: ``DB_PASS``, ``dbPass``; on its own it says that a test has passed."""
_SHOUTED = re.compile(r"PASS[\"']?=")
_COUNT = re.compile(r"[\d.,%/:]{1,12}[a-z]{0,3}$")
_PASSWORD = re.compile(rf"(?i)(?:{PASSWORDS}|pwd)\b")
_FIELD = re.compile(rf"(?i:(?:^|[^a-z])(?:{NAMES}))$|(?i:[_-]pwd)$|[A-Z0-9]_PASS$")


def mask_secrets(text: str) -> str:
    """Replace what looks like a secret by :data:`MASK`; everything else stays as it is.

    Known are private key blocks, the key shapes of common vendors, password hashes, authorisation headers and
    cookies, passwords, tokens and signatures inside of addresses, values given to names like ``password``,
    by options of commands, on a line of their own and in markup too. JSON text stays valid JSON.
    """
    text = mask_headers(mask_shapes(_without_private_keys(text)))
    text = _HEADER.sub(rf"\1\2{MASK}", text)
    text = _URL_PASSWORD.sub(rf"\g<user>{MASK}", text)
    text = _QUOTED.sub(_masked_quoted, text)
    text = _BARE.sub(_masked_bare, text)
    text = _PASS.sub(_masked_pass, _TELLING.sub(_masked_telling, text))
    return mask_options(mask_in_place(text))


def names_secret(name: str) -> bool:
    """Whether a field of that name holds a secret, whatever its value looks like."""
    return _FIELD.search(name) is not None


def _without_private_keys(text: str) -> str:
    """Mask key blocks; of one that was cut off, everything that can be part of it."""
    pieces: list[str] = []
    position = 0
    while header := _KEY_HEADER.search(text, position):
        footer = f"-----END {header[1]}-----"
        end = text.find(footer, header.end(), header.end() + _MAX_KEY)
        body = _KEY_BODY.match(text, header.end())
        pieces += [text[position : header.start()], MASK]
        position = end + len(footer) if end >= 0 else body.end() if body else header.end()
    return "".join([*pieces, text[position:]])


def _masked_quoted(match: re.Match[str]) -> str:
    if PLACEHOLDER.match(match["plain"] or match["nested"]):
        return match[0]
    return f"{match['name']}{match['open']}{match['quote']}{MASK}"


def _masked_bare(match: re.Match[str]) -> str:
    name, value = match["name"], match["value"]
    # ``password: str`` and ``password=password`` are code; a secret nearly always holds a digit or a sign.
    word = value.replace("_", "").isalpha()
    if PLACEHOLDER.match(value) or (word and (name[-1].isspace() or value.lower() in name.lower())):
        return match[0]
    return name + MASK


def _masked_telling(match: re.Match[str]) -> str:
    name, value = match["name"], match["value"]
    password = _PASSWORD.match(name) and any(char.isdigit() for char in value)
    if PLACEHOLDER.match(value) or not (password or looks_random(value)):
        return match[0]
    return name + MASK


def _masked_pass(match: re.Match[str]) -> str:
    """``TOTAL_PASS=12`` and ``two_pass=True`` are none; a shouted name has a secret even in plain letters."""
    name, value = match["name"], match["value"]
    password = any(map(str.isdigit, value)) or _SHOUTED.match(name)
    if PLACEHOLDER.match(value) or _COUNT.match(value) or not password:
        return match[0]
    return name + MASK
