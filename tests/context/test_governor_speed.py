"""A pass of the governor over a long view takes linear time."""

from collections.abc import Callable
from time import process_time

import pytest
from pydantic_ai.messages import ModelRequest, UserPromptPart

from tests.context.governor_kit import plain_counter, tokens
from tests.context.histories import long_conversation
from tui_app.context.compaction.plan import plan_compaction
from tui_app.context.counting.tokens import TokenCounter
from tui_app.context.history import ListHistory
from tui_app.context.policy import PLIMSOLL
from tui_app.context.requests.builder import build
from tui_app.context.windows import resolve_window
from tui_app.usage import Breakdown


def view_of(turns: int, counter: TokenCounter | None = None) -> ListHistory:
    view = ListHistory(counter or plain_counter())
    view.sync([*long_conversation(turns), ModelRequest(parts=[UserPromptPart("Go on.")])])
    view.fix(resolve_window(setting=10**9), Breakdown(), "m", 1.1)
    return view


def one_pass(view: ListHistory) -> None:
    view.sync([item.message for item in view.items()])
    build(view, [], PLIMSOLL)


def cut_pass(view: ListHistory) -> None:
    view.fix(resolve_window(setting=view.usage().total // 2), Breakdown(), "m", 1.1)
    assert build(view, [], PLIMSOLL).truncation is not None


def plan_pass(view: ListHistory) -> None:
    plan_compaction(view.items(), view.usage(), tokens, PLIMSOLL, trigger="manual")


class Asked(TokenCounter):
    """Counts how often it is asked for a message."""

    times = 0

    def message(self, message: object) -> Breakdown:  # type: ignore[override]
        self.times += 1
        return super().message(message)  # type: ignore[arg-type]


@pytest.mark.parametrize("work", [one_pass, cut_pass])
def test_messages_are_weighed_a_fixed_number_of_times(work: Callable[[ListHistory], None]) -> None:
    asked = []
    for turns in (100, 400):
        counter = Asked(plain_counter()._text)
        view = view_of(turns, counter)
        before = counter.times
        work(view)
        asked.append(counter.times - before)
    assert asked[1] <= asked[0] * 4 + 40


@pytest.mark.benchmark
@pytest.mark.parametrize("work", [one_pass, cut_pass, plan_pass])
def test_eight_times_the_messages_take_no_more_than_sixteen_times_as_long(
    work: Callable[[ListHistory], None],
) -> None:
    short, long = view_of(300), view_of(2_400)
    fastest = [min(seconds(work, view) for _ in range(5)) for view in (short, long)]
    assert fastest[1] < fastest[0] * 16


def seconds(work: Callable[[ListHistory], None], view: ListHistory) -> float:
    started = process_time()
    work(view)
    return process_time() - started
