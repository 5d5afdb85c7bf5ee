"""Counting messages: each one once, split by what the tokens are spent on."""

import weakref
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from pydantic_ai.messages import ModelMessage, ModelRequest
from pydantic_ai.tools import ToolDefinition

from tui_app.context.counting.encodings import TextCounter
from tui_app.context.counting.parts import Costs, part_costs, to_json_text
from tui_app.context.counting.usage import Breakdown, sum_breakdowns

MESSAGE_OVERHEAD = 4
"""Tokens of the markup around one message on the wire, after OpenAI's published chat format."""
REQUEST_OVERHEAD = 3
"""Tokens that open the answer, once per request, after the same format."""
TOOL_OVERHEAD = 8
"""Tokens of the markup around one tool definition."""

_TEXTS_KEPT = 1_024


@dataclass(slots=True)
class _Counted:
    """One message's count; holds it weakly, so that the cache keeps no conversation alive."""

    message: "weakref.ref[ModelMessage]"
    parts: int
    plain: Breakdown
    factor: float
    scaled: Breakdown


class TokenCounter:
    """Counts messages, instructions and tool definitions, and remembers what it has counted.

    Messages are never changed once they stand in a view, so one is known again by its identity. Counts are
    those of the text counter times a factor learnt for the model's own tokenizer; they are done again when
    the text counter gets its tokenizer. For one thread at a time.
    """

    def __init__(self, text: TextCounter, factor: float = 1.0) -> None:
        """Count with a text counter.

        Args:
            text: Counts plain text, loaded or not.
            factor: Tokens the model's provider reports per token counted with factor 1.
        """
        self.factor = factor
        self._text = text
        self._loaded = text.loaded
        self._messages: dict[int, _Counted] = {}
        self._parts: dict[int, tuple[weakref.ref[object], Costs]] = {}
        self._texts: dict[str, int] = {}

    @property
    def loaded(self) -> bool:
        """Whether counts come from a tokenizer; those made before it was loaded are estimates."""
        return self._text.loaded

    @property
    def exact(self) -> bool:
        """Whether text is counted by the model's own tokenizer."""
        return self._text.exact

    def text(self, text: str) -> int:
        """Tokens of plain text, by the model's factor; not remembered."""
        return round(self._text.count(text) * self.factor)

    def unscaled(self, tokens: int) -> int:
        """The count with factor 1 behind a count of this object: what a factor is learnt from."""
        return round(tokens / self.factor)

    def message(self, message: ModelMessage) -> Breakdown:
        """Tokens of one message by category, its framing included.

        Neither its metadata nor its ``instructions`` field is counted: the first is never sent, the second
        only once per request, see :meth:`instructions`.
        """
        self._refresh()
        counted = self._messages.get(id(message))
        if counted is None or counted.message() is not message or counted.parts != len(message.parts):
            counted = self._count(message)
        if counted.factor != self.factor:
            counted.factor, counted.scaled = self.factor, counted.plain.scaled(self.factor)
        return counted.scaled

    def part(self, part: object, unknown: str) -> int:
        """Tokens of one part of a message, without the framing of the message.

        Args:
            part: Any part of a request or response.
            unknown: Category for a kind of part that is not known.
        """
        self._refresh()
        return round(sum(cost for _, cost in self._costs(part, unknown)) * self.factor)

    def instructions(self, text: str) -> int:
        """Tokens of the instructions sent with every request; 0 for none."""
        if not text:
            return 0
        return round((self._remembered(text) + MESSAGE_OVERHEAD) * self.factor)

    def tools(self, definitions: Sequence[ToolDefinition]) -> int:
        """Tokens of tool definitions: names, descriptions and schemas."""
        plain = sum(self._remembered(wire_text(tool)) + TOOL_OVERHEAD for tool in definitions)
        return round(plain * self.factor)

    def forget(self) -> None:
        """Drop what is remembered; it is counted again when it is needed."""
        self._messages.clear()
        self._parts.clear()
        self._texts.clear()

    def carried(self, instructions: str, tools: Sequence[ToolDefinition]) -> Breakdown:
        """Tokens every request carries beside its messages, without any factor.

        A history scales them by the factor of the model it is told with them.
        """
        return Breakdown(
            system=self.unscaled(self.instructions(instructions)), tools=self.unscaled(self.tools(tools))
        )

    def request(
        self,
        messages: Iterable[ModelMessage],
        *,
        instructions: str = "",
        tools: Sequence[ToolDefinition] = (),
    ) -> Breakdown:
        """Tokens of a whole request by category."""
        counted = [self.message(message) for message in messages]
        fixed = Breakdown(system=self.instructions(instructions) + REQUEST_OVERHEAD, tools=self.tools(tools))
        return sum_breakdowns([fixed, *counted])

    def _count(self, message: ModelMessage) -> _Counted:
        key = id(message)
        plain = self._breakdown(message)
        messages = self._messages
        # When the message goes, so does its entry: its id may be given to another object.
        reference = weakref.ref(message, lambda _gone: messages.pop(key, None))
        counted = _Counted(reference, len(message.parts), plain, self.factor, plain.scaled(self.factor))
        messages[key] = counted
        return counted

    def _breakdown(self, message: ModelMessage) -> Breakdown:
        """Count a message by category, unscaled.

        Providers take each part of a request as a message of its own, and all parts of a response as one; the
        framing goes to the category of the part it frames.
        """
        tokens: Counter[str] = Counter()
        request = isinstance(message, ModelRequest)
        for part in message.parts:
            costs = self._costs(part, "user" if request else "assistant")
            if costs and (request or not tokens):
                tokens[costs[0][0]] += MESSAGE_OVERHEAD
            for category, cost in costs:
                tokens[category] += cost
        return Breakdown(**tokens)

    def _costs(self, part: object, unknown: str) -> Costs:
        """Cost of one part; parts outlive the messages that are merged and cut for single requests."""
        known = self._parts.get(id(part))
        if known is not None and known[0]() is part:
            return known[1]
        costs = part_costs(part, self._text, unknown=unknown)
        key, parts = id(part), self._parts
        try:
            reference = weakref.ref(part, lambda _gone: parts.pop(key, None))
        except TypeError:
            return costs
        parts[key] = (reference, costs)
        return costs

    def _remembered(self, text: str) -> int:
        self._refresh()
        if text not in self._texts:
            if len(self._texts) >= _TEXTS_KEPT:
                self._texts.clear()
            self._texts[text] = self._text.count(text)
        return self._texts[text]

    def _refresh(self) -> None:
        """Forget estimates once the tokenizer is there."""
        if self._loaded != self._text.loaded:
            self._loaded = self._text.loaded
            self.forget()


def wire_text(tool: ToolDefinition) -> str:
    """What providers send of a tool, as JSON."""
    wire = {
        "name": tool.name,
        "description": tool.description or "",
        "parameters": tool.parameters_json_schema,
    }
    if tool.include_return_schema and tool.return_schema:
        wire["returns"] = tool.return_schema
    return to_json_text(wire)
