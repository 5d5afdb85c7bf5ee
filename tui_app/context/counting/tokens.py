"""Token counts of messages by category, each message counted once."""

import weakref
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

from pydantic_ai.messages import (
    BaseToolCallPart,
    BaseToolReturnPart,
    CachePoint,
    CompactionPart,
    FilePart,
    InstructionDeltaPart,
    ModelMessage,
    ModelRequest,
    MultiModalContent,
    RetryFeedbackPart,
    RetryPromptPart,
    SpeechPart,
    SystemPromptPart,
    TextContent,
    TextPart,
    ThinkingPart,
    UserPromptPart,
    is_multi_modal_content,
)
from pydantic_ai.tools import ToolDefinition
from pydantic_core import to_json

from tui_app.context.counting.attachments import attachment_tokens, file_name, text_of
from tui_app.context.counting.encodings import TextCounter
from tui_app.context.message_marks import is_digest_part, is_inbox_part, is_shell_part, note_kind
from tui_app.usage import Breakdown, around
from tui_app.wires.web_searches import is_search

Costs = list[tuple[str, int]]
"""Tokens by category; the first entry is the part's main category. Pictures are separate attachments."""
_PICTURED = "pictured"

CALL_OVERHEAD = 4
"""Tokens of the markup around one tool call in a response."""
SUMMARY_OVERHEAD = 40
"""Tokens of the sentence and tags that pydantic-ai puts around a summary."""

_NEVER_SENT = frozenset({"instruction-baseline", "capability-load-delta", "model-settings-delta"})
"""Kinds of parts that pydantic-ai never sends; not all of its versions have each."""
_DEPTH = 16
_NESTED_FILE = "[file]"


def part_costs(part: object, text: TextCounter, *, unknown: str, model: str = "") -> Costs:
    """Count one part of a request or response. Never fails, whatever a part contains.

    Args:
        part: Any message part, of known or unknown kind.
        text: Counts the text in it.
        unknown: Category for an unknown kind of part.
        model: Name of the model it is sent to: the cost of pictures depends on its vendor.

    Returns:
        The costs, empty only for records that pydantic-ai keeps in a history but never sends.
    """
    if getattr(part, "part_kind", "") in _NEVER_SENT:
        return []
    # A part that breaks its own type (hand-made, from a newer version) still uses tokens.
    with suppress(ValueError, TypeError, AttributeError, RecursionError):
        costs = _request_part(part, text, model) or _response_part(part, text, model)
        if costs is not None:
            return costs
    return [(unknown, max(1, text.count(to_json_text(part))))]


def to_json_text(value: object) -> str:
    """Serialize any value as JSON, or with ``repr`` if JSON cannot express it (cycles, foreign objects)."""
    try:
        return to_json(value, fallback=repr, inf_nan_mode="constants", bytes_mode="base64").decode()
    except (ValueError, TypeError, RecursionError):
        pass
    try:
        return repr(value)
    except Exception as error:  # A foreign object's own repr may raise anything.
        return f"{type(value).__name__}: {type(error).__name__}"


def _request_part(part: object, text: TextCounter, model: str) -> Costs | None:
    match part:
        case SystemPromptPart():
            return [("system", text.count(part.content))]
        case InstructionDeltaPart():
            return [("system", text.count(part.render()))]
        case UserPromptPart():
            costs = _user_content(part.content, text, model)
            # Notes of the program are sent in the user's role, too.
            by = "memory" if is_inbox_part(part) or note_kind(part) == "folder" else "user"
            by = "tool_results" if is_digest_part(part) or is_shell_part(part) else by
            return [(by, costs[0][1]), *costs[1:]]
        case BaseToolReturnPart():
            return _tool_return(part, text, model)
        case RetryPromptPart() | RetryFeedbackPart():
            # The program's own feedback on a response is counted like an error of a call.
            return [("tool_results", text.count(part.model_response()))]
        case CompactionPart():
            if part.content is not None:
                return [("summary", text.count(part.content) + SUMMARY_OVERHEAD)]
            return [("summary", _hidden_tokens(to_json_text(part.provider_details or {})))]
        case _:
            return None


def _response_part(part: object, text: TextCounter, model: str) -> Costs | None:
    match part:
        case TextPart():
            return [("assistant", text.count(part.content))]
        case ThinkingPart(content=thought, signature=None | "") if not thought.strip():
            # Emptied thinking is not sent: it must not count as thinking, whose framing weighs most.
            return []
        case ThinkingPart():
            hidden = _hidden_tokens(part.signature or "")
            return [("thinking", text.count(part.content) if part.content else hidden)]
        case BaseToolCallPart():
            args = part.args if isinstance(part.args, str) else to_json_text(part.args or {})
            return [("tool_calls", text.count(part.tool_name) + text.count(args) + CALL_OVERHEAD)]
        case FilePart():
            return _file(part.content, text, model)
        case SpeechPart():
            tokens, audio = text.count(part.transcript or ""), part.audio
            return [(part.speaker, tokens), *(_file(audio, text, model) if audio and not tokens else ())]
        case _:
            return None


def _hidden_tokens(encrypted: str) -> int:
    """Estimate the tokens of text that a provider returns encrypted: base64, and 4 bytes per token."""
    return -(-len(encrypted) * 3 // 16)


def _user_content(content: Any, text: TextCounter, model: str) -> Costs:
    if isinstance(content, str):
        return [("user", text.count(content))]
    tokens, attached = 0, list[tuple[str, int]]()
    for item in content:
        value = item.content if isinstance(item, TextContent) else item
        if is_multi_modal_content(item):
            attached += _file(item, text, model)
        elif file_name(item):
            attached.append(("attachments", text.count(value)))
        elif not isinstance(item, CachePoint):
            tokens += text.count(value if isinstance(value, str) else to_json_text(value))
    return [("user", tokens), *attached]


def _without_files(value: Any, files: list[MultiModalContent], depth: int) -> Any:
    """Copy tool data without its files, which would otherwise be counted as base64 text."""
    if is_multi_modal_content(value):
        files.append(value)
        return _NESTED_FILE
    if depth <= 0:
        return value
    if isinstance(value, dict):
        return {key: _without_files(item, files, depth - 1) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_without_files(item, files, depth - 1) for item in value]
    return value


def _tool_return(part: BaseToolReturnPart[Any], text: TextCounter, model: str) -> Costs:
    content: Any = part.content
    if is_search(part):
        # Providers return the pages encrypted.
        found = content if isinstance(content, list) else [content]
        rows = [dict(row) if isinstance(row, dict) else row for row in found]
        hidden = "".join(str(row.pop("encrypted_content", "")) for row in rows if isinstance(row, dict))
        return [("tool_results", text.count(to_json_text(rows)) + _hidden_tokens(hidden))]
    if isinstance(content, str):
        return [("tool_results", text.count(part.model_response_str()))]
    files: list[MultiModalContent] = []
    data = _without_files(content, files, _DEPTH)
    tokens = 0 if data is None else text.count(data if isinstance(data, str) else to_json_text(data))
    return [("tool_results", tokens), *(cost for item in files for cost in _file(item, text, model))]


def _file(item: MultiModalContent, text: TextCounter, model: str) -> Costs:
    if (content := text_of(item)) is not None:
        return [("attachments", text.count(content))]
    return [(_PICTURED, attachment_tokens(item, model))]


MESSAGE_OVERHEAD = 4
"""Tokens of the markup around one message on the wire, after OpenAI's published chat format."""
TOOL_OVERHEAD = 8
"""Tokens of the markup around one tool definition."""

_TEXTS_KEPT = 1_024


class TokenCounter:
    """Counts messages, instructions and tool definitions, and caches the counts.

    Messages never change once they are in a view, so they are recognized by identity. Counts are those of the
    text counter, without calibration factor; they are repeated when it gets its tokenizer. Not thread-safe.
    """

    def __init__(self, text: TextCounter, model: str = "") -> None:
        """Count with a text counter.

        Args:
            text: Counts plain text, loaded or not.
            model: Name of the model, as far as it is known yet.
        """
        self._form: Callable[[object], object] | None = None
        self._model = model
        self._text = text
        self._loaded = text.loaded
        # Weak references, so that the cache does not keep a conversation alive.
        self._messages: dict[int, tuple[weakref.ref[ModelMessage], int, Breakdown]] = {}
        """With the number of parts and the count."""
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
        """Return the tokens of plain text; not cached."""
        return self._text.count(text)

    def message(self, message: ModelMessage) -> Breakdown:
        """Return the tokens of one message by category, including its framing.

        Neither its metadata nor its ``instructions`` field is counted: the first is never sent, the second
        only once per request, see :meth:`instructions`.
        """
        self._refresh()
        known = self._messages.get(id(message))
        if known is None or known[0]() is not message or known[1] != len(message.parts):
            return self._count(message)
        return known[2]

    def part(self, part: object, unknown: str) -> int:
        """Return the tokens of one part of a message, without the framing of the message.

        Args:
            part: Any part of a request or response.
            unknown: Category for an unknown kind of part.
        """
        self._refresh()
        return sum(cost for _, cost in self._costs(part, unknown))

    def instructions(self, text: str) -> int:
        """Return the tokens of the instructions sent with every request; 0 for none."""
        return self._remembered(text) + MESSAGE_OVERHEAD if text else 0

    def tools(self, definitions: Sequence[ToolDefinition]) -> int:
        """Return the tokens of tool definitions: names, descriptions and schemas. Deferred ones are free."""
        sent = (tool for tool in definitions if not tool.defer_loading)
        return sum(self._remembered(wire_text(tool)) + TOOL_OVERHEAD for tool in sent)

    def count_as(self, form: Callable[[object], object] | None, model: str = "") -> bool:
        """Count parts with more than text in the form a model receives, and with its vendor's costs.

        Args:
            form: Converts a part, always the same way; None counts parts as they are.
            model: Name of the model.

        Returns:
            Whether form or model changed.
        """
        if (form, model) == (self._form, self._model):
            return False
        self._form, self._model = form, model
        for key, (reference, _, _) in list(self._messages.items()):
            message = reference()
            if message is None or not all(isinstance(getattr(p, "content", ""), str) for p in message.parts):
                self._messages.pop(key, None)
        for key, (part, _) in list(self._parts.items()):
            if not isinstance(getattr(part(), "content", ""), str):
                self._parts.pop(key, None)
        return True

    def forget(self) -> None:
        """Clear the cache."""
        self._messages.clear()
        self._parts.clear()
        self._texts.clear()

    def overhead(self, instructions: str, tools: Sequence[ToolDefinition]) -> Breakdown:
        """Return the tokens of instructions and tools; a history scales them by the factor of its model."""
        return Breakdown(system=self.instructions(instructions), tools=self.tools(tools))

    def _count(self, message: ModelMessage) -> Breakdown:
        key = id(message)
        # Providers treat each part of a request as a message, and all parts of a response as one; the framing
        # belongs to the category of the part it frames.
        tokens: Counter[str] = Counter()
        request = isinstance(message, ModelRequest)
        for part in message.parts:
            costs = self._costs(part, "user" if request else "assistant")
            if costs and (request or not tokens):
                tokens["attachments" if costs[0][0] == _PICTURED else costs[0][0]] += MESSAGE_OVERHEAD
            for category, cost in costs:
                tokens[category] += cost
                tokens["attachments"] += cost if category == _PICTURED else 0
        own = (getattr(part, "tool_call_id", "") for part in message.parts)
        ids = [each for each in own if isinstance(each, str)]
        whole = Breakdown(**tokens, around=around(tokens["thinking"], ids))
        messages = self._messages
        # Remove the entry along with the message: its id may be given to another object.
        reference = weakref.ref(message, lambda _gone: messages.pop(key, None))
        messages[key] = reference, len(message.parts), whole
        return whole

    def _costs(self, part: object, unknown: str) -> Costs:
        """Cached by part: parts outlive the messages that are merged and cut for single requests."""
        known = self._parts.get(id(part))
        if known is not None and known[0]() is part:
            return known[1]
        formed = part if self._form is None else self._form(part)
        costs = part_costs(formed, self._text, unknown=unknown, model=self._model)
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
        """Drop estimates once the tokenizer is loaded."""
        if self._loaded != self._text.loaded:
            self._loaded = self._text.loaded
            self.forget()


def wire_text(tool: ToolDefinition) -> str:
    """Return the JSON of a tool as providers send it."""
    parameters = tool.parameters_json_schema
    wire = {"name": tool.name, "description": tool.description or "", "parameters": parameters}
    if tool.include_return_schema and tool.return_schema:
        wire["returns"] = tool.return_schema
    return to_json_text(wire)
