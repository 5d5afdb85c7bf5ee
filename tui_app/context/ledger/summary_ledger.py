"""The ledger that a summary carries where no log keeps what leaves."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from pydantic_ai.messages import CompactionPart, ModelMessage, ModelRequest

from tui_app.context.message_marks import OWN, own_metadata
from tui_app.context.views.view import Item


def with_ledger(message: ModelMessage, ledger: Mapping[str, Any]) -> ModelMessage:
    """A summary with the dump of its session's ledger."""
    part = message.parts[0]
    if not isinstance(message, ModelRequest) or not isinstance(part, CompactionPart):
        return message
    own = {**own_metadata(part.metadata), "ledger": ledger}
    return replace(message, parts=[replace(part, metadata={**(part.metadata or {}), OWN: own})])


def ledger_dumps(items: Sequence[Item]) -> Iterator[Mapping[str, Any]]:
    """Dumps of ledgers that summaries among some messages carry."""
    for part in (part for item in items for part in item.message.parts):
        own = own_metadata(part.metadata) if isinstance(part, CompactionPart) else {}
        if isinstance(dump := own.get("ledger"), Mapping):
            yield dump
