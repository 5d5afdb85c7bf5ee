"""The policies of conversations: which ones there are, which one a session follows, and changing it.

Light: the screen asks before the agent side is loaded.
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
        settings: What the user has set; thresholds in a policy of their own rank above the general ones.
        name: Which one; empty is the one that is set.

    Raises:
        SettingsError: if there is no policy of that name.
    """
    wanted = name or settings.policy
    own = settings.policies.get(wanted)
    if own is None and wanted not in PRESETS:
        raise SettingsError(f"policy is {wanted!r}; allowed: {', '.join(policy_names(settings))}.")
    policy = PRESETS[wanted] if own is None else derive(wanted, own)
    general = {name: getattr(settings, name) for name in _GENERAL if name not in (own or {})}
    return replace(policy, **{name: value for name, value in general.items() if value is not None})


_GENERAL = ("background_threshold", "blocking_threshold", "summary_instructions")
"""Settings that hold for every policy that does not say otherwise."""


def policy_names(settings: Settings) -> tuple[str, ...]:
    """Names of the built-in policies, then of the user's own."""
    return (*PRESETS, *settings.policies)


def policy_of(store: SessionStore, session: str, settings: Settings, wanted: str = "") -> Policy:
    """The policy to go on with in a session.

    Args:
        store: Where its log is.
        session: Id of the session.
        settings: What the user has set; it decides where the session's own policy is not known.
        wanted: A policy asked for this time; it ranks above the one that the session followed until now.

    Raises:
        SettingsError: if the policy asked for, or the one that is set, is unknown.
    """
    if wanted:
        return choose_policy(settings, wanted)
    chosen = chosen_policy(store, session)
    # One of their own may have left the settings meanwhile.
    return choose_policy(settings, chosen if chosen in policy_names(settings) else "")


@dataclass(slots=True)
class PolicySwitch:
    """Changes the policy of one conversation; the log remembers it."""

    history: "SessionHistory"
    compactions: "Compactions"
    settings: Settings

    @property
    def current(self) -> str:
        return self.compactions.compactor.policy.name

    def change(self, name: str) -> None:
        """Go on under another policy; an unknown name changes nothing and is reported."""
        old, known = self.current, policy_names(self.settings)
        if name not in known or name == old:
            none = f"There is no policy {name}; nothing changed. Choose one of {', '.join(known)}."
            self.history.refuse(none if name not in known else f"The policy is already {name}.")
            return
        # A job that is under way was planned for the other policy, and what stopped there may work here.
        self.compactions.cancel_job()
        self.compactions.compactor.policy = choose_policy(self.settings, name)
        self.compactions.stop_automatic(stop=False)
        self.history.append(PolicyChange(old=old, new=name))
