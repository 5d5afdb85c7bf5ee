"""``plimsoll serve``: what it refuses. What it serves is tested in ``tests/web``."""

import pytest

from tests.cli.conftest import Plimsoll


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("--port", "0"), 2, "1 to 65535"),
        (("--port", "http"), 2, "1 to 65535"),
        (("--host", "0.0.0.0", "--no-token"), 2, "for loopback only"),
        (("nowhere",), 2, "There is no folder nowhere."),
        (("--host", "203.0.113.7", "--port", "8421"), 1, "Cannot listen on 203.0.113.7"),
        (("--policy", "nonsense"), 2, "nonsense"),
    ],
)
def test_refusals(plimsoll: Plimsoll, arguments: tuple[str, ...], code: int, words: str) -> None:
    done = plimsoll("serve", *arguments)
    assert (done.code, words in done.err) == (code, True), done
