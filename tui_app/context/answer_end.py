"""Tell whether a response is whole, and why not; and what its usage report is good for."""

import json
from copy import copy
from dataclasses import replace
from typing import Final

from pydantic_ai.messages import ModelResponse, ToolCallPart

CUT_OFF: Final = "the model's answer was cut off"
TOO_LONG: Final = "the model's answer was cut off at its length limit"
FILTERED: Final = "the provider's filter stopped the model's answer"
_ENDINGS: dict[str | None, str] = {"length": TOO_LONG, "content_filter": FILTERED, "error": CUT_OFF}


def why_not_whole(answer: ModelResponse) -> str:
    """Say why a response is not whole; empty where nothing says so.

    A stream may end in order in the middle of an answer, behind a proxy that has given up its server. Where
    its protocol tells a reason, pydantic-ai then takes ``stop`` for it, but not for the provider's own word.
    A server that never tells reasons still tells the usage, which comes last.
    """
    if reason := _ENDINGS.get(answer.finish_reason):
        return reason
    said = (answer.provider_details or {}).get("finish_reason")
    if answer.finish_reason is None and answer.provider_response_id is not None and answer.parts and not said:
        # On all other wires a reason comes with the end of every stream.
        return CUT_OFF
    taken_for_whole = answer.finish_reason == "stop" and answer.provider_response_id is not None
    unsaid = taken_for_whole and not said and not answer.usage.has_values()
    return CUT_OFF if answer.state != "complete" or unsaid else ""


def half_call(answer: ModelResponse) -> ToolCallPart | None:
    """The call in which an answer was stopped, at its length limit or by a filter; None where it is whole.

    Calls in front of the last part are whole: another part was begun behind them. The last one is where its
    arguments are a complete object. None at all, or an empty one, is also what there is before the first.
    """
    last = answer.parts[-1] if answer.parts else None
    if not isinstance(last, ToolCallPart) or why_not_whole(answer) not in (TOO_LONG, FILTERED):
        return None
    try:
        args = json.loads(last.args or "null") if isinstance(last.args, str | None) else last.args
    except ValueError:
        return last
    return None if args and isinstance(args, dict) else last


_TOKENS_MOST = 1_000_000_000
"""No request or answer has more: a report that says so is made up."""
_FIGURES = ("input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens")


def with_plain_usage(answer: ModelResponse) -> ModelResponse:
    """The response with a usage report of whole numbers that can be true; the log and all sums rest on it.

    Servers report fractions, less than nothing, or figures that no request has.
    """
    told = {name: getattr(answer.usage, name) for name in _FIGURES}
    plain = {name: _plain(tokens) for name, tokens in told.items()}
    if plain == told and all(type(tokens) is int for tokens in told.values()):
        return answer
    usage = copy(answer.usage)
    for name, tokens in plain.items():
        setattr(usage, name, tokens)
    return replace(answer, usage=usage)


def _plain(tokens: object) -> int:
    if not isinstance(tokens, int | float) or not 0 <= tokens <= _TOKENS_MOST:
        return 0
    return int(tokens)
