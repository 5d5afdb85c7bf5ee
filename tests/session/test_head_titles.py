"""One line for an event, in the words a person reads."""

import pytest

from tui_app.events import CompactionComplete, FilesRestored, RestoredFile
from tui_app.text import thousands

BACK = RestoredFile(path="a", before="1" * 64, after="2" * 64)
GONE = RestoredFile(path="b", before="1" * 64)


@pytest.mark.parametrize(
    ("event", "title"),
    [
        (FilesRestored(to=1, files=(BACK,)), "1 file restored"),
        (FilesRestored(to=1, files=(BACK, BACK)), "2 files restored"),
        (FilesRestored(to=1, files=(GONE,)), "1 file removed"),
        (FilesRestored(to=1, files=(GONE, GONE)), "2 files removed"),
        (FilesRestored(to=1, files=(BACK, GONE, GONE)), "1 file restored, 2 removed"),
        (FilesRestored(to=1, files=(BACK,), skipped=("c",)), "1 file restored, 1 left alone"),
        (FilesRestored(to=1, skipped=("c",)), "1 file left alone"),
        (FilesRestored(to=1, files=(BACK, GONE), undo=True), "taken back: 1 file restored, 1 removed"),
    ],
)
def test_files_that_went_back(event: FilesRestored, title: str) -> None:
    assert event.headline() == title


@pytest.mark.parametrize(
    ("tokens", "written"),
    [(91_500, "91.5k"), (6_200, "6.2k"), (999_949, "999.9k"), (999_950, "1.0M"), (6_216_800, "6.2M")],
)
def test_sizes_are_thousands_or_millions(tokens: int, written: str) -> None:
    assert thousands(tokens) == written


@pytest.mark.parametrize(
    ("before", "after", "title"),
    [
        (212, 9, "91.5k → 6.2k · 212 messages → 9 · facts kept 98%"),
        (1, 1, "91.5k → 6.2k · 1 message → 1 · facts kept 98%"),
    ],
)
def test_a_compaction_counts_messages_in_a_row_that_fits_80_columns(
    before: int, after: int, title: str
) -> None:
    done = CompactionComplete(
        job="j",
        outcome="success",
        trigger="manual",
        tokens_before=91_500,
        tokens_after=6_200,
        messages_before=before,
        messages_after=after,
        retention=0.98,
    )
    assert done.headline() == title
    assert len(f"  ⊖ Conversation compacted · {title}") <= 79
