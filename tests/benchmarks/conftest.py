"""Fixtures of benchmarks."""

from pathlib import Path

import pytest

from tests.benchmarks.measure import Lab
from tui_app.paths import Paths


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    """A fresh home and an empty folder."""
    home, workspace = tmp_path / "home", tmp_path / "project"
    home.mkdir()
    workspace.mkdir()
    return Lab(home, workspace)


@pytest.fixture
def paths(lab: Lab) -> Paths:
    """Paths of the lab's home."""
    return Paths.from_env({"PLIMSOLL_HOME": str(lab.home)})
