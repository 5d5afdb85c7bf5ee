"""The shelf asks a server for its window until it has answered, and no more after that."""

import pytest
from pydantic_ai.models import Model

from tui_app.agent import catalog as shelf_module
from tui_app.agent.catalog import ModelShelf
from tui_app.agent.models import NoAnswer, ask_window, build_model
from tui_app.context.window_limits import Limits
from tui_app.context.windows import LearntModels
from tui_app.settings import Endpoint

NAME = "mine:tiny"
DEAD = "http://127.0.0.1:9/v1"


@pytest.fixture
def shelf(tmp_path_factory: pytest.TempPathFactory) -> ModelShelf:
    endpoints = {"mine": Endpoint(name="mine", protocol="openai-chat", base_url=DEAD)}
    return ModelShelf({}, endpoints, Limits(LearntModels(tmp_path_factory.mktemp("learnt") / "models.json")))


def answering(
    monkeypatch: pytest.MonkeyPatch, shelf: ModelShelf, answers: list[int | Exception | None]
) -> None:
    async def ask(_model: Model) -> int | None:
        answer = answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    monkeypatch.setattr(shelf_module, "ask_window", ask)


async def test_server_that_was_down_is_asked_again(
    shelf: ModelShelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers: list[int | Exception | None] = [NoAnswer(), NoAnswer(), 2048]
    answering(monkeypatch, shelf, answers)
    for left in (2, 1, 0, 0):
        model = await shelf.get(NAME)
        assert len(answers) == left
    assert shelf.built(NAME) is model
    assert shelf.limits.window(model).limit == 2048


async def test_server_that_does_not_say_is_asked_once(
    shelf: ModelShelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers: list[int | Exception | None] = [None]
    answering(monkeypatch, shelf, answers)
    for _ in range(2):
        assert await shelf.get(NAME)
    assert answers == []


async def test_nobody_there_is_no_answer(shelf: ModelShelf) -> None:
    model = build_model(NAME, env={}, endpoints=shelf.endpoints)
    with pytest.raises(NoAnswer):
        await ask_window(model)
