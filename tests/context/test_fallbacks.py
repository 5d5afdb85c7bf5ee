"""Who writes a summary under which policy."""

import pytest

from tui_app.context.compaction.proposal import writers_for
from tui_app.context.policy import PRESETS, derive
from tui_app.context.summaries.writer import ExtractiveSummariser, MarkerSummariser, Summariser
from tui_app.events import Trigger

MODEL = ExtractiveSummariser(len, "the model")
WITHOUT = ExtractiveSummariser(len, "without a model")


def names(policy: str, trigger: Trigger, without: Summariser | None = WITHOUT) -> list[str]:
    writers = writers_for(PRESETS[policy], trigger, lambda _trigger: (MODEL,), without)
    return ["marker" if isinstance(one, MarkerSummariser) else one.model_name for one in writers]


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        ("plimsoll", ["the model", "without a model"]),
        ("sliding-window", ["the model", "marker"]),
        ("reserve", ["the model"]),
        ("background", ["the model"]),
        ("progressive", ["the model", "without a model"]),
    ],
)
def test_automatic_compactions_fall_back_as_the_policy_says(policy: str, expected: list[str]) -> None:
    assert names(policy, "blocking") == expected
    assert names(policy, "manual") == ["the model"], "whoever asked decides again"


def test_without_a_writer_by_extraction_the_model_stands_alone() -> None:
    assert names("plimsoll", "blocking", None) == ["the model"]


def test_a_policy_may_do_without_models() -> None:
    policy = derive("mine", {"base": "plimsoll", "summary_by": "heuristic"})
    writers = writers_for(policy, "manual", lambda _trigger: (MODEL,), WITHOUT)
    assert [writer.model_name for writer in writers] == ["without a model"]
