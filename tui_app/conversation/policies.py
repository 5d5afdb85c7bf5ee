"""Which policies a person can choose from. Light: the screen asks before the agent side is loaded."""

from collections.abc import Mapping
from dataclasses import replace

from tui_app.context.policy import PRESETS, Policy, derive
from tui_app.settings import Settings, SettingsError


def choose_policy(settings: Settings, name: str = "") -> Policy:
    """A policy with the person's own thresholds.

    Args:
        settings: What the person has set; thresholds in a policy of their own rank above the general ones.
        name: Which one; empty is the one that is set.

    Raises:
        SettingsError: if there is no policy of that name.
    """
    wanted = name or settings.policy
    own = settings.policies.get(wanted)
    if own is None and wanted not in PRESETS:
        raise SettingsError(f"policy is {wanted!r}; allowed: {', '.join(policy_names(settings))}.")
    policy = PRESETS[wanted] if own is None else derive(wanted, own)
    return _with_shares(policy, settings, own or {})


def policy_names(settings: Settings) -> tuple[str, ...]:
    """Names of the built-in policies, then of the person's own."""
    return (*PRESETS, *settings.policies)


def _with_shares(policy: Policy, settings: Settings, own: Mapping[str, object]) -> Policy:
    """Put the general thresholds in where a policy of the person's own does not name them."""
    background, blocking = settings.background_threshold, settings.blocking_threshold
    if background is not None and "background_threshold" not in own:
        policy = replace(policy, background_threshold=background)
    if blocking is not None and "blocking_threshold" not in own:
        policy = replace(policy, blocking_threshold=blocking)
    return policy
