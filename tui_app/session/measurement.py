"""The measurements in a session's log, and the estimate of its next request."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from tui_app.context.windows.windows import resolve_window
from tui_app.events import GoalSet, UsageInfo
from tui_app.modes import Mode
from tui_app.records import frozen
from tui_app.session.views.agent_view import AgentView
from tui_app.usage import CATEGORIES, Breakdown, ContextUsage, ContextWindow, Growth, Overhead, sum_breakdowns

UNKNOWN = ContextWindow(limit=0, source="unknown")
"""The window of a model before its first request; never used for planning."""


@frozen
class Goal:
    """The goal of a session."""

    seq: int
    """Log number of the goal."""
    data: GoalSet
    turns: int = 0
    """Turns taken so far."""

    @property
    def progress(self) -> str:
        """The progress in two words."""
        most = self.data.count or self.data.most_turns
        return f"goal {self.turns}{f' of {most}' if most else ''}"


@frozen
class Known:
    """The newest measurement of a session, without what a later change of model made invalid."""

    measured: UsageInfo | None = None
    """Measured with the last request; None before the first."""
    window: ContextWindow = UNKNOWN
    factor: float = 1.0
    """Actual tokens of the model per counted token."""
    growth: Growth | None = None
    """How the size of a request grows, in actual tokens, with what is added; None if unknown."""
    policy: str = ""
    """Name of the session's policy; empty if its log names none."""
    effort: str = ""
    """Reasoning effort; empty if it was never changed."""
    mode: Mode = "ask"
    goal: Goal | None = None
    """The goal the model works towards, if any."""

    def overhead(self, view: AgentView) -> Overhead:
        """Return what the size of the next request is computed from, for a view."""
        carried = self.measured.carried if self.measured is not None else None
        if carried is None:
            fixed = fixed_part(view, self.measured)
        else:
            fixed = Breakdown(**{name: carried[name] for name in CATEGORIES if name in carried})
        return Overhead(self.window, fixed, self.factor, self.growth)

    def usage(self, view: AgentView, model: str, setting: int | None = None) -> ContextUsage:
        """Estimate the next request as the writer of the session does.

        Args:
            view: The messages of the next request.
            model: Name of the model.
            setting: Context window that the user set, in tokens.
        """
        overhead = self.overhead(view)
        if setting:
            overhead = replace(overhead, window=resolve_window(setting=setting))
        return view.tally().usage(overhead, model=model)


def fixed_part(view: AgentView, last: UsageInfo | None) -> Breakdown:
    """Return the part of a request beyond its messages, for older logs that do not record it.

    Args:
        view: The messages that are sent; system prompts among them do not count as instructions.
        last: The measurement of the last request; None before the first.
    """
    if last is None:
        return Breakdown()
    tokens = sum_breakdowns(weighed.tokens for weighed in view.message_weights())

    def beyond(name: str) -> int:
        return max(0, int(last.usage.get(name, 0)) - int(getattr(tokens, name)))

    return Breakdown(system=beyond("system"), tools=beyond("tools"), memory=beyond("memory"))


def window_of(measured: UsageInfo | None) -> ContextWindow:
    usage: Mapping[str, Any] = measured.usage if measured is not None else {}
    limit = int(usage.get("limit", 0))
    if limit <= 0:
        return UNKNOWN
    reserve = int(usage.get("reserve", 0))
    return ContextWindow(limit=limit, source=str(usage.get("limit_source", "model")), reserve=reserve)
