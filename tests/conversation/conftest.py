"""Fixtures for conversations."""

from pathlib import Path

import pytest

from tests.conversation.driving import Desk


@pytest.fixture
def desk(plimsoll_home: Path, tmp_path: Path) -> Desk:
    """A home and a workspace with a few files."""
    cwd = tmp_path / "workspace"
    cwd.mkdir()
    (cwd / "README.md").write_text("# Sea and sky\n\nThe sea is below, the sky is above.\n")
    return Desk(plimsoll_home, cwd)
