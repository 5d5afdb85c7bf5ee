"""Scroll bars in plain mode."""

import pytest
from rich.segment import Segment

from tui_app.ui.plain_lines import PlainBars


@pytest.mark.parametrize("vertical", [True, False])
@pytest.mark.parametrize("position", [0, 3, 7.3, 41, 60])
def test_no_block_sign_is_drawn(position: float, *, vertical: bool) -> None:
    drawn = PlainBars.render_bar(17, 77, 17, position, vertical=vertical)
    cells = [segment for segment in drawn.segments if isinstance(segment, Segment)]
    assert {sign for segment in cells for sign in segment.text} <= {" ", "\n"}
    assert any(segment.style is not None and segment.style.reverse for segment in cells), "it is seen"
