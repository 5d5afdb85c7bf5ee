"""Conversion of tool schemas to a form that providers accept.

An MCP server may define any JSON schema. Providers refuse top-level alternatives, lists without an item type
and property names with other characters, and each of these would fail every turn.
"""

import json
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, NamedTuple

from pydantic_ai.messages import ToolCallPart

_Schema = dict[str, Any]

_KEY, _FOREIGN = re.compile(r"[a-zA-Z0-9_.-]{1,64}"), re.compile(r"[^a-zA-Z0-9_.-]")
_BRANCHES = ("allOf", "anyOf", "oneOf")
_NOT_AT_THE_TOP = frozenset({*_BRANCHES, "$ref", "enum", "not", "const", "if", "then", "else"})
_PLAIN = ("type", "description", "enum", "properties", "required", "items")
_DEPTH = 8


class OwnNames(NamedTuple):
    """A tool's original name, and its renamed arguments: original names by sent names."""

    tool: str
    arguments: Mapping[str, str]

    def call(self, part: ToolCallPart) -> ToolCallPart:
        """Return a call with the original names."""
        args = part.args
        with suppress(ValueError):
            given = json.loads(args) if self.arguments and isinstance(args, str) else args
            if isinstance(given, dict):
                args = {self.arguments.get(name, name): value for name, value in given.items()}
        return replace(part, tool_name=self.tool, args=args)


def own_keys(schema: Mapping[str, Any]) -> dict[str, str]:
    """Return the original names of renamed properties, by sent names."""
    names = list(_as_object(schema, schema, _DEPTH)["properties"])
    taken, found = {name for name in names if _KEY.fullmatch(name)}, dict[str, str]()
    for name in names:
        if name not in taken:
            sent = _FOREIGN.sub("_", name)[:56] or "_"
            while sent in taken:
                sent += "_"
            taken.add(sent)
            found[sent] = name
    return found


def sent_schema(schema: _Schema, *, plain: bool = False) -> _Schema:
    """Convert the schema of a tool's arguments for sending. Returns the same object if nothing changes.

    Args:
        schema: Any schema.
        plain: Keep only types, texts and names, because a provider refused the rest.
    """
    made = _as_object(schema, schema, _DEPTH)
    names = {own: sent for sent, own in own_keys(schema).items()}
    made["properties"] = {names.get(name, name): each for name, each in made["properties"].items()}
    if "required" in made:
        made["required"] = [names.get(name, name) for name in made["required"]]
    made = _plain(made, schema, _DEPTH) if plain else _mended(made)
    return schema if made == schema else made


def _as_object(schema: Mapping[str, Any], root: Mapping[str, Any], depth: int) -> _Schema:
    """Merge all alternatives into one object. What each of them requires is required."""
    made = {name: each for name, each in schema.items() if name not in _NOT_AT_THE_TOP}
    properties, required = dict(_mapping(made.get("properties"))), list(_names(made.get("required")))
    groups = [(kind, schema.get(kind)) for kind in _BRANCHES]
    for kind, branches in [("allOf", [schema]) if "$ref" in schema else ("", None), *groups]:
        every = [_target(each, root) for each in branches or () if isinstance(each, Mapping)]
        inner = [_as_object(each, root, depth - 1) for each in every if depth]
        for each in inner:
            properties = {**each["properties"], **properties}
        needed = [set(_names(each.get("required"))) for each in inner]
        if needed:
            merged = set.union(*needed) if kind == "allOf" else set.intersection(*needed)
            required += [name for name in properties if name in merged and name not in required]
    made |= {"type": "object", "properties": properties}
    return made | ({"required": required} if required else {})


def _target(schema: Mapping[str, Any], root: Mapping[str, Any]) -> Mapping[str, Any]:
    """Resolve a reference within the schema; return the schema itself if it is none."""
    seen = 0
    while isinstance(place := schema.get("$ref"), str) and seen < _DEPTH:
        found: Any = root
        for step in place.removeprefix("#").split("/")[1:]:
            name = step.replace("~1", "/").replace("~0", "~")
            found = found.get(name) if isinstance(found, Mapping) else None
        schema, seen = _mapping(found), seen + 1
    return schema


def _mended(node: Any) -> Any:
    """Add items to lists, convert limits to numbers, and remove refused names from nested objects."""
    if isinstance(node, list):
        return [_mended(each) for each in node]
    if not isinstance(node, dict):
        return node
    made = {
        name: {key: _mended(each) for key, each in value.items()}
        if name in ("properties", "$defs", "definitions") and isinstance(value, dict)
        else value
        if name in ("enum", "const", "default", "examples")
        else _mended(value)
        for name, value in node.items()
    }
    if "array" in _names(made.get("type")) and not isinstance(made.get("items"), dict | bool):
        listed = made.get("items") or made.get("prefixItems")
        made["items"] = listed[0] if isinstance(listed, list) and len(listed) == 1 else {}
    for limit, exclusive in (("minimum", "exclusiveMinimum"), ("maximum", "exclusiveMaximum")):
        # In draft 4 of JSON Schema this is a flag.
        if isinstance(made.get(exclusive), bool) and made.pop(exclusive) and limit in made:
            made[exclusive] = made.pop(limit)
    if not all(map(_KEY.fullmatch, _mapping(made.get("properties")))):
        made.pop("required", None)
        made["properties"] = {name: each for name, each in made["properties"].items() if _KEY.fullmatch(name)}
    return made


def _plain(node: Mapping[str, Any], root: Mapping[str, Any], depth: int) -> _Schema:
    """Reduce to what every provider accepts: one type each, no references, no conditions."""
    node = _target(node, root)
    branches = (each for kind in _BRANCHES for each in node.get(kind) or () if isinstance(each, Mapping))
    branch = next((each for each in branches if each.get("type") != "null"), None)
    if branch is not None and depth:
        node = {**_target(branch, root), **{name: node[name] for name in _PLAIN if name in node}}
    kinds = [kind for kind in _names(node.get("type")) if kind != "null"]
    known = "object" if "properties" in node else "array" if "items" in node else "string"
    made: _Schema = {"type": kinds[0] if kinds else known}
    if "description" in node:
        made["description"] = node["description"]
    if (values := node.get("enum")) and all(isinstance(value, str) for value in values):
        made["enum"] = values
    if made["type"] == "object":
        properties = _mapping(node.get("properties")) if depth else {}
        inner = {name: _mapping(each) for name, each in properties.items() if _KEY.fullmatch(name)}
        made["properties"] = {name: _plain(each, root, depth - 1) for name, each in inner.items()}
        if required := [name for name in _names(node.get("required")) if name in inner]:
            made["required"] = required
    if made["type"] == "array":
        made["items"] = _plain(_mapping(node.get("items")), root, depth - 1) if depth else {"type": "string"}
    return made


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _names(value: object) -> Sequence[str]:
    if isinstance(value, str):
        return (value,)
    return [each for each in value if isinstance(each, str)] if isinstance(value, list) else ()
