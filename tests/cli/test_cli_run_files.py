"""``plimsoll run``: files that the prompt names go along, as they do on the screen."""

import base64
import io
import json
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import Plimsoll
from tests.servers.behaviours import Text
from tests.servers.fake_openai import FakeOpenAI

PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


@pytest.fixture
def own(fake_openai: FakeOpenAI, monkeypatch: pytest.MonkeyPatch) -> FakeOpenAI:
    """A model that answers, and keeps what it was sent."""
    endpoint = f'{{own = {{base_url = "{fake_openai.base_url}", window = 64000}}}}'
    monkeypatch.setenv("PLIMSOLL_ENDPOINTS", endpoint)
    monkeypatch.setenv("PLIMSOLL_MODEL", "own:scripted")
    fake_openai.add(Text("Fine.", usage=(4_000, 5)))
    return fake_openai


def said(server: FakeOpenAI) -> str:
    """What the person said, as the model got it."""
    (request,) = server.journal
    return json.dumps([each["content"] for each in request["messages"] if each["role"] == "user"])


def piped(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))


def attached(plimsoll: Plimsoll, *args: str) -> list[str]:
    result = plimsoll("run", *args, "--json")
    assert result.code == 0, result.err
    (spoken,) = [line for line in result.lines if line["type"] == "user.message"]
    files: list[str] = spoken["data"]["attachments"]
    return files


def test_pictures_and_texts_go_along_and_what_is_not_there_is_said(
    plimsoll: Plimsoll, project: Path, own: FakeOpenAI
) -> None:
    (project / "chart.png").write_bytes(PIXEL)
    prompt = "@chart.png what is it? and @tides.txt @nope.txt @everyone"
    result = plimsoll("run", prompt)
    assert (result.code, result.out) == (0, "Fine.\n")
    assert result.err.splitlines() == ["@nope.txt is not attached: there is no such file."]
    sent = said(own)
    assert prompt in sent
    assert base64.b64encode(PIXEL).decode() in sent
    assert "Low water on Sunday is at 09:40." in sent


def test_the_folder_that_is_worked_in_is_looked_into(
    plimsoll: Plimsoll, project: Path, own: FakeOpenAI
) -> None:
    (project / "below").mkdir()
    (project / "below" / "here.txt").write_text("Here.")
    assert attached(plimsoll, "see @here.txt and @../tides.txt", "--cwd", "below") == ["here.txt"]


def test_a_prompt_that_is_piped_in_counts_as_pasted(
    plimsoll: Plimsoll, own: FakeOpenAI, monkeypatch: pytest.MonkeyPatch
) -> None:
    piped(monkeypatch, "what does @tides.txt say?\n")
    assert attached(plimsoll, "-") == ["tides.txt"]
    own.add(Text("Fine."))
    piped(monkeypatch, "a line\n" * 30 + "see @tides.txt\n")
    assert attached(plimsoll, "-") == []
