"""Definitions of the tools that servers had when they last ran, to count them without starting a server."""

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
    """A cache in one file. A damaged one is ignored, because its content can be learned again."""

    file: Path

    def of(self, server: McpServer) -> list[ToolDefinition] | None:
        """The server's tools; None if unknown, or if its settings have changed."""
        entry = read_object(self.file).get(server.name)
        if not isinstance(entry, dict) or entry.get("key") != _key(server):
            return None
        try:
            return [ToolDefinition(**{name: tool[name] for name in _FIELDS}) for tool in entry["tools"]]
        except (KeyError, TypeError):
            return None

    def note(self, server: McpServer, tools: Sequence[ToolDefinition]) -> None:
        records = [{name: getattr(tool, name) for name in _FIELDS} for tool in tools]
        entry = {"key": _key(server), "tools": records}
        known = read_object(self.file)
        if known.get(server.name) == entry:
            return
        try:
            write_atomic(self.file, json.dumps({**known, server.name: entry}))
        except OSError as error:
            _log.warning("tools of MCP servers cannot be remembered: %s", error)


def _key(server: McpServer) -> str:
    """Hash of the settings that decide about the tools. No values of variables are included."""
    text = json.dumps([server.command, server.args, server.url, server.cwd, server.tools])
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:16]
