"""Messages of a session's view, loaded from the log on first use."""

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from pydantic_ai.messages import ModelMessage, ModelMessagesTypeAdapter
from pydantic_core import PydanticSerializationError

from tui_app.events import AssistantMessage, SessionClear, SessionRestored, SessionRewind
from tui_app.session.event_heads import Head
from tui_app.session.event_rows import MESSAGES
from tui_app.session.views.agent_view import ALONE, AgentView

Place = tuple[int, int]
"""Log number of an event, and the index of one of its messages."""


def storable(message: ModelMessage) -> tuple[str, ModelMessage]:
    """A message as JSON for the log, and the message that JSON loads as.

    Unpaired surrogates, which are no valid JSON text and are refused by providers, become U+FFFD. Any other
    message is returned as the same object.
    """
    try:
        return ModelMessagesTypeAdapter.dump_json([message]).decode()[1:-1], message
    except PydanticSerializationError:
        data = json.dumps(ModelMessagesTypeAdapter.dump_python([message], mode="json"), ensure_ascii=False)
        text = data.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        return text[1:-1], ModelMessagesTypeAdapter.validate_json(text)[0]


def storable_list(messages: Sequence[ModelMessage]) -> tuple[str, list[ModelMessage]]:
    """Several messages as one JSON list, and the messages it loads as."""
    pairs = [storable(message) for message in messages]
    return f"[{','.join(text for text, _ in pairs)}]", [message for _, message in pairs]


@dataclass(slots=True)
class ViewMessages:
    """Caches the messages of one session's view, in the form that the view shows."""

    read: Callable[[int], str | None]
    """Returns the pydantic-ai message of an event as JSON, by log number."""
    _held: dict[Place, ModelMessage] = field(default_factory=dict)

    def of(self, head: Head) -> ModelMessage:
        """The message of a head; it must be loaded."""
        return self._held[_place(head)]

    def put(self, head: Head, message: ModelMessage) -> None:
        self._held[_place(head)] = message

    def put_forms(self, rewrite: int, messages: Iterable[ModelMessage]) -> None:
        """Cache the messages of a rewrite that was just logged."""
        self._held.update({(rewrite, place): message for place, message in enumerate(messages)})

    def keep(self, heads: Iterable[Head]) -> None:
        places = set(map(_place, heads))
        self._held = {place: message for place, message in self._held.items() if place in places}

    def read_heads(self, heads: Iterable[Head]) -> dict[int, ModelMessage]:
        """The messages of some heads by log number. The cache is unchanged."""
        requested, cache = list(heads), dict(self._held)
        self.load(requested)
        found = {head.seq: self.of(head) for head in requested}
        self._held = cache
        return found

    def newest(self, heads: Sequence[Head]) -> list[ModelMessage]:
        """The messages from the last answer on; loads no others."""
        answers = [place for place, head in enumerate(heads) if head.type == AssistantMessage.TYPE]
        tail = heads[answers[-1] :] if answers else []
        self.load(tail)
        return [self.of(head) for head in tail]

    def load(self, heads: Iterable[Head]) -> None:
        missing = [place for place in map(_place, heads) if place not in self._held]
        alone = [seq for seq, place in missing if place == ALONE]
        if alone:
            texts = [self.read(seq) or "null" for seq in alone]
            loaded = ModelMessagesTypeAdapter.validate_json(f"[{','.join(texts)}]")
            self._held.update({(seq, ALONE): message for seq, message in zip(alone, loaded, strict=True)})
        for rewrite in dict.fromkeys(seq for seq, place in missing if place != ALONE):
            text = self.read(rewrite) or "[]"
            self.put_forms(rewrite, ModelMessagesTypeAdapter.validate_json(text))


def _place(head: Head) -> Place:
    return head.form if head.form[0] else (head.seq, ALONE)


def original_heads(heads: Iterable[Head], *, cleared: bool = False) -> list[Head]:
    """Heads of all messages in their original form, except undone ones.

    Cleared ones are left out too, unless ``cleared`` is set.
    """
    view = AgentView()
    for head in heads:
        if head.type in _SAYING or (head.type == SessionClear.TYPE and not cleared):
            view.apply(head)
    return view.visible()


_SAYING = MESSAGES | {SessionRestored.TYPE, SessionRewind.TYPE}
