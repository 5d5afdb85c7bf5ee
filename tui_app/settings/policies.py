"""What settings may say of governance policies: names, and the keys of a policy of one's own.

The built-in ones stand here again because settings are read before the governor; tests hold them to it.
"""

import re
from collections.abc import Mapping
from typing import NamedTuple

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
_MOST = 100_000_000
_FROM_0 = Number(0, _MOST, "a whole number from 0", whole=True)
_FROM_1 = Number(1, _MOST, "a whole number from 1", whole=True)
_PART = Number(0.0, 0.5, "a share of the window from 0 to 0.5, such as 0.05")
_TOKENS = Number(0, _MOST, "a whole number of tokens from 0", whole=True)

POLICY_KEYS: Mapping[str, Rule] = {
    "base": Choice(POLICIES),
    "automatic": Flag(),
    "background_threshold": SHARE,
    "blocking_threshold": SHARE,
    "minimum_messages": _FROM_0,
    "max_messages": _FROM_0,
    "reserve_tokens": _TOKENS,
    "unknown_window_tokens": _TOKENS,
    "at_turn_end": Flag(),
    "recent_share": _PART,
    "recent_tokens": _TOKENS,
    "recent_messages": _FROM_0,
    "keep_first_run": Flag(),
    "user_share": _PART,
    "facts_share": _PART,
    "pinned_share": _PART,
    "plan_share": _PART,
    "summary_share": Number(0.01, 0.5, "a share of the window from 0.01 to 0.5, such as 0.06"),
    "summary_by": Choice(("llm", "heuristic")),
    "fallback": Choice(("heuristic", "marker", "none")),
    "normalise": Flag(),
    "offload": Flag(),
    "archive": Flag(),
    "trim": Flag(),
    "pointers": Flag(),
    "tool_output_max_lines": Number(4, _MOST, "a whole number of lines from 4", whole=True),
    "tool_output_max_bytes": _FROM_1,
    "tool_output_max_chars": _FROM_1,
    "tool_output_spill_chars": _FROM_1,
    "tool_output_mode": Choice(("head_tail", "head")),
    "offload_tokens": _TOKENS,
    "offload_preview_lines": _FROM_0,
    "tool_call_cutoff": _FROM_0,
    "tool_summary_strategy": Choice(("llm", "heuristic", "off")),
    "tool_output_trim_chars": _FROM_0,
    "trim_keep_messages": _FROM_0,
    "pointers_threshold": SHARE,
}
"""Keys of ``[policies.NAME]``."""


class OwnPolicy(NamedTuple):
    """A policy of one's own: its keys one by one, then its two thresholds together."""

    keys: Group

    def check(self, value: object) -> dict[str, object]:
        """See ``Rule``."""
        checked = self.keys.check(value)
        background, blocking = thresholds(checked)
        if background > blocking:
            key = "background_threshold" if "background_threshold" in checked else "blocking_threshold"
            other = f"blocking_threshold {blocking}" if key != "blocking_threshold" else ""
            limit = f"at most {other}" if other else f"at least background_threshold {background}"
            raise Refused(show(checked[key]), limit, key)
        return checked

    def read(self, text: str) -> dict[str, object]:
        """See ``Rule``."""
        return self.check(self.keys.read(text))


_TAKEN = (*POLICIES, "all")
"""Names that have a meaning already."""
OWN_POLICIES = Table(
    OwnPolicy(Group(POLICY_KEYS, required=("base",))),
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
