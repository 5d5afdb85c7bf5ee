"""A tokenizer trained on the text that every request contains.

The plain scripted tokenizer encodes nearly everything byte by byte, so instructions and tool definitions
alone would fill a window of 2,048 tokens, which no real model's tokenizer does.
"""

import json
from collections.abc import Iterable
from pathlib import Path

import pytest
import regex

from tests.servers import scripted_gguf
from tests.servers.scripted_gguf import Vocabulary
from tui_app.agent.instructions.instructions import system_instructions
from tui_app.agent.tools.history import HistoryHit
from tui_app.agent.tools.lookup import build_toolset
from tui_app.agent.tools.workspace import Workspace
from tui_app.conversation.approvals import Approvals

_GPT2 = regex.compile(r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+")


class _NoHistory:
    def search(self, words: str, limit: int = 8) -> list[HistoryHit]:
        return []

    def fetch(self, seq: int, session: str = "") -> HistoryHit | None:
        return None


def carried_text() -> str:
    """Return the system instructions and tool definitions as sent with every request, without paths."""
    tools = build_toolset(Workspace(Path.cwd()), _NoHistory(), Approvals(print)).tools.values()
    definitions = [
        {
            "type": "function",
            "function": {
                "name": tool.tool_def.name,
                "description": tool.tool_def.description,
                "parameters": tool.tool_def.parameters_json_schema,
                "strict": True,
            },
        }
        for tool in tools
    ]
    return "\n".join([system_instructions(), *map(json.dumps, definitions)])


def learn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make model files written from now on contain a tokenizer trained on that text."""
    pieces = list(dict.fromkeys(_GPT2.findall(carried_text())))

    class Trained(Vocabulary):
        def __init__(self) -> None:
            super().__init__()
            self.learn_all(pieces)

        def learn_all(self, texts: Iterable[str]) -> None:
            for text in texts:
                if len(text) > 1:
                    self._learn(text)

    monkeypatch.setattr(scripted_gguf, "Vocabulary", Trained)
