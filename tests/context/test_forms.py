"""The wording of a replacement."""

import pytest

from tui_app.context.policy import FORMS_MARKER as MARKER
from tui_app.context.policy import Wording, framed


def test_what_was_written_stands_in_its_frame_whatever_it_holds() -> None:
    form = Wording(summary="[{count}]\n{summary}\n[end]")
    assert framed(form, "\n{count} {0} }{ {summary}\n", count=3) == "[3]\n{count} {0} }{ {summary}\n[end]"


def test_without_a_summary_a_marker_says_how_many_are_gone() -> None:
    assert framed(Wording(), "ignored", count=12, written=False) == MARKER.format(count=12)
    assert "12 messages" in MARKER.format(count=12)


@pytest.mark.parametrize(
    "summary", ["", "no place", "{count}", "{summary} {other}", "{summary", "{}{summary}"]
)
def test_templates_that_would_lose_the_summary_are_refused(summary: str) -> None:
    with pytest.raises(ValueError, match="template"):
        Wording(summary=summary)


@pytest.mark.parametrize("marker", ["{summary}", "{", "{0}"])
def test_markers_know_the_count_alone(marker: str) -> None:
    with pytest.raises(ValueError, match="template"):
        Wording(marker=marker)
