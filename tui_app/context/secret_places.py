"""Secrets known by the place they stand in: behind an option, in markup, in an address, on the next line."""

import re

from tui_app.context.secret_words import MASK, NAMES, PASSWORDS, PLACEHOLDER, looks_random

_VALUE = r"[^\s\"'`,;&|(){}\[\]<>$\\]"
_END = r"(?=[ \t]{0,40}(?:\\{0,3}[\"']|\\{1,3}[nr]|[\r\n]|$))"
_GUTTER = r"(?:[ \t]{0,8}\d{1,6}(?:\t|[ ]{0,2}[|:→])|[+>-])?"
"""Line numbers and marks of a diff in front of a line."""

_OPTION = re.compile(
    rf"(?i)(?P<name>(?<![\w-])--(?:[a-z0-9]{{1,20}}-){{0,3}}(?P<kind>{PASSWORDS}|pass|token|secret|api-?key"
    r"|(?:access|secret|private)-key)[ \t]{1,4})(?:(?P<open>\\{0,3}[\"'])(?P<quoted>[^\"'\\\r\n\[]{4,200})"
    rf"(?=(?P=open))|(?P<value>(?!-){_VALUE}{{4,200}}))"
)
_NEXT_LINE = re.compile(
    r"(?P<name>[:=][ \t]{0,4}(?:[|>][-+0-9]{0,2})?[ \t]{0,4}\\?(?:\r?\n|\\{1,3}n)"
    rf"{_GUTTER}[ \t]{{0,40}})(?P<value>{_VALUE}{{4,400}}(?<![:=])){_END}"
)
_BLOCK = re.compile(r":[ \t]{1,4}[|>][-+0-9]{0,2}[ \t]{0,4}\r?\n(?P<indent>[ \t]{1,40})(?=[^\s\[])")
_BLOCK_LINES = r"[^\r\n]{{4,500}}(?:\r?\n[ \t]{{{deep}}}[^\r\n]{{1,500}}){{0,40}}"
_NAMED = re.compile(rf"(?i)(?P<kind>{NAMES}|pwd|token)[\"']?[ \t]{{0,4}}$")
_LONGEST_NAME = 50
_CONTINUED = re.compile(r"(\[secret removed\]\\\r?\n[ \t]{0,40})([A-Za-z0-9_+/=.-]{4,400})")
_ELEMENT = re.compile(
    rf"(?i)(?P<name><(?:[\w-]{{1,30}}[:._-])?(?:{NAMES})(?:[ \t][^<>\r\n]{{0,200}})?>\s{{0,40}})"
    r"(?P<value>[^\s<>\[][^<>\r\n]{2,500}?)(?=\s{0,40}</)"
)
_WEBHOOK = re.compile(
    r"(?i)(\bhooks\.slack\.com/(?:services|workflows|triggers)/|\bdiscord(?:app)?\.com/api/webhooks/)"
    r"[A-Za-z0-9_/-]{10,300}"
)
_ACCOUNT_KEY = re.compile(r"(?i)(\b(?:account|sharedaccess)key=)[A-Za-z0-9+/]{32,200}={0,2}")
_AUTHORISED = re.compile(
    r"(?i)(?P<name>\bauthorization\\{0,3}[\"']?[ \t]{0,4}[:=][ \t]{0,4}\\{0,3}[\"']?(?:bearer|basic|token)"
    r"[ \t]{1,8})(?P<value>[A-Za-z0-9._~+/-]{16,4000}={0,2})"
)
_PASSWORD = re.compile(rf"(?i)(?:{PASSWORDS}|pass|pwd)$")
_TYPE = re.compile(r"(?i)(?:xs:)?(?:string|text|str|password|secret)$")


def mask_in_place(text: str) -> str:
    """Mask what stands where secrets stand; see ``mask_secrets``."""
    text = _AUTHORISED.sub(_masked_header, text)
    text = _WEBHOOK.sub(rf"\1{MASK}", text)
    text = _ACCOUNT_KEY.sub(rf"\1{MASK}", text)
    text = _OPTION.sub(_masked_option, text)
    text = _without_blocks(text)
    text = _NEXT_LINE.sub(_masked_line, text)
    text = _ELEMENT.sub(_masked_element, text)
    return _CONTINUED.sub(rf"\1{MASK}", text)


def _masked_header(match: re.Match[str]) -> str:
    return match[0] if PLACEHOLDER.match(match["value"]) else match["name"] + MASK


def _masked_option(match: re.Match[str]) -> str:
    value = match["quoted"] or match["value"]
    if PLACEHOLDER.match(value) or not _telling(match["kind"], value):
        return match[0]
    return f"{match['name']}{match['open'] or ''}{MASK}"


def _without_blocks(text: str) -> str:
    """Mask the lines of a block that a name of a secret opens."""
    pieces: list[str] = []
    position = 0
    for opening in _BLOCK.finditer(text):
        kind = _name_before(opening) if opening.start() >= position else ""
        if not kind or kind.casefold() == "token" or PLACEHOLDER.match(text, opening.end()):
            continue
        lines = re.compile(_BLOCK_LINES.format(deep=len(opening["indent"])))
        if block := lines.match(text, opening.end()):
            pieces += [text[position : opening.end()], MASK]
            position = block.end()
    return "".join([*pieces, text[position:]])


def _masked_line(match: re.Match[str]) -> str:
    value, kind = match["value"], _name_before(match)
    if not kind or PLACEHOLDER.match(value) or not _telling(kind, value):
        return match[0]
    return match["name"] + MASK


def _name_before(match: re.Match[str]) -> str:
    """What the value of a match is given to, where that is a secret's name."""
    named = _NAMED.search(match.string[max(0, match.start() - _LONGEST_NAME) : match.start()])
    return named["kind"] if named else ""


def _masked_element(match: re.Match[str]) -> str:
    value = match["value"]
    return match[0] if PLACEHOLDER.match(value) or _TYPE.match(value) else match["name"] + MASK


def _telling(kind: str, value: str) -> bool:
    """Whether a value is no plain word: of a password a digit says so, of anything else that it is random."""
    digits = sum(map(str.isdigit, value))
    return digits > 0 if _PASSWORD.search(kind) else digits > 2 and looks_random(value)
