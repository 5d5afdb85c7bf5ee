"""What is sent of whole sessions, under every policy and whatever happens to the view, is refused by nobody.

Every request is made by the real model of each protocol, from its form to the body on the wire, and judged
there by a check that refuses what the strictest servers do.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from pydantic_ai.messages import ModelMessage
from pydantic_ai.models import Model, ModelRequestParameters

from tests.context.facts_kit import user
from tests.context.test_wire_form import PROTOCOLS, Strict, foreign, strict
from tests.quality.playing import Play
from tests.quality.test_safety import SESSIONS
from tests.quality.verdicts import parts_to_play
from tui_app.context.compaction.compactor import CompactionRefused
from tui_app.context.counting.encodings import TextCounter
from tui_app.context.policy import PRESETS, Policy
from tui_app.context.wire_form import WireForm
from tui_app.events import CompactionComplete, UserMessage

__all__ = ["strict"]
EYE = "Look at the boats, and say what is left to do."


def chat_turns(body: Any) -> list[str]:
    """Results stand directly behind the calls that they answer."""
    problems, messages = PROTOCOLS["openai-chat"](body), body["messages"]
    for place, message in enumerate(messages):
        wanted = [call["id"] for call in message.get("tool_calls") or []]
        behind = messages[place + 1 : place + 1 + len(wanted)]
        problems += [] if [each.get("tool_call_id") for each in behind] == wanted else ["late result"]
    return problems


def anthropic_turns(body: Any) -> list[str]:
    """Results begin the message behind the calls that they answer, and the user has the first word."""
    problems = PROTOCOLS["anthropic"](body)
    messages = [{"content": [], "role": "user"}, *body["messages"], {"content": [], "role": "user"}]
    problems += [] if body["messages"][0]["role"] == "user" else ["the first message is not the user's"]
    for message, behind in pairwise(messages):
        called = [block["id"] for block in _blocks(message) if block["type"] == "tool_use"]
        answered = [block.get("tool_use_id") for block in _blocks(behind)]
        problems += [] if set(answered[: len(called)]) == set(called) else ["late result"]
        problems += [] if not any(answered[len(called) :]) else ["a result of nothing"]
    return problems


def _blocks(message: Any) -> list[Any]:
    return message["content"] if isinstance(message["content"], list) else []


CHECKS: dict[str, tuple[str, Callable[[Any], list[str]]]] = {
    "openai-chat": ("openai-chat", chat_turns),
    "Responses": ("openai", PROTOCOLS["openai"]),
    "Anthropic": ("anthropic", anthropic_turns),
    "Google": ("google", PROTOCOLS["google"]),
}


@dataclass(slots=True)
class Judged:
    """Sends each request of a play to every server."""

    strict: Strict
    requests: Counter[str] = field(default_factory=Counter)
    refusals: list[str] = field(default_factory=list)
    happened: Counter[str] = field(default_factory=Counter)
    _models: dict[str, Model[Any]] = field(default_factory=dict)

    async def send(self, play: Play, where: str) -> None:
        if not await play.send():
            return
        self.happened[where] += 1
        parameters = ModelRequestParameters()
        for server, (protocol, check) in CHECKS.items():
            model = self._models.setdefault(server, self.strict.model(protocol))
            form = WireForm.of(model)
            self.strict.check, seen = check, len(self.strict.refused)
            with suppress(Exception):  # the refusal itself is on record
                await model.request(form.of_messages(play.sent), None, parameters)
            self.strict.bodies.clear()
            self.requests[server] += 1
            self.refusals += [f"{server}, {where}: {why}" for why in self.strict.refused[seen:]]

    async def play(self, messages: Sequence[ModelMessage], policy: Policy, window: int, folder: Path) -> None:
        """Let a session grow, and then let happen to its view whatever a user may do."""
        play = Play(folder, policy, window, TextCounter(None))
        try:
            for portion in parts_to_play(messages, play):
                play.say(portion)
                await self.send(play, "growing")
            with suppress(CompactionRefused):
                play.compactor.start("command")
            await play.compactor.finish()
            await self._prompted(play, "behind a compaction")
            for record in play.stored(CompactionComplete)[-1:]:
                with suppress(ValueError, KeyError):
                    play.history.restate(record.seq, undo=True)
                await self._prompted(play, "behind an undo")
            prompts = play.stored(UserMessage)
            play.history.rewind(prompts[len(prompts) // 2].seq)
            await self._prompted(play, "behind a rewind")
        finally:
            play.close()

    async def _prompted(self, play: Play, where: str) -> None:
        play.say(user(EYE))
        await self.send(play, where)


@pytest.mark.parametrize("name", ["work", "foreign"])
async def test_no_request_is_refused(strict: Strict, tmp_path: Path, name: str) -> None:
    judged = Judged(strict)
    session = SESSIONS[name] if name != "foreign" else foreign() * 3
    for policy in PRESETS.values():
        (folder := tmp_path / policy.name).mkdir()
        await judged.play(session, policy, 128_000, folder)
    assert judged.refusals == []
    assert {"growing", "behind a compaction", "behind a rewind"} <= set(judged.happened)
