"""Fixtures of the walks."""

from pathlib import Path

import pytest

from tests.conversation.driving import Desk

pytest.register_assert_rewrite("tests.protocols.walk")


@pytest.fixture
def desk(plimsoll_home: Path, tmp_path: Path) -> Desk:
    """A home and an empty workspace."""
    cwd = tmp_path / "workspace"
    cwd.mkdir()
    return Desk(plimsoll_home, cwd)
