"""Who writes a summary, and who does when that one fails: what a policy says, for one trigger."""

from collections.abc import Callable, Sequence

from tui_app.context.policy import Policy
from tui_app.context.summaries.heuristic import MarkerSummariser
from tui_app.context.summaries.summary import Summariser
from tui_app.events import Trigger


def writers_for(
    policy: Policy,
    trigger: Trigger,
    choose: Callable[[Trigger], Sequence[Summariser]],
    without_model: Summariser | None,
) -> Sequence[Summariser]:
    """Name the writers of one compaction, best first.

    A person who asked for a summary decides again when it fails; a request that waits must go on.

    Args:
        policy: Says by whom summaries are written, and what stands in for one.
        trigger: Why the compaction runs.
        choose: Names the models' writers for a trigger, best first; at least one.
        without_model: Writes by extraction, if that is possible.
    """
    if policy.summary_by == "heuristic" and without_model is not None:
        return (without_model,)
    models = tuple(choose(trigger))
    if trigger == "manual":
        return models
    match policy.fallback:
        case "marker":
            return (*models, MarkerSummariser())
        case "heuristic" if without_model is not None:
            return (*models, without_model)
        case _:
            return models
