"""Fixtures of the tests of single screens."""

import pytest

from tui_app.ui.keyboard import lone_letter


@pytest.fixture(autouse=True)
def _alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """A letter counts at once, unless a test tells it from a word."""
    monkeypatch.setattr(lone_letter, "ALONE_S", 0.0)
