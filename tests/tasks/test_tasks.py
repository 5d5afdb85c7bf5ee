"""Run each job with ``plimsoll run`` as a process, in a window that its reads overflow several times."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from tests.forked import completed
from tests.servers.behaviours import Text, tool
from tests.servers.fake_openai import FakeOpenAI
from tests.servers.wire import problems
from tests.tasks.tasks import FILLER, SOURCES, TASKS, Task

WINDOW = 9_000
"""Tokens. Tools and instructions take about a third, a source about two thousand."""
ALLOWED = ("edit_file", "write_file", "run_command python", "run_command sh build.sh")
NOTES = "Title: The job\n## Intent\nDo the job.\n## Done so far\nFiles were read."


def lay_out(folder: Path, task: Task) -> None:
    for name, text in {**dict.fromkeys(SOURCES, FILLER), **task.files}.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


def script(server: FakeOpenAI, task: Task) -> None:
    """Script the model to read all sources and then do the job."""
    server.add(*(Text(NOTES, usage=(0, 0)) for _ in range(60)), phrase="At most about")
    server.add(*(tool("read_file", path=name) for name in SOURCES), *task.steps, Text("It is done."))


def finished(folder: Path, server: FakeOpenAI, prompt: str) -> tuple[int, list[dict[str, Any]], str]:
    allow = [word for rule in ALLOWED for word in ("--allow", rule)]
    env = {
        **os.environ,
        "PLIMSOLL_ENDPOINTS": f'{{local = {{base_url = "{server.base_url}"}}}}',
        "PLIMSOLL_MODEL": "local:scripted",
    }
    command = ["run", prompt, "--json", "--window", str(WINDOW), *allow]
    done = completed(command, cwd=folder, env=env, limit_s=100)
    return done.returncode, [json.loads(line) for line in done.stdout.splitlines()], done.stderr


@pytest.mark.timeout(120)
@pytest.mark.parametrize("name", TASKS)
def test_task(tmp_path: Path, fake_openai: FakeOpenAI, name: str) -> None:
    task, folder = TASKS[name], tmp_path / "repository"
    lay_out(folder, task)
    script(fake_openai, task)
    code, events, errors = finished(folder, fake_openai, task.prompt)
    assert (code, errors) == (0, "")
    assert task.done(folder)
    ended = [event["data"] for event in events if event["type"] == "session.compaction_complete"]
    assert len([one for one in ended if one["outcome"] == "success"]) >= 2, [one["reason"] for one in ended]
    [said] = [event["data"]["text"] for event in events if event["type"] == "assistant.message"][-1:]
    assert said == "It is done."
    assert [found for body in fake_openai.journal for found in problems(body)] == []
