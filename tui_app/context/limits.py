"""What is known about a model's window and tokenizer, from settings, servers, errors and reports."""

from dataclasses import dataclass, field

from pydantic_ai.models import Model

from tui_app.context.ceilings import Ceiling
from tui_app.context.learnt import LearntModels
from tui_app.context.overflow import ContextOverflow
from tui_app.context.usage import ContextWindow
from tui_app.context.window import answer_reserve, resolve_window

_STEP = 0.90
"""How much smaller the next request is when an error says no more than "too long"."""
_MARGIN = 0.95
"""Safety below a size worked out from an error's own numbers."""


class ContextTooLarge(Exception):
    """A request cannot fit, whatever is left out. Raised before it is sent, or after the one retry.

    Attributes:
        limit: Tokens the model takes, by whoever knows it; less may fit after a refusal without numbers.
        requested: Tokens the smallest possible request needs, room for the answer included.
    """

    def __init__(self, limit: int, requested: int) -> None:
        super().__init__(f"the request needs {requested} tokens and the model takes {limit}")
        self.limit = limit
        self.requested = requested


@dataclass(slots=True)
class Limits:
    """Windows and tokenizer factors by model; what is learnt is kept across sessions."""

    learnt: LearntModels
    setting: int | None = None
    """Window the person has set, in tokens."""
    server: dict[str, int] = field(default_factory=dict)
    """Window each server listed for a model, by ``model_key``."""
    _ceilings: dict[str, Ceiling] = field(default_factory=dict)

    def model_key(self, model: Model) -> str:
        """Name under which knowledge is kept: provider, model and address."""
        return f"{model.system}:{model.model_name}@{model.base_url or ''}"

    def _learnt_key(self, model: Model) -> str:
        # A server started anew with another window lists another number, and what was learnt is void.
        key = self.model_key(model)
        return f"{key}#{self.server.get(key, '')}"

    def window(self, model: Model) -> ContextWindow:
        """Resolve the window of a model; after an overflow without numbers it is smaller than announced."""
        window = self._announced(model)
        ceiling = self._ceilings.get(self.model_key(model))
        if ceiling is None or ceiling.tokens >= window.effective:
            return window
        # The ceiling is a size of requests, so room for the answer does not come off it again.
        limit = ceiling.tokens + answer_reserve(ceiling.tokens)
        return ContextWindow(
            limit=limit, source="learnt", reserve=limit - ceiling.tokens, announced=window.limit
        )

    def _announced(self, model: Model) -> ContextWindow:
        return resolve_window(
            setting=self.setting,
            learnt=self.learnt.limit(self._learnt_key(model)),
            server=self.server.get(self.model_key(model)),
            model=model.context_window,
        )

    def factor(self, model: Model) -> float:
        """Real tokens per counted token."""
        return self.learnt.factor(self.model_key(model))

    def observe(self, model: Model, counted: int, reported: int) -> float:
        """Learn from an answered request.

        Args:
            model: The model that answered.
            counted: Tokens of the request as counted without any factor.
            reported: Input tokens by the provider's usage; 0 when it reported none.
        """
        key = self.model_key(model)
        ceiling = self._ceilings.pop(key, None)
        if ceiling is not None:
            size = reported or round(counted * self.factor(model))
            left = ceiling.answered(size, self._announced(model).effective)
            if left is not None:
                self._ceilings[key] = left
        return self.learnt.observe(key, counted, reported)

    def learn(self, model: Model, overflow: ContextOverflow, counted: int) -> None:
        """Take in what an overflow says: tokenizer and limit where it gives numbers, and a smaller next try.

        Args:
            model: The model that refused.
            overflow: The recognised error.
            counted: Tokens of the refused request as counted without any factor.
        """
        key = self.model_key(model)
        if overflow.input and counted:
            self.learnt.observe(key, counted, overflow.input)
        if overflow.limit:
            self.learnt.learn_limit(self._learnt_key(model), overflow.limit)
        believed = round(counted * self.factor(model))
        target = self._next_size(model, overflow, believed)
        if target < self.window(model).effective:
            announced = self._announced(model).effective
            self._ceilings[key] = Ceiling.refused(target, announced, named=bool(overflow.limit))

    def _next_size(self, model: Model, overflow: ContextOverflow, believed: int) -> int:
        """Largest request, in tokens of our estimate, that is worth sending after a refusal."""
        if overflow.limit and overflow.requested and overflow.requested > overflow.limit:
            room = self._announced(model).effective
            return int(believed * min(1.0, room / overflow.requested) * _MARGIN)
        return int(min(believed, self.window(model).effective) * _STEP)
