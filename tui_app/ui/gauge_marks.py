"""Where the load lines stand on the gauge."""

from tui_app.context.usage import ContextUsage
from tui_app.conversation.policies import choose_policy, policy_names
from tui_app.settings import Settings


def marks(settings: Settings, usage: ContextUsage | None, policy: str = "") -> tuple[float, float]:
    """Where the gauge's two marks stand, as shares of the window: never behind the room for the answer.

    Args:
        settings: What the person has set.
        usage: The measured context, or ``None`` while it is not known.
        policy: Name of the policy in force; empty is the one that is set.

    Returns:
        Zeros for marks that the policy does not have: it compacts nothing by itself, or counts messages.
    """
    if policy not in policy_names(settings):
        policy = ""
    chosen = choose_policy(settings, policy)
    if not chosen.automatic:
        return 0.0, 0.0
    most = usage.window.effective / usage.window.limit if usage is not None else 1.0
    if chosen.limit is None:
        return min(chosen.background_threshold, most), min(chosen.blocking_threshold, most)
    mark = chosen.limit.mark(usage.window) if usage is not None else None
    return (mark / usage.window.limit if mark and usage is not None else 0.0), most
