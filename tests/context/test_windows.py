"""A model's window: what is known, what refusals add, and how that is stored."""

import json
import stat
import subprocess
import sys
import threading
from itertools import pairwise
from pathlib import Path

import pytest

from tests.context.governor_kit import Provider
from tui_app.context.windows.learnt_models import LearntModels
from tui_app.context.windows.window_limits import ContextTooLarge, Limits, most
from tui_app.context.windows.windows import DEFAULT_LIMIT, SMALLEST_WINDOW, answer_reserve, resolve_window
from tui_app.usage import Kinds
from tui_app.wires.overflow import ContextOverflow

# A model's window, and what a refusal adds.


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


class Elsewhere(Provider):
    """A model of the same name at another address."""

    @property
    def base_url(self) -> str:
        return "http://127.0.0.1:9/v1"


def test_what_one_model_has_refused_says_nothing_of_another() -> None:
    known, model, other = limits(), Provider(None), Elsewhere(None)
    before = known.window(other)
    known.learn(model, ContextOverflow(None, None, "openai"), 5_000)
    assert known.window(model).effective < 5_000
    assert known.window(other) == before
    known.observe(other, 9_000, 9_000)
    assert known.window(model).effective < 5_000, "nor does the other's answer"


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
    assert known.learnt.lesson(known._learnt_key(model)).limit == 10_000
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


def test_the_room_that_an_error_keeps_for_the_answer_is_learnt(path: Path) -> None:
    known, model = Limits(LearntModels(path)), Provider(16_000)
    known.learn(model, ContextOverflow(16_000, 18_000, "openai", answer=6_000), 12_000)
    known.observe(model, 9_000, 9_000)
    assert known.window(model).effective == 10_000
    assert Limits(LearntModels(path)).window(model).effective == 10_000, "nor does the next session forget"


def test_room_for_the_answer_never_takes_more_than_half() -> None:
    known, model = limits(), Provider(16_000)
    known.learn(model, ContextOverflow(16_000, 17_400, "openai", answer=9_000), 8_400)
    known.observe(model, 1_000, 1_000)
    assert known.window(model).reserve == 8_000


def test_a_window_set_too_large_gives_way_until_it_is_set_anew(path: Path) -> None:
    known, model = Limits(LearntModels(path), setting=64_000), Provider(None)
    known.learn(model, ContextOverflow(8_192, 9_000, "lm-studio"), 9_000)
    known.observe(model, 4_000, 4_000)
    assert (known.window(model).limit, known.window(model).source) == (8_192, "learnt")
    assert Limits(LearntModels(path), setting=64_000).window(model).limit == 8_192
    assert Limits(LearntModels(path), setting=32_000).window(model).limit == 32_000
    assert Limits(LearntModels(path), setting=4_000).window(model).limit == 4_000


NAMELESS = ContextOverflow(None, None, "bedrock")


def fail(known: Limits, model: Provider, size: int) -> int:
    """Refuse a request and its retry without numbers, and return the size of the retry."""
    known.learn(model, NAMELESS, size)
    retry = known.window(model).effective
    known.learn(model, NAMELESS, retry)
    return retry


def test_the_room_left_free_grows_with_every_failed_request_up_to_a_maximum() -> None:
    known, model = limits(), Provider(None)
    assert [fail(known, model, 20_000) for _ in range(6)] == [18_000, 16_000, 12_000, 10_000, 10_000, 10_000]


def test_the_room_left_free_shrinks_with_every_answer() -> None:
    known, model = limits(), Provider(None)
    for _ in range(3):
        fail(known, model, 20_000)
    known.observe(model, 400, 400)
    assert fail(known, model, 20_000) == 12_000
    for _ in range(3):
        known.observe(model, 400, 400)
    assert fail(known, model, 20_000) == 18_000


@pytest.mark.parametrize("failed", [1, 2, 5])
def test_the_request_after_a_failed_one_may_be_larger_than_its_retry(failed: int) -> None:
    """A small conversation that is refused without a reason must not be locked forever."""
    known, model = limits(), Provider(128_000)
    announced = known.window(model).effective
    for _ in range(failed):
        fail(known, model, 3_000)
        assert known.window(model).effective >= announced // 2


def test_a_retry_that_was_never_sent_does_not_bind_the_next_request() -> None:
    known, model = limits(), Provider(128_000)
    known.learn(model, NAMELESS, 3_000)
    assert known.window(model).effective == 2_700
    known.end_retry(model)
    assert known.window(model).effective >= 60_000
    known.end_retry(model)
    assert known.window(model).effective >= 60_000
    known.learn(model, ContextOverflow(10_000, 20_000, "openai"), 20_000)
    known.end_retry(model)
    assert known.window(model).limit == 10_000


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
        assert known.window(model).effective >= 256


@pytest.mark.parametrize("announced", [None, 2_000, 20_000, 1_000_000])
@pytest.mark.parametrize("requested", [None, 17_000])
def test_ever_smaller_limits_leave_a_window_that_can_be_used(
    announced: int | None, requested: int | None
) -> None:
    known, model = limits(), Provider(announced)
    for step in range(1, 30):
        named = max(1, 16_000 // 2 ** (step // 2))
        known.learn(
            model, ContextOverflow(named, requested, "openai"), min(6_000, known.window(model).effective)
        )
        known.end_retry(model)
        learnt = known.learnt.lesson(known._learnt_key(model)).limit
        assert known.window(model).limit >= 320
        assert learnt is None or learnt >= SMALLEST_WINDOW


def test_a_tiny_window_from_an_earlier_session_is_not_believed() -> None:
    known, model = limits(), Provider(20_000)
    known.learnt.learn(known._learnt_key(model), limit=153)
    assert (known.window(model).limit, known.window(model).source) == (20_000, "model")


def test_a_window_made_smaller_still_knows_what_was_announced() -> None:
    known, model = limits(), Provider(128_000)
    assert known.window(model).stated == 128_000
    known.learn(model, ContextOverflow(None, None, "bedrock"), 500)
    assert known.window(model).limit < known.window(model).stated == 128_000


@pytest.mark.parametrize("limit", [1, 255, 300, 499, 10**8, 10**12])
@pytest.mark.parametrize("requested", [None, 5_500, 10**12])
def test_a_limit_that_cannot_be_is_not_learnt(limit: int, requested: int | None) -> None:
    known, model = limits(), Provider(128_000)
    known.learn(model, ContextOverflow(limit, requested, "openai"), 5_000)
    known.end_retry(model)
    assert known.learnt.lesson(known._learnt_key(model)).limit is None
    assert known.window(model).effective >= 59_000
    assert known.factor(model) in {1.0, 1.1}


@pytest.mark.parametrize(
    ("announced", "size", "limit"),
    [
        (None, 5_000, 2_048),
        (None, 1_000, 512),
        (1_048_576, 40_000, 8_192),
        (10_000_000, 20_000, 4_096),
        (8_192, 8_000, 32_768),
        (128_000, 60_000, 262_144),
    ],
)
def test_a_limit_that_may_be_is_learnt(announced: int | None, size: int, limit: int) -> None:
    for requested in (limit + 1, None):
        known, model = limits(), Provider(announced)
        known.learn(model, ContextOverflow(limit, requested, "openai"), size)
        known.end_retry(model)
        assert known.window(model).stated == limit


def test_a_limit_without_a_count_is_kept_once_it_was_named_again() -> None:
    """The limit may belong to another request quoted in an error, so larger requests are tried again."""
    known, model = limits(), Provider(128_000)
    for _ in range(2):
        assert learnt_limit(known, model) is None
        assert known.window(model).limit == 128_000
        known.learn(model, ContextOverflow(4_096, None, "openai"), 9_000)
        if learnt_limit(known, model) is None:
            assert known.window(model).limit < 5_000, "the retry and what follows keep to it"
            for _ in range(5):
                known.observe(model, 3_000, 3_000)
    assert learnt_limit(known, model) == 4_096


def test_a_limit_that_a_refused_request_kept_to_was_not_the_reason() -> None:
    known, model = limits(), Provider(128_000)
    known.learn(model, ContextOverflow(4_096, None, "openai"), 9_000)
    known.learn(model, ContextOverflow(4_096, None, "openai"), 3_000)
    known.end_retry(model)
    assert learnt_limit(known, model) is None
    assert known.window(model).stated == 128_000


def test_a_longer_answer_disproves_a_limit_without_a_count() -> None:
    known, model = limits(), Provider(128_000)
    known.learn(model, ContextOverflow(4_096, None, "openai"), 9_000)
    known.observe(model, 6_000, 6_000)
    known.end_retry(model)
    assert known.window(model).stated == 128_000
    known.learn(model, ContextOverflow(4_096, None, "openai"), 9_000)
    assert learnt_limit(known, model) is None, "named once"


def test_a_limit_without_a_count_is_no_lesson_for_the_next_session(tmp_path) -> None:
    path, model = tmp_path / "learnt.json", Provider(128_000)
    Limits(LearntModels(path)).learn(model, ContextOverflow(32_000, None, "openai"), 40_000)
    assert Limits(LearntModels(path)).window(model).limit == 128_000


def learnt_limit(known: Limits, model: Provider) -> int | None:
    return known.learnt.lesson(known._learnt_key(model)).limit


def test_a_limit_below_what_was_answered_is_believed_when_it_is_named_again() -> None:
    """A gateway may report nonsense once; a server restarted with a smaller window reports it each time."""
    known, model = limits(), Provider(128_000)
    known.observe(model, 20_000, 20_000)
    known.learn(model, ContextOverflow(4_096, 5_000, "x"), 5_000)
    assert learnt_limit(known, model) is None
    assert known.window(model).effective < 3_840, "the retry keeps to it all the same"
    known.observe(model, 3_000, 3_000)
    known.learn(model, ContextOverflow(4_096, 6_000, "x"), 6_000)
    assert learnt_limit(known, model) == 4_096
    known.learn(model, ContextOverflow(4_096, 4_200, "x"), 4_200)
    assert learnt_limit(known, model) == 4_096


def test_a_longer_answer_clears_the_doubted_limit() -> None:
    known, model = limits(), Provider(128_000)
    known.observe(model, 20_000, 20_000)
    for _ in range(3):
        known.learn(model, ContextOverflow(4_096, 5_000, "x"), 5_000)
        known.observe(model, 5_000, 5_000)
    assert learnt_limit(known, model) is None


def test_limits_that_only_ever_fall_are_not_followed_down() -> None:
    known, model = limits(), Provider(128_000)
    for limit in (18_000, 3_000, 2_000, 1_000, 300):
        known.learn(model, ContextOverflow(limit, limit + 1, "x"), limit + 1)
        known.observe(model, 200, 200)
    assert learnt_limit(known, model) == 18_000


@pytest.mark.parametrize("requested", [1, 500, 50_000, 10**9])
def test_a_count_that_is_none_of_this_request_teaches_no_factor(requested: int) -> None:
    known, model = limits(), Provider(128_000)
    known.learn(model, ContextOverflow(4_096, requested, "openai"), 5_000)
    assert known.factor(model) == 1.0
    assert known.window(model).effective >= 3_400, "nor how small the retry must be"


def test_a_limit_that_the_request_kept_to_leaves_more_room_from_now_on() -> None:
    """The provider counts something we do not see, so keeping to the limit alone would fail forever."""
    known, model = limits(), Provider(10_000)
    sizes = []
    for _ in range(3):
        sizes.append(known.window(model).effective)
        fail_named = ContextOverflow(10_000, None, "openai")
        known.learn(model, fail_named, sizes[-1])
        known.learn(model, fail_named, known.window(model).effective)
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[-1] < sizes[0]


def test_an_answer_above_a_learnt_limit_disproves_it() -> None:
    known, model = limits(), Provider(128_000)
    known.learn(model, ContextOverflow(5_000, 5_500, "openai"), 5_500)
    known.observe(model, 4_000, 4_000)
    assert known.window(model).limit == 5_000
    known.observe(model, 5_100, 5_100)
    assert (known.window(model).limit, known.window(model).source) == (5_100, "learnt")
    known.observe(model, 9_000, 9_000)
    assert (known.window(model).limit, known.window(model).source) == (128_000, "model")


def test_what_one_process_learns_and_unlearns_the_next_one_knows(tmp_path) -> None:
    path, model = tmp_path / "learnt.json", Provider(128_000)
    first = Limits(LearntModels(path))
    first.learn(model, ContextOverflow(32_000, 40_000, "openai"), 40_000)
    assert Limits(LearntModels(path)).window(model).limit == 32_000
    assert Limits(LearntModels(path)).window(Provider(None)).limit == 32_000, "provider and model, no more"
    second = Limits(LearntModels(path))
    second.observe(model, 60_000, 60_000)
    assert Limits(LearntModels(path)).window(model).limit == 128_000


def test_what_is_known_is_more_than_what_is_believed() -> None:
    known, model = limits(), Provider(128_000)
    assert most(known.window(model)) == known.window(model).effective == 120_000
    known.learn(model, NAMELESS, 3_000)
    assert (known.window(model).effective, most(known.window(model))) == (2_700, 120_000)
    known.learn(model, ContextOverflow(10_000, 20_000, "openai"), 20_000)
    assert most(known.window(model)) == 10_000 - 625


def test_the_error_says_both_sizes() -> None:
    error = ContextTooLarge(1_000, 1_500)
    assert str(error) == "the request needs 1500 tokens and the model takes 1000"
    assert (error.limit, error.requested) == (1_000, 1_500)


# Which limit applies, and how much of it is reserved for the response.


@pytest.mark.parametrize(
    ("known", "limit", "source"),
    [
        ({}, DEFAULT_LIMIT, "default"),
        ({"model": 200_000}, 200_000, "model"),
        ({"model": 200_000, "server": 32_768}, 32_768, "server"),
        ({"model": 200_000, "server": 32_768, "learnt": 16_384}, 16_384, "learnt"),
        ({"server": 4_096, "learnt": 131_072}, 131_072, "learnt"),
        ({"model": 1, "server": 2, "learnt": 3, "setting": 1_000_000}, 1_000_000, "setting"),
        ({"setting": 0, "learnt": -1, "server": 0, "model": 8_192}, 8_192, "model"),
        ({"setting": -5, "learnt": None}, DEFAULT_LIMIT, "default"),
    ],
)
def test_precedence(known, limit, source) -> None:
    window = resolve_window(**known)
    assert (window.limit, window.source) == (limit, source)
    assert window.reserve == answer_reserve(limit)


@pytest.mark.parametrize(
    ("limit", "reserve"),
    [
        (1_000_000, 8_192),
        (131_072, 8_192),
        (128_000, 8_000),
        (8_192, 512),
        (4_096, 256),
        (2_048, 256),
        (800, 200),
        (1, 0),
    ],
)
def test_reserve(limit, reserve) -> None:
    assert answer_reserve(limit) == reserve
    assert resolve_window(setting=limit).effective == max(1, limit - reserve)


# What is learned about models persists, is shared, and never breaks a turn.


MODEL = "ollama:qwen3"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "state" / "models.json"


def test_unknown_models_are_neutral() -> None:
    learnt = LearntModels(None)
    assert learnt.factor(MODEL) == 1.0
    assert learnt.lesson(MODEL).limit is None


def test_factor_is_a_moving_average() -> None:
    learnt = LearntModels(None)
    assert learnt.observe(MODEL, 1_000, 1_200) == pytest.approx(1.2)
    assert learnt.observe(MODEL, 1_000, 1_400) == pytest.approx(1.26)
    assert learnt.factor("other:model") == 1.0
    for _ in range(60):
        learnt.observe(MODEL, 1_000, 900)
    assert learnt.factor(MODEL) == pytest.approx(0.9, abs=0.001)


@pytest.mark.parametrize(("counted", "reported"), [(49, 4_000), (0, 10), (-5, 10), (1_000, 0), (1_000, -1)])
def test_too_little_to_learn_from(counted, reported) -> None:
    learnt = LearntModels(None)
    assert learnt.observe(MODEL, counted, reported) == 1.0


def test_what_no_tokenizer_makes_of_a_request_teaches_nothing() -> None:
    learnt = LearntModels(None)
    assert learnt.observe("a", 100, 100_000) == 1.0
    assert learnt.observe("b", 100_000, 1) == 1.0


CHANGES = [(20, 450, 25), (270, 0, 0), (20, 900, 40), (120, 0, 0), (9, -1_800, 25), (80, 0, 12)]
"""Changes between responses in tokens of text, results and calls."""


def test_text_is_told_from_results_and_from_what_goes_out_around_calls(path: Path) -> None:
    learnt = LearntModels(path)
    for place, (said, results, calls) in enumerate(CHANGES * 2):
        assert (learnt.growth(MODEL) is None) == (place < 4)
        told = round(1.3 * said + 1.5 * results + 8 * calls)
        learnt.grew(MODEL, Kinds(said + results + calls, results, calls), told)
        for wild in (40_000, -9_000):
            learnt.grew(MODEL, Kinds(400), wild)
            learnt.grew(MODEL, Kinds(-400), wild)
    for known in (learnt, LearntModels(path)):
        growth = known.growth(MODEL)
        assert growth is not None
        told = (growth.text, growth.text + growth.results, growth.calls)
        assert told == (pytest.approx(1.3, abs=0.05), pytest.approx(1.5, abs=0.05), pytest.approx(8, abs=0.5))
        assert growth.of(Kinds(130, 20, 10)) == pytest.approx(1.3 * 100 + 1.5 * 20 + 8 * 10, rel=0.02)


@pytest.mark.parametrize(
    "damage", [[], [1], [1, [2] * 10, [3] * 3], [1, [-2] * 10, [3] * 4], [float("inf"), [1] * 10, [1] * 4], 7]
)
def test_a_damaged_lesson_of_growth_is_none(path: Path, damage: object) -> None:
    path.parent.mkdir()
    path.write_text(json.dumps({"models": {MODEL: {"factor": 1.2, "grown": damage}}}))
    learnt = LearntModels(path)
    assert learnt.growth(MODEL) is None


def test_a_server_that_leaves_thoughts_out_counts_nothing_for_them() -> None:
    learnt = LearntModels(None)
    for text, thoughts in [(450, 300), (270, 0), (900, 800), (120, 0), (300, 250)] * 3:
        learnt.grew(MODEL, Kinds(text + thoughts, thoughts=thoughts), round(1.1 * text))
    growth = learnt.growth(MODEL)
    assert growth is not None
    assert (growth.text, growth.thoughts) == (pytest.approx(1.1, abs=0.05), pytest.approx(0, abs=0.1))


@pytest.mark.parametrize("wild", [300, 4_400, 7_900, 19_000])
def test_one_wild_report_is_no_lesson(wild: int) -> None:
    learnt = LearntModels(None)
    learnt.observe(MODEL, 1_000, 1_200)
    assert learnt.observe(MODEL, 1_100, wild) == pytest.approx(1.2)
    learnt.observe(MODEL, 1_200, 1_440)
    assert learnt.observe(MODEL, 1_100, wild) == pytest.approx(1.2), "nor is one after another"


@pytest.mark.parametrize("spoilt", [0.4, 3.0, 7.5])
def test_a_spoilt_factor_falls_back_within_two_reports(spoilt: int, path: Path) -> None:
    LearntModels(path).observe(MODEL, 1_000, round(1_000 * spoilt))
    learnt = LearntModels(path)
    learnt.observe(MODEL, 1_500, 1_800)
    assert learnt.observe(MODEL, 1_800, 2_160) == pytest.approx(1.2)


def test_reports_that_do_not_grow_with_their_requests_say_nothing_of_a_tokenizer() -> None:
    learnt = LearntModels(None)
    learnt.observe(MODEL, 1_000, 1_200)
    for counted in range(4_000, 6_000, 200):
        assert learnt.observe(MODEL, counted, 2_050) == pytest.approx(1.2)


def test_what_files_cost_says_nothing_of_a_tokenizer() -> None:
    known, model = limits(), Provider(64_000)
    known.observe(model, 2_000, 2_400)
    known.observe(model, 4_000, 8_000, plain=False)
    known.learn(model, ContextOverflow(64_000, 90_000, "openai"), 50_000, plain=False)
    assert known.factor(model) == pytest.approx(1.2)


def test_lessons_survive_and_are_private(path) -> None:
    first = LearntModels(path)
    first.observe(MODEL, 1_000, 1_500)
    first.learn(MODEL, limit=8_192)
    again = LearntModels(path)
    assert (again.factor(MODEL), again.lesson(MODEL).limit, again.lesson("other").limit) == (1.5, 8_192, None)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [entry.name for entry in path.parent.iterdir()] == [path.name]


def test_the_form_that_a_server_wants_is_remembered_by_model_and_server(path) -> None:
    wanted = {"alternating": True, "systems": False}
    known, model = Limits(LearntModels(path)), Provider(64_000)
    known.learn_form(model, wanted)
    known.learn_form(model, {})
    later = Limits(LearntModels(path))
    assert later.form(model) == wanted
    assert later.form(Elsewhere(64_000)) == {}
    later.server[later.model_key(model)] = 32_000
    assert later.form(model) == {}, "it was started anew, with another window"


@pytest.mark.parametrize("damage", ['"x"', "7", "[true]", '{"alternating": "yes", "systems": null}', "null"])
def test_a_damaged_form_is_none(path, damage: str) -> None:
    path.parent.mkdir()
    path.write_text(f'{{"models": {{"{MODEL}": {{"factor": 1.5, "form": {damage}}}}}}}')
    learnt = LearntModels(path)
    assert learnt.lesson(MODEL).form == {}


def test_a_later_limit_replaces_the_earlier(path) -> None:
    learnt = LearntModels(path)
    learnt.learn(MODEL, limit=8_192)
    learnt.learn(MODEL, limit=32_768)
    assert LearntModels(path).lesson(MODEL).limit == 32_768


def test_what_another_program_wrote_is_kept(path) -> None:
    mine, other = LearntModels(path), LearntModels(path)
    other.learn("b", limit=200)
    other.observe(MODEL, 1_000, 3_000)
    mine.learn("a", limit=100)
    assert mine.lesson("b").limit == 200
    fresh = LearntModels(path)
    assert (fresh.lesson("a").limit, fresh.lesson("b").limit, fresh.factor(MODEL)) == (100, 200, 3.0)


def test_many_threads_lose_nothing(path) -> None:
    learnt = LearntModels(path)
    threads = [
        threading.Thread(target=learnt.learn, args=(f"m{n}",), kwargs={"limit": 100 + n}) for n in range(12)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    fresh = LearntModels(path)
    assert [fresh.lesson(f"m{n}").limit for n in range(12)] == [100 + n for n in range(12)]


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"\xff\xfe\x00",
        b"[]",
        b"null",
        b'{"models": 3}',
        b'{"models": {"ollama:qwen3": 7}}',
        b'{"models": {"ollama:qwen3": {"factor": "big", "limit": "x"}}}',
        b'{"models": {"ollama:qwen3": {"factor": NaN, "limit": -1}}}',
        b'{"models": {"ollama:qwen3": {"factor": true, "limit": true}}}',
        b'{"models": {"ollama:qwen3": {"factor": false, "limit": 1000000000000}}}',
        b'{"models": {"ollama:qwen3": {"factor": -1e999, "limit": 4096.5}}}',
        b'{"models": {"ollama:qwen3": {"factor": ' + b"9" * 5_000 + b"}}}",
        b"[" * 100_000,
    ],
    ids=range(14),
)
def test_a_damaged_file_starts_empty_and_is_replaced(content, path) -> None:
    path.parent.mkdir()
    path.write_bytes(content)
    learnt = LearntModels(path)
    assert (learnt.factor(MODEL), learnt.lesson(MODEL).limit) == (1.0, None)
    learnt.learn(MODEL, limit=4_096)
    assert json.loads(path.read_text())["models"][MODEL]["limit"] == 4_096


@pytest.mark.parametrize("factor", ["1e9", "1e999", "9" * 400])
def test_a_wild_factor_in_the_file_is_none(factor, path) -> None:
    path.parent.mkdir()
    path.write_text(f'{{"models": {{"ollama:qwen3": {{"factor": {factor}}}}}}}')
    assert LearntModels(path).factor(MODEL) == 1.0


def test_a_damaged_lesson_costs_no_other(path) -> None:
    path.parent.mkdir()
    path.write_text('{"models": {"a": {"limit": "x"}, "b": 7, "c": {"factor": 1.5, "limit": 8192}}}')
    learnt = LearntModels(path)
    assert (learnt.lesson("a").limit, learnt.lesson("b").limit) == (None, None)
    assert (learnt.lesson("c").limit, learnt.factor("c")) == (8_192, 1.5)
    learnt.learn("d", limit=100)
    assert LearntModels(path).lesson("c").limit == 8_192


def test_a_forgotten_limit_stays_forgotten_and_the_factor_is_kept(path) -> None:
    learnt = LearntModels(path)
    learnt.learn(MODEL, limit=8_192)
    learnt.observe(MODEL, 1_000, 1_500)
    learnt.learn(MODEL, limit=None)
    assert learnt.lesson(MODEL).limit is None
    again = LearntModels(path)
    assert (again.lesson(MODEL).limit, again.factor(MODEL)) == (None, 1.5)


LEARN = """
import sys
from pathlib import Path
from tui_app.context.windows.learnt_models import LearntModels

learnt = LearntModels(Path(sys.argv[1]))
print(learnt.lesson("ollama:qwen3").limit, flush=True)
sys.stdin.readline()
learnt.learn(sys.argv[2], limit=int(sys.argv[3]))
"""


def test_programs_that_run_side_by_side_keep_what_each_has_learnt(path) -> None:
    LearntModels(path).learn(MODEL, limit=8_192)

    def program(model: str, limit: int) -> "subprocess.Popen[str]":
        arguments = [sys.executable, "-c", LEARN, str(path), model, str(limit)]
        return subprocess.Popen(arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    programs = [program("a", 1_000), program("b", 2_000)]
    for each in programs:
        assert each.stdout is not None
        assert each.stdout.readline() == "8192\n", "what another program has learnt"
    for each in programs:
        each.communicate("go\n")
        assert each.returncode == 0
    fresh = LearntModels(path)
    assert (fresh.lesson("a").limit, fresh.lesson("b").limit, fresh.lesson(MODEL).limit) == (
        1_000,
        2_000,
        8_192,
    )


def test_an_unwritable_place_costs_only_the_memory(tmp_path) -> None:
    blocker = tmp_path / "file"
    blocker.write_text("not a folder")
    learnt = LearntModels(blocker / "models.json")
    learnt.learn(MODEL, limit=4_096)
    assert learnt.lesson(MODEL).limit == 4_096


def test_a_limit_that_all_servers_of_a_model_have_named_is_known_before_one_is_asked() -> None:
    learnt = LearntModels(None)
    assert learnt.limit_anywhere("qwen3") is None
    learnt.learn("ollama:qwen3@http://a/v1#", limit=8_192)
    learnt.learn("ollama:qwen3-large@http://a/v1#", limit=4_096)
    assert learnt.limit_anywhere("qwen3") == 8_192
    learnt.learn("vllm:qwen3@http://b/v1#", limit=16_384)
    assert learnt.limit_anywhere("qwen3") is None
