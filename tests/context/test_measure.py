"""The running tally, the window's usage and the sizes worked out from both."""

import pytest
from pydantic_ai.messages import ModelRequest, ModelResponse, SystemPromptPart, TextPart, UserPromptPart

from tests.context.governor_kit import tokens
from tests.context.histories import as_items
from tui_app.context.counting.tally import MessageWeight, Tally, is_silent_truncation
from tui_app.context.history import sizes_of
from tui_app.usage import Breakdown, ContextUsage, ContextWindow

WINDOW = ContextWindow(limit=10_000, source="setting", reserve=1_000)


def tally(*weighed: MessageWeight) -> Tally:
    counted = Tally()
    for one in weighed:
        counted.add(one)
    return counted


def user(key: int, count: int) -> MessageWeight:
    return MessageWeight(key, Breakdown(user=count))


def answer(key: int, count: int, reported: int) -> MessageWeight:
    return MessageWeight(key, Breakdown(assistant=count), reported, "m")


def test_without_a_report_the_count_counts() -> None:
    usage = tally(user(1, 100), user(2, 50)).usage(WINDOW, Breakdown(tools=30), model="m", factor=2.0)
    assert (usage.total, usage.exact, usage.messages) == (360, False, 2)
    assert usage.parts.tools == 60


def test_a_report_plus_what_came_after() -> None:
    counted = tally(user(1, 100), answer(2, 50, 400), user(3, 10))
    usage = counted.usage(WINDOW, Breakdown(), model="m", factor=1.5)
    assert usage.total == 415
    assert usage.unmeasured == 415 - 240
    assert not usage.exact
    assert tally(user(1, 100), answer(2, 50, 400)).usage(WINDOW, Breakdown(), model="m").exact
    assert counted.usage(WINDOW, Breakdown(), model="m", counter_exact=True).exact


def test_a_report_below_the_count_scales_the_parts() -> None:
    usage = tally(user(1, 300), answer(2, 100, 200)).usage(WINDOW, Breakdown(), model="m")
    assert usage.total == 200
    assert (usage.parts.user, usage.parts.assistant, usage.unmeasured) == (150, 50, 0)


def test_the_scale_of_single_messages_is_that_of_the_parts() -> None:
    view = (user(1, 300), answer(2, 100, 200))
    assert tally(*view).usage(WINDOW, Breakdown(), model="m").scale == 0.5
    assert tally(*view).usage(WINDOW, Breakdown(), model="n", factor=1.5).scale == 1.5
    assert tally(user(1, 10), answer(2, 10, 90)).usage(WINDOW, Breakdown(), model="m").scale == 1.0


def test_the_report_of_another_model_does_not_count() -> None:
    assert tally(user(1, 100), answer(2, 50, 900)).usage(WINDOW, Breakdown(), model="n").total == 150


def test_reports_from_before_a_rewrite_do_not_count() -> None:
    counted = Tally()
    view = [user(1, 100), answer(2, 50, 900), user(9, 10)]
    counted.reset(view, trusted_after=3)
    assert counted.usage(WINDOW, Breakdown(), model="m").total == 160
    counted.reset(view, trusted_after=2)
    assert counted.usage(WINDOW, Breakdown(), model="m").total == 910
    assert counted.messages == 3


def test_a_report_far_below_the_count_is_not_believed() -> None:
    counted = tally(user(1, 4_000), answer(2, 10, 2_000))
    usage = counted.usage(WINDOW, Breakdown(), model="m")
    assert usage.total == 4_010
    assert not usage.exact
    assert is_silent_truncation(4_000, 2_000)
    assert not is_silent_truncation(1_999, 10)


def test_an_empty_view_is_initial() -> None:
    assert Tally().usage(WINDOW, Breakdown(system=5), model="m").is_initial


def test_usage_as_json() -> None:
    usage = ContextUsage(parts=Breakdown(user=9_500), window=WINDOW, messages=3, unmeasured=20)
    data = usage.to_json()
    assert data["total"] == 9_520
    assert data["utilization"] == 0.952
    assert (data["limit"], data["reserve"], data["limit_source"]) == (10_000, 1_000, "setting")
    assert WINDOW.effective == 9_000


@pytest.mark.parametrize(
    ("parts", "unmeasured", "carried", "scale"),
    [
        (Breakdown(system=130, user=60, assistant=40), 0, 100, 1.0),
        (Breakdown(system=65, user=30, assistant=20), 0, 50, 0.5),
        (Breakdown(system=130, user=60, assistant=40), 130, 100, 2.0),
    ],
)
def test_sizes_divide_the_estimate(parts: Breakdown, unmeasured: int, carried: int, scale: float) -> None:
    items = as_items(
        [
            ModelRequest(parts=[SystemPromptPart("s" * 104)]),
            ModelRequest(parts=[UserPromptPart("u" * 224)]),
            ModelResponse(parts=[TextPart("a" * 144)]),
        ]
    )
    assert [tokens(item) for item in items] == [30, 60, 40]
    usage = ContextUsage(parts=parts, window=WINDOW, messages=3, unmeasured=unmeasured)
    sizes = sizes_of(items, usage, tokens)
    assert sizes.carried == carried
    assert sizes.scale == pytest.approx(scale)
    assert sizes.carried + sizes.estimate(130) == usage.total


def test_sizes_of_nothing() -> None:
    usage = ContextUsage(parts=Breakdown(), window=WINDOW, messages=0)
    assert sizes_of([], usage, tokens).carried == 0


@pytest.mark.parametrize("reported", [300, 700, 1_050, 2_000])
@pytest.mark.parametrize("factor", [1.0, 1.3])
def test_a_rewritten_view_is_measured_on_the_scale_of_the_report_that_was_dropped(
    reported: int, factor: float
) -> None:
    """What is smaller by our count is smaller on the gauge, whatever the provider counts."""
    fixed, long = Breakdown(tools=100), [user(1, 700), answer(2, 50, reported)]
    counted = tally(*long)
    before = counted.usage(WINDOW, fixed, model="m", factor=factor)
    assert before.total == pytest.approx(reported, abs=2)
    counted.reset([user(1, 400), answer(2, 50, reported)], trusted_after=3, newest=counted.newest)
    after = counted.usage(WINDOW, fixed, model="m", factor=factor)
    assert after.total < before.total
    assert not after.exact
    counted.reset(long, trusted_after=4, newest=counted.newest)
    again = counted.usage(WINDOW, fixed, model="m", factor=factor)
    assert again.total == pytest.approx(reported, abs=3)
    assert counted.usage(WINDOW, fixed, model="n", factor=factor).total == pytest.approx(850 * factor, abs=2)


def test_a_low_report_of_a_small_view_says_little_of_a_large_one() -> None:
    counted = tally(user(1, 1_000), answer(2, 0, 300))
    counted.reset([user(1, 20_000)], trusted_after=3, newest=counted.newest)
    assert counted.usage(WINDOW, Breakdown(), model="m").total == 12_000


def test_hidden_thoughts_are_not_multiplied_with_a_view_that_comes_back() -> None:
    counted = tally(user(1, 100), answer(2, 50, 5_000))
    counted.reset([user(1, 6_000)], trusted_after=3, newest=counted.newest)
    assert counted.usage(WINDOW, Breakdown(), model="m").total == 6_000 + 4_850


def test_adding_behind_a_rewrite_adds_what_is_counted() -> None:
    counted = tally(user(1, 1_000), answer(2, 0, 800))
    counted.reset([user(1, 500)], trusted_after=3, newest=counted.newest)
    assert counted.usage(WINDOW, Breakdown(), model="m").total == 400
    counted.add(user(4, 100))
    assert counted.usage(WINDOW, Breakdown(), model="m").total == 480
    counted.add(answer(5, 10, 450))
    assert counted.usage(WINDOW, Breakdown(), model="m").total == 450
