"""Frozen dataclasses that are cheap to declare.

The standard decorator generates and compiles half a dozen methods for each class, which takes about half a
millisecond, and hundreds of classes are declared before the screen is complete. These classes share one set
of methods; creating or comparing an instance takes a microsecond longer.
"""

from collections.abc import Callable
from dataclasses import MISSING, Field, FrozenInstanceError, dataclass, field, fields
from enum import Enum
from functools import partial
from inspect import Parameter, Signature
from operator import attrgetter
from typing import Any, NamedTuple, TypeVar, cast, dataclass_transform, overload

_T = TypeVar("_T")


class _Fields(NamedTuple):
    """What the shared methods know about a class."""

    given: dict[str, None]
    """Names of the arguments, in order."""
    places: tuple[str, ...]
    """Names of the positional arguments."""
    defaults: dict[str, Any]
    factories: dict[str, Callable[[], Any]]
    compared: Callable[[Any], Any]
    """Returns the values that are compared."""
    shown: tuple[str, ...]


@overload
def frozen(cls: type[_T], /, *, kw_only: bool = False) -> type[_T]: ...
@overload
def frozen(*, kw_only: bool = False) -> Callable[[type[_T]], type[_T]]: ...
@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def frozen(cls: Any = None, /, *, kw_only: bool = False) -> Any:
    """Make a class a frozen dataclass with slots, which also supports ``fields``, ``replace`` and ``asdict``.

    ``__post_init__`` sets a field with ``init=False``.

    Args:
        cls: The class; omitted if the decorator has arguments.
        kw_only: Whether all arguments are keyword-only.
    """
    if cls is None:
        return partial(frozen, kw_only=kw_only)
    declared: Any = dataclass(init=False, repr=False, eq=False, slots=True, kw_only=kw_only)(cls)
    every = fields(declared)
    given = [each for each in every if each.init]
    compared = [each.name for each in every if each.compare]
    factories = {each.name: each.default_factory for each in given if each.default_factory is not MISSING}
    declared._fields_ = _Fields(
        given=dict.fromkeys(each.name for each in given),
        places=tuple(each.name for each in given if not each.kw_only),
        defaults={each.name: each.default for each in given if each.default is not MISSING},
        factories=factories,
        compared=attrgetter(*compared) if compared else lambda _self: (),
        shown=tuple(each.name for each in every if each.repr),
    )
    for name, method in _METHODS.items():
        if name not in cls.__dict__:
            setattr(declared, name, method)
    return declared


def like(kind: type[_T], source: object, /, **more: Any) -> _T:
    """Create a value from the fields of another one; ``more`` takes precedence."""
    names = (each.name for each in fields(cast("Any", kind)) if each.name not in more)
    return kind(**{name: getattr(source, name) for name in names if hasattr(source, name)}, **more)


def picked(source: object, names: str) -> dict[str, Any]:
    """Return the attributes of a value as a dictionary; the names are separated by blanks."""
    return {name: getattr(source, name) for name in names.split()}


_set = object.__setattr__


class _Made(Enum):
    """Default in a signature for a value that is created for each object."""

    MADE = 0

    def __repr__(self) -> str:
        return "<factory>"


_MADE = _Made.MADE


def _init(self: Any, *values: Any, **named: Any) -> None:
    known, places, defaults, factories, _, _ = self._fields_
    given = {**defaults, **named}
    if values:
        given.update(zip(places, values, strict=False))
    for name, factory in factories.items():
        if given.get(name, _MADE) is _MADE:
            given[name] = factory()
    twice = named and not named.keys().isdisjoint(places[: len(values)])
    if twice or given.keys() != known.keys() or len(values) > len(places):
        # Raises for missing, duplicate or unknown arguments.
        self.__signature__.bind(*values, **named)
    for name, value in given.items():
        _set(self, name, value)
    if hasattr(self, "__post_init__"):
        self.__post_init__()


def _eq(self: Any, other: Any) -> Any:
    if type(other) is not type(self):
        return NotImplemented
    compared = self._fields_.compared
    return compared(self) == compared(other)


def _hash(self: Any) -> int:
    return hash(self._fields_.compared(self))


def _repr(self: Any) -> str:
    values = (f"{name}={getattr(self, name)!r}" for name in self._fields_.shown)
    return f"{type(self).__qualname__}({', '.join(values)})"


def _setattr(_self: object, name: str, _value: object) -> None:
    raise FrozenInstanceError(f"cannot assign to field {name!r}")


def _delattr(_self: object, name: str) -> None:
    raise FrozenInstanceError(f"cannot delete field {name!r}")


def _setstate(self: Any, state: tuple[None, dict[str, Any]]) -> None:
    for name, value in state[1].items():
        _set(self, name, value)


class _Signature:
    """The signature of a class for ``inspect``, computed on access."""

    def __get__(self, _instance: object, owner: Any) -> Signature:
        return Signature(
            list(
                map(_parameter, sorted(filter(attrgetter("init"), fields(owner)), key=attrgetter("kw_only")))
            )
        )


def _parameter(of: Field[Any]) -> Parameter:
    kind = Parameter.KEYWORD_ONLY if of.kw_only else Parameter.POSITIONAL_OR_KEYWORD
    default = Parameter.empty if of.default is MISSING else of.default
    default = default if of.default_factory is MISSING else _MADE
    return Parameter(of.name, kind, default=default, annotation=of.type)


_METHODS: dict[str, object] = {
    "__signature__": _Signature(),
    "__init__": _init,
    "__eq__": _eq,
    "__hash__": _hash,
    "__repr__": _repr,
    "__setattr__": _setattr,
    "__delattr__": _delattr,
    "__setstate__": _setstate,
}
