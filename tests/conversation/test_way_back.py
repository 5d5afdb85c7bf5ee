"""Every error of a turn: what happened, what to do, and the key that tries again."""

import pytest
from pydantic_ai.exceptions import UnexpectedModelBehavior

from tests.conversation.driving import Desk, of, turn
from tests.servers.behaviours import Behaviour, CutStream, error, tool
from tests.servers.fake_openai import FakeOpenAI
from tui_app.agent.turn import TurnRunner
from tui_app.cli.failures import for_shell
from tui_app.conversation.retry_advice import BACK, KEPT
from tui_app.editors.updates import for_editor
from tui_app.events import Error, TurnEnd

SERVED = {
    "auth 401": (error(401, "no", code="invalid_api_key"), "auth"),
    "auth 403": (error(403, "no"), "auth"),
    "provider 400": (error(400, "Unsupported parameter: 'top_k'"), "provider"),
    "provider 500": (error(500, "boom"), "provider"),
    "rate_limit 429": (error(429, "slow down"), "rate_limit"),
    "rate_limit 402": (error(402, "pay"), "rate_limit"),
    "input 404": (error(404, "no", code="model_not_found"), "input"),
    "context_overflow 413": (error(413, "too large"), "context_overflow"),
}
RAISED = {
    "internal": (KeyError("parts"), "internal"),
    "tool": (UnexpectedModelBehavior("Tool 'edit_file' exceeded max retries count of 1"), "tool"),
    "disk": (OSError(28, "No space left on device"), "internal"),
}


async def failed(desk: Desk, text: str = "why?", **settings: object) -> tuple[Error, TurnEnd]:
    async with desk.session(**settings) as opened:
        records = await turn(opened.conversation, text)
    errors, ends = of(records, Error), of(records, TurnEnd)
    assert isinstance(errors[-1], Error)
    assert isinstance(ends[-1], TurnEnd)
    return errors[-1], ends[-1]


def assert_whole(told: Error, way: str) -> None:
    """What happened, what to do next, the key: three sentences or more, and none of them twice."""
    assert told.message.endswith(".")
    assert told.hint.endswith(f" {way}")
    assert told.hint.count(way) == 1
    assert told.hint.removesuffix(way).strip().endswith("."), told.hint
    # There is no editor with a prompt in it elsewhere.
    for elsewhere in (for_shell(told.hint), for_editor(told.hint)):
        assert "enter " not in elsewhere
        assert "/retry" not in elsewhere
        assert elsewhere.endswith(".")


@pytest.mark.parametrize(("failure", "kind"), SERVED.values(), ids=SERVED)
async def test_what_got_no_answer_goes_back(
    desk: Desk, fake_openai: FakeOpenAI, failure: Behaviour, kind: str
) -> None:
    desk.server("local", fake_openai.base_url, window=8_000)
    fake_openai.fallback = failure
    told, end = await failed(desk)
    assert (told.kind, end.prompt) == (kind, "why?")
    assert_whole(told, BACK)


@pytest.mark.parametrize(("error", "kind"), RAISED.values(), ids=RAISED)
async def test_what_went_wrong_here_does_too(
    desk: Desk, fake_openai: FakeOpenAI, monkeypatch: pytest.MonkeyPatch, error: Exception, kind: str
) -> None:
    async def run(*_: object) -> object:
        raise error

    desk.server("local", fake_openai.base_url, window=8_000)
    monkeypatch.setattr(TurnRunner, "run", run)
    told, end = await failed(desk)
    assert (told.kind, end.prompt) == (kind, "why?")
    assert_whole(told, BACK)


async def test_a_prompt_that_cannot_fit_and_one_without_a_model(desk: Desk, fake_openai: FakeOpenAI) -> None:
    desk.server("local", fake_openai.base_url, window=2_000)
    told, end = await failed(desk, "long " * 4_000)
    assert (told.kind, bool(end.prompt)) == ("context_overflow", True)
    assert_whole(told, BACK)
    told, end = await failed(desk, model="openai:gpt-5")
    assert (told.kind, end.prompt) == ("auth", "why?")
    assert_whole(told, BACK)


async def test_a_server_that_is_not_there(desk: Desk) -> None:
    desk.server("local", "http://127.0.0.1:9/v1", window=8_000)
    told, end = await failed(desk)
    assert (told.kind, end.prompt) == ("network", "why?")
    assert_whole(told, BACK)


@pytest.mark.parametrize(
    "answers", [(CutStream(),), (tool("ls", path="."), error(400, "no"))], ids=["cut", "behind a tool"]
)
async def test_what_was_answered_in_part_is_tried_again_by_a_command(
    desk: Desk, fake_openai: FakeOpenAI, answers: tuple[Behaviour, ...]
) -> None:
    desk.server("local", fake_openai.base_url, window=8_000)
    fake_openai.add(*answers)
    told, end = await failed(desk)
    assert end.prompt == ""
    assert_whole(told, KEPT)
