"""Tools of an MCP server that the model is offered, with their names. All texts of a server are untrusted."""

import json
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

from pydantic_ai.tools import ToolDefinition

from tui_app.agent.mcp.answers import DESCRIPTION_CHARS
from tui_app.records import frozen
from tui_app.text import count
from tui_app.tool_specs import TOOLS

NAME_CHARS = 64
"""Maximum characters of a tool's name that every provider accepts."""
MOST_TOOLS = 128
ALL_SCHEMA_CHARS = 400_000
"""Maximum characters of all schemas of a server: each takes time to check."""
MOST_TOLD = 50
"""Maximum sentences about left-out tools; of the rest, only the number."""
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_-]")


@frozen
class Offer:
    """The usable tools of a server's list."""

    tools: tuple[ToolDefinition, ...] = ()
    """As offered to the model; the server's own name of each is in its metadata."""
    left_out: tuple[str, ...] = ()
    """Sentences: which tool cannot be used, and why."""


def offer(server: str, listed: Sequence[Any], allowed: Collection[str] | None) -> Offer:
    """Select usable tools from a server's list.

    Args:
        server: Its name.
        listed: Its tools as in the protocol: name, description, input_schema, annotations.
        allowed: Names of the tools that may be used; None allows all.
    """
    tools: dict[str, ToolDefinition] = {}
    left_out: list[str] = []
    left = ALL_SCHEMA_CHARS
    known = {str(each.name) for each in listed}
    left_out += [f"{name} is allowed by the settings, but the server has no such tool."
                 for name in allowed or () if name not in known]  # fmt: skip
    for each in listed:
        if allowed is not None and each.name not in allowed:
            continue
        hints, name, schema = each.annotations, prefixed(server, each.name), dict(each.input_schema)
        why = ""
        if len(name) > NAME_CHARS:
            why = f"its name is longer than {NAME_CHARS} characters"
        elif name in tools:
            why = f"{own_name(tools[name]):.80} has the name {name} already"
        elif len(tools) >= MOST_TOOLS:
            why = f"a server may offer at most {MOST_TOOLS} tools"
        else:
            why = _schema_trouble(schema, left)
        if why:
            left_out.append(f"{each.name:.80} is left out: {why}.")
            continue
        tools[name] = ToolDefinition(
            name=name,
            description=(each.description or "")[:DESCRIPTION_CHARS],
            parameters_json_schema=schema,
            metadata={
                "mcp_server": server,
                "mcp_tool": each.name,
                "read_only_hint": bool(hints is not None and hints.read_only_hint),
            },
        )
        left -= len(json.dumps(schema))
    if (more := len(left_out) - MOST_TOLD) > 0:
        left_out = [*left_out[:MOST_TOLD], f"{count(more, 'more tool')} left out."]
    return Offer(tuple(tools.values()), tuple(left_out))


def _schema_trouble(schema: Mapping[str, Any], left: int) -> str:
    """Why a schema cannot be used; empty if it can.

    Args:
        schema: Of a tool's arguments.
        left: Characters still available for it.
    """
    if len(json.dumps(schema)) > left:
        return f"the schemas of all are longer than {ALL_SCHEMA_CHARS:,} characters"
    from tui_app.agent.answer_schema import schema_fault

    # A provider would reject it, and with it the whole request.
    fault = schema_fault(schema)
    return f"its schema is not a JSON schema ({fault[:120]})" if fault else ""


def own_name(tool: ToolDefinition) -> str:
    """The server's own name of a tool."""
    return str((tool.metadata or {})["mcp_tool"])


def prefixed(server: str, tool: str) -> str:
    return _NOT_IN_NAMES.sub("_", f"{server}_{tool}")


def without_clashes(offers: Mapping[str, Offer], taken: Callable[[], Collection[str]]) -> dict[str, Offer]:
    """Leave out tools with the name of one of ours, or of an earlier server.

    Args:
        offers: By server, in the order of the settings.
        taken: Names of all other tools, besides ours.
    """
    # Including tools that are off: a rule about one must not match a server's.
    owners = dict.fromkeys((*TOOLS, *taken()), "a tool of Plimsoll")
    kept: dict[str, Offer] = {}
    for server, each in offers.items():
        clash = [tool for tool in each.tools if tool.name in owners]
        rows = [f"{own_name(tool):.80} is left out: {owners[tool.name]} is called "
                f"{tool.name} already." for tool in clash]  # fmt: skip
        free = tuple(tool for tool in each.tools if tool not in clash)
        owners.update((tool.name, f"a tool of {server}") for tool in free)
        kept[server] = replace(each, tools=free, left_out=(*each.left_out, *rows))
    return kept
