"""Frozen dataclasses that cost next to nothing to declare, for what is loaded before the first frame.

The standard decorator writes and compiles half a dozen methods for each class, about half a millisecond; for
the records of the settings and the first screen that adds up to a tenth of the start. These share one set of
methods. Making one takes three microseconds longer, so what is made in large numbers stays with the standard.
"""

from collections.abc import Callable
from dataclasses import MISSING, Field, FrozenInstanceError, dataclass, field, fields
from typing import Any, TypeVar, dataclass_transform

_T = TypeVar("_T")


@dataclass_transform(frozen_default=True, kw_only_default=False, field_specifiers=(field,))
def record(*, kw_only: bool = False) -> Callable[[type[_T]], type[_T]]:
    """Make a class a frozen dataclass with slots; ``fields`` and ``replace`` of the standard library take it.

    Args:
        kw_only: Whether its values are given by name alone.
    """

    def made(cls: type[_T]) -> type[_T]:
        new: Any = dataclass(init=False, repr=False, eq=False, slots=True, kw_only=kw_only)(cls)
        every = fields(new)
        new._record_ = every, () if kw_only else tuple(each.name for each in every)
        for name, method in _METHODS.items():
            if name not in cls.__dict__:
                setattr(new, name, method)
        return new  # type: ignore[no-any-return]

    return made


def _init(self: Any, *values: object, **named: object) -> None:
    every, places = self._record_
    if len(values) > len(places):
        raise TypeError(f"{type(self).__name__} takes {len(places)} values, not {len(values)}")
    given = dict(zip(places, values, strict=False))
    if twice := given.keys() & named.keys():
        raise TypeError(f"{type(self).__name__} is given {', '.join(sorted(twice))} twice")
    given.update(named)
    for each in every:
        value = given.pop(each.name, MISSING)
        object.__setattr__(self, each.name, _default(self, each) if value is MISSING else value)
    if given:
        raise TypeError(f"{type(self).__name__} has no {', '.join(sorted(given))}")
    if (finish := getattr(self, "__post_init__", None)) is not None:
        finish()


def _default(self: object, each: Field[Any]) -> object:
    if each.default is not MISSING:
        return each.default
    if each.default_factory is MISSING:
        raise TypeError(f"{type(self).__name__} needs {each.name}")
    return each.default_factory()


def _compared(self: Any) -> tuple[object, ...]:
    return tuple(getattr(self, each.name) for each in self._record_[0] if each.compare)


def _eq(self: object, other: object) -> bool:
    return _compared(self) == _compared(other) if type(other) is type(self) else NotImplemented


def _hash(self: object) -> int:
    return hash(_compared(self))


def _repr(self: Any) -> str:
    shown = (f"{each.name}={getattr(self, each.name)!r}" for each in self._record_[0] if each.repr)
    return f"{type(self).__qualname__}({', '.join(shown)})"


def _setattr(_self: object, name: str, _value: object) -> None:
    raise FrozenInstanceError(f"cannot assign to field {name!r}")


def _delattr(_self: object, name: str) -> None:
    raise FrozenInstanceError(f"cannot delete field {name!r}")


def _getstate(self: Any) -> list[object]:
    return [getattr(self, each.name) for each in self._record_[0]]


def _setstate(self: Any, state: list[object]) -> None:
    for each, value in zip(self._record_[0], state, strict=True):
        object.__setattr__(self, each.name, value)


_METHODS = {
    "__init__": _init,
    "__eq__": _eq,
    "__hash__": _hash,
    "__repr__": _repr,
    "__setattr__": _setattr,
    "__delattr__": _delattr,
    "__getstate__": _getstate,
    "__setstate__": _setstate,
}
