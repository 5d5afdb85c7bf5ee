"""One line for an event, in the words a person reads."""

import pytest

from tui_app.context.events import FilesRestored, RestoredFile
from tui_app.session.head_titles import files_title

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
    assert files_title(event) == title
