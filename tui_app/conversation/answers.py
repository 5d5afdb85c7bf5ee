"""Open questions, each with exactly one answer."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Generic, TypeVar

T = TypeVar("T")


@dataclass(slots=True)
class OpenQuestions(Generic[T]):
    """Questions without an answer yet, by id. Not thread-safe: use it on one event loop."""

    _answers: "dict[str, asyncio.Future[T]]" = field(default_factory=dict)

    async def ask(self, id: str, show: Callable[[], object]) -> T:
        """Show a question and wait for its answer."""
        answer: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self._answers[id] = answer
        try:
            show()
            return await answer
        finally:
            del self._answers[id]

    def answer(self, id: str, value: T) -> bool:
        """Answer a question. Returns False if it was not open: each is answered once."""
        waiting = self._answers.get(id)
        if waiting is None or waiting.done():
            return False
        waiting.set_result(value)
        return True
