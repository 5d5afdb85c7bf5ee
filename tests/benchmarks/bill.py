"""The cost of a transcript with a prompt cache: ``python -m tests.benchmarks.bill FILES``.

Each transcript is played request by request over Anthropic's protocol against a server with Anthropic's cache
rules: with the policy ``plimsoll``, and without requesting the cache. The cost is compared with that of a
perfect cache under a policy that never compacts, and with the predicted cost. The clock is the server's own.
Summaries are extracted, so they cost nothing; answers are not counted.
"""

import argparse
import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

from pydantic_ai.messages import (
    InstructionPart,
    ModelMessage,
    ModelRequest,
    ModelResponse,
    UserPromptPart,
)
from pydantic_ai.models import Model, ModelRequestContext, ModelRequestParameters
from pydantic_ai.settings import ModelSettings
from pydantic_ai.tools import ToolDefinition

from tests.servers.caching import LIFETIMES, Billed, CachingAnthropic, Json, PromptCache
from tui_app.agent.models import build_model
from tui_app.context.counting.encodings import TextCounter, encoding_name
from tui_app.context.counting.prices import request_price
from tui_app.context.counting.prompt_cache import (
    CachedAnswer,
    cache_rule,
    cached_price,
    predicted_read,
)
from tui_app.context.counting.tokens import TokenCounter
from tui_app.context.policy import OFF, PLIMSOLL, Policy
from tui_app.context.requests.builder import repair
from tui_app.context.summaries.prompt import (
    INSTRUCTIONS,
    SummaryTask,
    prefix_prompt,
    quoted_message,
    summary_prompt,
    transcript_lines,
)
from tui_app.context.views.view import Item, is_prompt, to_messages
from tui_app.conversation.audits.replay import Replay, Request
from tui_app.conversation.audits.transcript import recorded_file
from tui_app.events import CompactionComplete, UsageInfo, ViewRewrite
from tui_app.settings import Endpoint
from tui_app.wires.wire_form import WireForm

MODEL = "anthropic:claude-sonnet-5"
WORK_S = 30.0
"""Seconds between two requests of a turn."""
PAUSES_MIN = (0, 3, 10, 70)
NEVER = 10_000_000
"""A context window in which everything fits."""
HEAD = ModelRequestParameters(
    function_tools=[
        ToolDefinition(name=f"tool_{number}", description=f"Does what tool {number} does. " * 20)
        for number in range(12)
    ],
    instruction_parts=[InstructionPart(content="Work in the folder, and say what was done. " * 200)],
)


class BilledReplay(Replay):
    """A replay whose requests are sent to a server."""

    def __init__(self, *how: Any, server: CachingAnthropic) -> None:
        super().__init__(*how)
        self.server, self.retention, self.pause_s = server, "auto", 0.0
        self.answers, self.times = list[CachedAnswer](), list[float]()
        self.model: Model[Any] | None = None
        self._out, self._prompts = list[ModelMessage](), 0

    def head(self, parameters: ModelRequestParameters) -> None:
        """Put tools and instructions before the messages of every request."""
        self._request = replace(self._request, model_request_parameters=parameters)

    def clock(self, answer: ModelResponse) -> float:
        return self.server.now

    async def ask(self, answer: ModelResponse) -> None:
        prompts = sum(is_prompt(item.message) for item in self.history.items())
        self.server.now += WORK_S + (self.pause_s if prompts > self._prompts and self.answers else 0.0)
        self._prompts, self._out = prompts, []
        await Replay.ask(self, answer)
        if self._out:
            self.model = self.model or model_at(self.server.base_url)
            await self._send(self.model)

    @property
    def settings(self) -> ModelSettings:
        if self.retention == "off":
            return ModelSettings()
        return ModelSettings(cache="1h" if self.retention == "1h" else True)

    async def summarised(self) -> tuple[Billed, Billed]:
        """The cost of summarising all but the last fifth, after the last request and from a transcript."""
        assert self.model is not None
        items = list(self.history.items())
        leaving, left = list[Item](), 0.8 * self.history.usage().total
        while items and left > 0:
            leaving.append(items.pop(0))
            left -= self.history.weigh(leaving[-1]).total
        task = prefix_prompt("…", SummaryTask(items=(), budget_tokens=3_000))
        view = repair(to_messages(self.history.items()))
        asked = [*view, ModelRequest(parts=[UserPromptPart(task)])]
        await self.model.request(WireForm.of(self.model).of_messages(asked), self.settings, HEAD)
        data = "\n\n".join(map(quoted_message, transcript_lines(leaving)))
        prompt = summary_prompt("", data, SummaryTask(items=(), budget_tokens=3_000))
        alone = ModelRequestParameters(instruction_parts=[InstructionPart(content=INSTRUCTIONS)])
        await self.model.request([ModelRequest(parts=[UserPromptPart(prompt)])], None, alone)
        warm, cold = self.server.bill[-2:]
        del self.server.bill[-2:], self.server.bodies[-2:]
        return warm, cold

    def _measured(self, messages: Sequence[ModelMessage], answer: ModelResponse) -> Request:
        self._out = list(messages)
        return Replay._measured(self, messages, answer)

    async def _send(self, model: Model[Any]) -> None:
        request = self.pipeline.formed(
            ModelRequestContext(
                model=model, messages=self._out, model_settings=self.settings, model_request_parameters=HEAD
            )
        )
        response = await model.request(
            request.messages, request.model_settings, request.model_request_parameters
        )
        self.pipeline.cache.answered(request, response, self.history.version)
        billed = self.server.bill[-1]
        self.times.append(self.server.now)
        kept = next(each for each in reversed(self.events) if isinstance(each, UsageInfo)).prefix_kept
        hour = self.pipeline.cache.hour
        self.answers.append(
            CachedAnswer(
                model=MODEL,
                asked=self.server.now,
                input_tokens=billed.total,
                read_tokens=billed.read,
                kept=kept,
                hour=hour,
            )
        )


def model_at(url: str) -> Model[Any]:
    endpoint = Endpoint(name="yard", protocol="anthropic", base_url=url, key_env="", window=200_000)
    return build_model(f"yard:{MODEL.partition(':')[2]}", env={}, endpoints={"yard": endpoint})


@dataclass(frozen=True, slots=True)
class Played:
    bill: Sequence[Billed]
    bodies: Sequence[Json]
    times: Sequence[float]
    """Time of each request in seconds."""
    predicted_usd: float
    rewrites: int
    """Number of changes to what had been sent before."""
    summary: tuple[Billed, Billed]
    """With the warm prefix, and from a transcript."""

    @property
    def usd(self) -> float:
        return dollars(self.bill)

    @property
    def read(self) -> float:
        return sum(each.read for each in self.bill) / max(1, sum(each.total for each in self.bill))


def dollars(bill: Sequence[Billed]) -> float:
    # Small enough to be below every price list's surcharge for long requests.
    plain = request_price(MODEL, input_tokens=100_000, cached_tokens=0, output_tokens=0)
    assert plain is not None
    return sum(each.cost for each in bill) * plain / 100_000


def played(
    messages: Sequence[ModelMessage], policy: Policy, window: int, retention: str, pause_s: float
) -> Played:
    text = TextCounter(encoding_name(MODEL))
    text.load()
    with CachingAnthropic() as server:
        replay = BilledReplay(policy, window, TokenCounter(text), server=server)
        replay.retention, replay.pause_s = retention, pause_s
        replay.pipeline.cache.now = lambda: server.now
        replay.head(HEAD)

        async def play() -> tuple[Billed, Billed]:
            await replay.play(messages)
            return await replay.summarised()

        summary = asyncio.run(play())
        rewrites = sum(isinstance(event, ViewRewrite | CompactionComplete) for event in replay.events)
        predicted_usd = predicted(replay.answers, retention)
        return Played(server.bill, server.bodies, replay.times, predicted_usd, rewrites, summary)


def predicted(answers: Sequence[CachedAnswer], retention: str) -> float:
    """The price of all requests, with each cache read predicted from the previous request."""
    rule, total = cache_rule(MODEL, retention), 0.0
    for number, last in enumerate(answers):
        read = predicted_read(rule, answers[number - 1], last) if number else 0
        paid = rule and rule.writing(last.hour)
        total += cached_price(MODEL, paid, last.input_tokens, read or 0, 0) or 0.0
    return total


def perfect(bodies: Sequence[Json]) -> list[Billed]:
    """The cost of requests with a cache that never expires."""
    cache = PromptCache()
    return [cache.perfect(body) for body in bodies]


def foreseen(bill: Sequence[Billed], times: Sequence[float]) -> list[Billed]:
    """The cost with a cache that expires by the rules, if the time of the next request were known.

    Before a pause shorter than an hour, new content is written with the one-hour lifetime; after a longer
    one, everything is written again.
    """
    known = list(bill)
    for place, (before, now) in enumerate(pairwise(times), 1):
        if now - before >= LIFETIMES["1h"]:
            known[place] = Billed(written={"5m": known[place].total})
        elif now - before >= LIFETIMES["5m"]:
            known[place - 1] = replace(
                known[place - 1], written={"1h": sum(known[place - 1].written.values())}
            )
    return known


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--window", type=int, default=200_000)
    parser.add_argument(
        "--pause", type=float, nargs="*", default=PAUSES_MIN, help="minutes before each prompt"
    )
    parser.add_argument("--summaries", action="store_true", help="only what one at the end costs")
    parser.add_argument("--retention", nargs="*", default=["auto", "1h"])
    args = parser.parse_args()
    for file in args.files:
        messages = [item.message for item in recorded_file(file).original_items()]
        if args.summaries:
            warm, cold = played(messages, PLIMSOLL, args.window, "auto", 0.0).summary
            print(
                f"| {file.name} | {warm.total:,} | {warm.read:,} | ${dollars([warm]):.3f} "
                f"| {cold.total:,} | ${dollars([cold]):.3f} |",
                flush=True,
            )
            continue
        best = perfect(played(messages, OFF, NEVER, "auto", 0.0).bodies)
        without = played(messages, PLIMSOLL, args.window, "off", 0.0).usd
        for retention in args.retention:
            for pause in args.pause:
                done = played(messages, PLIMSOLL, args.window, retention, pause * 60.0)
                print(
                    f"| {file.name} | {retention} | {pause:g} | {len(done.bill)} | {done.read:.0%} "
                    f"| ${done.usd:.2f} | ${done.predicted_usd:.2f} | {done.usd / dollars(best):.2f} "
                    f"| {done.usd / dollars(foreseen(best, done.times)):.2f} | {done.usd / without:.2f} |",
                    flush=True,
                )


if __name__ == "__main__":
    main()
