"""Secrets in what is sent over HTTP: cookies, signed addresses, and tokens in place of a user."""

import re

from tui_app.context.secret_words import MASK, PLACEHOLDER, looks_random

_COOKIES = re.compile(
    r"(?P<name>(?:[Cc]ookie|COOKIE)(?:\\{0,3}[\"']?[ \t]{0,4}:|(?<=[ \t]--cookie)[ =])"
    r"[ \t]{0,4}\\{0,3}[\"']?)"
    r"(?P<pairs>[^\s=;,\"'\\]{1,100}=[^\r\n\"'\\]{1,8000})"
)
_SHORTEST_COOKIE = 8
_ATTRIBUTES = frozenset({"path", "domain", "expires", "max-age", "samesite", "priority", "version"})
_SIGNATURE = re.compile(
    r"(?i)(?P<name>(?:[?&;]|\\u0026)(?:sig|x-(?:amz|goog)-(?:signature|security-token))=)"
    r"[A-Za-z0-9%+/_.~-]{16,2000}={0,2}"
)
_TOKEN_USER = re.compile(r"(?<=://)(?P<user>[A-Za-z0-9._~%+-]{20,255})(?=(?::[^\s/@:\"'\\]{0,200})?@)")


def mask_headers(text: str) -> str:
    """Mask what stands in headers and addresses; see ``mask_secrets``."""
    if "ookie" in text or "COOKIE" in text:
        text = _COOKIES.sub(_masked_cookies, text)
    text = _SIGNATURE.sub(rf"\g<name>{MASK}", text)
    return _TOKEN_USER.sub(_masked_user, text)


def _masked_cookies(match: re.Match[str]) -> str:
    return match["name"] + ";".join(map(_masked_cookie, match["pairs"].split(";")))


def _masked_cookie(pair: str) -> str:
    """Short values, as those of a chosen theme, tell nothing."""
    name, equals, rest = pair.partition("=")
    value = rest.split(" ", 1)[0].split(",", 1)[0]
    if len(value) < _SHORTEST_COOKIE or name.strip().casefold() in _ATTRIBUTES or PLACEHOLDER.match(value):
        return pair
    return f"{name}{equals}{MASK}{rest[len(value) :]}"


def _masked_user(match: re.Match[str]) -> str:
    return MASK if looks_random(match["user"]) else match[0]
