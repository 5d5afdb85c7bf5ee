"""Ledgers carried by summaries, for histories without a log of removed messages."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from pydantic_ai.messages import CompactionPart, ModelMessage, ModelRequest

from tui_app.context.message_marks import OWN, own_metadata
from tui_app.context.views.view import Item


def with_ledger(message: ModelMessage, ledger: Mapping[str, Any]) -> ModelMessage:
    """Add the dump of its session's ledger to a summary."""
    part = message.parts[0]
    if not isinstance(message, ModelRequest) or not isinstance(part, CompactionPart):
        return message
    own = {**own_metadata(part.metadata), "ledger": ledger}
    return replace(message, parts=[replace(part, metadata={**(part.metadata or {}), OWN: own})])


def ledger_dumps(items: Sequence[Item]) -> Iterator[Mapping[str, Any]]:
    """Yield the ledger dumps in summaries among some messages."""
    for part in (part for item in items for part in item.message.parts):
        own = own_metadata(part.metadata) if isinstance(part, CompactionPart) else {}
        if isinstance(dump := own.get("ledger"), Mapping):
            yield dump
