"""What a check of ``plimsoll doctor`` found."""

from dataclasses import dataclass
from typing import Literal

State = Literal["ok", "warn", "fail"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One thing looked at."""

    name: str
    state: State
    """``warn``: something is missing or worse than it could be; ``fail``: Plimsoll cannot work like this."""
    text: str
    hint: str = ""
    """What to do about it; empty when there is nothing to do."""


def ok(name: str, text: str) -> Check:
    """All is well."""
    return Check(name=name, state="ok", text=text)


def warn(name: str, text: str, hint: str) -> Check:
    """It works, but could be better."""
    return Check(name=name, state="warn", text=text, hint=hint)


def fail(name: str, text: str, hint: str) -> Check:
    """It does not work."""
    return Check(name=name, state="fail", text=text, hint=hint)
