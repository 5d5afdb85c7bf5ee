"""What the source says of a class: docstrings of fields are not kept at run time, so they are read there."""

import ast
import inspect
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache


@dataclass(frozen=True, slots=True)
class Docstrings:
    """The docstrings of a class and of its members, each as one line."""

    text: str = ""
    members: dict[str, str] = field(default_factory=dict)
    """By name: properties, and fields with a string behind them."""


def docstrings(cls: type) -> Docstrings:
    """Read the docstrings of a class, those of inherited members included.

    Without the source, as in a program that is shipped compiled, there are none.
    """
    members: dict[str, str] = {}
    for base in reversed(cls.__mro__[:-1]):
        members |= _read(base.__module__).get(base.__name__, Docstrings()).members
    return Docstrings(_read(cls.__module__).get(cls.__name__, Docstrings()).text, members)


@cache
def _read(module: str) -> dict[str, Docstrings]:
    """The docstrings of a module's classes, by their names."""
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
    """A docstring as one line of text."""
    return " ".join(docstring.replace("``", "`").split())
