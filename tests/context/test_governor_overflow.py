"""What happens when the provider says that a request was too long, in real runs."""

import pytest
from pydantic_ai import Agent
from pydantic_ai.exceptions import ModelHTTPError

from tests.context.governor_kit import Provider, rate_limited, rig, run, sized, too_long
from tests.context.histories import long_conversation
from tests.context.validity import prompts
from tui_app.context.window_limits import ContextTooLarge
from tui_app.events import CompactionStart, Truncation

pytestmark = [pytest.mark.asyncio, pytest.mark.usefixtures("no_job_left")]


async def test_an_overflow_is_recovered_once_with_a_compaction() -> None:
    made = rig(Provider(100_000, real_window=4_000))
    after = await run(made, long_conversation(30, 800))
    assert made.heard.outcomes == ["success"]
    assert [event.trigger for event in made.heard.of(CompactionStart)] == ["overflow"]
    assert len(made.provider.sent) == 1
    assert made.limits.window(made.provider).limit == 4_000
    assert prompts(after)[-1] == "Go on."


async def test_an_overflow_that_stays_is_a_stated_error() -> None:
    made = rig(Provider(4_000))
    made.provider.failures = [too_long(4_000, 5_000), too_long(4_000, 4_500)]
    with pytest.raises(ContextTooLarge) as error:
        await run(made, sized(made.provider, 2_000))
    assert (error.value.limit, error.value.requested) == (4_000, 4_500)
    assert len(made.provider.sent) == 2
    assert isinstance(error.value.__cause__, ModelHTTPError)


async def test_a_limit_that_cannot_be_is_not_told() -> None:
    made = rig(Provider(4_000))
    made.provider.failures = [too_long(1, 2_000), too_long(1, 1_000)]
    with pytest.raises(ContextTooLarge) as error:
        await run(made, sized(made.provider, 2_000))
    assert (error.value.limit, error.value.requested) == (4_000, 1_000)


async def test_the_second_try_is_smaller_also_when_nothing_could_be_compacted() -> None:
    made = rig(Provider(4_000))
    made.provider.failures = [too_long(2_000, 4_000)]
    made.provider.summary_failures = [RuntimeError("down")]
    await run(made, sized(made.provider, 2_000))
    first, second = made.provider.sent
    assert made.heard.outcomes == ["failed"]
    assert made.provider.real(second) <= made.provider.real(first) // 2
    assert len(made.heard.of(Truncation)) == 1


async def test_an_overflow_without_numbers_makes_the_next_request_smaller() -> None:
    made = rig(Provider(None))
    made.provider.failures = [nameless()]
    history = sized(made.provider, 3_000)
    await run(made, history)
    assert made.provider.real(made.provider.sent[1]) < 2_700
    assert made.limits.window(made.provider).effective == 60_000, "half of what is announced outlasts it"


async def test_a_retry_that_broke_off_binds_its_model_no_longer_once_another_was_asked() -> None:
    made = rig(Provider(None))
    made.provider.failures = [nameless(), RuntimeError("down")]
    history = sized(made.provider, 3_000)
    with pytest.raises(RuntimeError):
        await run(made, history)
    assert made.limits.window(made.provider).effective < 3_000
    other = Provider(None)
    other._model_name = "another"
    await Agent(other, capabilities=[made.governor]).run("Go on.", message_history=history)
    assert other.real(other.sent[0]) >= 3_000
    assert made.limits.window(made.provider).effective == 60_000


def nameless() -> ModelHTTPError:
    body = {"message": "input is too long for requested model"}
    return ModelHTTPError.for_category(None, status_code=400, model_name="scripted", body=body)


async def test_a_retry_that_cannot_be_smaller_is_told_with_the_window_of_the_model() -> None:
    made = rig(Provider(4_000))
    made.provider.failures = [nameless(), nameless()]
    with pytest.raises(ContextTooLarge) as error:
        await run(made, [], "word " * 2_500)
    assert error.value.limit == 4_000
    assert len(made.provider.sent) == 2
    assert made.limits.window(made.provider).effective >= 1_875, "the next request may be tried again"


async def test_a_retry_that_cannot_be_smaller_is_sent_for_the_provider_to_decide() -> None:
    made = rig(Provider(4_000))
    made.provider.failures = [nameless()]
    after = await run(made, [], "word " * 2_500)
    assert len(made.provider.sent) == 2
    assert prompts(after) == ["word " * 2_500]


async def test_a_rate_limit_is_not_touched() -> None:
    made = rig(Provider(4_000))
    made.provider.failures = [rate_limited()]
    with pytest.raises(ModelHTTPError, match="429"):
        await run(made, sized(made.provider, 2_000))
    assert made.heard.of(CompactionStart) == []
    assert made.limits.window(made.provider).limit == 4_000
