"""Every finish reason of every protocol: what the user is told, and that the conversation continues."""

import json
from collections.abc import Iterator
from copy import deepcopy
from typing import Any

import pytest

from tests.conversation.driving import Desk, of, turn
from tests.conversation.test_cut_calls import served
from tests.servers.strict import WIRES, Strict, streamed, strict_server
from tui_app.events import (
    AssistantMessage,
    CompactionComplete,
    Error,
    Notice,
    Record,
    ToolResult,
    TurnEnd,
    TurnRetry,
)
from tui_app.settings import Endpoint
from tui_app.wires.answer_end import (
    ASKED_AGAIN,
    FILTERED,
    FULL,
    MALFORMED,
    STOPPED,
    STOPS,
    TOO_LONG,
)

pytestmark = pytest.mark.filterwarnings("ignore:.* is not a valid FinishReason")
"""Google's client warns of values newer than itself."""
SAID = "The ferry leaves at"
WORDS = [
    (wire, word, end)
    for wire, stops in STOPS.items()
    if wire in WIRES
    for word, end in stops.items()
    # pydantic-ai continues the response itself, and this server does not accept that request.
    if word != "pause_turn"
]
RELAYED = [
    ("openai-chat", word, end)
    for wire, stops in STOPS.items()
    if wire != "responses"
    for word, end in stops.items()
]
"""Values of other protocols, as passed on by relays."""


@pytest.fixture
def strict() -> Iterator[Strict]:
    with strict_server() as made:
        made.text = SAID
        yield made


def ended(answer: Any, word: str, *, silent: bool) -> Any:
    """Change the finish reason of an answer, and empty its text if ``silent``."""
    answer = deepcopy(answer)
    if "choices" in answer:
        (choice,) = answer["choices"]
        choice["finish_reason"] = word
        choice["message"]["content"] = "" if silent else choice["message"]["content"]
    elif "output" in answer:
        status = word if word in ("completed", "failed", "cancelled", "incomplete") else "incomplete"
        answer |= {"status": status, "output": [] if silent else answer["output"]}
        if status not in ("completed", "failed", word):
            answer["incomplete_details"] = {"reason": word}
    elif "candidates" in answer:
        (candidate,) = answer["candidates"]
        candidate["finishReason"] = word
        candidate["content"]["parts"] = [] if silent else candidate["content"]["parts"]
    else:
        answer |= {"stop_reason": word, "content": [] if silent else answer["content"]}
    return answer


def ends_with(strict: Strict, word: str, *, times: int = 99, silent: bool = False) -> None:
    """Give the next ``times`` answers this finish reason."""
    left = [times]

    def manner(answer: Any, stream: str) -> tuple[str, str]:
        left[0] -= 1
        if left[0] < 0:
            return "text/event-stream", stream
        return "text/event-stream", streamed(ended(answer, word, silent=silent))

    strict.manner = manner


def told(records: list[Record]) -> str:
    """Return everything the user reads about the turn."""
    notices = [each.text for each in of(records, Notice) if isinstance(each, Notice)]
    errors = [f"{each.message} {each.hint}" for each in of(records, Error) if isinstance(each, Error)]
    retries = [each.reason for each in of(records, TurnRetry) if isinstance(each, TurnRetry)]
    return "\n".join([*retries, *notices, *errors])


def answers(records: list[Record]) -> list[AssistantMessage]:
    return [each for each in of(records, AssistantMessage) if isinstance(each, AssistantMessage)]


def outcomes(records: list[Record]) -> list[str]:
    return [each.outcome for each in of(records, TurnEnd) if isinstance(each, TurnEnd)]


def test_no_word_means_two_things() -> None:
    known = dict[str, str]()
    for stops in STOPS.values():
        for word, end in stops.items():
            assert known.setdefault(word.lower(), end) == end, word


@pytest.mark.parametrize(("wire", "word", "end"), [*WORDS, *RELAYED])
async def test_half_an_answer_is_marked_and_said(
    desk: Desk, strict: Strict, wire: str, word: str, end: str
) -> None:
    served(desk, strict)
    ends_with(strict, word)
    async with desk.session(model=f"{wire}:{WIRES[wire].model}", retries=1) as opened:
        records = await turn(opened.conversation, "When?")
        assert outcomes(records) == ["done"]
        assert len(answers(records)) == 1 + (end in ASKED_AGAIN)
        last = answers(records)[-1]
        assert (last.text, last.interrupted) == (SAID, bool(end))
        # The SDK does not report these two when a Responses API ends the stream with an unknown event.
        unheard = word in ("cancelled", "incomplete")
        assert (
            last.finish_reason in (("length", "content_filter", "error") if end else ("stop", "tool_call"))
            or unheard
        )
        assert (end.lower() in told(records).lower()) if end else told(records) == ""
        if end in (MALFORMED, STOPPED):
            assert f"({word})" in told(records)
        if end == FILTERED:
            assert "Rephrase" in told(records)
        strict.manner = None
        assert outcomes(await turn(opened.conversation, "Go on.")) == ["done"]
    assert len(strict.refused) <= (wire == "alternating")


@pytest.mark.parametrize(("wire", "word", "end"), [each for each in WORDS if each[2]])
async def test_no_answer_says_why(desk: Desk, strict: Strict, wire: str, word: str, end: str) -> None:
    served(desk, strict)
    ends_with(strict, word, silent=True)
    async with desk.session(model=f"{wire}:{WIRES[wire].model}", retries=1) as opened:
        records = await turn(opened.conversation, "When?")
        assert outcomes(records) == ["failed"]
        (error,) = (each for each in of(records, Error) if isinstance(each, Error))
        assert "resend" in error.actions
        match end:
            case _ if end == FULL:
                assert error.kind == "context_overflow"
                assert len(answers(records)) == 2
            case _ if end == TOO_LONG:
                assert "used up the room" in error.message
            case _ if word not in {"incomplete", "cancelled"}:
                assert f"gave no answer: {end}" in error.message
        strict.manner = None
        assert outcomes(await turn(opened.conversation, "When?")) == ["done"]
    assert strict.refused == []


@pytest.mark.parametrize(
    ("wire", "word"),
    [
        ("openai-chat", "abort"),
        ("mistral", "error"),
        ("google", "UNEXPECTED_TOOL_CALL"),
        ("responses", "failed"),
    ],
)
async def test_no_call_of_such_an_answer_is_run(desk: Desk, strict: Strict, wire: str, word: str) -> None:
    served(desk, strict)
    strict.calls, strict.call = True, ("read_file", {"path": "README.md"})
    ends_with(strict, word)
    async with desk.session(model=f"{wire}:{WIRES[wire].model}", retries=1) as opened:
        records = await turn(opened.conversation, "When?")
        assert of(records, ToolResult) == []
        assert [each.call_ids for each in answers(records)] == [(), ()]
        ends_with(strict, word, times=1)
        records = await turn(opened.conversation, "When?")
        assert (len(of(records, TurnRetry)), len(of(records, ToolResult)), outcomes(records)) == (
            1,
            1,
            ["done"],
        )


@pytest.mark.parametrize("silent", [False, True])
@pytest.mark.parametrize(
    ("wire", "word"), [("anthropic", "model_context_window_exceeded"), ("mistral", "model_length")]
)
async def test_a_full_window_is_compacted_and_asked_again(
    desk: Desk, strict: Strict, wire: str, word: str, silent: bool
) -> None:
    """The server's window is a third of the known size, and it truncates instead of refusing."""
    served(desk, strict)
    strict.text = f"{SAID} nine, as it does on every day but Sunday. " * 40
    strict.summary = f"Title: Ferries\n\n## Intent\n{SAID} nine.\n\n## Next steps\nGo on."
    window, cut = 9_000, list[int]()

    def manner(answer: Any, stream: str) -> tuple[str, str]:
        size = strict.reported[-1] if strict.reported else 0
        if size < window * 0.97 or "Title: Ferries" in stream:
            return "text/event-stream", stream
        cut.append(size)
        return "text/event-stream", streamed(ended(answer, word, silent=silent))

    strict.manner = manner
    async with desk.session(model=f"{wire}:{WIRES[wire].model}", retries=1) as opened:
        compacted = number = 0
        while compacted < 2:
            records = await turn(opened.conversation, f"When, on day {number}? " + "It matters. " * 40)
            assert outcomes(records) == ["done"], told(records)
            compacted += len(of(records, CompactionComplete))
            assert len(answers(records)) == 1 + (silent and FULL.lower() in told(records).lower())
            number += 1
            assert number < 60, "never compacted again"
        assert outcomes(await turn(opened.conversation, "And then?")) == ["done"]
    assert len(cut) <= compacted + 1
    assert strict.refused == []


async def test_a_filter_is_told_in_the_providers_words(desk: Desk, strict: Strict) -> None:
    served(desk, strict)
    why = "Ferries are not spoken of"

    def manner(answer: Any, _stream: str) -> tuple[str, str]:
        stream = streamed(ended(answer, "refusal", silent=not answer["content"][0]["text"]))
        details = {"type": "refusal", "category": "cyber", "explanation": why}
        return "text/event-stream", stream.replace(
            '"stop_reason": "refusal"', f'"stop_reason": "refusal", "stop_details": {json.dumps(details)}'
        )

    strict.manner = manner
    async with desk.session(model="anthropic:keen-1") as opened:
        assert f"the model's answer: {why}. The partial" in told(await turn(opened.conversation, "When?"))
        strict.text = ""
        assert why in told(await turn(opened.conversation, "When?"))


async def test_a_prompt_that_is_blocked_says_so(desk: Desk, strict: Strict) -> None:
    served(desk, strict)
    blocked = {"blockReason": "SAFETY", "blockReasonMessage": "Ferries are not spoken of."}
    strict.manner = lambda answer, _: (
        "text/event-stream",
        f"data: {json.dumps({'promptFeedback': blocked, 'usageMetadata': answer['usageMetadata']})}\n\n",
    )
    async with desk.session(model="google:gemini-3-pro-preview") as opened:
        records = await turn(opened.conversation, "When?")
        assert "Ferries are not spoken of." in told(records)
        strict.manner = None
        assert outcomes(await turn(opened.conversation, "When?")) == ["done"]


async def test_a_pause_is_gone_on_with_and_counted_as_one_request(desk: Desk, strict: Strict) -> None:
    """Input that a provider counts again for each part of an answer does not make the conversation longer."""
    base = f"{strict.url}/open"
    desk.endpoints["open"] = Endpoint(
        name="open", protocol="anthropic", base_url=base, key_env="", window=32_000
    )
    places = iter(range(99))
    pauses = [False, True, True, False, False]

    def manner(answer: Any, _stream: str) -> tuple[str, str]:
        word = "pause_turn" if pauses.pop(0) else "end_turn"
        answer = {**ended(answer, word, silent=False), "id": f"m_{next(places)}"}
        return "text/event-stream", streamed(answer)

    strict.manner = manner
    async with desk.session(model="open:keen-1") as opened:
        await turn(opened.conversation, "When?")
        records = await turn(opened.conversation, "And then? " + "It matters. " * 200)
        assert outcomes(records) == ["done"]
        assert [each.text for each in answers(records)] == [SAID * 3]
        assert told(records) == ""
        records = await turn(opened.conversation, "Go on.")
        assert outcomes(records) == ["done"]
        shown = opened.conversation.usage.total
        assert abs(shown - strict.reported[-1]) < 0.05 * strict.reported[-1], (shown, strict.reported)
