"""The demo's model: it plays a recorded session with the real engine, and searches for other prompts."""

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic_ai.messages import ModelMessage, ModelResponsePart, TextPart, ToolCallPart
from pydantic_ai.models import ModelRequestParameters

from tui_app.agent.offline.model import OfflineModel
from tui_app.agent.offline.turn import read_turn
from tui_app.demo.stage import LARGE, PROVIDER, SMALL, Pace, data_file
from tui_app.records import frozen

WINDOWS = {LARGE: 16_720, SMALL: 12_288}
"""Context windows in tokens, by name of the model."""
SLOW_PIECE_S = 0.6
"""Seconds between two pieces of the slow writer's summary: enough to read which key to press."""

_AFTER = re.compile(r" <!-- after (\d+) -->$")
"""Comment at the end of a line of the summary: the prompt after which it is true."""


@frozen
class Answer:
    """One response of the recording: text, calls, or both."""

    text: str
    calls: tuple[tuple[str, Mapping[str, Any]], ...] = ()
    """Name and arguments of each tool."""


@frozen
class Exchange:
    """A prompt of the recording and its responses."""

    prompt: str
    answers: tuple[Answer, ...]


def read_session(path: Path) -> tuple[Exchange, ...]:
    """Read the recording, one chat message per line, without results: the tools really run."""
    found: list[tuple[str, list[Answer]]] = []
    for line in path.read_text(encoding="utf-8").splitlines():
        message = json.loads(line)
        if message["role"] == "user":
            found.append((message["content"], []))
        elif message["role"] == "assistant":
            functions = [call["function"] for call in message.get("tool_calls", ())]
            calls = tuple((each["name"], json.loads(each["arguments"])) for each in functions)
            found[-1][1].append(Answer(message.get("content") or "", calls))
    return tuple(Exchange(prompt, tuple(answers)) for prompt, answers in found)


class ScriptedModel(OfflineModel):
    """Answers the prompts of the recording as recorded, and every other one by searching the folder.

    Args:
        name: Its name after that of the provider.
        pace: The speed, and the kind of the next summary.
        session: The recording.
    """

    def __init__(self, name: str, pace: Pace, session: Sequence[Exchange]) -> None:
        super().__init__(context_window=WINDOWS[name])
        self._name, self._pace = name, pace
        self._answers = {_plain(each.prompt): each.answers for each in session}

    @property
    def model_name(self) -> str:
        return self._name

    @property
    def system(self) -> str:
        return PROVIDER

    def pause_s(self, parameters: ModelRequestParameters) -> float:
        is_slow = self._pace.writer == "slow" and not parameters.function_tools
        return SLOW_PIECE_S if is_slow else self._pace.answers_s

    def respond(
        self, messages: Sequence[ModelMessage], parameters: ModelRequestParameters
    ) -> list[ModelResponsePart]:
        """Return the next recorded response to the latest prompt; without tools, a summary is requested."""
        if not parameters.function_tools:
            if self._pace.writer == "inventive":
                return [TextPart(data_file("invented.md").read_text("utf-8"))]
            history = _plain(str(messages))
            played = max((at for at, prompt in enumerate(self._answers, 1) if prompt in history), default=0)
            return [TextPart(_so_far(data_file("summary.md").read_text("utf-8"), played))]
        turn = read_turn(messages)
        answers = self._answers.get(_plain(turn.prompt), ())
        if turn.rounds >= len(answers):
            return super().respond(messages, parameters)
        answer = answers[turn.rounds]
        parts: list[ModelResponsePart] = [TextPart(answer.text)] if answer.text else []
        for at, (tool, args) in enumerate(answer.calls):
            seed = json.dumps([turn.prompt, turn.asked_at, turn.rounds, at])
            id = f"{PROVIDER}_{hashlib.sha256(seed.encode()).hexdigest()[:20]}"
            parts.append(ToolCallPart(tool, dict(args), id))
        return parts


def _so_far(summary: str, played: int) -> str:
    """Return the lines of a summary that are true after a number of prompts."""
    lines = [(_AFTER.search(line), line) for line in summary.splitlines()]
    true = [_AFTER.sub("", line) for after, line in lines if after is None or int(after[1]) <= played]
    return "\n".join(true)


def _plain(text: str) -> str:
    return " ".join(text.split()).casefold()


def models(pace: Pace) -> dict[str, ScriptedModel]:
    """Make the demo's models, by full name."""
    session = read_session(data_file("session.jsonl"))
    return {f"{PROVIDER}:{name}": ScriptedModel(name, pace, session) for name in WINDOWS}
