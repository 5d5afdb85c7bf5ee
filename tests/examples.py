"""Number of examples per property-based test: a tenth by default, a fifth with ``HYPOTHESIS_PROFILE=ci``."""

import os

import hypothesis

PROFILE = os.environ.get("HYPOTHESIS_PROFILE", "quick")
"""``quick`` by default, ``ci`` in ``.ci/run``. ``thorough`` tries 5,000 where a test sets no number."""

USUAL = 50
"""Examples of a test that sets no number itself."""


def examples(every: int) -> int:
    """Scale a number of examples to the active profile; at least 5."""
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
