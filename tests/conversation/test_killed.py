"""``kill -9`` at any moment: the next start has everything that was shown as done."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conversation import killing
from tests.conversation.driving import Desk

ROOT = Path(__file__).parents[2]
ROUNDS = 12


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.parametrize("seed", [1, 2])
def test_killed_at_any_moment(desk: Desk, seed: int) -> None:
    arguments = [str(desk.home), str(desk.cwd), str(ROUNDS), str(seed)]
    done = subprocess.run(
        [sys.executable, "-m", killing.__name__, *arguments],
        capture_output=True,
        text=True,
        cwd=ROOT,
        timeout=110,
        check=False,
    )
    assert done.returncode == 0, done.stderr + done.stdout[-2_000:]
    rounds = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(rounds) == ROUNDS
    assert len({each["step"] for each in rounds}) >= 4, "the children died in different places"
    assert sum(each["shown"] for each in rounds) > ROUNDS
