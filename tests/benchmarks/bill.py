"""What a transcript would cost with a prompt cache: ``python -m tests.benchmarks.bill FILES``.

Each is played request by request against a cache by Anthropic's rules, under the policy ``plimsoll`` and
under one that never compacts. Summaries are extracted, so they cost nothing; answers are not counted.
"""

import argparse
import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from pydantic_ai.messages import ModelMessage, ModelResponse

from tests.servers.caching import MARK, Billed, Json, PromptCache
from tui_app.context.counting.encodings import TextCounter, encoding_name
from tui_app.context.counting.prices import request_price
from tui_app.context.counting.tokens import TokenCounter
from tui_app.context.policy import OFF, PLIMSOLL, Policy
from tui_app.context.summaries.prompt import message_text
from tui_app.conversation.replay import Replay, Request
from tui_app.conversation.simulate import Transcript, read_transcript

MODEL = "anthropic:claude-sonnet-4-5"
WINDOWS = ((PLIMSOLL, 64_000), (OFF, 1_000_000))


def body_of(messages: Sequence[ModelMessage]) -> Json:
    """A request with a mark at its newest message."""
    said = [{"role": each.kind, "content": message_text(each)} for each in messages]
    return {"messages": said, MARK: {"type": "ephemeral"}}


@dataclass(slots=True)
class BilledReplay(Replay):
    """A replay whose requests go to a cache."""

    cache: PromptCache = field(default_factory=PromptCache)
    bill: list[Billed] = field(default_factory=list)
    pause_s: float = 30.0

    def _measured(self, messages: Sequence[ModelMessage], answer: ModelResponse) -> Request:
        self.bill.append(self.cache.ask(body_of(messages), len(self.bill) * self.pause_s))
        return Replay._measured(self, messages, answer)


def billed(transcript: Transcript, policy: Policy, window: int, pause_s: float) -> list[Billed]:
    text = TextCounter(encoding_name(MODEL))
    text.load()
    replay = BilledReplay(
        policy, window, text, TokenCounter(text), lambda *_: None, lambda _: None, pause_s=pause_s
    )
    asyncio.run(replay.play(transcript.messages))
    return replay.bill


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--pause", type=float, default=30.0, help="seconds between two requests")
    args = parser.parse_args()
    # Of a size below which no list asks more for a long request.
    plain = request_price(MODEL, input_tokens=100_000, cached_tokens=0, output_tokens=0, writes=False)
    assert plain is not None
    for file in args.files:
        transcript = read_transcript(file)
        for policy, window in WINDOWS:
            bill = billed(transcript, policy, window, args.pause)
            total, read = sum(each.total for each in bill), sum(each.read for each in bill)
            cost = sum(each.cost for each in bill) * plain / 100_000
            share = f"{read / max(1, total):.0%}"
            print(f"| {file.name} | {policy.name} | {len(bill)} | {total:,} | {share} | ${cost:.2f} |")


if __name__ == "__main__":
    main()
