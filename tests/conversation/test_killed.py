"""``kill -9`` at any moment: the next start has everything that was shown as done."""

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.conversation import killing, killing_others
from tests.conversation.driving import Desk

ROOT = Path(__file__).parents[2]
KILLS = int(os.environ.get("PLIMSOLL_KILLS", "40"))
"""How many processes are killed; many more are a matter of minutes."""
ROUNDS = max(8, KILLS // 4)
LIMIT_S = 60 + 5 * ROUNDS

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork"),
    pytest.mark.timeout(LIMIT_S + 10),
]


def rounds_of(module: str, arguments: Sequence[object]) -> list[dict[str, Any]]:
    done = subprocess.run(
        [sys.executable, "-m", module, *map(str, arguments)],
        capture_output=True,
        text=True,
        cwd=ROOT,
        timeout=LIMIT_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr + done.stdout[-2_000:]
    rounds = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(rounds) == ROUNDS
    return rounds


@pytest.mark.parametrize("seed", [1, 2])
def test_killed_at_any_moment(desk: Desk, seed: int) -> None:
    """While somebody talks, compacts, undoes and writes checkpoints."""
    rounds = rounds_of(killing.__name__, [desk.home, desk.cwd, ROUNDS, seed])
    assert len({each["step"] for each in rounds}) >= 4, "the children died in different places"
    assert sum(each["shown"] for each in rounds) > ROUNDS


@pytest.mark.parametrize("seed", [3, 4])
def test_killed_while_importing_migrating_deleting_and_copying(tmp_path: Path, seed: int) -> None:
    rounds = rounds_of(killing_others.__name__, [tmp_path / "home", ROUNDS, seed])
    assert len({each["work"] for each in rounds}) >= 3
    assert sum(each["died"] for each in rounds) > ROUNDS // 2
