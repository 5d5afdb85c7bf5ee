"""What a policy does between two turns."""

from tui_app.context.compaction.compactor import CompactionRefused, Compactor
from tui_app.context.requests.outgoing import usage_as_sent


async def compact_at_turn_end(compactor: Compactor) -> None:
    """Compact where the policy does that when a turn has ended, and wait until the summary is written.

    It is applied at once, unless a person has to decide on it first.
    """
    usage = usage_as_sent(compactor.history)
    if not compactor.policy.due_at_turn_end(usage) or not compactor.wanted("turn_end"):
        return
    try:
        compactor.start("turn_end")
    except CompactionRefused:
        return  # with the next message it may help
    await compactor.written()
    compactor.apply_ready()
