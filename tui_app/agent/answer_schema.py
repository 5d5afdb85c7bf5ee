"""Structured answers by a JSON Schema: the request for one, and its check."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from jsonschema import Draft202012Validator, SchemaError, validators
from jsonschema.exceptions import ValidationError
from jsonschema.protocols import Validator
from pydantic import GetCoreSchemaHandler
from pydantic_ai import Agent, StructuredDict
from pydantic_ai.exceptions import UserError
from pydantic_core import core_schema
from referencing import Registry
from referencing.exceptions import Unresolvable
from referencing.jsonschema import DRAFT202012

from tui_app.records import frozen

_WRAPPED = "answer"
"""The property of an object that wraps any other kind of answer: providers accept only objects."""
_DEFINITIONS = ("$defs", "definitions")
_MOST_FAULTS = 5
"""Maximum faults of an answer reported to the model at once."""
_FAULT_CHARS = 300


class BadSchema(Exception):
    """A schema cannot be used. The message tells why, as the end of a sentence."""


@frozen
class AnswerSchema:
    """The schema of the answers in a session."""

    schema: Mapping[str, Any]

    @classmethod
    def from_text(cls, text: str) -> "AnswerSchema":
        """Parse a schema.

        Raises:
            BadSchema: if it is no schema, or not one that providers accept.
        """
        try:
            schema = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise BadSchema(f"it is not JSON ({error})") from error
        if not isinstance(schema, dict):
            raise BadSchema("a JSON Schema must be an object")
        if fault := schema_fault(schema):
            raise BadSchema(fault)
        found = cls(schema)
        try:
            Agent(None, output_type=found.output_type())
        except (UserError, RecursionError) as error:
            raise BadSchema("its definitions are recursive, which providers do not accept") from error
        except KeyError as error:
            why = f"it refers to {error.args[0]!r:.100}, which is missing from its $defs or recursive"
            raise BadSchema(why) from error
        return found

    @property
    def is_wrapped(self) -> bool:
        """Whether the answer is no object, so that it is requested as the property of one."""
        return self.schema.get("type") != "object"

    def faults(self, answer: Any) -> list[str]:
        """Faults of an answer, in words for the model. Nothing is fetched."""
        kind = validators.validator_for(self.schema, default=Draft202012Validator)
        checker: Validator = kind(self.schema, registry=Registry())
        found: list[ValidationError] = sorted(checker.iter_errors(answer), key=lambda each: each.json_path)
        return [f"{each.json_path}: {each.message[:_FAULT_CHARS]}" for each in found[:_MOST_FAULTS]]

    def output_type(self) -> type[Any]:
        """The pydantic-ai output type. It checks an answer, and has the model retry."""
        asked: dict[str, Any] = json.loads(json.dumps(self.schema))
        if self.is_wrapped:
            lifted = {name: asked.pop(name) for name in _DEFINITIONS if name in asked}
            asked.pop("$schema", None)
            asked = {
                "type": "object",
                "properties": {_WRAPPED: asked},
                "required": [_WRAPPED],
                "additionalProperties": False,
                **lifted,
            }
        plain = StructuredDict(asked)

        def checked(answer: dict[str, Any]) -> dict[str, Any]:
            if self.is_wrapped and _WRAPPED not in answer:
                raise ValueError(f"{_WRAPPED!r} is missing")
            if faults := self.faults(self.value(answer)):
                raise ValueError("; ".join(faults))
            return answer

        def core(_kind: Any, source: Any, handler: GetCoreSchemaHandler) -> core_schema.CoreSchema:
            inner = plain.__get_pydantic_core_schema__(source, handler)  # type: ignore[attr-defined]
            return core_schema.no_info_after_validator_function(checked, inner)

        return type("Answer", (plain,), {"__get_pydantic_core_schema__": classmethod(core)})

    def value(self, output: dict[str, Any]) -> Any:
        """The answer within the output of a run."""
        return output[_WRAPPED] if self.is_wrapped else output


def schema_fault(schema: Mapping[str, Any]) -> str:
    """Why a schema is invalid or has unresolved references; empty if it is fine."""
    try:
        validators.validator_for(schema, default=Draft202012Validator).check_schema(dict(schema))
        resolver = Registry().with_resource("", DRAFT202012.create_resource(dict(schema))).resolver()
        for reference in _references(schema):
            resolver.lookup(reference)
    except SchemaError as error:
        return f"{error.json_path}: {' '.join(error.message.split())[:_FAULT_CHARS]}"
    except Unresolvable as error:
        return f"it refers to {error.ref!r:.100}, which it does not define"
    except RecursionError:
        return "it is nested too deeply"
    return ""


def _references(schema: object) -> Iterator[str]:
    waiting = [schema]
    while waiting:
        match waiting.pop():
            case dict() as values:
                yield from (ref for name, ref in values.items() if name == "$ref" and isinstance(ref, str))
                waiting += values.values()
            case list() as items:
                waiting += items
