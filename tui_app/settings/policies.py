"""What settings may say of governance policies: names, and the keys of a policy of the user's own.

The built-in ones are named again because settings are read before the governor is loaded; tests hold them to
it. The keys are the governor's own, which is loaded once the user has a policy of their own.
"""

import re
from collections.abc import Mapping
from functools import cache

from tui_app.settings.rules import Choice, Flag, Group, Number, Refused, Rule, Table, Text, show

POLICY_SHARES: Mapping[str, tuple[float, float]] = {
    "plimsoll": (0.8, 0.95),
    "sliding-window": (0.8, 0.95),
    "reserve": (0.8, 0.95),
    "background": (0.8, 0.95),
    "progressive": (0.95, 0.95),
    "off": (0.8, 0.95),
}
"""The two thresholds of each built-in policy: in the background, and waiting."""
POLICIES = tuple(POLICY_SHARES)
"""Names of the built-in policies."""
SHARE = Number(0.01, 1.0, "a share of the window from 0.01 to 1.0, such as 0.8")
_NAME = r"[A-Za-z][\w.-]*"
POLICY = Text(_NAME, "the name of a policy: a letter, then letters, digits, dot, dash or underscore")


@cache
def policy_keys() -> Group:
    """The keys of ``[policies.NAME]``, each with its rule."""
    from tui_app.context.policy import policy_keys as declared

    rules: dict[str, Rule] = {
        name: Choice(key.words) if key.words else Number(*key.bounds) if key.bounds else Flag()
        for name, key in declared().items()
    }
    return Group(rules, required=("base",))


class OwnPolicy:
    """A policy of the user's own: its keys one by one, then its two thresholds together."""

    @property
    def keys(self) -> Group:
        """The rule of each key."""
        return policy_keys()

    def check(self, value: object) -> dict[str, object]:
        checked = self.keys.check(value)
        background, blocking = thresholds(checked)
        if background > blocking:
            key = "background_threshold" if "background_threshold" in checked else "blocking_threshold"
            other = f"blocking_threshold {blocking}" if key != "blocking_threshold" else ""
            limit = f"at most {other}" if other else f"at least background_threshold {background}"
            raise Refused(show(checked[key]), limit, key)
        return checked

    def read(self, text: str) -> dict[str, object]:
        return self.check(self.keys.read(text))


_TAKEN = (*POLICIES, "all")
"""Names that have a meaning already."""
OWN_POLICIES = Table(
    OwnPolicy(),
    Text(
        rf"(?!(?:{'|'.join(map(re.escape, _TAKEN))})$){_NAME}",
        f"a letter, then letters, digits, dot, dash or underscore, but none of {', '.join(_TAKEN)}",
    ),
)


def thresholds(policy: Mapping[str, object]) -> tuple[float, float]:
    """The two thresholds of a policy of one's own, from its keys or its base."""
    background, blocking = POLICY_SHARES[str(policy["base"])]
    own = policy.get("background_threshold", background), policy.get("blocking_threshold", blocking)
    return float(str(own[0])), float(str(own[1]))
