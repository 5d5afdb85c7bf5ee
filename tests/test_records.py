"""The ``frozen`` decorator behaves like a frozen dataclass."""

import copy
import pickle
from dataclasses import FrozenInstanceError, asdict, field, fields, replace
from inspect import Parameter, signature

import pytest

from tui_app.records import frozen, like, picked


@frozen
class Place:
    """A record with a field that is not compared and one that is not in its repr."""

    name: str
    row: int = 0
    words: list[str] = field(default_factory=list, compare=False)
    secret: str = field(default="", repr=False)


@frozen(kw_only=True)
class Named:
    """A record with keyword-only fields."""

    first: int
    second: int = 2


@frozen
class Finished:
    """A record with a field computed in ``__post_init__``."""

    text: str
    length: int = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "length", len(self.text))


def test_values_come_by_place_by_name_and_by_default() -> None:
    assert Place("a", 1) == Place(name="a", row=1)
    assert Place("a").words is not Place("a").words
    assert Finished("four").length == replace(Finished("a"), text="four").length == 4
    match Place("a", 3):
        case Place(name, row):
            assert (name, row) == ("a", 3)
        case _:
            pytest.fail("a record is matched by its fields")


@pytest.mark.parametrize(
    ("values", "named", "why"),
    [
        ((), {}, "missing a required argument: 'name'"),
        (("a", 1, [], "", 5), {}, "too many positional arguments"),
        (("a",), {"name": "b"}, "multiple values for argument 'name'"),
        (("a",), {"column": 1}, "unexpected keyword argument 'column'"),
        ((), {"name": "a", "column": 1}, "unexpected keyword argument 'column'"),
    ],
)
def test_what_does_not_fit_is_refused(values: tuple[object, ...], named: dict[str, object], why: str) -> None:
    with pytest.raises(TypeError, match=why):
        Place(*values, **named)  # type: ignore[arg-type]


def test_values_by_name_alone() -> None:
    assert Named(first=1).second == 2
    with pytest.raises(TypeError, match="too many positional arguments"):
        Named(1)  # type: ignore[misc]


def test_a_record_does_not_change() -> None:
    place = Place("a")
    with pytest.raises(FrozenInstanceError):
        place.row = 3  # type: ignore[misc]
    with pytest.raises(FrozenInstanceError):
        del place.row
    assert not hasattr(place, "__dict__")


def test_equality_and_hash_leave_out_what_is_not_compared() -> None:
    assert Place("a", words=["x"]) == Place("a", words=["y"])
    assert hash(Place("a", words=["x"])) == hash(Place("a"))
    assert Place("a") != Place("b")
    assert Place("a") != ("a", 0, "")


def test_the_standard_library_takes_it() -> None:
    place = Place("a", 2, ["x"], "key")
    assert [each.name for each in fields(place)] == ["name", "row", "words", "secret"]
    assert replace(place, row=5) == Place("a", 5, ["x"], "key")
    assert asdict(place) == {"name": "a", "row": 2, "words": ["x"], "secret": "key"}
    for copied in (copy.copy(place), copy.deepcopy(place), pickle.loads(pickle.dumps(place))):
        assert copied == place
        assert copied.words == ["x"]
    assert str(signature(Place)).startswith("(name: str, row: int = 0")
    assert signature(Named).parameters["first"].kind is Parameter.KEYWORD_ONLY
    assert repr(place) == "Place(name='a', row=2, words=['x'])"


def test_a_value_is_made_of_what_another_one_holds_under_the_same_names() -> None:
    place = Place("a", 2, ["x"], "key")
    assert like(Place, place, name="b") == Place("b", 2, ["x"], "key")
    assert picked(place, "row name") == {"row": 2, "name": "a"}
    with pytest.raises(TypeError, match="'first'"):
        like(Named, place)
