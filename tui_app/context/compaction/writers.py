"""Who writes a summary by a policy: the first choice, and who stands in when it fails."""

from collections.abc import Callable, Sequence

from tui_app.context.policy import Policy
from tui_app.context.summaries.extractive import MarkerSummariser
from tui_app.context.summaries.writer import Summariser
from tui_app.events import Trigger


def writers_for(
    policy: Policy,
    trigger: Trigger,
    choose: Callable[[Trigger], Sequence[Summariser]],
    without_model: Summariser | None,
    *,
    extract: bool = False,
) -> Sequence[Summariser]:
    """Name the writers of one compaction, best first.

    The user who asked for a summary decides again when it fails; a request that waits must go on.

    Args:
        policy: Says by whom summaries are written, and what stands in for one.
        trigger: Why the compaction runs.
        choose: Names the models' writers for a trigger, best first; at least one.
        without_model: Writes by extraction, if that is possible.
        extract: Whether the user wants just that.
    """
    if (extract or policy.summary_by == "heuristic") and without_model is not None:
        return (without_model,)
    models = tuple(choose(trigger))
    if trigger == "manual":
        return models
    if policy.fallback == "marker":
        return (*models, MarkerSummariser())
    if policy.fallback == "heuristic" and without_model is not None:
        return (*models, without_model)
    return models
