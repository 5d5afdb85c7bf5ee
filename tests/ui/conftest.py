"""Setup for all tests of the UI."""

from collections.abc import Iterator
from contextlib import nullcontext

import pytest

from tests.ui.kit import unpainted


@pytest.fixture(autouse=True)
def _unpainted(request: pytest.FixtureRequest) -> Iterator[None]:
    """Paint frames only in tests of looks, where the screen below a dialog keeps its last frame."""
    with nullcontext() if "looks" in request.fixturenames else unpainted():
        yield
