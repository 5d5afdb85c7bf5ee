"""A small JSON Schema validator: the keywords our schemas use, and an error for any other.

Stricter than the standard: an object must not have properties that its schema does not name. The published
schemas allow them for the sake of later versions, but this version prints nothing undescribed.
"""

from collections.abc import Callable, Iterator
from typing import Any

Schema = Any
SILENT = {"$schema", "$defs", "title", "description"}
"""Keywords that never reject anything."""
BESIDE = {"prefixItems", "properties", "additionalProperties"}
"""Keywords evaluated together with ``items`` and ``type``."""
TYPES: dict[str, Callable[[Any], bool]] = {
    "string": lambda value: isinstance(value, str),
    "integer": lambda value: isinstance(value, int) and not isinstance(value, bool),
    "number": lambda value: isinstance(value, int | float) and not isinstance(value, bool),
    "boolean": lambda value: isinstance(value, bool),
    "null": lambda value: value is None,
    "array": lambda value: isinstance(value, list),
    "object": lambda value: isinstance(value, dict),
}


def problems(value: Any, schema: Schema, root: Schema | None = None, place: str = "") -> list[str]:
    """Return the errors of a parsed JSON value; empty when it is valid.

    Raises:
        AssertionError: If the schema uses a keyword that is not checked here.
    """
    root = schema if root is None else root
    if isinstance(schema, bool):
        return [] if schema else [f"{place}: nothing may stand here"]
    known = SILENT | BESIDE | set(CHECKS)
    assert set(schema) <= known, f"unchecked keywords: {set(schema) - known}"
    return [
        problem
        for keyword, check in CHECKS.items()
        if keyword in schema
        for problem in check(value, schema, root, place)
    ]


def _type(value: Any, schema: Schema, root: Schema, place: str) -> Iterator[str]:
    if not TYPES[schema["type"]](value):
        yield f"{place}: {value!r} is not of type {schema['type']}"
    elif isinstance(value, dict):
        yield from _properties(value, schema, root, place)


def _const(value: Any, schema: Schema, root: Schema, place: str) -> Iterator[str]:
    if value != schema["const"] or isinstance(value, bool) != isinstance(schema["const"], bool):
        yield f"{place}: {value!r} is not {schema['const']!r}"


def _enum(value: Any, schema: Schema, root: Schema, place: str) -> Iterator[str]:
    if value not in schema["enum"]:
        yield f"{place}: {value!r} is none of {schema['enum']}"


def _minimum(value: Any, schema: Schema, root: Schema, place: str) -> Iterator[str]:
    if TYPES["number"](value) and value < schema["minimum"]:
        yield f"{place}: {value} is under {schema['minimum']}"


def _ref(value: Any, schema: Schema, root: Schema, place: str) -> Iterator[str]:
    path, _, name = schema["$ref"].rpartition("/")
    assert path == "#/$defs", schema["$ref"]
    yield from problems(value, root["$defs"][name], root, place)


def _any_of(value: Any, schema: Schema, root: Schema, place: str) -> Iterator[str]:
    if all(problems(value, each, root, place) for each in schema["anyOf"]):
        yield f"{place}: {value!r} fits no alternative"


def _one_of(value: Any, schema: Schema, root: Schema, place: str) -> Iterator[str]:
    failures = [problems(value, each, root, place) for each in schema["oneOf"]]
    fitting = failures.count([])
    if fitting != 1:
        nearest = min(failures, key=len)
        yield f"{place}: fits {fitting} alternatives instead of one; nearest: {nearest}"


def _required(value: Any, schema: Schema, root: Schema, place: str) -> Iterator[str]:
    if isinstance(value, dict):
        yield from (f"{place}/{name} is missing" for name in schema["required"] if name not in value)


def _properties(value: Any, schema: Schema, root: Schema, place: str) -> Iterator[str]:
    named = schema.get("properties", {})
    for name, each in value.items():
        below = named.get(name, schema.get("additionalProperties", False))
        yield from problems(each, below, root, f"{place}/{name}")


def _items(value: Any, schema: Schema, root: Schema, place: str) -> Iterator[str]:
    if not isinstance(value, list):
        return
    first = schema.get("prefixItems", [])
    for number, each in enumerate(value):
        below = first[number] if number < len(first) else schema["items"]
        yield from problems(each, below, root, f"{place}/{number}")


def _min_items(value: Any, schema: Schema, root: Schema, place: str) -> Iterator[str]:
    if isinstance(value, list) and len(value) < schema["minItems"]:
        yield f"{place}: fewer than {schema['minItems']} items"


def _max_items(value: Any, schema: Schema, root: Schema, place: str) -> Iterator[str]:
    if isinstance(value, list) and len(value) > schema["maxItems"]:
        yield f"{place}: more than {schema['maxItems']} items"


CHECKS: dict[str, Callable[[Any, Schema, Schema, str], Iterator[str]]] = {
    "type": _type,
    "const": _const,
    "enum": _enum,
    "minimum": _minimum,
    "$ref": _ref,
    "anyOf": _any_of,
    "oneOf": _one_of,
    "required": _required,
    "items": _items,
    "minItems": _min_items,
    "maxItems": _max_items,
}
