"""``plimsoll schema``: the JSON Schema of events, and of each command's output with ``--json``.

``outputs.json`` has the schema of an output in the form of the output. A type is the name of a JSON type,
``any``, a quoted word, or a ``@part`` of the same file; bars separate alternatives. ``[x]`` is a list of x,
and ``{"*": x}`` an object with any names. A name that ends in ``?`` is optional; ``{"?": x}`` is x or null.
"""

import argparse
import json
from difflib import get_close_matches
from functools import cache
from importlib.resources import files
from typing import Any

from tui_app.cli.core.command import Program, WrongUsage
from tui_app.cli.core.output import answer
from tui_app.events import BY_TYPE, PAYLOADS
from tui_app.events.schema import DIALECT, Schema, event_schema, events_schema, summary_of
from tui_app.ui.words.text import one_line, table_lines


def print_schema(program: Program, args: argparse.Namespace) -> None:
    """Print one schema, of all events, one event or an output; or list the schemas."""
    name = " ".join(args.type)
    if args.list:
        if name:
            raise WrongUsage("--list names all schemas. For one of them: plimsoll schema NAME")
        known = [(each.TYPE, each.STORED, summary_of(each)) for each in PAYLOADS]
        events = [dict(zip(("type", "stored", "summary"), each, strict=True)) for each in known]
        rows = [(type_, "log" if is_stored else "live", about) for type_, is_stored, about in known]
        rows += [(output, "output", f"plimsoll {output} --json") for output in output_names()]
        answer({"events": events, "outputs": output_names()}, *table_lines(rows), as_json=args.json)
        return
    if name in output_names():
        schema = output_schema(name)
    elif name in BY_TYPE or not name:
        schema = event_schema(name) if name else events_schema()
    else:
        close = get_close_matches(name, [*BY_TYPE, *output_names()], n=1)
        hint = f"Did you mean {close[0]}?" if close else "To see them all: plimsoll schema --list"
        raise WrongUsage(f"There is no schema {one_line(name, 80)}. {hint}")
    answer(schema, json.dumps(schema, indent=2), as_json=args.json)


def output_names() -> tuple[str, ...]:
    """Return all outputs, by command and option: ``sessions list``, ``compact --undo``."""
    return tuple(name for name in _forms() if not name.startswith("@"))


def output_schema(name: str) -> Schema:
    """Return the schema of one output, including all its parts.

    Raises:
        KeyError: if there is no such output.
    """
    parts: dict[str, Schema] = {}
    schema = _schema(_forms()[name], parts)
    title = {"$schema": DIALECT, "title": f"plimsoll {name} --json"}
    return {**title, **schema, **({"$defs": parts} if parts else {})}


@cache
def _forms() -> dict[str, Any]:
    forms: dict[str, Any] = json.loads(files(__package__).joinpath("outputs.json").read_text("utf-8"))
    return forms


def _schema(form: Any, parts: dict[str, Schema]) -> Schema:
    match form:
        case str():
            return _either([_one(word, parts) for word in form.split("|")])
        case [inner]:
            return {"type": "array", "items": _schema(inner, parts)}
        case {"?": inner}:
            return _either([_schema(inner, parts), {"type": "null"}])
        case {"*": inner}:
            return {"type": "object", "additionalProperties": _schema(inner, parts)}
    fields = {name.removesuffix("?"): _schema(inner, parts) for name, inner in form.items()}
    required = [name for name in form if not name.endswith("?")]
    return {"type": "object", "properties": fields, "required": required}


def _either(schemas: list[Schema]) -> Schema:
    return schemas[0] if len(schemas) == 1 else {"anyOf": schemas}


def _one(word: str, parts: dict[str, Schema]) -> Schema:
    if word.startswith("'"):
        return {"const": word.strip("'")}
    if not word.startswith("@"):
        return {} if word == "any" else {"type": word}
    name = word.removeprefix("@")
    if name not in parts:
        parts[name] = {}
        parts[name] = _schema(_forms()[word], parts)
    return {"$ref": f"#/$defs/{name}"}
