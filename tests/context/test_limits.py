"""What is known about a model's window, and what a refusal adds to it."""

from itertools import pairwise

import pytest

from tests.context.governor_kit import Provider
from tui_app.context.learnt import LearntModels
from tui_app.context.limits import ContextTooLarge, Limits
from tui_app.context.overflow import ContextOverflow


def limits(setting: int | None = None) -> Limits:
    return Limits(LearntModels(None), setting=setting)


def test_the_most_trustworthy_source_wins() -> None:
    known, model = limits(), Provider(8_000)
    assert (known.window(model).limit, known.window(model).source) == (8_000, "model")
    known.server[known.model_key(model)] = 6_000
    assert known.window(model).source == "server"
    known.learn(model, ContextOverflow(5_000, 5_500, "openai"), 5_400)
    known.observe(model, 4_000, 4_100)
    assert (known.window(model).limit, known.window(model).source) == (5_000, "learnt")
    known.setting = 2_000
    assert known.window(model).source == "setting"


def test_a_server_that_lists_another_window_voids_what_was_learnt() -> None:
    known, model = limits(), Provider(None)
    known.learn(model, ContextOverflow(4_096, 5_000, "llama.cpp"), 5_000)
    known.observe(model, 100, 100)
    assert known.window(model).limit == 4_096
    known.server[known.model_key(model)] = 16_384
    assert known.window(model).limit == 16_384


def test_a_refusal_with_numbers_teaches_limit_factor_and_the_size_of_the_retry() -> None:
    known, model = limits(), Provider(100_000)
    known.learn(model, ContextOverflow(10_000, 20_000, "openai"), 10_000)
    assert known.factor(model) == 2.0
    assert known.learnt.limit(known._learnt_key(model)) == 10_000
    assert known.window(model).effective == pytest.approx(9_375 * 0.95, abs=2)
    known.observe(model, 4_000, 8_000)
    assert known.window(model).limit == 10_000


def test_the_retry_is_smaller_even_when_we_believe_that_it_fits() -> None:
    known, model = limits(), Provider(10_000)
    known.learn(model, ContextOverflow(10_000, None, "openai"), 5_000)
    assert known.window(model).effective == 4_500


def test_room_for_the_answer_is_not_learnt_as_input() -> None:
    known, model = limits(), Provider(100_000)
    known.learn(model, ContextOverflow(10_000, 12_000, "openai", answer=4_000), 8_000)
    assert known.factor(model) == 1.0


def test_without_numbers_each_refusal_makes_the_next_request_smaller() -> None:
    known, model = limits(), Provider(None)
    sizes = []
    size = 20_000
    for _ in range(4):
        known.learn(model, ContextOverflow(None, None, "bedrock"), size)
        size = known.window(model).effective
        sizes.append(size)
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[0] == 18_000
    assert sizes[-1] < 14_000


def refuse_and_answer(known: Limits, model: Provider, refused: int, answered: int) -> None:
    known.learn(model, ContextOverflow(None, None, "bedrock"), refused)
    known.observe(model, answered, answered)


@pytest.mark.parametrize("refused", [500, 60_000, 119_000])
def test_refusals_without_numbers_never_cost_more_than_half_of_the_window(refused: int) -> None:
    known, model = limits(), Provider(128_000)
    announced = known.window(model).effective
    for _ in range(10):
        refuse_and_answer(known, model, refused, 400)
    assert known.window(model).effective >= announced // 2


def test_the_retry_of_a_small_request_is_smaller_still() -> None:
    known, model = limits(), Provider(128_000)
    known.learn(model, ContextOverflow(None, None, "bedrock"), 500)
    assert known.window(model).effective == 450


def test_a_ceiling_rises_with_every_answer_until_it_is_gone() -> None:
    known, model = limits(), Provider(128_000)
    announced = known.window(model).effective
    refuse_and_answer(known, model, 70_000, 400)
    sizes = [known.window(model).effective]
    assert sizes == [63_000], "the answered retry says nothing about larger requests"
    while sizes[-1] < announced and len(sizes) < 30:
        known.observe(model, 400, 400)
        sizes.append(known.window(model).effective)
    steps = [after - before for before, after in pairwise(sizes)]
    assert all(0 < step <= round(announced * 0.05) for step in steps)
    assert known.window(model).source == "model"
    assert len(sizes) > 5


@pytest.mark.parametrize("size", [60_000, 63_000, 90_000])
def test_an_answer_about_as_large_as_the_ceiling_ends_it(size: int) -> None:
    known, model = limits(), Provider(128_000)
    refuse_and_answer(known, model, 70_000, 400)
    known.observe(model, size, size)
    assert known.window(model).limit == 128_000


def test_a_retry_that_just_fits_does_not_end_the_ceiling() -> None:
    known, model = limits(), Provider(128_000)
    refuse_and_answer(known, model, 70_000, 62_900)
    assert known.window(model).effective == 63_000


def test_a_window_never_shrinks_to_nothing() -> None:
    known, model = limits(), Provider(None)
    for _ in range(80):
        known.learn(model, ContextOverflow(None, None, "x"), 300)
    assert known.window(model).effective == 256


def test_a_window_made_smaller_still_knows_what_was_announced() -> None:
    known, model = limits(), Provider(128_000)
    assert known.window(model).stated == 128_000
    known.learn(model, ContextOverflow(None, None, "bedrock"), 500)
    assert known.window(model).limit < known.window(model).stated == 128_000


def test_the_error_says_both_sizes() -> None:
    error = ContextTooLarge(1_000, 1_500)
    assert str(error) == "the request needs 1500 tokens and the model takes 1000"
    assert (error.limit, error.requested) == (1_000, 1_500)
