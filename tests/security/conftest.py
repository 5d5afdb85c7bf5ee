"""A home and a workspace to work in."""

from pathlib import Path

import pytest

from tests.conversation.driving import Desk


@pytest.fixture
def desk(plimsoll_home: Path, tmp_path: Path) -> Desk:
    """A home, and a workspace with a file."""
    cwd = tmp_path / "workspace"
    cwd.mkdir()
    (cwd / "README.md").write_text("# Sea and sky\n")
    return Desk(plimsoll_home, cwd)
