"""Which tools of an MCP server the model is offered, and under which names. All a server says is foreign."""

import json
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pydantic_ai.tools import ToolDefinition

from tui_app.settings.rule_names import OUR_TOOLS

NAME_CHARS = 64
"""Characters of a tool's name that every provider takes."""
DESCRIPTION_CHARS = 4_000
SCHEMA_CHARS = 40_000
MOST_TOOLS = 128
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_-]")


@dataclass(frozen=True, slots=True)
class Offered:
    """One tool: how the server calls it, and how the model does."""

    server: str
    own_name: str
    definition: ToolDefinition

    @property
    def claims_read_only(self) -> bool:
        """Whether the server says that it changes nothing; a hint, nothing to rely on."""
        return bool((self.definition.metadata or {}).get("read_only_hint"))


@dataclass(frozen=True, slots=True)
class Offer:
    """What comes of a server's list."""

    tools: tuple[Offered, ...] = ()
    left_out: tuple[str, ...] = ()
    """Sentences: which tool cannot be used, and why."""


def offer(server: str, listed: Sequence[Any], allowed: Collection[str] | None) -> Offer:
    """Choose from what a server lists.

    Args:
        server: Its name.
        listed: Its tools as the protocol has them: name, description, input_schema, annotations.
        allowed: Names of those that may be used; None allows all.
    """
    tools: dict[str, Offered] = {}
    left_out: list[str] = []
    known = {str(each.name) for each in listed}
    left_out += [f"{name} is allowed by the settings, but the server has no such tool."
                 for name in allowed or () if name not in known]  # fmt: skip
    for each in listed:
        if allowed is not None and each.name not in allowed:
            continue
        tool = _offered(server, each)
        if (why := _unusable(tool, tools)) or len(tools) >= MOST_TOOLS:
            left_out.append(
                f"{each.name:.80} is left out: {why or f'a server may bring {MOST_TOOLS} tools'}."
            )
        else:
            tools[tool.definition.name] = tool
    return Offer(tuple(tools.values()), tuple(left_out))


def _offered(server: str, listed: Any) -> Offered:
    hints = listed.annotations
    definition = ToolDefinition(
        name=prefixed(server, listed.name),
        description=(listed.description or "")[:DESCRIPTION_CHARS],
        parameters_json_schema=dict(listed.input_schema),
        metadata={
            "mcp_server": server,
            "mcp_tool": listed.name,
            "read_only_hint": bool(hints is not None and hints.read_only_hint),
        },
    )
    return Offered(server, listed.name, definition)


def prefixed(server: str, tool: str) -> str:
    """The name the model calls a tool by."""
    return _NOT_IN_NAMES.sub("_", f"{server}_{tool}")


def _unusable(tool: Offered, others: Mapping[str, Offered]) -> str:
    name = tool.definition.name
    if len(name) > NAME_CHARS:
        return f"its name is longer than {NAME_CHARS} characters"
    if name in others:
        return f"{others[name].own_name:.80} has the name {name} already"
    if len(json.dumps(tool.definition.parameters_json_schema)) > SCHEMA_CHARS:
        return f"its schema is longer than {SCHEMA_CHARS:,} characters"
    return ""


def without_clashes(offers: Mapping[str, Offer], taken: Callable[[], Collection[str]]) -> dict[str, Offer]:
    """Leave out what has the name of a tool of ours, or of a server named before.

    Args:
        offers: By server, in the order of the settings.
        taken: Names of all other tools; ours are known.
    """
    # Also of those that are switched off: a rule about one must not fit a server's.
    owners = dict.fromkeys((*OUR_TOOLS, *taken()), "a tool of Plimsoll")
    kept: dict[str, Offer] = {}
    for server, each in offers.items():
        clash = [tool for tool in each.tools if tool.definition.name in owners]
        told = [f"{tool.own_name:.80} is left out: {owners[tool.definition.name]} is called "
                f"{tool.definition.name} already." for tool in clash]  # fmt: skip
        free = tuple(tool for tool in each.tools if tool not in clash)
        owners.update((tool.definition.name, f"a tool of {server}") for tool in free)
        kept[server] = replace(each, tools=free, left_out=(*each.left_out, *told))
    return kept
