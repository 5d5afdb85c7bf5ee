"""What stands behind /compact: options wherever they stand, and the focus."""

import pytest

from tui_app.conversation.work import Compact, asked_compaction
from tui_app.references import Span


@pytest.mark.parametrize(
    ("typed", "asked"),
    [
        ("", Compact()),
        ("the tides", Compact("the tides")),
        ("--review the tides", Compact("the tides", review=True)),
        ("the tides --review", Compact("the tides", review=True)),
        ("the tides --up-to #12", Compact("the tides", span=Span(last=12))),
        ("--from 3 the tides --up-to #12 of Hull", Compact("the tides of Hull", span=Span(3, 12))),
        ("the --verbose flag", Compact("the --verbose flag")),
        ("-- --review is a word", Compact("--review is a word")),
        ("the tides -- and --from #3", Compact("the tides and --from #3")),
    ],
)
def test_options_may_stand_anywhere(typed: str, asked: Compact) -> None:
    assert asked_compaction(typed) == asked


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ("the tides --up-to", "--up-to takes the number of a message"),
        ("the tides --from here", "--from takes the number of a message"),
        ("--everything", "/compact has no --everything"),
        ("the tides --from #9 --up-to #3", "Nothing lies between #9 and #3"),
    ],
)
def test_what_cannot_be_read_is_said(typed: str, said: str) -> None:
    told = asked_compaction(typed)
    assert isinstance(told, str)
    assert told.startswith(said)
