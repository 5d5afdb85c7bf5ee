"""Calls, outputs and summaries of Codex in their several spellings."""

import json
from typing import Any

from tui_app.session.importers.content import block_list
from tui_app.session.importers.fields import record_text
from tui_app.session.importers.source import Json
from tui_app.session.importers.timeline import ToolOutcome

_NAMES = {
    "local_shell_call": "local_shell",
    "web_search_call": "web_search",
    "tool_search_call": "tool_search",
}
_DENIED = ("exec command rejected by user", "patch rejected by user", "rejected by user")
_ABORTED = ("aborted by user", "command aborted")


def call_of(item: Json) -> tuple[str, Any]:
    """Tool and arguments of a call."""
    kind = record_text(item, "type")
    name = record_text(item, "name") or _NAMES.get(kind, "")
    if namespace := record_text(item, "namespace"):
        name = f"{namespace}.{name}" if name else ""
    for key in ("arguments", "input", "action"):
        if key in item:
            return name, item[key] if key != "input" else {"input": item[key]}
    return name, {}


def output_of(item: Json) -> Any:
    """What a tool answered: text or blocks."""
    output = item.get("output")
    if isinstance(output, dict) and "content" in output:
        return output["content"]
    return output if output is not None else item.get("tools")


def outcome_of(item: Json, output: Any) -> ToolOutcome:
    """How a call ended, as far as its output tells."""
    raw = item.get("output")
    if isinstance(raw, dict) and raw.get("success") is False:
        return "error"
    text = output if isinstance(output, str) else ""
    if text.lower().startswith(_DENIED):
        return "denied"
    if text.lower().startswith(_ABORTED):
        return "interrupted"
    return "error" if _exit_code(text) else "success"


def summary_of(payload: Json) -> str:
    """The text that a compaction put in the place of the history; empty when it cannot be read."""
    if message := record_text(payload, "message").strip():
        return message
    replacement = payload.get("replacement_history")
    items = replacement if isinstance(replacement, list) else []
    prompts = [item for item in items if isinstance(item, dict) and item.get("type") == "message"]
    texts = [record_text(block, "text") for item in prompts[-1:] for block in _blocks(item)]
    return "\n".join(filter(None, texts)).strip()


def _blocks(item: Json) -> list[Json]:
    return [block for block in block_list(item.get("content")) if isinstance(block, dict)]


def _exit_code(text: str) -> int:
    """The exit code that an output reports; 0 when it reports none."""
    if text.startswith("{"):
        try:
            metadata = json.loads(text).get("metadata")
        except (ValueError, AttributeError, RecursionError):
            return 0
        code = metadata.get("exit_code") if isinstance(metadata, dict) else 0
        return code if isinstance(code, int) else 0
    for line in text.splitlines()[:6]:
        label, _, number = line.partition(":")
        if label.strip().lower() in ("exit code", "process exited with code") and number.strip().isdigit():
            return int(number) if len(number) < 9 else 1
        if line.startswith("Process exited with code ") and line.rsplit(" ", 1)[-1].isdecimal():
            return int(line.rsplit(" ", 1)[-1][:9])
    return 0
