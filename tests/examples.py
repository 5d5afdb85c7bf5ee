"""How many examples generated tests try: a tenth by default, a fifth with ``HYPOTHESIS_PROFILE=ci``."""

import os

import hypothesis

PROFILE = os.environ.get("HYPOTHESIS_PROFILE", "quick")
"""``quick`` by default, ``ci`` in ``.ci/run``; ``thorough`` looks long at what has no number of its own."""

USUAL = 50
"""Examples of a test without a number of its own."""


def examples(every: int) -> int:
    """How many of them are tried now."""
    return max(5, every // {"quick": 10, "ci": 5}.get(PROFILE, 1))


for name in ("quick", "ci"):
    hypothesis.settings.register_profile(
        name, deadline=None, derandomize=True, print_blob=True, max_examples=examples(USUAL)
    )
hypothesis.settings.register_profile(
    "thorough",
    deadline=None,
    max_examples=5_000,
    suppress_health_check=[hypothesis.HealthCheck.too_slow],
)
