"""One transcript under one policy in one window: played to its end and judged."""

import hashlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, UserPromptPart

from tests.quality.chains import portions
from tests.quality.disk_checks import kept_on_disk, survives_dying, unchanged_by_failure, view_of
from tests.quality.playing import Play
from tests.quality.sent_checks import Key, Request, Source, judge, opening, parts_of
from tui_app.context.counting.encodings import TextCounter
from tui_app.context.policy import Policy
from tui_app.events import CompactionComplete, Truncation, ViewRewrite

CHECKS = {
    "S1": "no call without its result, no result without its call",
    "S2": "order kept",
    "S3": "roles a provider accepts, no empty message",
    "S4": "what stays is byte for byte what was said or on record as changed; the end is whole",
    "S5": "system prompt and instructions untouched",
    "S6": "the log only grows, and all of it comes back when everything is undone",
    "S7": "a failed summary and a full disk leave the view as it was",
    "S8": "dying at any write of a compaction leaves all of it or none; folds agree",
    "S9": "nothing starts that was not due, and a request that nothing is due for is the same bytes twice",
    "S10": "text that looks like our summary or gives orders is not taken for ours",
    "S11": "no secret in what we wrote",
}
_STEPS = 12
"""Requests while a session grows by one window."""


@dataclass(slots=True)
class Verdict:
    """Results of one transcript under one policy in one window."""

    requests: int = 0
    refused: int = 0
    """Requests that could not fit even with everything removable left out."""
    cut: int = 0
    compactions: int = 0
    rewrites: int = 0
    failures: Counter[str] = field(default_factory=Counter)
    """Number of failures of each check, by its name."""
    bytes: str = ""
    """Hash of all requests sent."""


async def play_through(
    messages: Sequence[ModelMessage],
    policy: Policy,
    window: int,
    text: TextCounter,
    folder: Path,
    *,
    dies: bool = True,
) -> Verdict:
    """Play a session to its end; judge every request, then log and disk, then a death at each write."""
    play, source, verdict = Play(folder, policy, window, text), Source(), Verdict()
    try:
        for portion in parts_to_play(messages, play):
            await _request(portion, play, source, verdict)
        verdict.bytes = checksum(play)
        await _at_the_end(play, verdict, dies=dies)
    finally:
        play.close()
    verdict.compactions = sum(
        record.data.outcome == "success"
        for record in play.stored(CompactionComplete)
        if isinstance(record.data, CompactionComplete)
    )
    verdict.rewrites = len(play.stored(ViewRewrite))
    return verdict


def parts_to_play(messages: Sequence[ModelMessage], play: Play) -> list[Sequence[ModelMessage]]:
    """The session's messages between requests, after an opening common to all sessions."""
    session = [*opening(), *messages]
    if isinstance(session[-1], ModelResponse):
        session.append(ModelRequest(parts=[UserPromptPart("What is left to do?")]))
    steps = max(1, _size(play, session) * _STEPS // play.window)
    return portions(session, steps, lambda some: _size(play, some))


def checksum(play: Play) -> str:
    """A hash of all requests of a play, and their number."""
    whole = hashlib.sha256(" ".join(play.requests).encode()).hexdigest()
    return f"{len(play.requests)} {whole[:24]}"


def _size(play: Play, messages: Sequence[ModelMessage]) -> int:
    return sum(play.history.counter.message(message).total for message in messages)


async def _request(portion: Sequence[ModelMessage], play: Play, source: Source, verdict: Verdict) -> None:
    """Append messages, and judge the request that follows."""
    play.say(portion)
    source.add(portion)
    seen = len(play.published)
    verdict.requests += 1
    if not await play.send():
        verdict.refused += 1
        return
    cut = any(isinstance(record.data, Truncation) for record in play.published[seen:])
    verdict.cut += cut
    request = Request(play.sent, play.instructions, cut, _rewritten(play), play.policy.keep_first_run)
    verdict.failures.update(name for name, passed in judge(request, source).items() if not passed)


def _rewritten(play: Play) -> frozenset[Key]:
    """Calls and results changed by a recorded rewrite."""
    return frozenset(
        key
        for record in play.stored(ViewRewrite)
        if isinstance(record.data, ViewRewrite)
        for change in record.data.changes
        for key in play.keys[change.seq]
    )


async def _at_the_end(play: Play, verdict: Verdict, *, dies: bool) -> None:
    passed = {
        "S9": not play.early and await _same_twice(play),
        "S7": not dies or await unchanged_by_failure(play),
        "S8": not dies or await survives_dying(play),
        "S6": kept_on_disk(play),
    }
    verdict.failures.update(name for name, fine in passed.items() if not fine)


async def _same_twice(play: Play) -> bool:
    """Whether a request with nothing due is the same bytes when sent again."""
    for _ in range(2):
        before, events = view_of(play.history), len(play.published)
        if not await play.send():
            return True
        first = parts_of(play.sent)
        if view_of(play.history) != before:
            continue  # something was due
        again = await play.send()
        quiet = not [
            r for r in play.published[events:] if isinstance(r.data, CompactionComplete | ViewRewrite)
        ]
        return not quiet or (again and [p[1:] for p in parts_of(play.sent)] == [p[1:] for p in first])
    return True
