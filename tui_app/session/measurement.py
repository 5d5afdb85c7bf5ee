"""What the log has measured of a session, and the size of its next request by that."""

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
"""The window of a model that has not been asked anything yet; it is never planned with."""


@frozen
class Goal:
    """The goal that a session has."""

    seq: int
    """Its log number."""
    data: GoalSet
    turns: int = 0
    """How many it has taken."""

    @property
    def progress(self) -> str:
        """How far it is, in two words."""
        most = self.data.count or self.data.most_turns
        return f"goal {self.turns}{f' of {most}' if most else ''}"


@frozen
class Known:
    """The newest measurement of a session, less what a change of the model since has made void."""

    measured: UsageInfo | None = None
    """Taken with the last request; None before the first."""
    window: ContextWindow = UNKNOWN
    factor: float = 1.0
    """Real tokens of the model per counted token."""
    growth: Growth | None = None
    """By how many of them a request grows with what is added; None where that is not known."""
    policy: str = ""
    """Name of the policy that this session follows; empty where its log names none."""
    effort: str = ""
    """How much the model thinks; empty where that was never changed."""
    mode: Mode = "ask"
    goal: Goal | None = None
    """What the model works towards; None for nothing."""

    def overhead(self, view: AgentView) -> Overhead:
        """What the size of the next request is worked out from, for a view."""
        carried = self.measured.carried if self.measured is not None else None
        if carried is None:
            fixed = fixed_part(view, self.measured)
        else:
            fixed = Breakdown(**{name: carried[name] for name in CATEGORIES if name in carried})
        return Overhead(self.window, fixed, self.factor, self.growth)

    def usage(self, view: AgentView, model: str, setting: int | None = None) -> ContextUsage:
        """The estimate of the next request, as the writer of the session makes it.

        Args:
            view: What the next request holds.
            model: Its name.
            setting: Window the user has set, in tokens.
        """
        overhead = self.overhead(view)
        if setting:
            overhead = replace(overhead, window=resolve_window(setting=setting))
        return view.tally().usage(overhead, model=model)


def fixed_part(view: AgentView, last: UsageInfo | None) -> Breakdown:
    """What older logs say of it: what a request's figures hold beyond its messages.

    Args:
        view: The messages that are sent; system prompts among them are no instructions.
        last: What was measured with the last request; None before the first.
    """
    if last is None:
        return Breakdown()
    said = sum_breakdowns(weighed.tokens for weighed in view.message_weights())

    def beyond(name: str) -> int:
        return max(0, int(last.usage.get(name, 0)) - int(getattr(said, name)))

    return Breakdown(system=beyond("system"), tools=beyond("tools"), memory=beyond("memory"))


def window_of(measured: UsageInfo | None) -> ContextWindow:
    usage: Mapping[str, Any] = measured.usage if measured is not None else {}
    limit = int(usage.get("limit", 0))
    if limit <= 0:
        return UNKNOWN
    reserve = int(usage.get("reserve", 0))
    return ContextWindow(limit=limit, source=str(usage.get("limit_source", "model")), reserve=reserve)
