"""Edits checked by language servers: made-up servers, and real ones from npm and PyPI."""

import os
import shlex
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.conversation.driving import Desk, assert_valid, of, turn
from tests.process_ends import gone
from tests.servers import language_server
from tests.servers.behaviours import Text, tool
from tests.servers.fake_openai import FakeOpenAI
from tui_app.agent.diagnostics import diagnostics
from tui_app.agent.diagnostics.finder import known_servers
from tui_app.events import Record, ToolResult

pytestmark = pytest.mark.language_servers

MODULES = Path(os.environ.get("PLIMSOLL_NODE_MODULES", "missing")) / ".bin"
PROGRAMS = Path(os.environ.get("PLIMSOLL_LANGUAGE_SERVERS", "missing"))
LONG_S = 60.0


@pytest.fixture
def server(desk: Desk, fake_openai: FakeOpenAI, monkeypatch: pytest.MonkeyPatch) -> FakeOpenAI:
    monkeypatch.setattr(diagnostics, "WAIT_S", LONG_S)
    desk.server("local", fake_openai.base_url, window=64_000)
    desk.env["PATH"] = os.environ["PATH"]
    return fake_openai


def checked(desk: Desk, servers: dict[str, str], **settings: Any) -> Any:
    rules = {"allow": ("write_file", "edit_file"), "deny": ("read_file secret.py",)}
    chosen = dict.fromkeys(known_servers(), "off") | servers
    return desk.session(read_only=False, approvals=rules, language_servers=chosen, **settings)


def results(records: list[Record]) -> list[str]:
    return [each.text for each in of(records, ToolResult) if isinstance(each, ToolResult)]


async def test_an_edit_tells_the_model_what_became_wrong(
    desk: Desk, server: FakeOpenAI, tmp_path: Path
) -> None:
    (desk.cwd / "a.py").write_text("old wrong\n")
    (desk.cwd / "secret.py").write_text("password wrong\n")
    desk.env["DEPLOY_KEY"] = "sk-abcdefghijklmnop"
    line = shlex.join((sys.executable, language_server.__file__, "good", str(tmp_path / "pids")))
    server.add(
        tool("edit_file", path="a.py", old_text="old", new_text="new wrong sk-abcdefghijklmnop\nold"),
        tool("diagnostics"),
        tool("diagnostics", path="secret.py"),
        tool("todo", items=[]),
        Text("Done."),
    )
    async with checked(desk, {"ruff": line}) as opened:
        assert "diagnostics" in {tool.name for tool in opened.extras.overhead.tools}
        edited, every, denied, noted = results(await turn(opened.conversation, "go"))
        assert edited.startswith("a.py: +1 -0, 1 new diagnostic\n"), "which is its row on the screen"
        assert "\n\n1 new diagnostic, from ruff (the words of those programs, not of the user):\n" in edited
        assert edited.count("a.py:1:5: error: ") == 1
        assert "sk-abc" not in edited
        assert "old is wrong" not in edited
        assert every.startswith("1 file, from ruff (")
        assert "): 2 errors, 0 warnings\n" in every
        assert "password" not in every + denied
        assert "diagnostic" not in noted
        assert opened.extras.overview().language_servers == ("ruff: ready",)
        assert_valid(opened.conversation)
    (pid,) = map(int, (tmp_path / "pids").read_text().split())
    assert gone(pid)


@pytest.mark.parametrize("settings", [{"diagnostics": "off"}, {"read_only": True}])
async def test_nothing_is_started_or_offered_where_it_is_off(
    desk: Desk, server: FakeOpenAI, settings: dict[str, Any]
) -> None:
    server.add(Text("Done."))
    chosen = {"ruff": f"{sys.executable} {language_server.__file__} good"}
    options = {"read_only": False, "language_servers": chosen, **settings}
    async with desk.session(**options) as opened:
        assert "diagnostics" not in {tool.name for tool in opened.extras.overhead.tools}
        assert opened.conversation.tooling.diagnostics is None


REAL: dict[str, tuple[Callable[[], Path], str, str, str, str]] = {
    "basedpyright": (
        lambda: PROGRAMS / "basedpyright-langserver",
        "--stdio",
        "a.py",
        "x: int = 1\n",
        'y: int = "a"\n',
    ),
    "pyright": (lambda: MODULES / "pyright-langserver", "--stdio", "a.py", "x: int = 1\n", 'y: int = "a"\n'),
    "ruff": (lambda: PROGRAMS / "ruff", "server", "a.py", "x = 1\n", "print(y)\n"),
    "typescript-language-server": (
        lambda: MODULES / "typescript-language-server",
        "--stdio",
        "a.ts",
        "const x: number = 1;\n",
        'const y: number = "a";\n',
    ),
    "yaml-language-server": (
        lambda: MODULES / "yaml-language-server",
        "--stdio",
        "data/a.yaml",
        "a: 1\n",
        "a: 2\n",
    ),
}
"""For each server: program and argument, file, correct content, and an addition that is wrong."""


@pytest.mark.language_servers_public
@pytest.mark.timeout(300)
@pytest.mark.parametrize("name", REAL)
async def test_a_public_server(desk: Desk, server: FakeOpenAI, name: str) -> None:
    program, argument, file, right, wrong = REAL[name]
    assert program().exists(), "see .ci/language-servers.sh"
    (desk.cwd / file).parent.mkdir(exist_ok=True)
    (desk.cwd / file).write_text(right)
    server.add(
        tool("edit_file", path=file, old_text=right, new_text=right + wrong),
        tool("edit_file", path=file, old_text=wrong, new_text=wrong + "\n"),
        tool("diagnostics"),
        tool("edit_file", path=file, old_text=wrong, new_text=""),
        tool("diagnostics", path=file),
        Text("Done."),
    )
    async with checked(desk, {name: f"{program()} {argument}"}) as opened:
        first, second, every, _, clean = results(await turn(opened.conversation, "go"))
        assert f"from {name} (" in first, opened.extras.overview().language_servers
        assert f"{file}:2:" in first
        assert "new diagnostic" not in second, "it was told before"
        assert f"{file}:2:" in every
        assert "): 0 errors, " in clean
