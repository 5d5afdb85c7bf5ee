"""The example on the page about the package: an agent that knows nothing of this program."""

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from pydantic_ai.messages import CompactionPart, ModelMessage
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.models.test import TestModel
from pydantic_ai.profiles import ModelProfile
from pydantic_ai.providers.openai import OpenAIProvider

from tests.context.histories import complaints
from tests.docs.pages import DOCS, load_script, page
from tests.servers.behaviours import Text, tool
from tests.servers.fake_openai import FakeOpenAI

EXAMPLE = DOCS / "examples" / "harbour_agent.py"
CHAT = DOCS / "examples" / "chat_loop.py"
ALONE = """
import sys
from tui_app.context import PLIMSOLL, PRESETS, ContextGovernor, Policy
ContextGovernor(PLIMSOLL)
from tui_app.events import CompactionComplete
rooms = ("ui", "conversation", "session", "agent", "cli")
foreign = ("textual", "sqlite3", *(f"tui_app.{room}" for room in rooms))
print(sorted(name for name in sys.modules if name.startswith(foreign)))
"""


class Priced(TestModel):
    """A model that answers under the name of one with a known price."""

    @property
    def system(self) -> str:
        return "anthropic"

    @property
    def model_name(self) -> str:
        return "claude-sonnet-4-5"


@pytest.fixture
def example() -> Any:
    return load_script(EXAMPLE)


def summaries(messages: list[ModelMessage]) -> list[CompactionPart]:
    return [part for message in messages for part in message.parts if isinstance(part, CompactionPart)]


def days(first: int, last: int) -> list[str]:
    return [f"Which ferries leave on day {day}?" for day in range(first, last)]


def test_the_page_shows_how_to_run_the_example() -> None:
    examples = {path.name for path in EXAMPLE.parent.glob("*.py")}
    assert len(examples) == 3
    assert {
        name for name in examples if f"docs/examples/{name}" in page("docs/context-package.md")
    } == examples


@pytest.mark.usefixtures("no_job_left")
async def test_the_example_runs_without_any_network(example: Any, capsys: pytest.CaptureFixture[str]) -> None:
    await example.main(example.practice_model())
    *compactions, last = capsys.readouterr().out.splitlines()
    assert compactions
    assert [line for line in compactions if not line.startswith("compacted: ")] == []
    assert last.endswith("of 4,000 tokens")


@pytest.mark.usefixtures("no_job_left")
async def test_the_chat_compacts_leaves_out_and_knows_how_full_it_is(
    capsys: pytest.CaptureFixture[str],
) -> None:
    loop = load_script(CHAT)
    lines = [
        *(f"{day} What do they cost with bicycles?" for day in days(1, 26)),
        "/exclude Answer",
        "Why?",
        "/include Answer",
        "",
    ]
    chat = await loop.main(loop.practice_model(), lines)
    said = capsys.readouterr().out
    assert re.search(r"\(the model was told that 5\d% of its window is used\)", said)
    assert "(compacted, model: " in said
    assert "of 4,000 tokens]" in said.splitlines()[-1]
    assert chat.left_out == set()
    assert len(summaries(chat.messages)) == 1
    assert complaints(chat.messages, ends_with_request=False) == []
    priced = loop.Chat(Priced())
    await priced.say("What do ferries cost? " * 2_000)
    assert "· next turn $0.0" in capsys.readouterr().out


@pytest.mark.usefixtures("no_job_left")
async def test_a_conversation_goes_on_from_a_file(example: Any, tmp_path: Path) -> None:
    ledger = example.Ledger()
    messages = await example.talk(
        example.harbour_agent(example.practice_model(), ledger), ["Never book ferry 7.", *days(1, 20)]
    )
    example.save(messages, tmp_path / "talk.json")
    loaded = example.load(tmp_path / "talk.json")
    assert loaded == messages
    fresh = example.harbour_agent(example.practice_model(), example.Ledger())
    more = await example.talk(fresh, days(20, 40), loaded)
    [summary] = summaries(more)
    assert "Never book ferry 7." in (summary.content or "")
    assert ledger.compactions
    assert 0 < ledger.used <= ledger.limit == 4_000


@pytest.mark.usefixtures("no_job_left")
async def test_the_example_runs_on_the_test_model(example: Any) -> None:
    ledger = example.Ledger()
    agent = example.harbour_agent(TestModel(profile=ModelProfile(context_window=4_000)), ledger)
    messages = await example.talk(agent, [f"{prompt} " + "Say why. " * 60 for prompt in days(1, 30)])
    assert ledger.compactions
    assert len(summaries(messages)) == 1


@pytest.mark.usefixtures("no_job_left")
async def test_the_example_runs_against_a_server(example: Any, fake_openai: FakeOpenAI) -> None:
    notes = "Title: Ferries\n## Intent\nFind a ferry.\n## Current state\nEvery day from 05:15 to 22:15."
    for day in range(1, 31):
        fake_openai.add(tool("timetable", day=f"day {day}"), Text("From 05:15 on."), phrase=f"on day {day}?")
    for _ in range(30):
        fake_openai.add(Text(notes), phrase="<transcript>")
    model = OpenAIChatModel(
        "harbour-4b",
        provider=OpenAIProvider(base_url=fake_openai.base_url, api_key="unused"),
        profile=ModelProfile(context_window=4_000),
    )
    ledger = example.Ledger()
    messages = await example.talk(example.harbour_agent(model, ledger), days(1, 31))
    assert ledger.compactions
    assert all(complete.performed_by == "model" for complete in ledger.compactions)
    assert len(summaries(messages)) == 1
    assert complaints(messages, ends_with_request=False) == []


def test_the_package_alone_brings_no_screen_and_no_sessions() -> None:
    done = subprocess.run([sys.executable, "-c", ALONE], check=True, capture_output=True, text=True)
    assert done.stdout.strip() == "[]"
