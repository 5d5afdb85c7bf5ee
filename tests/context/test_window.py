"""Which limit counts, and how much of it is kept for the answer."""

import pytest

from tui_app.context.windows import DEFAULT_LIMIT, answer_reserve, resolve_window


@pytest.mark.parametrize(
    ("known", "limit", "source"),
    [
        ({}, DEFAULT_LIMIT, "default"),
        ({"model": 200_000}, 200_000, "model"),
        ({"model": 200_000, "server": 32_768}, 32_768, "server"),
        ({"model": 200_000, "server": 32_768, "learnt": 16_384}, 16_384, "learnt"),
        ({"server": 4_096, "learnt": 131_072}, 131_072, "learnt"),
        ({"model": 1, "server": 2, "learnt": 3, "setting": 1_000_000}, 1_000_000, "setting"),
        ({"setting": 0, "learnt": -1, "server": 0, "model": 8_192}, 8_192, "model"),
        ({"setting": -5, "learnt": None}, DEFAULT_LIMIT, "default"),
    ],
)
def test_precedence(known, limit, source) -> None:
    window = resolve_window(**known)
    assert (window.limit, window.source) == (limit, source)
    assert window.reserve == answer_reserve(limit)


@pytest.mark.parametrize(
    ("limit", "reserve"),
    [
        (1_000_000, 8_192),
        (131_072, 8_192),
        (128_000, 8_000),
        (8_192, 512),
        (4_096, 256),
        (2_048, 256),
        (800, 200),
        (1, 0),
    ],
)
def test_reserve(limit, reserve) -> None:
    assert answer_reserve(limit) == reserve
    assert resolve_window(setting=limit).effective == max(1, limit - reserve)
