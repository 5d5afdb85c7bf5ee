"""What is known about a model's window and tokenizer, from settings, servers, errors and reports."""

from dataclasses import dataclass, field

from pydantic_ai.models import Model

from tui_app.context.learnt import LearntModels
from tui_app.context.overflow import ContextOverflow
from tui_app.context.usage import ContextWindow
from tui_app.context.window import resolve_window

_BUFFER_STEP = 0.10
_BUFFER_MAX = 0.50


class ContextTooLarge(Exception):
    """A request cannot fit, whatever is left out. Raised before it is sent, or after the one retry.

    Attributes:
        limit: Tokens the model takes.
        requested: Tokens the smallest possible request has.
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
    _buffers: dict[str, float] = field(default_factory=dict)

    def model_key(self, model: Model) -> str:
        """Name under which knowledge is kept: provider, model and address."""
        return f"{model.system}:{model.model_name}@{model.base_url or ''}"

    def _learnt_key(self, model: Model) -> str:
        # A server started anew with another window lists another number, and what was learnt is void.
        key = self.model_key(model)
        return f"{key}#{self.server.get(key, '')}"

    def window(self, model: Model) -> ContextWindow:
        """Resolve the window of a model; after an overflow without numbers it is smaller than announced."""
        key = self.model_key(model)
        window = resolve_window(
            setting=self.setting,
            learnt=self.learnt.limit(self._learnt_key(model)),
            server=self.server.get(key),
            model=model.context_window,
        )
        buffer = self._buffers.get(key, 0.0)
        if not buffer:
            return window
        return resolve_window(learnt=max(256, int(window.limit * (1 - buffer))))

    def factor(self, model: Model) -> float:
        """Real tokens per counted token."""
        return self.learnt.factor(self.model_key(model))

    def observe(self, model: Model, counted: int, reported: int) -> float:
        """Learn from a reported usage; both in tokens, ``counted`` without any factor."""
        return self.learnt.observe(self.model_key(model), counted, reported)

    def learn(self, model: Model, overflow: ContextOverflow, counted: int) -> None:
        """Take in what an overflow says: the limit when it names one, else a larger safety buffer.

        Args:
            model: The model that refused.
            overflow: The recognised error.
            counted: Tokens of the refused request as counted without any factor.
        """
        if overflow.input and counted:
            self.observe(model, counted, overflow.input)
        if overflow.limit:
            self.learnt.learn_limit(self._learnt_key(model), overflow.limit)
            return
        key = self.model_key(model)
        self._buffers[key] = min(_BUFFER_MAX, self._buffers.get(key, 0.0) + _BUFFER_STEP)
