"""Context usage notes for the model: one line after the newest message, at a few marks.

The line is a message of the log and keeps its place, so every later request begins with the same bytes.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain

from pydantic_ai.messages import ModelMessage, ModelRequest, UserPromptPart

from tui_app.context.counting.tokens import TokenCounter
from tui_app.context.message_marks import fullness_percent, fullness_text
from tui_app.context.policy import Policy
from tui_app.context.views.view import Item, is_summary
from tui_app.events import FullnessTold, Payload
from tui_app.text import thousands
from tui_app.usage import ContextUsage, ContextWindow, percent_text

MARKS = (50, 70)
"""Percentages of the window at which the model gets a note, in addition to the compaction threshold."""


def marks_of(window: ContextWindow, policy: Policy) -> dict[int, int]:
    """Map the marks of a window from percent to tokens; the last one is the compaction threshold."""
    marks = {mark: window.limit * mark // 100 for mark in MARKS}
    if policy.automatic and window.limit:
        line = policy.background_mark(window)
        marks[line * 100 // window.limit] = line
    return marks


@dataclass(slots=True)
class FullnessNotes:
    """Context usage notes for the model of one conversation."""

    counter: TokenCounter
    append: Callable[[Payload, ModelMessage], object]
    """Appends a message to the view through the log."""
    _summary: int = 0
    """Key of the newest summary when the view was last checked."""
    _known: int = 0
    """The mark noted before that summary and still exceeded, because the summary freed too little."""
    _told: int = 0

    def add_note(self, items: Sequence[Item], usage: ContextUsage, policy: Policy) -> None:
        """Append a note if a mark was passed for the first time since the last compaction.

        Args:
            items: The view that is about to be sent.
            usage: Its size.
            policy: Its compaction threshold is the last mark.
        """
        marks = marks_of(usage.window, policy)
        passed = max((mark for mark, tokens in marks.items() if usage.total >= tokens), default=0)
        summary = max((item.key for item in items if is_summary(item.message)), default=0)
        if summary != self._summary:
            self._summary, self._known = summary, min(self._told, passed)
        since = (fullness_percent(item.message) for item in items if item.key > summary)
        self._told = max(chain(since, (self._known,)))
        if passed <= self._told:
            return
        limit = usage.window.limit
        percent = percent_text(usage.total, limit, (mark / 100 for mark in marks)).strip("%")
        self._told = int(percent)
        sizes = (thousands(each).replace(".0k", "k") for each in (usage.total, limit))
        text = fullness_text(self._told, *sizes)
        message = ModelRequest(parts=[UserPromptPart(text)])
        tokens = self.counter.message(message).nonzero()
        self.append(FullnessTold(text=text, mark=passed, percent=self._told, tokens=tokens), message)
