"""Run commands: in this process to inspect results, or in another to see what a shell sees."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.context.schema_check import problems
from tui_app.__main__ import main
from tui_app.cli.program import load_command, parse
from tui_app.cli.setup.schema import output_names, output_schema

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Result:
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """The single line of stdout, parsed."""
        (line,) = self.out.splitlines()
        return json.loads(line)

    @property
    def lines(self) -> list[Any]:
        return [json.loads(line) for line in self.out.splitlines()]


Plimsoll = Callable[..., Result]


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a few text files, which becomes the current folder."""
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "README.md").write_text(
        "# Ferry timetable\n\nThis project prints the harbour ferry timetable.\n"
    )
    (folder / "tides.txt").write_text("Low water on Sunday is at 09:40.\nHigh water is at 15:50.\n")
    monkeypatch.chdir(folder)
    return folder


def output_name(argv: list[str]) -> str:
    """Return the name of a command's JSON output: with its action, or the option that changes it."""
    args = parse(load_command(argv[0]), argv[1:])
    action = getattr(args, "action", "")
    if argv[0] == "import" and not args.files:
        return "import --list"
    variants = [each for each in argv if each.startswith("-") and f"{argv[0]} {each}" in output_names()]
    return " ".join(filter(None, (argv[0], action, *variants[:1])))


@pytest.fixture
def plimsoll(project: Path, capsys: pytest.CaptureFixture[str]) -> Plimsoll:
    """Run a command in this process, and fail on uncaught exceptions and on JSON outside its schema."""

    def run(*args: object) -> Result:
        capsys.readouterr()
        code = main([str(arg) for arg in args])
        captured = capsys.readouterr()
        assert "Traceback" not in captured.err
        if code == 0 and "--json" in args and args[0] not in ("run", "schema"):
            schema = output_schema(output_name([str(arg) for arg in args]))
            wrong = [
                each for line in captured.out.splitlines() for each in problems(json.loads(line), schema)
            ]
            assert wrong == []
        return Result(code, captured.out, captured.err)

    return run


@pytest.fixture
def start(project: Path) -> Iterator[Callable[..., "subprocess.Popen[str]"]]:
    """Start the program as a shell would; processes still running after the test are killed."""
    started: list[subprocess.Popen[str]] = []

    def run(*args: str, **options: Any) -> "subprocess.Popen[str]":
        env = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONDEVMODE": "", **options.pop("env", {})}
        settings = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "stdin": subprocess.DEVNULL}
        command = [sys.executable, "-m", "tui_app", *args]
        process = subprocess.Popen(command, text=True, cwd=project, env=env, **{**settings, **options})
        started.append(process)
        return process

    yield run
    for process in started:
        if process.poll() is None:
            process.kill()
            process.communicate()


@pytest.fixture
def chat(tmp_path: Path) -> Path:
    """A conversation in OpenAI's chat format with tool calls, long enough to be compacted."""
    messages: list[dict[str, Any]] = [{"role": "system", "content": "You help with ferries."}]
    for number in range(12):
        call = {"id": f"call_{number}", "type": "function"}
        call["function"] = {"name": "read_file", "arguments": json.dumps({"path": f"route{number}.py"})}
        words = " ".join(f"stop{number}x{index}" for index in range(120))
        messages += [
            {"role": "user", "content": f"Look at route {number}. Never touch the legacy importer."},
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": f"call_{number}", "content": words},
            {"role": "assistant", "content": f"Route {number} calls at all its stops."},
        ]
    path = tmp_path / "ferry-chat.json"
    path.write_text(json.dumps(messages))
    return path


@pytest.fixture
def imported(plimsoll: Plimsoll, chat: Path) -> str:
    """Id of a session imported from the chat."""
    result = plimsoll("import", chat, "--json")
    assert result.code == 0, result.err
    return str(result.json["session"])
