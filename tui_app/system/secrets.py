"""Masking of keys, tokens and passwords in text that is summarised, logged, shown or exported.

Patterns follow the formats published by issuers. In addition, values that look like no word of any language
are masked where they are named. Every repetition is bounded, so masking takes linear time, and masking twice
changes nothing.
"""

import math
import re
from collections import Counter
from functools import lru_cache

from tui_app.files import toml_beside

MASK = "[secret removed]"
"""Replacement of a secret, without quotes and backslashes, so that JSON around it stays valid."""
PASSWORDS = r"pass(?:word|wd|phrase)|kennwort|passwort|contraseña|mot de passe"
_ABROAD = (
    r"palavra-passe|senha|parola|wachtwoord|lösenord|adgangskode|passord|salasana|hasło|heslo|jelszó|parolă|şifre|пароль|парола|лозинка|κωδικός"
    r"|סיסמה|كلمة المرور|كلمة السر|पासवर्ड|รหัสผ่าน|mật khẩu|kata sandi|密码|密碼|口令|パスワード|비밀번호|암호"
)
NAMES = (
    rf"(?:{PASSWORDS}|secret(?:[_-]?(?:access[_-]?)?key(?:[_-]?base)?)?|api[_-]?key|private[_-]?key|credentials?"
    r"|(?:access|auth|refresh|session|id)[_-]?token|client[_-]?secret)"
)
"""Names whose values are secrets, as a pattern."""
PLACEHOLDER = re.compile(
    r"\{\{|[$<%/~]|(?:[A-Z]+_)+[A-Z]+$|(?i:(?:none|null|true|false|undefined)$|xxx|\*\*\*|\.\.\.|your|example)"
)
"""Values that are no secrets: templates, variables and their names, paths, dummies."""


def looks_random(value: str) -> bool:
    """Return whether a value is long and mixed enough to be generated instead of a word, path or name."""
    if len(value) < 12 or not any(char.isdigit() for char in value) or value.count("/") > 2:
        return False
    sample = value[:200]
    total = len(sample)
    entropy = -sum(n / total * math.log2(n / total) for n in Counter(sample).values())
    return entropy >= 3.0


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
    """Mask secrets in headers and addresses; see ``mask_secrets``."""
    if "ookie" in text or "COOKIE" in text:
        text = _COOKIES.sub(
            lambda found: found["name"] + ";".join(map(_masked_cookie, found["pairs"].split(";"))), text
        )
    text = _SIGNATURE.sub(rf"\g<name>{MASK}", text)
    return _TOKEN_USER.sub(lambda user: MASK if looks_random(user["user"]) else user[0], text)


def _masked_cookie(pair: str) -> str:
    """Mask a cookie's value. Short values, as of a chosen theme, are harmless."""
    name, equals, rest = pair.partition("=")
    value = rest.split(" ", 1)[0].split(",", 1)[0]
    if len(value) < _SHORTEST_COOKIE or name.strip().casefold() in _ATTRIBUTES or PLACEHOLDER.match(value):
        return pair
    return f"{name}{equals}{MASK}{rest[len(value) :]}"


_VALUE = r"[^\s\"'`,;&|(){}\[\]<>$\\]"
_SHORT_OPTION = re.compile(
    rf"(?P<name>(?<=[ \t])(?:-u|-U|--user|--proxy-user)[ \t=]{{0,4}}\\{{0,3}}[\"']?[\w.@+-]{{1,80}}:"
    rf"|(?<=[ \t])-(?P<option>[pPaw])[ \t]{{0,2}}\\{{0,3}}[\"']?)(?P<value>(?!-){_VALUE}{{3,200}})"
)
_CALLED_WITH = 300
"""Characters before a short option in which its program is looked for."""
_LINE_END = re.compile(r"[\r\n|;&]|\\n")
_WITH_USER = re.compile(r"\b(?:curl|wget|http|https|xh)\b")
_SSHPASS = r"\bsshpass(?:[ \t]{1,4}-v)?[ \t]{1,4}$"
_JOINED = {
    "p": re.compile(rf"\b(?:mysql\w{{0,12}}|mariadb(?:-\w{{1,12}})?|7z[ar]?)\b|{_SSHPASS}"),
    "a": re.compile(r"(?!)"),
    "P": re.compile(r"\b(?:sqlcmd|bcp|unzip)\b"),
    "w": re.compile(r"\bldap(?:add|delete|modify|passwd|search|whoami)\b"),
}
"""Programs that take a password directly after the option's letter."""
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
"""Programs that take it as the next word. For others these options are ports, projects and lists."""

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
_SPOKEN_PASSWORD = re.compile(
    rf"(?i)(?P<name>(?<![a-zа-я])(?:{PASSWORDS}|{_ABROAD})(?:[ \t]{{0,4}}"
    r"(?:(?<=[ \t])(?:is|was|ist|lautet|es|est|è|é|är|er|on|to|jest|это|є)(?=[ \t:])"
    r"|是|为|は|[이가은는]|[—–-])[ \t:]{0,3}|[ \t*_\"'`]{0,4}[:=：＝][ \t*_]{0,4})"
    r"\\{0,3}[\"'`]?)(?P<value>(?!sha|md5|base|utf|argon|bcrypt|pbkdf|aes|rot|http)"
    r"(?=[^\s\"'`]{0,40}[0-9])(?=[^\s\"'`]{0,40}[^\W\d_])"
    rf"(?:(?![\u0590-\u0fff\u3000-\ud7ff]){_VALUE}){{6,60}})"
)
_SPOKEN_KEY = re.compile(
    r"(?i)(?P<name>\b(?:api[ _-]?key|token|secret(?:[ _-]key)?|access[ _-]key)[ \t]{1,4}"
    r"(?:(?:is|was|to|ist|lautet|es|est|[:=])[ \t]{1,3})?[\"'`]?)(?P<value>"
    r"(?=[^0-9]{0,40}[0-9])(?-i:(?=[0-9]{0,40}[a-f])[0-9a-f]{20,128}"
    r"|(?=[^A-Z]{0,40}[A-Z])(?=[^a-z]{0,40}[a-z])(?=(?:[A-Za-z/+]{1,24}[0-9]+){2})[A-Za-z0-9+/]{24,200}={0,2})"
    r"(?![\w./-]))"
)
_SEED = re.compile(
    r"(?i)(?P<name>\b(?:totp|otp|2fa|mfa)\b[^\r\n]{0,24}?[ \t:=][\"'`]?)"
    r"(?P<value>(?-i:[A-Z2-7]{16,64})(?![\w-]))"
)
_PHRASE = re.compile(
    r"(?i)(?P<name>\b(?:mnemonic|(?:seed|recovery) phrase)[\"']?(?:[ \t]{0,2}[:=]| is)[ \t]{0,4}[\"'`]?)"
    r"(?P<value>(?:[a-z]{3,8}[ \t]{1,2}){11,23}[a-z]{3,8}\b)"
)
_BY_HINT = (
    ("-pass", _NAMED_WORD), ("aws_s", _NAMED_WORD), ("htpasswd", _NAMED_WORD), ("chpasswd", _CHPASSWD),
    ("password", _NETRC), ("password", _LOGIN_LINE),
    *((word, _SPOKEN_KEY) for word in ("api", "access", "token", "secret")),
    ("otp", _SEED), ("2fa", _SEED), ("mfa", _SEED), ("mnemonic", _PHRASE), ("phrase", _PHRASE),
    *((word, _SPOKEN_PASSWORD) for word in re.sub(r"\(\?:[^)]*\)", "", f"{PASSWORDS}|{_ABROAD}").split("|")),
)  # fmt: skip
"""Patterns with a word that each match contains, to skip quickly the many texts without any."""


def mask_options(text: str) -> str:
    """Mask passwords in options of commands, in a ``.netrc``, and in sentences that name them."""
    text = _SHORT_OPTION.sub(_masked_short, text)
    low = text.casefold()
    for pattern in dict.fromkeys(pattern for word, pattern in _BY_HINT if word in low):
        text = pattern.sub(_masked, text)
    return text


def _masked(match: re.Match[str]) -> str:
    return match[0] if PLACEHOLDER.match(match["value"]) else match["name"] + MASK


def _masked_short(match: re.Match[str]) -> str:
    """Mask only for the programs known: for most others the same letters mean something else."""
    before = _LINE_END.split(match.string[max(0, match.start() - _CALLED_WITH) : match.start()])[-1]
    option = match["option"]
    apart = match["name"][-1] in " \t" or " " in match["name"] or "\t" in match["name"]
    programs = (_APART if apart else _JOINED)[option] if option else _WITH_USER
    return _masked(match) if programs.search(before) else match[0]


_END = r"(?=[ \t]{0,40}(?:\\{0,3}[\"']|\\{1,3}[nr]|[\r\n]|$))"
_GUTTER = r"(?:[ \t]{0,8}\d{1,6}(?:\t|[ ]{0,2}[|:→])|[+>-])?"
"""Line numbers or diff markers before a line."""

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
    """Mask values in places of secrets; see ``mask_secrets``."""
    text = _AUTHORISED.sub(_masked, text)
    text = _WEBHOOK.sub(rf"\1{MASK}", text)
    text = _ACCOUNT_KEY.sub(rf"\1{MASK}", text)
    text = _OPTION.sub(_masked_option, text)
    text = _without_blocks(text)
    text = _NEXT_LINE.sub(_masked_line, text)
    text = _ELEMENT.sub(_masked_element, text)
    return _CONTINUED.sub(rf"\1{MASK}", text)


def _masked_option(match: re.Match[str]) -> str:
    value = match["quoted"] or match["value"]
    if PLACEHOLDER.match(value) or not _telling(match["kind"], value):
        return match[0]
    return f"{match['name']}{match['open'] or ''}{MASK}"


def _without_blocks(text: str) -> str:
    """Mask the lines of a YAML block whose name is that of a secret."""
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
    """Return the name before a match, if it is that of a secret."""
    named = _NAMED.search(match.string[max(0, match.start() - _LONGEST_NAME) : match.start()])
    return named["kind"] if named else ""


def _masked_element(match: re.Match[str]) -> str:
    value = match["value"]
    return match[0] if PLACEHOLDER.match(value) or _TYPE.match(value) else match["name"] + MASK


def _telling(kind: str, value: str) -> bool:
    """Return whether a value is no plain word: for a password a digit is enough, others have to be random."""
    digits = sum(map(str.isdigit, value))
    return digits > 0 if _PASSWORD.search(kind) else digits > 2 and looks_random(value)


_CANDIDATE = re.compile(
    r"(?<![A-Za-z0-9!#$%&+.?@^_~/\\=-])(?=[^0-9\s]{0,40}[0-9])"
    r"[A-Za-z0-9!#$%&+.?@^_~*-]{8,64}+(?![A-Za-z0-9/\\=\[(_])"
)
_OTHER_BUILD = re.compile(
    r"[0-9a-fA-F-]+$|[0-9]{2,4}-|[^@]{1,64}@[^@]+\.|.*(?:[0-9]\.[0-9]|\.[A-Za-z]{1,5}[0-9]?$)|sha[0-9]|v?[0-9]+(?:[._-][0-9]+)+"
    r"|[a-z]{2,12}[_-][A-Za-z0-9]{16,}$|[A-Z0-9_-]+$|[A-Za-z]+_\w*$|test"
)
"""Hashes and ids, dates, addresses, versions and files, constants and names of functions."""
_CLEAR_SIGNS = frozenset("!#$%&+?@^~")
_CLEAREST_SIGNS = frozenset("!$^~")
_CHANGES = re.compile(r"(?<=[A-Za-z])(?=[0-9])|(?<=[0-9])(?=[A-Za-z])|(?<=[a-z])(?=[A-Z])")
_LONG_WORD, _SHORT_WORD = re.compile(r"[a-z]{5}"), re.compile(r"[A-Za-z]{4}")
_WORDS_AND_NUMBER = re.compile(
    r"[A-Z]?[a-z]{2,20}(?:-[A-Z]?[a-z]{2,20}(?![A-Za-z])|-?[0-9]{2,6}(?![0-9A-Za-z])){1,8}[!?#]?$"
)
_ASSIGNED = re.compile(
    r"(?<![\w./?&;$@\[-])(?:[A-Za-z]|[^\x00-\x7f]){2,40}[\"'*]{0,2}[ \t\u00a0\u202f]{0,2}"
    r"(?::=|=>|->|→|[:=：＝—–])[*_\"']{0,2}[ \t\u00a0]{0,4}(?:\r?\n[ \t]{0,8})?[\"'`「『“„«*]{0,3}$"
)
_STATED = re.compile(r"(?:^|[.。!?:\n])[ \t]*(?:[^\W\d_]+[ \t]+){1,3}[^\W\d_]{1,6}[ \t]{1,3}[\"'`“„«*]{0,3}$")
_SENTENCE_ENDS = re.compile(r"[\"'`”“»*]{0,3}(?:[.,;!?。](?:\s|$)|[ \t]{0,8}(?:[\r\n]|$))")
_UNCASED_BEFORE = re.compile(
    r"[^\W\d_A-Za-z\u00c0-\u058f][\u0900-\u0dff\u0e31-\u0e4e]?[ \t]?[\"'`「『“„«*]{0,3}$"
)
"""A letter of a script without capitals, where a word need not be separated from the value after it."""
_BEFORE_VALUE = 80


def _masked_match(match: re.Match[str]) -> str:
    value = match[0].rstrip(".*")
    if _OTHER_BUILD.match(value) or PLACEHOLDER.match(value) or not _unspoken(value):
        return match[0]
    before = match.string[max(0, match.start() - _BEFORE_VALUE) : match.start()]
    cue = _ASSIGNED.search(before) or _UNCASED_BEFORE.search(before)
    if not cue and _SENTENCE_ENDS.match(match.string, match.start() + len(value)):
        cue = _STATED.search(before)
    return MASK + match[0][len(value) :] if cue else match[0]


def _unspoken(value: str) -> bool:
    """Return whether a value is unlike any name: words with digits, special characters, or many changes."""
    if not any(map(str.isdigit, value)):
        return False
    if not (any(map(str.isupper, value)) and any(map(str.islower, value))):
        return not _CLEAREST_SIGNS.isdisjoint(value[1:]) and any(map(str.isalpha, value))
    if _WORDS_AND_NUMBER.match(value) or not _CLEAR_SIGNS.isdisjoint(value[1:]):
        return True
    changes = len(_CHANGES.findall(value))
    mixed = changes >= 4 and not _LONG_WORD.search(value) and looks_random(value)
    return mixed or (changes >= 5 and not _SHORT_WORD.search(value))


_SHAPES: dict[str, dict[str, str]] = toml_beside(__file__, "secret_shapes")


def _shaped(group: str) -> str:
    return f"(?:{'|'.join(_SHAPES[group].values())})"


# A key may also follow a line break escaped in JSON.
_KEY_SHAPES = re.compile(rf"(?:(?<![A-Za-z0-9])|(?<=\\[nrt])){_shaped('keys')}")
_MORE_SHAPES = re.compile(rf"(?:(?<![A-Za-z0-9\\])|(?<=\\[nrt]))(?=[0-9ACDFGNPSa-gh-nprst]){_shaped('more')}")
_HASHES = re.compile(_shaped("hashes"))
"""Hashes of ``/etc/shadow``, ``htpasswd`` and web frameworks."""


_KEY_HEADER = re.compile(r"-----BEGIN ([A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?)-----")
_KEY_BODY = re.compile(r"[A-Za-z0-9+/=\s\\]{0,20000}")
_MAX_KEY = 20_000
"""Maximum characters to the end of a private key block."""

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
"""An escaped quote does not end a value; within an escaped string it is escaped twice."""
_BARE = re.compile(
    rf"(?i)(?P<name>(?:{NAMES}|pwd)(?:=|:\s{{1,2}}))(?P<value>[^\s\"'`,;&(){{}}\[\]<>$\\]{{4,200}})(?![\w(.])"
)
_TELLING = re.compile(
    rf"(?i)(?<![a-z])(?P<name>(?:{NAMES}|pwd|token|access[_-]?key|auth(?:orization)?)"
    r"\\{0,3}[\"']?[ \t]{0,4}(?::=|[:=])[ \t]{0,4}\\{0,3}[\"']?)"
    r"(?P<value>[^\s\"'`,;&(){}\[\]<>$\\]{4,400})(?![\w(.\[])"
)
"""Names that also precede harmless values, which are masked only if they look like secrets."""
_PASS = re.compile(
    r"(?P<name>[Pp](?:(?<=_P)ASS|(?<![A-Za-z]P)ASS(?==)|(?<=[_-][Pp])ass|(?<=[a-z]P)ass)"
    r"\\{0,3}[\"']?[ \t]{0,4}(?::=|=>|[:=])[ \t]{0,4}\\{0,3}[\"']?)"
    r"(?P<value>[^\s\"'`,;&(){}\[\]<>$\\]{4,200})(?![\w(.\[])"
)
"""The end of many names: ``DB_PASS``, ``dbPass``. Alone it means that a test has passed."""
_IN_NAMES = ("pass", "kennwort", "contrase", "secret", "key", "cred", "token", "pwd", "auth")
"""Every name that these four patterns match contains one of them, to skip quickly the many texts without."""
_SHOUTED = re.compile(r"PASS[\"']?=")
_COUNT = re.compile(r"[\d.,%/:]{1,12}[a-z]{0,3}$")
_MASKING_PASSWORD = re.compile(rf"(?i)(?:{PASSWORDS}|pwd)\b")
_FIELD = re.compile(rf"(?i:(?:^|[^a-z])(?:{NAMES}))$|(?i:[_-]pwd)$|[A-Z0-9]_PASS$")


def mask_secrets(text: str) -> str:
    """Replace everything that looks like a secret by :data:`MASK`.

    Recognized are private key blocks, key formats of common vendors, password hashes, authorization headers
    and cookies, passwords, tokens and signatures in addresses, and values assigned to names like
    ``password``, in options of commands, on separate lines and in markup, too. JSON text stays valid JSON.
    """
    return _masked_short_text(text) if len(text) <= _REMEMBERED else _masked_text(text)


_REMEMBERED = 2_000
"""Maximum characters of a text whose masked form is cached: a compaction reads each message repeatedly."""


def _masked_text(text: str) -> str:
    # Keys and hashes are recognized by their form.
    text = _HASHES.sub(MASK, _MORE_SHAPES.sub(MASK, _KEY_SHAPES.sub(MASK, _without_private_keys(text))))
    text = mask_headers(text)
    text = _HEADER.sub(rf"\1\2{MASK}", text)
    text = _URL_PASSWORD.sub(rf"\g<user>{MASK}", text)
    low = text.casefold()
    if any(word in low for word in _IN_NAMES):
        text = _QUOTED.sub(_masked_quoted, text)
        text = _BARE.sub(_masked_bare, text)
        text = _PASS.sub(_masked_pass, _TELLING.sub(_masked_telling, text))
    return _CANDIDATE.sub(_masked_match, mask_options(mask_in_place(text)))


_masked_short_text = lru_cache(maxsize=1_024)(_masked_text)


def names_secret(name: str) -> bool:
    """Return whether a field of that name contains a secret, whatever its value looks like."""
    return _FIELD.search(name) is not None


def _without_private_keys(text: str) -> str:
    """Mask key blocks; of one that was cut off, everything that may be part of it."""
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
    # ``password: str`` and ``password=password`` are code; a secret nearly always contains a digit or sign.
    word = value.replace("_", "").isalpha()
    if PLACEHOLDER.match(value) or (word and (name[-1].isspace() or value.lower() in name.lower())):
        return match[0]
    return name + MASK


def _masked_telling(match: re.Match[str]) -> str:
    name, value = match["name"], match["value"]
    password = _MASKING_PASSWORD.match(name) and any(char.isdigit() for char in value)
    if PLACEHOLDER.match(value) or not (password or looks_random(value)):
        return match[0]
    return name + MASK


def _masked_pass(match: re.Match[str]) -> str:
    """Mask values of ``PASS`` names, but not ``TOTAL_PASS=12`` or ``two_pass=True``."""
    name, value = match["name"], match["value"]
    password = any(map(str.isdigit, value)) or _SHOUTED.match(name)
    if PLACEHOLDER.match(value) or _COUNT.match(value) or not password:
        return match[0]
    return name + MASK
