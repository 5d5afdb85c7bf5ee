"""Tables: columns align at every width, are hidden and shown by priority, and accept any text."""

from typing import NamedTuple

import pytest
from rich.cells import cell_len
from textual.content import Content

from tui_app.ui.widgets.tables import Column, Table


class Boat(NamedTuple):
    name: str
    length: int
    port: str = ""


BOATS = [
    Boat("Elsa", 7, "Wick"),
    Boat("フェリー", 120),
    Boat("\x1b[31m[b]Tern\n" + "of the north " * 20, 8, "Oban"),
]
FLEET = Table[Boat](
    (
        Column(lambda boat: boat.name, title="boat", tone=""),
        Column(lambda boat: f"{boat.length:,} m", 9, title="length", right=True),
        Column(lambda boat: boat.port, 12, title="port", right=True, leaves_at=40),
    )
)


@pytest.mark.parametrize("width", [24, 39, 40, 112])
def test_rows_and_header_end_in_the_same_cell_and_are_clean(width: int) -> None:
    lines = [FLEET.line(boat, width) for boat in BOATS]
    assert {line.cell_length for line in lines} == {width} == {cell_len(FLEET.header(width).plain)}
    assert not any(sign in line.plain for line in lines for sign in "\x1b\n")
    assert "[b]Tern of the" in lines[2].plain
    assert "…" in lines[2].plain
    assert ("Wick" in lines[0].plain) == ("port" in FLEET.header(width).plain) == (width >= 40)


def test_one_column_comes_where_another_leaves() -> None:
    table = Table[Boat](
        (
            Column(lambda boat: f"{boat.length} metres", 12, leaves_at=50),
            Column(lambda boat: f"{boat.length}", 4, comes_below=50),
            Column(lambda boat: boat.name),
        )
    )
    assert table.line(BOATS[0], 50).plain == "7 metres    Elsa"
    assert table.line(BOATS[0], 49).plain == "7   Elsa"


def test_a_snug_column_leaves_what_it_does_not_need_to_the_wide_one() -> None:
    table = Table[Boat]((Column(lambda boat: boat.name), Column(lambda boat: boat.port, 20, snug=True)))
    long = BOATS[2]
    assert table.line(long, 40).plain.endswith("  Oban")
    assert table.line(long, 40).cell_length == 40
    without = table.line(long._replace(port=""), 40)
    assert without.cell_length == 40, "it takes no cell where it is empty"
    assert without.plain.startswith(table.line(long, 40).plain.partition("…")[0])


def test_the_first_column_gives_way_where_the_others_leave_too_little() -> None:
    table = Table[Boat]((Column(lambda boat: boat.name, 30), Column(lambda boat: boat.port, 12, right=True)))
    assert table.line(Boat("Elsa of the outer isles", 7, "Wick"), 24).plain == "Elsa of the…        Wick"


def test_a_share_bounds_a_column_and_a_tone_follows_its_row() -> None:
    table = Table[Boat](
        (
            Column(lambda boat: boat.name, 30, lambda boat: "bold" if boat.length > 100 else "", share=2),
            Column(fitted=lambda boat, cells: Content(f"{cells}")),
        )
    )
    large, small = table.line(BOATS[1], 40), table.line(BOATS[0], 40)
    assert small.plain == f"{'Elsa':<20}20"
    assert "bold" in str(large.spans)
    assert "bold" not in str(small.spans)


def test_a_single_name_makes_no_header() -> None:
    assert Table[Boat]((Column(lambda boat: boat.name, title="boat"),)).header(40).plain == ""
