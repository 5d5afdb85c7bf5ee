"""The policy of one conversation: which one a resumed session follows, and changing it while it goes on."""

from dataclasses import dataclass

from tui_app.context.policy import Policy
from tui_app.conversation.compactions import Compactions
from tui_app.conversation.policies import choose_policy, policy_names
from tui_app.conversation.session_history import SessionHistory
from tui_app.events import Notice, PolicyChange
from tui_app.session.model_state import chosen_policy
from tui_app.session.port import SessionStore
from tui_app.settings import Settings


@dataclass(slots=True)
class PolicySwitch:
    """Changes the policy of one conversation; the log remembers it."""

    history: SessionHistory
    compactions: Compactions
    settings: Settings

    @property
    def current(self) -> str:
        """Name of the policy in force."""
        return self.compactions.compactor.policy.name

    def change(self, name: str) -> None:
        """Go on under another policy; a name that nobody knows changes nothing and is reported."""
        old, known = self.current, policy_names(self.settings)
        if name not in known:
            told = f"There is no policy {name}; nothing changed. Choose one of {', '.join(known)}."
            self.history.append(Notice(text=told, passing=True))
            return
        if name == old:
            self.history.append(Notice(text=f"The policy is {name} already.", passing=True))
            return
        # A job that is under way was planned for the other policy, and what stopped there may work here.
        self.compactions.cancel()
        self.compactions.compactor.policy = choose_policy(self.settings, name)
        self.compactions.stop_automatic(stop=False)
        self.history.append(PolicyChange(old=old, new=name))


def policy_of(store: SessionStore, session: str, settings: Settings, wanted: str = "") -> Policy:
    """The policy to go on with in a session.

    Args:
        store: Where its log is.
        session: Id of the session.
        settings: What the person has set; it decides where nothing else was chosen.
        wanted: A policy asked for this time; it ranks above what was chosen in the session before.

    Raises:
        SettingsError: if the policy asked for, or the one that is set, is unknown.
    """
    if wanted:
        return choose_policy(settings, wanted)
    chosen = chosen_policy(store, session)
    # One of their own may have left the settings meanwhile.
    return choose_policy(settings, chosen if chosen in policy_names(settings) else "")
