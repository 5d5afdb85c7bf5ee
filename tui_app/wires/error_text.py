"""Reading exceptions: causes, HTTP status, and the provider's text."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

ECHOED = frozenset(
    {"input", "inputs", "messages", "prompt", "contents", "request", "revised_prompt", "failed_generation"}
)
"""Keys under which servers repeat the request. The user's text must not be read as an error."""
_KEY = re.compile(rf"""(\\*["'])(?:{"|".join(sorted(ECHOED))})\1\s*:\s*(?=\\*["']|[\[{{(])""", re.IGNORECASE)
_MARK = re.compile(r"""\\*["']|[\[\](){}]""")
_CLOSERS = {"[": "]", "(": ")", "{": "}"}
_QUOTE = re.compile(r"""(?<!\w)(?<!\\)(["'])(?=\S)""")
_INTRODUCED = re.compile(
    r"(?:\b(?:invalid|unexpected|unsupported|value|got|received|given|provided|text|content|argument|param"
    r"|parameter|string)\b|\binput_value=)[^\"'\n]{0,30}$",
    re.IGNORECASE,
)
"""Words after which a sentence quotes its input."""
_LOOK_BACK = 60
_ELLIPSIS = "…"


def without_echoes(text: str, *, sentences: bool) -> str:
    """Remove quotations of the request from the text of an error.

    Args:
        text: One text of a provider, or an exception's own text.
        sentences: Whether it is prose, which may contain quotations; printed structures do not.
    """
    pieces: list[str] = []
    end = 0
    while (key := _KEY.search(text, end)) is not None:
        pieces += (text[end : key.end()], _ELLIPSIS)
        end = _end_of_value(text, key.end())
    text = "".join([*pieces, text[end:]])
    return _unquoted(text) if sentences else text


def _end_of_value(text: str, start: int) -> int:
    """Return the end of the string or bracket opened at ``start``; of the text if it was cut off."""
    open_brackets: list[str] = []
    place = start
    while (mark := _MARK.search(text, place)) is not None:
        sign, place = mark.group(), mark.end()
        if sign in _CLOSERS:
            open_brackets.append(_CLOSERS[sign])
        elif sign[-1] in "\"'":
            closing = re.compile(rf"(?<!\\){re.escape(sign)}").search(text, place)
            place = closing.end() if closing else len(text)
        elif open_brackets and sign == open_brackets[-1]:
            open_brackets.pop()
        if not open_brackets:
            return place
    return len(text)


def _unquoted(text: str) -> str:
    """Remove quotations from prose: several words in quotation marks, introduced as a value."""
    pieces: list[str] = []
    end = place = 0
    while (opening := _QUOTE.search(text, place)) is not None:
        quote = opening.group(1)
        closing = re.compile(rf"(?<![\s\\]){quote}(?!\w)").search(text, opening.end())
        stop = closing.end() if closing else len(text)
        introduced = _INTRODUCED.search(text[max(0, opening.start() - _LOOK_BACK) : opening.start()])
        if introduced and " " in text[opening.end() : stop]:
            pieces += (text[end : opening.start()], _ELLIPSIS)
            end = stop
        place = stop
    return "".join([*pieces, text[end:]])


_TIME = r"(\d{1,9}(?:\.\d{1,12})?) ?(milliseconds?|ms|hours?|h|minutes?|mins?|m|seconds?|secs?|s)(?![a-z])"
_RETRY_AFTER = re.compile(
    rf"\b(?:re)?try(?: again)?(?: your request)? (?:in|after) (?P<times>(?:{_TIME}(?:,? (?:and )?)?)+)",
    re.IGNORECASE,
)
_UNITS = {"milli": 0.001, "ms": 0.001, "h": 3_600.0, "m": 60.0, "s": 1.0}
_CHAIN = 20
_DEPTH = 12


def chain(error: BaseException) -> list[BaseException]:
    """Return the exception, the members of groups, and all causes, without repeats."""
    found: list[BaseException] = []
    waiting: list[BaseException | None] = [error]
    while waiting and len(found) < _CHAIN:
        current = waiting.pop(0)
        if current is None or any(current is known for known in found):
            continue
        found.append(current)
        if isinstance(current, BaseExceptionGroup):
            waiting.extend(current.exceptions)
        # Not __context__: it may be an error that was handled before this one.
        waiting.append(current.__cause__)
    return found


def status_of(error: BaseException) -> int | None:
    """Return the HTTP status of the exception or of the nearest cause that has one."""
    statuses = (getattr(one, "status_code", None) for one in chain(error))
    return next((status for status in statuses if isinstance(status, int)), None)


def url_of(error: BaseException) -> str:
    """Return the address of the failed request; empty if no cause has it."""
    for one in chain(error):
        # httpx raises RuntimeError for an error without a request.
        with suppress(RuntimeError):
            for holder in (one, getattr(one, "response", None)):
                if (url := getattr(getattr(holder, "request", None), "url", None)) is not None:
                    return str(url)
    return ""


def _body(error: BaseException) -> object:
    """Return the body sent by the provider; None if there is none. Google's SDK stores it as ``details``."""
    details = getattr(error, "details", None)
    return getattr(error, "body", details if isinstance(details, Mapping) else None)


def body_text(error: BaseException) -> str:
    """Return the provider's body as lines ``key: value``; empty if there is none."""
    return "\n".join(_lines(_body(error), "", _DEPTH)).strip()


def full_text(error: BaseException) -> str:
    """Return all text of the exception and its causes: the body, or else the message."""
    texts = (body_text(one) or str(one) for one in chain(error))
    return "\n".join(dict.fromkeys(text for text in texts if text))


def own_words(error: BaseException) -> str:
    """Return the text of the exception and its causes without quotations of the request."""
    texts: dict[str, None] = {}
    for one in chain(error):
        lines = _lines(_body(one), "", _DEPTH)
        text = "\n".join(without_echoes(line, sentences=True) for line in lines).strip()
        texts[text or without_echoes(str(one), sentences=False)] = None
    return "\n".join(filter(None, texts))


def outline(error: BaseException) -> str:
    """Return an error's types and status for a log. Its text may quote the conversation."""
    status = status_of(error)
    kinds = " from ".join(dict.fromkeys(type(one).__name__ for one in chain(error)))
    return kinds if status is None else f"{kinds}, status {status}"


def provider_message(error: BaseException) -> str:
    """Return the provider's own sentence, from ``message``, ``detail`` or ``error``; else ''."""
    return next(filter(None, (_message(_body(one), _DEPTH) for one in chain(error))), "")


def values_of(error: BaseException, *names: str) -> list[object]:
    """Return values at some keys of the provider's body, at any depth, outside of echoed request parts.

    Gateways forward another provider's response as JSON in a string.
    """
    return [found for one in chain(error) for found in _values(_body(one), names, _DEPTH)]


def _values(value: object, names: Sequence[str], depth: int) -> Iterator[object]:
    if depth <= 0:
        return
    if isinstance(value, str) and value.lstrip().startswith(("{", "[")):
        with suppress(ValueError, RecursionError):
            value = json.loads(value)
    if isinstance(value, Mapping):
        for key, item in value.items():
            if key in names:
                yield item
            elif str(key).lower() not in ECHOED:
                yield from _values(item, names, depth - 1)
    elif isinstance(value, Sequence) and not isinstance(value, str | bytes):
        for item in value:
            yield from _values(item, names, depth - 1)


def asked_pause(error: BaseException) -> float:
    """Return the seconds to wait requested in a header, in Google's form or in words; 0 for none."""
    asked: list[object] = [getattr(one, "retry_after", None) for one in chain(error)]
    asked += values_of(error, "retryDelay", "retry_delay")
    # Some servers send fractions, although the standard allows only whole seconds.
    headers = (getattr(one, "headers", None) for one in chain(error))
    asked += [each.get("retry-after") for each in headers if isinstance(each, Mapping)]
    seconds = max(map(_seconds, asked), default=0.0)
    # Proxies forward the body, but not the headers.
    if seconds or (words := _RETRY_AFTER.search(own_words(error))) is None:
        return seconds
    return sum(_in_seconds(*each) for each in re.findall(_TIME, words["times"], re.I))


_LIMIT_RESET = re.compile(r"rate-?limit.*reset")
_NUMBER = re.compile(r"\d{1,16}(\.\d{1,9})?")
_THIS_CENTURY = 946_684_800
"""Numbers from here on are points in time, in seconds since 1970; from 1,000 times that, in milliseconds."""


def known_pause(error: BaseException) -> float:
    """Return seconds until the request may succeed: as requested, or until an exhausted limit is reset."""
    if asked := asked_pause(error):
        return asked
    given = (each for one in chain(error) if isinstance(each := getattr(one, "headers", None), Mapping))
    headers = {str(name).lower(): str(value) for each in given for name, value in each.items()}
    resets = {name: headers[name] for name in headers if _LIMIT_RESET.search(name)}
    used_up = [name for name in resets if _number_of(headers.get(name.replace("reset", "remaining"))) == 0]
    # Limits that are not exhausted do not matter.
    counted = used_up or (list(resets) if len(resets) == 1 else [])
    now = _moment(headers.get("date", ""))
    return max((_until(resets[name], now) for name in counted), default=0.0)


def _number_of(text: str | None) -> float | None:
    return float(text) if text is not None and _NUMBER.fullmatch(text.strip()) else None


def _until(text: str, now: datetime | None = None) -> float:
    """Return seconds until a header's value: a number of seconds, a duration, or any point in time."""
    now = now or datetime.now(UTC)
    if (number := _number_of(text)) is not None:
        if number < _THIS_CENTURY:
            return number
        return max(0.0, number / (1_000 if number > _THIS_CENTURY * 1_000 else 1) - now.timestamp())
    if (moment := _moment(text)) is not None:
        return max(0.0, (moment - now).total_seconds())
    times = re.findall(_TIME.removesuffix("(?![a-z])"), text.strip(), re.I)
    return sum(_in_seconds(*each) for each in times)


def _moment(text: str) -> datetime | None:
    for read in (datetime.fromisoformat, parsedate_to_datetime):
        with suppress(ValueError):
            moment = read(text.strip())
            return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return None


def _in_seconds(number: str, unit: str) -> float:
    return float(number) * next(size for name, size in _UNITS.items() if unit.lower().startswith(name))


def _seconds(asked: object) -> float:
    """Return the seconds from a value that requests a pause; 0 if it is none."""
    if isinstance(asked, Mapping):
        asked = asked.get("seconds")
    if isinstance(asked, str):
        return _until(asked)
    return max(0.0, float(asked)) if isinstance(asked, int | float) else 0.0


def _message(body: object, depth: int) -> str:
    if isinstance(body, str):
        return "" if body.lstrip().startswith(("<", "{")) else body.strip()
    if depth <= 0 or not isinstance(body, Mapping):
        return ""
    found = (_message(body.get(key), depth - 1) for key in ("message", "detail", "error"))
    return next(filter(None, found), "")


def _lines(value: object, name: str, depth: int) -> Iterator[str]:
    if isinstance(value, Mapping) and depth > 0:
        for key, item in value.items():
            if str(key).lower() not in ECHOED:
                yield from _lines(item, str(key), depth - 1)
    elif isinstance(value, Sequence) and not isinstance(value, str | bytes) and depth > 0:
        for item in value:
            yield from _lines(item, name, depth - 1)
    elif value is not None:
        yield f"{name}: {value}" if name else str(value)
