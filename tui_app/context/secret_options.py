"""Secrets that commands are given: by a short option, or as a word of their own."""

import re

from tui_app.context.secret_words import MASK, PASSWORDS, PLACEHOLDER

_VALUE = r"[^\s\"'`,;&|(){}\[\]<>$\\]"
_SHORT_OPTION = re.compile(
    rf"(?P<name>(?<=[ \t])(?:-u|-U|--user|--proxy-user)[ \t=]{{0,4}}\\{{0,3}}[\"']?[\w.@+-]{{1,80}}:"
    rf"|(?<=[ \t])-(?P<option>[pPaw])[ \t]{{0,2}}\\{{0,3}}[\"']?)(?P<value>(?!-){_VALUE}{{3,200}})"
)
_CALLED_WITH = 300
"""Characters in front of a short option in which its program is named."""
_LINE_END = re.compile(r"[\r\n|;&]|\\n")
_WITH_USER = re.compile(r"\b(?:curl|wget|http|https|xh)\b")
_SSHPASS = r"\bsshpass(?:[ \t]{1,4}-v)?[ \t]{1,4}$"
_JOINED = {
    "p": re.compile(rf"\b(?:mysql\w{{0,12}}|mariadb(?:-\w{{1,12}})?|7z[ar]?)\b|{_SSHPASS}"),
    "a": re.compile(r"(?!)"),
    "P": re.compile(r"\b(?:sqlcmd|bcp|unzip)\b"),
    "w": re.compile(r"\bldap(?:add|delete|modify|passwd|search|whoami)\b"),
}
"""Programs that take a password right behind the letter of the option."""
_LOGIN = (
    r"\b(?:docker|podman|nerdctl|buildah|skopeo|helm|oc|cf|az|ibmcloud|vault)[ \t]{1,4}"
    r"(?:registry[ \t]{1,4})?login\b"
)
_APART = {
    "p": re.compile(rf"{_LOGIN}|\bmongo(?:sh|dump|export|import|restore|stat)?\b|{_SSHPASS}"),
    "a": re.compile(r"\b(?:redis|valkey|keydb)-cli\b"),
    "P": re.compile(r"\b(?:sqlcmd|bcp|unzip|zip|mosquitto_(?:pub|sub))\b"),
    "w": _JOINED["w"],
}
"""Programs that take it as the next word. To others these options are ports, projects and lists."""

_GAP = r"[ \t]{1,4}"
_NAMED_WORD = re.compile(
    rf"(?P<name>-pass(?:in|out){_GAP}[\"']?pass:|aws_s(?:ecret_access_key|ession_token){_GAP}"
    rf"|htpasswd{_GAP}(?:-\w{{1,6}}{_GAP}){{0,3}}-\w{{0,6}}b\w{{0,6}}{_GAP}"
    rf"(?:[^\s;|&-][^\s;|&]{{0,200}}{_GAP}){{2}})(?P<value>{_VALUE}{{3,400}})"
)
_CHPASSWD = re.compile(
    rf"(?P<name>\becho{_GAP}[\"']?[\w.@-]{{1,80}}:)(?P<value>{_VALUE}{{3,200}})"
    r"(?=[\"']?[ \t]{0,4}\|[ \t]{0,4}(?:sudo[ \t]{1,4})?chpasswd\b)"
)
_APART_BY = r"(?:\s|\\[nrt]){1,20}(?:[0-9]{1,6}[\t|:→]\s{0,8})?"
_WORD = r"[^\s\\]{1,200}"
_NETRC = re.compile(
    rf"(?P<name>\b(?:machine{_APART_BY}{_WORD}|default(?={_APART_BY}login)){_APART_BY}"
    rf"(?:(?:login|account){_APART_BY}{_WORD}{_APART_BY}){{0,2}}"
    rf"password{_APART_BY})(?P<value>[^\s\"'\\\[]{{3,200}})"
)
_LOGIN_LINE = re.compile(
    r"(?P<name>\blogin[ \t]{1,8}[^\s\\]{1,100}[ \t]{1,8}password[ \t]{1,8})"
    r"(?P<value>(?=[^\s\"'\\\[]{0,100}[0-9])[^\s\"'\\\[]{4,200})"
)
_SAID = re.compile(
    rf"(?i)(?P<name>\b(?:{PASSWORDS})[ \t]{{1,4}}(?:is|was|ist|lautet|es|est)[ \t:]{{1,3}}\\{{0,3}}[\"'`]?)"
    rf"(?P<value>(?!sha|md5|base|utf|argon|bcrypt|pbkdf|aes|rot|http)(?=[^\s\"'`]{{0,40}}[0-9])(?=[^\s\"'`]{{0,40}}[a-z])"
    rf"{_VALUE}{{6,60}})"
)
_TOLD_BY = (
    ("-pass", _NAMED_WORD), ("aws_s", _NAMED_WORD), ("htpasswd", _NAMED_WORD), ("chpasswd", _CHPASSWD),
    ("password", _NETRC), ("password", _LOGIN_LINE), ("pass", _SAID), ("wort", _SAID), ("contrase", _SAID),
    ("mot de", _SAID),
)  # fmt: skip
"""Patterns with a word that is in whatever they match: most texts hold none, and that is quick to see."""


def mask_options(text: str) -> str:
    """Mask what commands are given, and what a ``.netrc`` or a sentence calls a password."""
    text = _SHORT_OPTION.sub(_masked_short, text)
    low = text.casefold()
    for pattern in dict.fromkeys(pattern for word, pattern in _TOLD_BY if word in low):
        text = pattern.sub(_masked, text)
    return text


def _masked(match: re.Match[str]) -> str:
    return match[0] if PLACEHOLDER.match(match["value"]) else match["name"] + MASK


def _masked_short(match: re.Match[str]) -> str:
    """The same letters mean something else to most programs."""
    before = _LINE_END.split(match.string[max(0, match.start() - _CALLED_WITH) : match.start()])[-1]
    option = match["option"]
    apart = match["name"][-1] in " \t" or " " in match["name"] or "\t" in match["name"]
    programs = (_APART if apart else _JOINED)[option] if option else _WITH_USER
    return _masked(match) if programs.search(before) else match[0]
