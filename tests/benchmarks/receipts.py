"""Receipts of transcripts compared with the bill: ``python -m tests.benchmarks.receipts FILES``.

Each transcript is played as a real session, whose tool returns the transcript's results, against a server
with Anthropic's cache rules that computes the price. On the way its prefix changes in every possible way:
other instructions, another model, a rewind, an exclusion, compactions and a pause. The receipts must agree
with the bill within 1%, and name each cache miss and nothing else.
"""

import argparse
import asyncio
import json
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path

from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, ToolReturnPart

from tests.conversation.driving import Desk, done, turn
from tests.quality.text import message_text
from tests.quality.transcripts import read_transcript
from tests.servers.caching import Billed, CachingAnthropic, Json
from tui_app.context.counting.prices import request_price
from tui_app.context.views.view import is_prompt
from tui_app.conversation.assembly import OpenSession, open_session
from tui_app.conversation.work import Compact, Exclude, Rewind, Switch, Work
from tui_app.events import UserMessage
from tui_app.session.figures.cache_forecast import rule_of
from tui_app.session.figures.receipts import Receipt, receipts
from tui_app.session.stores.sqlite_store import SqliteStore
from tui_app.settings import Endpoint, Settings

MODEL, OTHER = "anthropic:claude-sonnet-5", "anthropic:claude-haiku-4-5"
WINDOW = 60_000
MOST_STEPS, MOST_CHARS = 6, 20_000
"""Maximum calls of a turn, and maximum characters of a text or result."""
PAUSE_S = 70 * 60.0
PROMPT, NOTES = "Part {} of the work.", "Title: Work\n## Intent\nGo on with the work."
AGENT = """
import json
from pathlib import Path
from pydantic_ai import Agent

RESULTS = json.loads(Path(__file__).with_name("results.json").read_text())
agent = Agent(instructions=Path(__file__).with_name("instructions.md").read_text())

@agent.tool_plain
def look(number: int) -> str:
    \"\"\"Look up what came of a call.\"\"\"
    return RESULTS[number]
"""


@dataclass
class Script:
    """The server's answers and the tool's results."""

    prompts: list[str] = field(default_factory=list)
    answers: list[list[list[Json]]] = field(default_factory=list)
    """For each prompt, the content blocks of each answer."""
    results: list[str] = field(default_factory=list)
    at: Iterator[list[Json]] = field(default_factory=lambda: iter(()))
    """The remaining answers to the current prompt."""

    def answer(self, body: Json) -> str | list[Json]:
        newest = body["messages"][-1]["content"]
        parts = [{"type": "text", "text": newest}] if isinstance(newest, str) else newest
        asked = any(part["type"] == "tool_result" for part in parts) or any(
            part.get("text", "").startswith(PROMPT.partition("{")[0]) for part in parts
        )
        return next(self.at) if asked else NOTES


def script_of(messages: Sequence[ModelMessage]) -> Script:
    """Cut a transcript into turns of a few steps; several calls of one answer become one call."""
    script = Script()
    for message in messages:
        text = message_text(message, labels=False)[:MOST_CHARS] or "…"
        last = script.answers[-1] if script.answers else None
        if isinstance(message, ModelRequest) and is_prompt(message):
            _begin(script, text)
        elif isinstance(message, ModelResponse):
            if last is None or len(last) >= MOST_STEPS:
                last = _begin(script, "Go on.")
            last.append([{"type": "text", "text": text}])
        elif last and last[-1][-1]["type"] == "text" and _has_result(message):
            number = len(script.results)
            script.results.append(text)
            call = {"type": "tool_use", "id": f"call_{number}", "name": "look"}
            last[-1].append({**call, "input": {"number": number}})
    for answers in script.answers:
        if not answers or answers[-1][-1]["type"] != "text":
            answers.append([{"type": "text", "text": "Done."}])
    return script


def _has_result(message: ModelMessage) -> bool:
    return any(isinstance(part, ToolReturnPart) for part in message.parts)


def _begin(script: Script, text: str) -> list[list[Json]]:
    script.prompts.append(f"{PROMPT.format(len(script.prompts) + 1)} {text}")
    script.answers.append([])
    return script.answers[-1]


@dataclass(frozen=True)
class Outcome:
    """The receipts of a session, and the server's bill."""

    receipts: Sequence[Receipt]
    bill: float
    """In dollars."""
    missed: Sequence[bool]
    """Whether each answer missed the cache, according to the server."""

    @property
    def paid(self) -> float:
        return sum(each.cost_usd or 0.0 for each in self.receipts)

    @property
    def named(self) -> list[bool]:
        return [bool(each.broken_by) for each in self.receipts if each.kind == "answer"]

    @property
    def causes(self) -> Counter[str]:
        return Counter(each.cause for each in self.receipts if each.cause)

    @property
    def wrong(self) -> int:
        """Misses without a name, and names without a miss."""
        return sum(miss != name for miss, name in zip(self.missed, self.named, strict=True))

    @property
    def holds(self) -> bool:
        return not self.wrong and abs(self.paid - self.bill) <= 0.01 * self.bill


async def play(script: Script, folder: Path) -> Outcome:
    """Play a script in its own folder."""
    home, cwd = folder / "home", folder / "work"
    for each in (home, cwd):
        each.mkdir()
    (cwd / "agents.py").write_text(AGENT)
    (cwd / "results.json").write_text(json.dumps(script.results))
    with CachingAnthropic(script.answer) as server:
        desk = Desk(home, cwd)
        desk.endpoints["anthropic"] = Endpoint(
            name="anthropic", protocol="anthropic", base_url=server.base_url, window=WINDOW
        )
        session, pauses = "", list[int]()
        for share in range(2):
            _instruct(cwd, ("nine", "ten")[share])
            opening = replace(desk.opening(session=session, model=MODEL), agent="agents.py:agent", yes=True)
            opened = open_session(opening)
            try:
                await opened.prepare()
                session = opened.conversation.session
                half = len(script.prompts) // 2
                await _play(opened, script, server, half * share, half if not share else None, pauses)
            finally:
                await opened.close()
        return _outcome(desk, server, session, pauses)


async def _play(
    opened: OpenSession,
    script: Script,
    server: CachingAnthropic,
    first: int,
    behind: int | None,
    pauses: list[int],
) -> None:
    prompts = script.prompts[first:behind]
    quarter = max(2, len(prompts) // 4)
    for number, prompt in enumerate(prompts):
        history = opened.conversation.history
        if number % quarter == 1:
            match number // quarter:
                case 0:
                    await done(opened.conversation, Exclude((_prompts(opened)[0],), turn=True))
                case 1:
                    await done(opened.conversation, Rewind(_prompts(opened)[-1]))
                case 2:
                    server.now += PAUSE_S
                    pauses.append(history.view.last + 1)
                case _:
                    works: tuple[Work, ...] = (Switch(OTHER), Compact()) if first else (Compact(),)
                    await done(opened.conversation, *works)
        script.at = iter(script.answers[first + number])
        await turn(opened.conversation, prompt)


def _prompts(opened: OpenSession) -> list[int]:
    heads = opened.conversation.history.view.visible()
    return [head.seq for head in heads if head.type == UserMessage.TYPE]


def _instruct(cwd: Path, hour: str) -> None:
    lines = ["# Ferries", "The pier is wet.", *["Mind the gap."] * 400, f"Boats leave at {hour}."]
    (cwd / "instructions.md").write_text("\n".join(lines))


def _outcome(desk: Desk, server: CachingAnthropic, session: str, pauses: Sequence[int]) -> Outcome:
    settings = Settings(endpoints=desk.endpoints)
    with closing(SqliteStore(desk.opening().paths.database, read_only=True)) as store:
        # The server's clock decides.
        heads = [
            replace(each, time=each.time + PAUSE_S * sum(each.seq >= pause for pause in pauses))
            for each in store.heads(session)
        ]
        figures = {seq: data for seq, _, data in store.figures(session)}
        found = receipts(heads, figures, lambda model: rule_of(model, settings))
    bill = sum(map(_dollars, server.bodies, server.bill, server.written))
    return Outcome(found, bill, misses(found, server.bill))


def misses(found: Sequence[Receipt], bill: Sequence[Billed]) -> list[bool]:
    """For each receipt, whether its request read less from the cache than the previous one had written."""
    by_size = {(billed.total, billed.read): billed for billed in bill}
    answers = [each for each in found if each.kind == "answer"]
    sizes = [by_size[each.input_tokens, each.cache_read_tokens] for each in answers]
    return [False, *(now.read < before.total - before.fresh for before, now in pairwise(sizes))]


def _dollars(body: Json, billed: Billed, written: int) -> float:
    model = f"anthropic:{body['model']}"
    plain = request_price(model, input_tokens=100_000, cached_tokens=0, output_tokens=0)
    output = request_price(model, input_tokens=0, cached_tokens=0, output_tokens=100_000)
    assert plain is not None
    assert output is not None
    return (billed.cost * plain + written * output) / 100_000


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="+", type=Path)
    holds = True
    for file in parser.parse_args().files:
        transcript = read_transcript(file)
        if transcript is None:
            parser.error(f"{file} is no transcript.")
        with tempfile.TemporaryDirectory() as folder:
            outcome = asyncio.run(play(script_of(transcript.messages), Path(folder)))
        causes = ", ".join(f"{cause} {times}" for cause, times in outcome.causes.items())
        print(
            f"| {file.name} | {len(outcome.receipts)} | ${outcome.bill:.4f} | ${outcome.paid:.4f} "
            f"| {sum(outcome.missed)} | {outcome.wrong} | {causes} |",
            flush=True,
        )
        holds = holds and outcome.holds
    return int(not holds)


if __name__ == "__main__":
    sys.exit(main())
