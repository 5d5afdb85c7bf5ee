"""The budget of a session: a warning near the limit, and no prompt above it without consent."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass

from tui_app.events import Error, Notice
from tui_app.session.preview import StatsReader
from tui_app.session.stores.database import Database

WARN_AT = 0.8
"""Share of the budget at which the user is warned."""


@dataclass(slots=True)
class Budget:
    """The budget of one session. The amount spent is read from the log, so it survives restarts."""

    limit: float
    """US dollars."""
    reader: StatsReader
    _warned: bool = False

    async def verdict(self, *, agreed: bool) -> Notice | Error | None:
        """Check the budget before a prompt. An error means that it must not be sent.

        Args:
            agreed: Whether the user agreed that this prompt may exceed the budget.
        """
        stats = await asyncio.to_thread(self.reader.read)
        spent, unknown = stats.cost_usd, ", plus requests of unknown price" if stats.unpriced else ""
        sum_ = f"This session has cost ${spent:,.2f} of its budget of ${self.limit:,.2f}{unknown}."
        if spent >= self.limit:
            hint = "Send it again to confirm, or raise budget.session_usd and reopen the session."
            refused = Error(kind="input", message=f"{sum_} The prompt was not sent.", hint=hint)
            return None if agreed else refused
        if spent >= WARN_AT * self.limit and not self._warned:
            self._warned = True
            return Notice(text=sum_)
        return None


def budget_of(settings: Mapping[str, float], database: Database, session: str) -> Budget | None:
    limit = settings.get("session_usd", 0.0)
    return Budget(limit, StatsReader(database, session)) if limit else None
