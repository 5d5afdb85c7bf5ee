"""Writing the summary: the task, whoever can do it, and the one who asks a model."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Protocol

from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.models import Model

from tui_app.context.compaction.spending import Ledger
from tui_app.context.fact_extractors.typed import typed_text
from tui_app.context.fitting.overflow import detect_overflow
from tui_app.context.items import Item
from tui_app.context.requests.originals import Unabridged
from tui_app.context.summaries.languages import language_of
from tui_app.context.summaries.noting import CONDENSED, Material, Notes, agenda
from tui_app.context.summaries.render import fitted, prompts_of
from tui_app.context.summaries.summary_prompt import (
    INSTRUCTIONS,
    split_title,
    summary_prompt,
)
from tui_app.context.summaries.summary_request import (
    INTERACTION,
    NotesRequest,
    Pause,
    SummaryFailed,
    never_again,
    thinks,
)
from tui_app.context.windows.limits import ContextTooLarge
from tui_app.context.windows.window import answer_reserve

__all__ = [
    "INTERACTION",
    "ModelSummariser",
    "Progress",
    "Summariser",
    "Summary",
    "SummaryFailed",
    "SummaryTask",
]

_SHRINK_TRIES = 4
_MINIMUM_PART = 200
"""Tokens of transcript below which reading in parts is pointless."""
_FRAMING = 120
"""Tokens of the sentences and markers around the transcript."""
_LONGEST_NOTES = 6_000
"""Tokens that are asked for at most, however large the window: more is not read any better."""
_SHORTEST_ANSWER = 1_024
"""Tokens an answer may always take where the window allows it: notes of nine sections are never tiny."""
_LONGEST_ANSWER = 8_192
"""Tokens an answer may take: many models refuse to be asked for more."""
_THINKING = 16_384
"""Tokens a model that thinks may take for that beside its answer."""
_WORDY = 2
"""An answer of so many times its room is none; a server may ignore how long it should be."""

Progress = Callable[[int, int, int], None]
"""Called with the part being written (from 1), the number of parts, and the tokens written so far."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SummaryTask:
    """What to summarise."""

    items: tuple[Item, ...]
    """What leaves, as the agent sees it: all that a model is given."""
    whole: Unabridged | None = None
    """The whole view as it was before any stage touched it, for a writer that only quotes."""
    previous: str = ""
    """An earlier summary to update."""
    focus: str = ""
    instructions: str = ""
    """What else the person wants of the notes."""
    budget_tokens: int = 2_000
    overheard: Callable[[str], None] = field(default=lambda _text: None, compare=False)
    """Told the text while it is written, before anything of it is checked."""

    @property
    def about(self) -> tuple[str, ...]:
        """All that is asked beside the messages; notes of another task are of no use to this one."""
        return (self.previous, self.focus, self.instructions)


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """What came back."""

    text: str
    title: str = ""
    performed_by: str = "model"
    model: str = ""


class Summariser(Protocol):
    """Whoever can turn old messages into a summary."""

    @property
    def model_name(self) -> str:
        """Name shown to the person while it works."""
        ...

    async def summarise(self, task: SummaryTask, progress: Progress, ledger: Ledger) -> Summary:
        """Write the summary.

        Args:
            task: What to summarise.
            progress: Told how far it is.
            ledger: Told what it costs, while it does.

        Raises:
            SummaryFailed: if nothing usable came back.
        """
        ...


@dataclass(slots=True)
class ModelSummariser:
    """Summaries by a model: an agent without tools, the transcript as delimited data.

    Input that does not fit the model is read in parts, each updating the notes of the ones before, so
    summaries never nest. Parts already read are kept: an attempt that begins with the same ones, as a retry
    does even when the history has grown since, goes on behind them.
    """

    model: Model
    model_name: str
    input_budget: Callable[[], int]
    """Tokens one summary request may hold, asked anew for each attempt (a limit may be learnt meanwhile)."""
    count: Callable[[str], int]
    capabilities: Sequence[AbstractCapability[Any]] = ()
    mask: Callable[[str], str] = str
    pause: Pause = never_again
    """How long to wait before a request that failed is made again."""
    _notes: Notes = field(default_factory=Notes)

    async def summarise(self, task: SummaryTask, progress: Progress, ledger: Ledger) -> Summary:
        """Write the summary; see :class:`Summariser`."""
        task = replace(
            task,
            previous=self.mask(task.previous),
            focus=self.mask(task.focus),
            instructions=self.mask(task.instructions),
            budget_tokens=min(task.budget_tokens, _LONGEST_NOTES),
        )
        # In a thread: a long history takes a second, and a streaming answer shares this loop.
        material = await asyncio.to_thread(Material, task.items, self.mask)
        request = NotesRequest(
            self.model, self.capabilities, self.count, ledger, overheard=task.overheard, pause=self.pause
        )
        title, text = split_title(self.mask(await self._shrinking(task, material, request, progress)))
        return Summary(text=text, title=title, model=self.model_name)

    async def _shrinking(
        self, task: SummaryTask, material: Material, request: NotesRequest, progress: Progress
    ) -> str:
        """Read everything, in smaller parts from where the model has refused one as too long."""
        for attempt in range(_SHRINK_TRIES):
            try:
                return await self._in_parts(task, material, request, progress, 2**attempt)
            except Exception as error:
                if not isinstance(error, ContextTooLarge) and detect_overflow(error) is None:
                    raise
        raise SummaryFailed("even a small part of the conversation is too long for the model")

    async def _in_parts(
        self, task: SummaryTask, material: Material, request: NotesRequest, progress: Progress, shrink: int
    ) -> str:
        room = self.input_budget() - self._overhead(task)
        budget, about = max(_MINIMUM_PART, room // shrink), task.about
        to_read = await asyncio.to_thread(
            agenda, material, self._notes, about, budget, self.count, task.budget_tokens
        )
        if not material.items:
            raise SummaryFailed("there is nothing to summarise")
        language = language_of([typed_text(text) for _, text in prompts_of(task.items)])
        number, parts = to_read.notes.parts, to_read.notes.parts + len(to_read.parts)
        self._notes = to_read.notes
        for part in to_read.parts:
            number += 1
            report = partial(progress, number, parts)
            text = await self._read(task, part.text, language, request, report)
            self._notes = material.behind(replace(to_read, notes=self._notes), part, text)
        notes, self._notes = self._notes, Notes()
        said = CONDENSED.format(count=notes.condensed)
        return f"{notes.text}\n\n{said}" if notes.condensed else notes.text

    async def _read(
        self,
        task: SummaryTask,
        part: str,
        language: str,
        request: NotesRequest,
        report: Callable[[int], None],
    ) -> str:
        """Have one part read into the notes."""
        prompt = summary_prompt(
            fitted(self._notes.text, self._notes_room(task), self.count),
            part,
            focus=task.focus,
            instructions=task.instructions,
            budget_tokens=task.budget_tokens,
            language=language,
        )
        report(0)
        text = await request.ask(prompt, max_tokens=self._max_tokens(task), heard=report)
        if self.count(text) > self._answer(task) * _WORDY:
            raise SummaryFailed("the model wrote far more than it was asked for")
        return text

    def _overhead(self, task: SummaryTask) -> int:
        """Tokens of a request beside the transcript: task, notes so far, and room for the new ones."""
        notes = self._notes_room(task)
        told = self.count(INSTRUCTIONS) + self.count(task.focus) + self.count(task.instructions)
        return told + notes + self._answer(task) + self._thinking() + _FRAMING

    def _notes_room(self, task: SummaryTask) -> int:
        """Tokens of the notes so far that a request may hold beside the next part; models are wordy."""
        wanted = max(self.count(task.previous), task.budget_tokens * 3 // 2)
        return min(wanted, max(_MINIMUM_PART, self.input_budget() // 4))

    def _answer(self, task: SummaryTask) -> int:
        """Tokens the notes may take: room for a model that is wordy."""
        least = min(_SHORTEST_ANSWER, max(256, self.input_budget() // 4))
        return min(_LONGEST_ANSWER, max(least, task.budget_tokens * 2))

    def _thinking(self) -> int:
        return min(_THINKING, self.input_budget() // 4) if thinks(self.model) else 0

    def _max_tokens(self, task: SummaryTask) -> int:
        """Tokens the answer may take; what every window keeps free for one is for unexpected thinking."""
        answer = min(_LONGEST_ANSWER, self._answer(task) + answer_reserve(self.input_budget()))
        return answer + self._thinking()
