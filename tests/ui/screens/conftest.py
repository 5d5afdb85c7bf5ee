"""Fixtures for tests of single screens."""

import pytest

from tui_app.ui.keyboard import lone_letter


@pytest.fixture(autouse=True)
def _alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Accept single letters at once, unless a test distinguishes them from a word being typed."""
    monkeypatch.setattr(lone_letter, "ALONE_S", 0.0)
