"""Definitions of the tools that servers had when they last ran: what is counted where none is started."""

import hashlib
import json
import logging
from collections.abc import Sequence
from pathlib import Path

from pydantic_ai.tools import ToolDefinition

from tui_app.files import read_object, write_atomic
from tui_app.records import frozen
from tui_app.settings.tables import McpServer

_log = logging.getLogger(__name__)
_FIELDS = ("name", "description", "parameters_json_schema")


@frozen
class SeenTools:
    """Kept in one file; it can be learnt again, so whatever is wrong with it is as if it were not there."""

    file: Path

    def of(self, server: McpServer) -> list[ToolDefinition] | None:
        """What the server had; None where that is not known, or it is set differently by now."""
        entry = read_object(self.file).get(server.name)
        if not isinstance(entry, dict) or entry.get("key") != _key(server):
            return None
        try:
            return [ToolDefinition(**{name: tool[name] for name in _FIELDS}) for tool in entry["tools"]]
        except (KeyError, TypeError):
            return None

    def note(self, server: McpServer, tools: Sequence[ToolDefinition]) -> None:
        told = [{name: getattr(tool, name) for name in _FIELDS} for tool in tools]
        entry = {"key": _key(server), "tools": told}
        known = read_object(self.file)
        if known.get(server.name) == entry:
            return
        try:
            write_atomic(self.file, json.dumps({**known, server.name: entry}))
        except OSError as error:
            _log.warning("tools of MCP servers cannot be remembered: %s", error)


def _key(server: McpServer) -> str:
    """Changes with what decides about the tools; no value of a variable can be read from it."""
    said = json.dumps([server.command, server.args, server.url, server.cwd, server.tools])
    return hashlib.sha256(said.encode("utf-8", "replace")).hexdigest()[:16]
