"""What holds for every test of the screen."""

from collections.abc import Iterator
from contextlib import nullcontext

import pytest

from tests.ui.kit import unpainted


@pytest.fixture(autouse=True)
def _unpainted(request: pytest.FixtureRequest) -> Iterator[None]:
    """Frames are painted for looks alone: what stands below a dialog is kept from the last one."""
    with nullcontext() if "looks" in request.fixturenames else unpainted():
        yield
