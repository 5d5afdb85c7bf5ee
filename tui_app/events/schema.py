"""The JSON Schema of every event, generated from the payload classes: fields, types and docstrings.

It describes ``Record.to_json``. Fields may be added without a new ``version``, so no schema here forbids
fields it does not name.
"""

import ast
import inspect
import sys
from collections.abc import Iterable, Iterator
from dataclasses import field
from functools import cache
from types import NoneType
from typing import Any

import msgspec

from tui_app import events
from tui_app.events import BY_TYPE, PAYLOADS, GaugeChanged, Payload, UsageInfo
from tui_app.events.record import Record
from tui_app.records import frozen
from tui_app.usage import Breakdown, ContextUsage, ContextWindow


@frozen
class Docstrings:
    """The docstrings of a class and of its members, each as one line."""

    text: str = ""
    members: dict[str, str] = field(default_factory=dict)
    """By name: properties, and fields followed by a string."""


def docstrings(cls: type) -> Docstrings:
    """Read the docstrings of a class, including those of inherited members.

    Without the source, as in a compiled program, there are none.
    """
    members: dict[str, str] = {}
    for base in reversed(cls.__mro__[:-1]):
        members |= _read(base.__module__).get(base.__name__, Docstrings()).members
    return Docstrings(_read(cls.__module__).get(cls.__name__, Docstrings()).text, members)


@cache
def _read(module: str) -> dict[str, Docstrings]:
    """Return the docstrings of a module's classes, by their names."""
    try:
        body = ast.parse(inspect.getsource(sys.modules[module])).body
    except OSError:
        return {}
    return {
        node.name: Docstrings(_plain(ast.get_docstring(node) or ""), dict(_members(node)))
        for node in body
        if isinstance(node, ast.ClassDef)
    }


def _members(node: ast.ClassDef) -> Iterator[tuple[str, str]]:
    for member, after in zip(node.body, [*node.body[1:], ast.Pass()], strict=True):
        match member, after:
            case ast.FunctionDef(name=name), _:
                yield name, _plain(ast.get_docstring(member) or "")
            case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(text))):
                yield name, _plain(text)
            case _:
                pass


def _plain(docstring: str) -> str:
    return " ".join(docstring.replace("``", "`").split())


DIALECT = "https://json-schema.org/draft/2020-12/schema"
_USAGE = "usage"
"""Definition of data that is only usage figures; name of the event field with them."""
_JSON_TYPES: dict[object, str] = {
    str: "string", int: "integer", float: "number", bool: "boolean", NoneType: "null",
}  # fmt: skip

Schema = dict[str, Any]
"""A JSON Schema or a part of one, as JSON values."""


def events_schema() -> Schema:
    """Return one schema for all events: a definition for each type, distinguished by ``type``."""
    return {
        "$schema": DIALECT,
        "title": "Plimsoll event",
        "description": "Something that happened in a session: an entry of its log, a line of JSON output.",
        "oneOf": [_ref(payload.TYPE) for payload in PAYLOADS],
        "$defs": {payload.TYPE: _envelope(payload) for payload in PAYLOADS} | _parts(PAYLOADS),
    }


def event_schema(kind: str) -> Schema:
    """Return the self-contained schema of one type of event.

    Raises:
        KeyError: if ``kind`` is not a known event type.
    """
    payload = BY_TYPE[kind]
    parts = _parts([payload])
    return {"$schema": DIALECT, **_envelope(payload), **({"$defs": parts} if parts else {})}


def summary_of(payload: type[Payload]) -> str:
    """Return an event's description in one sentence; empty if the program comes without its source."""
    return docstrings(payload).text.partition(". ")[0].rstrip(".")


def _envelope(payload: type[Payload]) -> Schema:
    docs = docstrings(Record).members
    number: Schema = {"type": "integer", "minimum": 0} if payload.STORED else {"const": 0}
    place = "0 when the log could not take it." if payload.STORED else "0: the log does not keep this event."
    properties: dict[str, Schema] = {
        "type": {"const": payload.TYPE},
        "session": {"type": "string", "description": "Id of the session."},
        "seq": {**number, "description": f"Number in the session's log, from 1; {place}"},
        "time": {"type": "number", **_described(docs.get("time", ""))},
        "version": {"const": payload.VERSION, "description": "Grows when a field changes its meaning."},
        "data": _data(payload),
    }
    return {"title": payload.TYPE, **_described(docstrings(payload).text), **_all_required(properties)}


def _data(payload: type[Payload]) -> Schema:
    if payload is GaugeChanged:
        return _ref(_USAGE)
    own = _objects([payload])[payload.__name__]
    if payload is not UsageInfo:
        return own
    others = {name: each for name, each in own["properties"].items() if name != _USAGE}
    return _all_required(_usage()["properties"] | others)


def _all_required(properties: dict[str, Schema]) -> Schema:
    return {"type": "object", "properties": properties, "required": list(properties)}


def _objects(payloads: Iterable[type[Payload]]) -> dict[str, Schema]:
    """Return the schemas of events and of all types of their fields, by name; JSON output omits none."""
    known = {each.__name__: each for each in payloads}
    _, found = msgspec.json.schema_components(known.values(), ref_template="#/$defs/{name}")
    made: dict[str, Schema] = {}
    for name, each in found.items():
        docs = docstrings(known.get(name) or getattr(events, name))
        for member, about in each["properties"].items():
            about.pop("default", None)
            about.update(_described(docs.members.get(member, "")))
        head = {} if name in known else _described(docs.text)
        made[name] = {**head, **_all_required(each["properties"])}
    return made


def _parts(payloads: Iterable[type[Payload]]) -> dict[str, Schema]:
    """Return the definitions that the data of these events refer to."""
    own = {each.__name__ for each in payloads}
    made = _objects(each for each in payloads if each is not GaugeChanged)
    parts = {name: each for name, each in made.items() if name not in own}
    return parts | ({_USAGE: _gauge()} if GaugeChanged.__name__ in own else {})


def _usage() -> Schema:
    """Return the figures of ``ContextUsage.to_json``: a sample has their names and types."""
    sample = ContextUsage(parts=Breakdown(), window=ContextWindow(limit=1, source="default"), messages=0)
    window, usage = docstrings(ContextWindow).members, docstrings(ContextUsage)
    docs = docstrings(Breakdown).members | window | {"limit_source": window.get("source", "")} | usage.members
    properties = {
        name: {"type": _JSON_TYPES[type(value)], **_described(docs.get(name, ""))}
        for name, value in sample.to_json().items()
    }
    return {**_described(usage.text), **_all_required(properties)}


def _gauge() -> Schema:
    """Return the figures with what is only present after a refusal."""
    usage = _usage()
    limit: Schema = {
        "type": "integer",
        "description": "Limit that counts for now, in tokens: a refusal made it smaller than ``limit``.",
    }
    scale: Schema = {"type": "number", **_described(docstrings(ContextUsage).members.get("scale", ""))}
    return usage | {"properties": usage["properties"] | {"scale": scale, "believed_limit": limit}}


def _ref(name: str) -> Schema:
    return {"$ref": f"#/$defs/{name}"}


def _described(text: str) -> Schema:
    return {"description": text} if text else {}
