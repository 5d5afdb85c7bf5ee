"""Every request of whole sessions, sent with the real model class of each protocol.

``python -m tests.quality.wires`` sends each view in its provider's format, under every policy and after every
kind of change. Needs no network: a server on loopback applies the strictest validation of each kind.
"""

import argparse
import asyncio
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path

from pydantic_ai.messages import (
    InstructionPart,
    ModelMessage,
    ModelRequest,
    ModelResponse,
    ToolCallPart,
    ToolReturnPart,
)
from pydantic_ai.models import Model, ModelRequestContext, ModelRequestParameters
from pydantic_ai.tools import ToolDefinition

from tests.context.facts_kit import user
from tests.quality.playing import Play
from tests.quality.transcripts import find_files, read_transcript
from tests.quality.verdicts import parts_to_play
from tests.servers.strict import WIRES, Strict, strict_server
from tui_app.context.compaction.compactor import CompactionRefused
from tui_app.context.counting.encodings import TextCounter
from tui_app.context.policy import PRESETS, Policy
from tui_app.conversation.compactions.compactions import Compactions, Reviews
from tui_app.conversation.compactions.manual_edits import ManualEdits
from tui_app.conversation.compactions.summary_edits import SummaryEdits
from tui_app.events import CompactionComplete, UserMessage
from tui_app.wires.adjustments import Adjustments
from tui_app.wires.wire_form import WireForm

SITUATIONS = ("growing", "excluded", "compacted", "undone", "rewound", "switched")
WINDOWS = (32_000, 128_000)
EYE = "Look at the boats, and say what is left to do."
_TOOLS = [ToolDefinition(name="look"), ToolDefinition(name="7 seas.look at/" + "far " * 20)]
_PROJECT = "The project wants short lines."


@dataclass(slots=True)
class Judged:
    """Sends the requests of plays to one server of every kind."""

    strict: Strict
    requests: Counter[tuple[str, str]] = field(default_factory=Counter)
    """By server and change of the view."""
    learnt: Counter[tuple[str, str]] = field(default_factory=Counter)
    """Refusals from which the form was learnt: the same request was accepted in another form."""
    refusals: list[str] = field(default_factory=list)
    _models: dict[str, Model] = field(default_factory=dict)
    _adjusted: dict[str, Adjustments] = field(default_factory=dict)
    _accepted: set[tuple[str, WireForm, str]] = field(default_factory=set)
    """Requests accepted before, by hash of their bytes, which need not be sent again."""

    async def play(self, messages: Sequence[ModelMessage], policy: Policy, window: int, folder: Path) -> None:
        """Grow a session, then apply every change to its view that a user can make."""
        play = Play(folder, policy, window, TextCounter(None))
        self._models = self._models or {wire: self.strict.of_wire(wire) for wire in WIRES}
        forms = {wire: WireForm.of(model) for wire, model in self._models.items()}
        self._adjusted = {wire: Adjustments(form, {}) for wire, form in forms.items()}
        try:
            for portion in parts_to_play(messages, play):
                play.say(portion)
                await self._send(play, "growing")
            await self._excluded(play)
            with suppress(CompactionRefused):
                play.compactor.start("command")
            await play.compactor.finish()
            await self._prompted(play, "compacted")
            for record in play.stored(CompactionComplete)[-1:]:
                with suppress(ValueError, KeyError):
                    play.history.restate(record.seq, undo=True)
                await self._prompted(play, "undone")
            prompts = play.stored(UserMessage)
            play.history.rewind(prompts[len(prompts) // 2].seq)
            await self._prompted(play, "rewound")
            await self._switched(play)
        finally:
            play.close()

    async def _excluded(self, play: Play) -> None:
        """Exclude every third message that may be, alone or with its turn, and include half of them again."""
        compactions = Compactions(play.history, play.compactor, Reviews(play.history.report))
        edits = ManualEdits(play.history, compactions, SummaryEdits(play.history, compactions))
        for place, item in enumerate(list(play.history.items())[1::3]):
            edits.exclude((item.key,), turn=place % 5 == 4)
        await self._send(play, "excluded")
        for seq in sorted(play.history.view.excluded)[::2]:
            if seq in play.history.view.excluded:
                edits.include((seq,))
        await self._prompted(play, "excluded")

    async def _switched(self, play: Play) -> None:
        """Switch from server to server, each with reasoning and a tool call of its own, and around again."""
        self.strict.calls = True
        try:
            for wire in (*WIRES, *WIRES):
                play.say(user(EYE))
                if not await play.send() or (answer := await self._sent(play, wire, "switched")) is None:
                    continue
                calls = [part for part in answer.parts if isinstance(part, ToolCallPart)]
                results = [ToolReturnPart(call.tool_name, "Two boats.", call.tool_call_id) for call in calls]
                play.say([answer, ModelRequest(parts=results)] if calls else [answer])
        finally:
            self.strict.calls = False
        await self._send(play, "switched")

    async def _prompted(self, play: Play, where: str) -> None:
        play.say(user(EYE))
        await self._send(play, where)

    async def _send(self, play: Play, where: str) -> None:
        if await play.send():
            for wire in WIRES:
                request = (wire, self._adjusted[wire].form, play.requests[-1])
                if request in self._accepted:
                    self.requests[wire, where] += 1
                elif await self._sent(play, wire, where) is not None:
                    self._accepted.add(request)

    async def _sent(self, play: Play, wire: str, where: str) -> ModelResponse | None:
        model, instructions = self._models[wire], [play.instructions, _PROJECT]
        parameters = ModelRequestParameters(
            function_tools=_TOOLS, instruction_parts=[InstructionPart(each) for each in instructions]
        )
        self.requests[wire, where] += 1
        adjusted = self._adjusted[wire]
        adjusted.begin()
        while True:
            messages, formed = adjusted.form.of_request(play.sent, parameters)
            request = ModelRequestContext(
                model=model, messages=messages, model_settings=None, model_request_parameters=formed
            )
            try:
                answer = await model.request(messages, None, formed)
            except Exception as error:  # anything a library raises for a request it cannot send
                if adjusted.next_form(request, error) is None:
                    why = f"{type(error).__name__}: {error}"
                    self.refusals.append(f"{wire}, {where}, {play.policy.name}, {play.window:,}: {why:.300}")
                    return None
                self.learnt[wire, where] += 1
            else:
                adjusted.answered(request)
                return answer
            finally:
                self.strict.bodies.clear()

    def table(self) -> str:
        """Requests sent and refused, as a table that reveals nothing of the sessions."""
        lines = [f"| wire | {' | '.join(SITUATIONS)} | form learnt | refused |", "|---" * 9 + "|"]
        for wire in WIRES:
            sent = (f"{self.requests[wire, where]:,}" for where in SITUATIONS)
            learnt = sum(self.learnt[wire, where] for where in SITUATIONS)
            refused = sum(each.startswith(f"{wire},") for each in self.refusals)
            lines.append(f"| {wire} | {' | '.join(sent)} | {learnt:,} | {refused:,} |")
        return "\n".join(lines)


async def judge(
    sessions: Sequence[Sequence[ModelMessage]], windows: Sequence[int], policies: Sequence[Policy]
) -> Judged:
    """Play every session under every policy."""
    with strict_server() as strict:
        judged = Judged(strict)
        for place, (messages, policy, window) in enumerate(product(sessions, policies, windows), 1):
            with tempfile.TemporaryDirectory() as folder:
                await judged.play(messages, policy, window, Path(folder))
            print(f"{place}: {policy.name}, {window:,}: {len(judged.refusals)} refused", file=sys.stderr)
        return judged


def main(arguments: list[str] | None = None) -> int:
    """Play, print the table and list the refusals. Returns 1 if there were any."""
    parser = argparse.ArgumentParser(prog="python -m tests.quality.wires", description=__doc__)
    parser.add_argument("paths", nargs="+", type=Path, help="transcripts, or folders of them")
    parser.add_argument("--window", nargs="+", type=int, default=WINDOWS, help="tokens of the model's window")
    options = parser.parse_args(arguments)
    read = [found for path in find_files(options.paths) if (found := read_transcript(path)) is not None]
    if not read:
        print(f"No transcript in {', '.join(map(str, options.paths))}.", file=sys.stderr)
        return 1
    sessions = [transcript.messages for transcript in read]
    judged = asyncio.run(judge(sessions, options.window, list(PRESETS.values())))
    print(*judged.refusals, sep="\n", file=sys.stderr)
    plays, sent = len(read) * len(PRESETS) * len(options.window), sum(judged.requests.values())
    print(f"{len(read)} transcripts, {plays:,} plays, {sent:,} requests: {len(judged.refusals):,} refused.\n")
    print(judged.table())
    return int(bool(judged.refusals))


if __name__ == "__main__":
    sys.exit(main())
