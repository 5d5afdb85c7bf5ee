"""The walk over every protocol against aimock, and aimock's own faults."""

import json
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import NODE_MODULES
from tests.conversation.driving import Desk, assert_valid, of, turn
from tests.protocols.walk import ASKS, COMMAND, NEW, NOTES, OLD, Sizes, walk
from tests.servers.aimock import AiMock, running_aimock
from tests.servers.proxy import Broken, Proxy
from tests.servers.wire import problems
from tui_app.agent.retry_rules import RetryRules
from tui_app.conversation.assembly import open_session
from tui_app.events import AssistantMessage, Error, TurnEnd, TurnRetry
from tui_app.settings import Endpoint

Json = Mapping[str, Any]
LIMIT, SENT = 20_000, 21_500
SIZES = Sizes(file=400, prompt=400)
BETA = (b" /v1/models/", b" /v1beta/models/")
"""Path prefix that Google's client uses, and the one that aimock serves."""
SOON = RetryRules(retries=3, first_s=0.01)

pytestmark = [
    pytest.mark.aimock,
    # aimock finishes calls on Google's protocol with a reason that Google does not define.
    pytest.mark.filterwarnings("ignore:FUNCTION_CALL is not a valid:UserWarning"),
]


@dataclass(frozen=True)
class Speech:
    """A protocol: its client's base path, and its server's wording of "too long"."""

    path: str
    too_long: Json
    alternating: bool = False


OPENAI = {
    "message": f"This model's maximum context length is {LIMIT} tokens. However, your messages resulted in "
    f"{SENT} tokens. Please reduce the length of the messages.",
    "type": "invalid_request_error",
    "code": "context_length_exceeded",
}
SPEECHES = {
    "openai-chat": Speech("/v1", OPENAI),
    "openai": Speech("/v1", OPENAI),
    "anthropic": Speech(
        "",
        {"message": f"prompt is too long: {SENT} tokens > {LIMIT} maximum", "type": "invalid_request_error"},
        alternating=True,
    ),
    "google": Speech(
        "",
        {
            "message": f"The input token count ({SENT}) exceeds the maximum number of tokens allowed "
            f"({LIMIT}).",
            "type": "INVALID_ARGUMENT",
            "code": "INVALID_ARGUMENT",
        },
        alternating=True,
    ),
}


def call(mark: str, name: str, text: str, **arguments: str) -> list[Json]:
    """Fixtures for one call, and a text once its result is there."""
    return [
        {"match": {"userMessage": mark, "hasToolResult": True}, "response": {"content": text}},
        {"match": {"userMessage": mark}, "response": {"toolCalls": [{"name": name, "arguments": arguments}]}},
    ]


def fixtures(speech: Speech) -> list[Json]:
    refused = {"status": 400, "error": speech.too_long}
    return [
        {"match": {"userMessage": ASKS}, "response": {"content": NOTES}},
        *call("[read]", "read_file", "It is a tide table.", path="tide.txt"),
        *call("[edit]", "edit_file", "Seven now.", path="tide.txt", old_text=OLD, new_text=NEW),
        *call("[run]", "run_command", "Those are its lines.", command=COMMAND),
        {"match": {"userMessage": "[full]", "sequenceIndex": 0}, "response": refused},
        {"match": {"userMessage": "[full]"}, "response": {"content": "They are the same."}},
        {"match": {"userMessage": "[on]"}, "response": {"content": "We put the tide table right."}},
        {"match": {}, "response": {"content": "An ordinary answer of some words."}},
    ]


@contextmanager
def served(desk: Desk, folder: Path, protocol: str) -> Iterator[tuple[AiMock, Proxy]]:
    """The aimock server behind a proxy, as the desk's server."""
    speech = SPEECHES[protocol]
    with (
        running_aimock(folder, NODE_MODULES, fixtures(speech)) as aimock,
        Proxy(aimock.address, BETA) as proxy,
    ):
        desk.endpoints["local"] = Endpoint(
            name="local", protocol=protocol, base_url=proxy.address + speech.path, window=64_000
        )
        yield aimock, proxy


@pytest.mark.parametrize("protocol", SPEECHES)
async def test_walk(desk: Desk, tmp_path: Path, protocol: str) -> None:
    with served(desk, tmp_path, protocol) as (aimock, proxy):
        opened = open_session(replace(desk.opening(read_only=False), attended=True))
        try:
            await opened.prepare()
            await walk(desk, opened, proxy, SIZES, alternating=SPEECHES[protocol].alternating)
        finally:
            await opened.close()
        journal = [entry["body"] for entry in aimock.journal() if "messages" in (entry["body"] or {})]
    assert len(journal) >= 10
    assert [found for body in journal for found in problems(body)] == []


@pytest.mark.parametrize("protocol", SPEECHES)
@pytest.mark.parametrize(
    "rates",
    [{"dropRate": 1}, {"malformedRate": 1}, {"disconnectRate": 1}, {"rateLimitRate": 1}],
    ids=lambda rates: next(iter(rates)),
)
async def test_chaos_ends_in_a_sentence_and_passes(
    desk: Desk, tmp_path: Path, protocol: str, rates: Json
) -> None:
    with served(desk, tmp_path, protocol) as (aimock, proxy):
        async with desk.session() as opened:
            opened.turns.rules = RetryRules(retries=1, first_s=0.01)
            chaos(aimock, rates)
            records = await turn(opened.conversation, "Hello?")
            [told] = of(records, Error)
            [end] = of(records, TurnEnd)
            assert isinstance(told, Error)
            assert isinstance(end, TurnEnd)
            assert (end.outcome, end.prompt) == ("failed", "Hello?")
            assert told.message.endswith(".")
            assert told.kind in ("network", "provider", "rate_limit"), told
            assert len(proxy.sent) <= 2
            chaos(aimock, {})
            records = await turn(opened.conversation, "And now?")
            assert of(records, AssistantMessage)[-1].text == "An ordinary answer of some words."
            assert_valid(opened.conversation)


BREAKS = {
    "before the first byte": Broken(0),
    "in the head": Broken(40),
    "in mid stream": Broken(700),
    "corrupted": Broken(corrupt=True),
}


@pytest.mark.parametrize("protocol", SPEECHES)
@pytest.mark.parametrize("name", BREAKS)
async def test_a_broken_cable_is_got_over(desk: Desk, tmp_path: Path, protocol: str, name: str) -> None:
    (desk.cwd / "tide.txt").write_text("low at six\n")
    with served(desk, tmp_path, protocol) as (_, proxy):
        async with desk.session() as opened:
            opened.turns.rules = SOON
            proxy.faults.extend([BREAKS[name]] * 2)
            records = await turn(opened.conversation, "[read] What is in tide.txt?")
            [end] = of(records, TurnEnd)
            assert isinstance(end, TurnEnd)
            if end.outcome == "done":
                assert of(records, AssistantMessage)[-1].text == "It is a tide table."
            else:
                [told] = of(records, Error)
                assert isinstance(told, Error)
                assert told.message.endswith(".")
                assert told.kind != "internal", told
            assert len(of(records, TurnRetry)) <= SOON.retries
            proxy.faults.clear()
            await turn(opened.conversation, "And now?")
            assert_valid(opened.conversation)
        assert [found for sent in proxy.sent for found in problems(sent.body)] == []


@pytest.mark.parametrize("protocol", SPEECHES)
@pytest.mark.parametrize("after", [0, 600])
async def test_silence_is_given_up(desk: Desk, tmp_path: Path, protocol: str, after: int) -> None:
    with served(desk, tmp_path, protocol) as (_, proxy):
        async with desk.session(answer_timeout_s=0.5) as opened:
            proxy.faults.append(Broken(after, hangs=True))
            records = await turn(opened.conversation, "Hello?")
            [told] = of(records, Error)
            assert isinstance(told, Error)
            assert told.kind == "network"


def chaos(aimock: AiMock, rates: Json) -> None:
    """Set the faults from now on."""
    request = urllib.request.Request(
        f"{aimock.address}/__aimock/chaos",
        json.dumps(dict(rates)).encode(),
        {"content-type": "application/json"},
    )
    urllib.request.urlopen(request).close()
