"""How what replaces history is worded, as data: frames around a summary, a marker where there is none.

Imports nothing of the agent side, so that policies are known at once.
"""

from dataclasses import dataclass
from string import Formatter

_SUMMARY_FIELDS = frozenset({"summary", "count"})
_MARKER_FIELDS = frozenset({"count"})
MARKER = "[{count} messages that stood here are gone to make room; there are no notes on them]"


def _check(template: str, allowed: frozenset[str]) -> None:
    try:
        named = {name for _, name, _, _ in Formatter().parse(template) if name is not None}
    except ValueError as error:
        raise ValueError(f"{template!r} is no template: {error}.") from None
    if unknown := named - allowed:
        raise ValueError(
            f"A template may name {' and '.join(sorted(allowed))}, not {', '.join(sorted(unknown))!r}."
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Form:
    """The wording of a replacement. ``count`` is the number of messages that leave."""

    summary: str = "{summary}"
    """Template around a summary."""
    marker: str = MARKER
    """Template of what stands there when no summary was written."""
    acknowledgement: str = ""
    """What the assistant says behind it, as a message of its own; empty for none."""
    way_back: bool = True
    """Whether it ends with how messages that left are found again."""

    def __post_init__(self) -> None:
        """Check the templates.

        Raises:
            ValueError: if a template names anything else, or the summary's place is missing.
        """
        _check(self.summary, _SUMMARY_FIELDS)
        _check(self.marker, _MARKER_FIELDS)
        if "{summary}" not in self.summary:
            raise ValueError("The template of a summary must hold {summary}.")


NOTES = Form()
"""The summary as it was written."""


def framed(form: Form, summary: str, *, count: int, written: bool = True) -> str:
    """Word what replaces history.

    Args:
        form: The wording.
        summary: The notes; braces in them mean nothing.
        count: How many messages leave.
        written: Whether there are notes; without them the marker stands in their place.
    """
    if not written:
        return form.marker.format(count=count)
    return form.summary.format(summary=summary.strip(), count=count)
