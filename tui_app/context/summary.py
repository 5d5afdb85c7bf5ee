"""Writing the summary: the task, whoever can do it, and the one who asks a model."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from typing import Any, Protocol

from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.models import Model

from tui_app.context.fact_extractors.typed import typed_text
from tui_app.context.items import Item
from tui_app.context.languages import language_of
from tui_app.context.limits import ContextTooLarge
from tui_app.context.overflow import detect_overflow
from tui_app.context.render import clip, prompts_of
from tui_app.context.spending import Spent
from tui_app.context.summary_prompt import (
    INSTRUCTIONS,
    split_parts,
    split_title,
    summary_prompt,
)
from tui_app.context.summary_request import INTERACTION, NotesRequest, SummaryFailed, thinks
from tui_app.context.transcript import transcript
from tui_app.context.window import answer_reserve

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
    previous: str = ""
    """An earlier summary to update."""
    focus: str = ""
    instructions: str = ""
    """What else the person wants of the notes."""
    budget_tokens: int = 2_000

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
    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float | None = None

    @property
    def spent(self) -> Spent:
        """What it has cost."""
        return Spent(input_tokens=self.input_tokens, output_tokens=self.output_tokens, cost_usd=self.cost_usd)

    def costing(self, spent: Spent) -> "Summary":
        """The same summary at another cost."""
        return replace(
            self,
            input_tokens=spent.input_tokens,
            output_tokens=spent.output_tokens,
            cost_usd=spent.cost_usd,
        )


class Summariser(Protocol):
    """Whoever can turn old messages into a summary."""

    @property
    def model_name(self) -> str:
        """Name shown to the person while it works."""
        ...

    async def summarise(self, task: SummaryTask, progress: Progress) -> Summary:
        """Write the summary.

        Raises:
            SummaryFailed: if nothing usable came back.
        """
        ...


@dataclass(frozen=True, slots=True)
class _Notes:
    """How far the reading of a history has come."""

    about: tuple[str, ...] = ("",)
    """What was noted before it, and what is asked beyond that."""
    read: tuple[bytes, ...] = ()
    """Marks of the parts that have been read."""
    text: str = ""

    def behind(self, about: tuple[str, ...], parts: Sequence[str]) -> "_Notes":
        """These notes, if they are about the beginning of just these parts; else none yet."""
        same = self.about == about and self.read == tuple(map(_digest, parts[: len(self.read)]))
        return self if same else _Notes(about, (), about[0])


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
    _notes: _Notes = field(default_factory=_Notes)
    _spent: Spent = field(default_factory=Spent)
    """What has been paid for and not been told to anybody yet."""

    async def summarise(self, task: SummaryTask, progress: Progress) -> Summary:
        """Write the summary; see :class:`Summariser`."""
        task = replace(
            task,
            previous=self.mask(task.previous),
            focus=self.mask(task.focus),
            instructions=self.mask(task.instructions),
            budget_tokens=min(task.budget_tokens, _LONGEST_NOTES),
        )
        try:
            title, text = split_title(self.mask(await self._shrinking(task, progress)))
        except SummaryFailed as failed:
            failed.spent = self._take_spent()
            raise
        except Exception as error:
            raise SummaryFailed(spent=self._take_spent()) from error
        return Summary(text=text, title=title, model=self.model_name).costing(self._take_spent())

    async def _shrinking(self, task: SummaryTask, progress: Progress) -> str:
        """Read everything, in smaller parts each time that the model refuses one as too long."""
        for attempt in range(_SHRINK_TRIES):
            try:
                return await self._in_parts(task, progress, 2**attempt)
            except Exception as error:
                if not isinstance(error, ContextTooLarge) and detect_overflow(error) is None:
                    raise
        raise SummaryFailed("even a small part of the conversation is too long for the model")

    async def _in_parts(self, task: SummaryTask, progress: Progress, shrink: int) -> str:
        room = self.input_budget() - self._overhead(task)
        budget = max(_MINIMUM_PART, room // shrink)
        # In a thread: a long history takes a second, and a streaming answer shares this loop.
        parts, language = await asyncio.to_thread(self._parts, task, budget)
        if not parts:
            raise SummaryFailed("there is nothing to summarise")
        notes = self._notes.behind(task.about, parts)
        for index in range(len(notes.read), len(parts)):
            text = await self._read(task, notes.text, parts, index, language, progress)
            notes = replace(notes, read=(*notes.read, _digest(parts[index])), text=text)
            self._notes = notes
        self._notes = _Notes()
        return notes.text

    def _parts(self, task: SummaryTask, budget: int) -> tuple[list[str], str]:
        """The transcript without secrets, in portions of at most so many tokens, and the user's language."""
        lines = transcript(task.items, self.mask)
        said = [typed_text(text) for _, text in prompts_of(task.items)]
        return split_parts(lines, budget, self.count), language_of(said)

    async def _read(
        self,
        task: SummaryTask,
        notes: str,
        parts: Sequence[str],
        index: int,
        language: str,
        progress: Progress,
    ) -> str:
        """Have one part read into the notes."""
        longest = max(_MINIMUM_PART, self.input_budget() // 4) * 3
        prompt = summary_prompt(
            clip(notes, longest),
            parts[index],
            focus=task.focus,
            instructions=task.instructions,
            budget_tokens=task.budget_tokens,
            language=language,
        )
        progress(index + 1, len(parts), 0)
        text = await NotesRequest(self.model, self.capabilities, self.count).ask(
            prompt,
            max_tokens=self._max_tokens(task),
            heard=lambda written: progress(index + 1, len(parts), written),
            spend=self._spend,
        )
        if self.count(text) > self._answer(task) * _WORDY:
            raise SummaryFailed("the model wrote far more than it was asked for")
        return text

    def _overhead(self, task: SummaryTask) -> int:
        """Tokens of a request beside the transcript: task, notes so far, and room for the new ones."""
        notes = max(self.count(task.previous), task.budget_tokens)
        told = self.count(INSTRUCTIONS) + self.count(task.focus) + self.count(task.instructions)
        return told + notes + self._answer(task) + self._thinking() + _FRAMING

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

    def _spend(self, spent: Spent) -> None:
        self._spent += spent

    def _take_spent(self) -> Spent:
        spent, self._spent = self._spent, Spent()
        return spent


def _digest(part: str) -> bytes:
    return blake2b(part.encode("utf-8", "surrogatepass"), digest_size=16).digest()
