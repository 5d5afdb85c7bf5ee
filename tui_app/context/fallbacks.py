"""Who writes a summary, and who does when that one fails: what a policy says, for one trigger."""

from collections.abc import Callable, Sequence

from tui_app.context.events import Trigger
from tui_app.context.heuristic import MarkerSummariser
from tui_app.context.policy import Policy
from tui_app.context.summary import Summariser


def writers_for(
    policy: Policy,
    trigger: Trigger,
    choose: Callable[[Trigger], Summariser],
    without_model: Summariser | None,
) -> Sequence[Summariser]:
    """Name the writers of one compaction, best first.

    A person who asked for a summary decides again when it fails; a request that waits must go on.

    Args:
        policy: Says by whom summaries are written, and what stands in for one.
        trigger: Why the compaction runs.
        choose: Names the model's writer for a trigger.
        without_model: Writes by extraction, if that is possible.
    """
    if policy.summary_by == "heuristic" and without_model is not None:
        return (without_model,)
    first = choose(trigger)
    if trigger == "manual":
        return (first,)
    match policy.fallback:
        case "marker":
            return (first, MarkerSummariser())
        case "heuristic" if without_model is not None:
            return (first, without_model)
        case _:
            return (first,)
