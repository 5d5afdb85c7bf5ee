"""Lines as plain mode paints them: the same width, our signs in ASCII, and nothing else."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.segment import Segment
from textual.color import Color

from tui_app.ui.plain_lines import DRAWING, SIGNS

BLACK = Color(0, 0, 0)


def painted(*parts: str) -> str:
    segments = SIGNS.apply([Segment(part) for part in parts], BLACK)
    assert [cell_len(each.text) for each in segments] == [cell_len(part) for part in parts]
    return "".join(each.text for each in segments)


@pytest.mark.parametrize(
    ("line", "plain"),
    [
        ("71% of 128k · ~91.5k · ok", "71% of 128k - ~91.5k - ok"),
        ("91.5k → 6.2k", "91.5k > 6.2k"),
        ("12\u00a0tok", "12 tok"),
        ("reading …    ", "reading ...  "),
        ("and the rest of i…", "and the rest of..."),
        ("and the rest… 12:04", "and the re... 12:04"),
        ("12:04   … found here", "12:04 ... found here"),
        ("Here … is", "Here … is"),
        ("船舶…", "船舶…"),
        ("…", "…"),
    ],
)
def test_signs(line: str, plain: str) -> None:
    assert painted(line) == plain
    assert painted(*line) == plain, "wherever a style ends"


@given(st.lists(st.text(alphabet="a b…·→├⠋船\u0301", max_size=9), max_size=5))
def test_a_line_keeps_its_width(parts: list[str]) -> None:
    painted(*parts)
    drawn = DRAWING.apply([Segment(part) for part in parts], BLACK)
    assert [cell_len(each.text) for each in drawn] == [cell_len(part) for part in parts]
    assert not set("├⠋") & set("".join(each.text for each in drawn))
