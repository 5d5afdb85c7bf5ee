"""Policies of conversations: the available ones, the one in use, and switching.

Light, so that the screen can use it before the agent side is loaded.
"""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from tui_app.context.policy import PRESETS, Policy, derive
from tui_app.events import PolicyChange
from tui_app.session.model_state import chosen_policy
from tui_app.session.stores.store import SessionStore
from tui_app.settings import Settings, SettingsError

if TYPE_CHECKING:
    from tui_app.conversation.compactions.compactions import Compactions
    from tui_app.conversation.history.session_history import SessionHistory


def choose_policy(settings: Settings, name: str = "") -> Policy:
    """A policy with the user's own thresholds.

    Args:
        settings: The user's settings; thresholds in a policy of the user override the general ones.
        name: Which one; empty for the one that is set.

    Raises:
        SettingsError: if there is no policy of that name.
    """
    chosen = name or settings.policy
    own = settings.policies.get(chosen)
    if own is None and chosen not in PRESETS:
        raise SettingsError(f"policy is {chosen!r}; allowed: {', '.join(policy_names(settings))}.")
    policy = PRESETS[chosen] if own is None else derive(chosen, own)
    general = {name: getattr(settings, name) for name in _GENERAL if name not in (own or {})}
    return replace(policy, **{name: value for name, value in general.items() if value is not None})


_GENERAL = ("background_threshold", "blocking_threshold", "summary_instructions")
"""Settings that apply to every policy, unless it has its own."""


def policy_names(settings: Settings) -> tuple[str, ...]:
    """Names of the built-in policies, then of the user's own."""
    return (*PRESETS, *settings.policies)


def policy_of(store: SessionStore, session: str, settings: Settings, requested: str = "") -> Policy:
    """The policy to continue a session with.

    Args:
        store: Where its log is.
        session: Id of the session.
        settings: The user's settings, used if the session's own policy is unknown.
        requested: A requested policy; it overrides the session's.

    Raises:
        SettingsError: if the requested policy, or the one that is set, is unknown.
    """
    if requested:
        return choose_policy(settings, requested)
    chosen = chosen_policy(store, session)
    # A user's policy may have been removed from the settings meanwhile.
    return choose_policy(settings, chosen if chosen in policy_names(settings) else "")


@dataclass(slots=True)
class PolicySwitch:
    """Switches the policy of one conversation, and logs it."""

    history: "SessionHistory"
    compactions: "Compactions"
    settings: Settings

    @property
    def current(self) -> str:
        return self.compactions.compactor.policy.name

    def change(self, name: str) -> None:
        """Switch to another policy; an unknown name changes nothing and is reported."""
        old, known = self.current, policy_names(self.settings)
        if name not in known or name == old:
            none = f"There is no policy {name}; nothing changed. Choose one of {', '.join(known)}."
            self.history.refuse(none if name not in known else f"The policy is already {name}.")
            return
        # A running job was planned for the old policy, and what was stopped there may work under this one.
        self.compactions.cancel_job()
        self.compactions.compactor.policy = choose_policy(self.settings, name)
        self.compactions.stop_automatic(stop=False)
        self.history.append(PolicyChange(old=old, new=name))
