"""Where the load lines stand on the gauge."""

from typing import TYPE_CHECKING

from tui_app.context.counting.usage import ContextUsage

if TYPE_CHECKING:
    from tui_app.settings import Settings


def marks(settings: "Settings", usage: ContextUsage | None, policy: str = "") -> tuple[float, float]:
    """Where the gauge's two marks stand, as shares of the window: never behind the room for the answer.

    Args:
        settings: What the person has set.
        usage: The measured context, or ``None`` while it is not known.
        policy: Name of the policy in force; empty is the one that is set.

    Returns:
        Zeros for marks that the policy does not have: it compacts nothing by itself, or counts messages.
        Zeros as well while nothing is measured, or the window is not known.
    """
    if usage is None or usage.window.limit <= 0:
        return 0.0, 0.0
    # Policies are not needed for the first frame, which has nothing measured.
    from tui_app.conversation.policies import choose_policy, policy_names

    if policy not in policy_names(settings):
        policy = ""
    chosen = choose_policy(settings, policy)
    if not chosen.automatic:
        return 0.0, 0.0
    window = usage.window
    most = window.effective / window.stated
    if chosen.limit is None:
        # Thresholds are shares of what is believed to fit, and the gauge shows what is known to.
        part = window.limit / window.stated
        return min(chosen.background_threshold * part, most), min(chosen.blocking_threshold * part, most)
    mark = chosen.limit.mark(window)
    return (mark / window.stated if mark else 0.0), most
