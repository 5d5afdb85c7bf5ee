"""A provider that says "too long" for ever, whatever it is sent: every turn ends, soon and in order.

One retry a request, a clear error, nothing lost, and as soon as the provider answers again so does the next
turn. Conversations over HTTP have the same tests in their own room.
"""

from collections.abc import Callable, Sequence

import pytest
from pydantic_ai import Agent
from pydantic_ai.exceptions import ModelHTTPError
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo
from pydantic_ai.usage import UsageLimits

from tests.context.governor_kit import Provider, Rig, agent, rig, run, too_long
from tests.context.histories import long_conversation
from tests.context.validity import as_bytes, complaints, prompts
from tui_app.context.governor import ContextGovernor
from tui_app.context.policy import OFF, PLIMSOLL, Policy
from tui_app.context.summaries.writer import ExtractiveSummariser
from tui_app.context.window_limits import ContextTooLarge

ANNOUNCED = 40_000
TURNS = 3
REFUSED_SUMMARIES = 16
"""Requests for summaries that one turn may cost in vain: two compactions, in ever smaller parts."""
PARTS = 100
"""Requests for summaries that are answered: at most one for every 200 tokens, however small the window."""

VAIN = "refused"

Refusal = Callable[[int, int], Exception | None]
"""What is said to a request, by its number from 0 and its real size in tokens; None answers it."""


def http(status: int, message: str) -> ModelHTTPError:
    body = {"message": message}
    return ModelHTTPError.for_category(None, status_code=status, model_name="scripted", body=body)


def limits(*named: int) -> Refusal:
    """The limits in turn, over and over; each time the request is a little longer than that."""
    return lambda number, _real: too_long(named[number % len(named)], named[number % len(named)] + 100)


REFUSALS: dict[str, Refusal] = {
    "no limit": lambda _number, _real: http(400, "Input is too long for requested model."),
    "bare 413": lambda _number, _real: http(413, ""),
    "no limit, server error": lambda _number, _real: http(500, "Context size has been exceeded."),
    "its own limit": lambda _number, real: too_long(ANNOUNCED, real),
    "always a token less": lambda _number, real: too_long(real - 1, real),
    "half of the request": lambda _number, real: too_long(real // 2, real),
    "one limit": limits(12_000),
    "changing limits": limits(12_000, 9_000, 128_000, 7_500, 16_000),
    "shrinking limits": lambda number, real: too_long(max(4_000, 12_000 >> number), real),
    "limit 0": limits(0),
    "limit -1": limits(-1),
    "limit 1": limits(1),
    "limit 10**12": limits(10**12),
    "absurd request": lambda _number, _real: too_long(12_000, 10**9),
    "fits by its own numbers": lambda _number, real: too_long(128_000, real),
    "all absurd limits": limits(0, -1, 10**12, 10**8, 1),
}


class Stubborn(Provider):
    """A provider that refuses as long as it is told to, summaries as well if wanted."""

    def __init__(self, refusal: Refusal, *, summaries: bool) -> None:
        super().__init__(ANNOUNCED, real_window=10**9)
        self.refusal: Refusal = refusal
        self.summaries = summaries
        self.numbers = 0

    def healed(self) -> None:
        self.refusal, self.summaries = (lambda _number, _real: None), False

    def answer(self, messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        assert complaints(messages) == []
        number, self.numbers = self.numbers, self.numbers + 1
        refusal = self.refusal(number, self.real(messages, info.instructions))
        if refusal is None:
            return super().answer(messages, info)
        self.sent.append(list(messages))
        raise refusal

    def _measured(self, messages: Sequence[ModelMessage], info: AgentInfo) -> int:
        real = super()._measured(messages, info)
        if info.instructions and self.summaries and (refusal := self.refusal(0, real)) is not None:
            self.summary_requests.append(VAIN)
            raise refusal
        return real


async def failed(made: Rig, history: Sequence[ModelMessage], prompt: str) -> ContextTooLarge:
    """One turn that fails, and what it cost."""
    sent, asked = len(made.provider.sent), len(made.provider.summary_requests)
    with pytest.raises(ContextTooLarge) as caught:
        await run(made, history, prompt)
    assert 1 <= len(made.provider.sent) - sent <= 2, "one retry"
    summaries = made.provider.summary_requests[asked:]
    assert summaries.count(VAIN) <= REFUSED_SUMMARIES
    assert len(summaries) <= PARTS
    assert all(prompts(each)[-1] == prompt for each in made.provider.sent[sent:])
    return caught.value


@pytest.mark.usefixtures("no_job_left")
@pytest.mark.parametrize(
    ("policy", "summaries"),
    [(PLIMSOLL, False), (PLIMSOLL, True), (OFF, False)],
    ids=["turns", "summaries too", "policy off"],
)
@pytest.mark.parametrize("refusal", REFUSALS.values(), ids=REFUSALS.keys())
async def test_every_turn_ends_and_the_first_answer_ends_the_trouble(
    refusal: Refusal, policy: Policy, summaries: bool
) -> None:
    provider = Stubborn(refusal, summaries=summaries)
    made = rig(provider, policy)
    history = long_conversation(8, 3_000)
    before = as_bytes(history)
    for number in range(TURNS):
        error_ = await failed(made, history, f"Question {number}?")
        assert error_.limit > 0
        assert error_.requested > 0
    assert as_bytes(history) == before, "nothing that was said is lost"
    provider.healed()
    after = await run(made, history, "And now?")
    assert isinstance(after[-1], ModelResponse)
    assert prompts(made.provider.sent[-1])[-1] == "And now?"


@pytest.mark.usefixtures("no_job_left")
@pytest.mark.parametrize("refusal", REFUSALS.values(), ids=REFUSALS.keys())
async def test_a_short_conversation_is_not_locked(refusal: Refusal) -> None:
    """There is nothing to leave out: the retry is as long as the request, and the next turn as well."""
    provider = Stubborn(refusal, summaries=False)
    made = rig(provider)
    for number in range(TURNS):
        await failed(made, [], f"Question {number}? " + "word " * 100)
    provider.healed()
    after = await run(made, [], "And now? " + "word " * 100)
    assert isinstance(after[-1], ModelResponse)
    assert made.limits.factor(provider) <= 8


@pytest.mark.usefixtures("no_job_left")
@pytest.mark.parametrize("name", ["limit 0", "limit -1", "limit 1", "limit 10**12", "all absurd limits"])
async def test_an_absurd_limit_costs_the_model_no_window(name: str) -> None:
    provider = Stubborn(REFUSALS[name], summaries=True)
    made = rig(provider)
    announced = made.limits.window(provider).effective
    history = long_conversation(8, 3_000)
    for number in range(TURNS):
        await failed(made, history, f"Question {number}?")
    assert made.limits.window(provider).stated == ANNOUNCED
    assert made.limits.window(provider).effective >= announced // 2
    provider.healed()
    for number in range(20):
        await run(made, history[:8], f"Question {number}?")
    assert made.limits.window(provider).effective == announced


@pytest.mark.usefixtures("no_job_left")
@pytest.mark.parametrize("name", ["no limit", "one limit", "limit 10**12", "always a token less"])
async def test_a_provider_that_refuses_every_other_request(name: str) -> None:
    refusal = REFUSALS[name]
    provider = Stubborn(lambda n, real: None if n % 2 else refusal(n, real), summaries=False)
    made = rig(provider)
    history: list[ModelMessage] = list(long_conversation(8, 3_000))
    for number in range(8):
        history = await run(made, history, f"Question {number}?")
        await made.compactor.settled()
        assert len(provider.sent) == 2 * (number + 1)
    assert prompts(history)[-1] == "Question 7?"
    assert made.limits.window(provider).effective >= 5_000, "half of the smallest believable limit"


@pytest.mark.usefixtures("no_job_left")
async def test_every_request_of_a_turn_with_tools_has_a_retry_of_its_own() -> None:
    refusal = REFUSALS["no limit"]
    provider = Stubborn(lambda n, real: None if n % 2 else refusal(n, real), summaries=False)
    steps = 5
    provider.reply = lambda number: ModelResponse(
        [ToolCallPart("read", {}, f"call-{number}")] if number < 2 * steps else [TextPart("done")]
    )
    made = rig(provider)
    reader = agent(made)
    reader.tool_plain(lambda: "line " * 200, name="read")
    result = await reader.run("Read on.", usage_limits=UsageLimits(request_limit=20))
    assert result.output == "done"
    assert len(provider.sent) == 2 * steps


@pytest.mark.usefixtures("no_job_left")
@pytest.mark.parametrize("name", ["no limit", "bare 413", "all absurd limits"])
async def test_a_governor_of_one_line(name: str) -> None:
    provider = Stubborn(REFUSALS[name], summaries=True)
    governor = ContextGovernor()
    governed = Agent(provider, capabilities=[governor])
    history = long_conversation(8, 3_000)
    for number in range(TURNS):
        with pytest.raises(ContextTooLarge):
            await governed.run(f"Question {number}?", message_history=history)
    assert TURNS <= len(provider.sent) <= 2 * TURNS
    assert len(provider.summary_requests) <= REFUSED_SUMMARIES * TURNS
    provider.healed()
    result = await governed.run("And now?", message_history=history)
    assert result.output.startswith("answer")
    await governor.aclose()


@pytest.mark.usefixtures("no_job_left")
async def test_with_a_summary_by_extraction_the_turn_ends_as_well() -> None:
    provider = Stubborn(REFUSALS["bare 413"], summaries=True)
    made = rig(provider, fallback=ExtractiveSummariser(lambda text: len(text) // 4 + 1))
    history = long_conversation(8, 3_000)
    for number in range(TURNS):
        await failed(made, history, f"Question {number}?")
    assert "success" in made.heard.outcomes
