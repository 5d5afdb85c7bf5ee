"""Telling a damaged answer of a provider from a mistake of our own."""

from types import TracebackType

from tui_app.context.overflow.error_text import chain

_STUMBLES = (AttributeError, TypeError, KeyError, IndexError, ValueError)
"""What code raises that was handed something else than the protocol says."""
_READERS = frozenset({"_get_event_iterator", "_process_streamed_response", "_process_response"})
"""Where models of pydantic-ai read an answer."""


def came_damaged(error: BaseException) -> bool:
    """Whether an error arose while an answer was read, from what was in it.

    A server may send ``null`` where an object belongs; each library that reads it stumbles in its own way.
    """
    return any(isinstance(one, _STUMBLES) and _while_reading(one.__traceback__) for one in chain(error))


def _while_reading(trace: TracebackType | None) -> bool:
    while trace is not None:
        code, name = trace.tb_frame.f_code, str(trace.tb_frame.f_globals.get("__name__", ""))
        if code.co_name in _READERS and name.startswith("pydantic_ai.models"):
            return True
        trace = trace.tb_next
    return False
