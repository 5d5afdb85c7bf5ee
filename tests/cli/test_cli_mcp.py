"""``plimsoll mcp``: what it writes into the settings, and what it reports about a server."""

import sys
from pathlib import Path

import pytest

from tests.cli.conftest import Plimsoll, plimsoll, project
from tests.servers import mcp_stdio
from tui_app.paths import Paths

pytest.importorskip("mcp")
__all__ = ["plimsoll", "project"]
PROGRAM = (sys.executable, "-S", mcp_stdio.__file__)


def test_a_server_is_added_tried_listed_and_removed(
    plimsoll: Plimsoll, plimsoll_home: Path, project: Path
) -> None:
    file = Paths.from_env({"PLIMSOLL_HOME": str(plimsoll_home)}).config_file
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text('# mine\npolicy = "off"\n')
    added = plimsoll("mcp", "add", "files", "--env", "MODE=calm", "--", *PROGRAM, "malformed")
    assert (added.code, "plimsoll mcp test files" in added.err) == (0, True)
    assert file.read_text().startswith('# mine\npolicy = "off"\n')
    assert plimsoll("mcp", "add", "files", "--url", "http://127.0.0.1:9/").code == 2

    tried = plimsoll("mcp", "test", "files", "--json")
    assert (tried.code, len(tried.json["tools"])) == (0, 10)
    assert tried.json["tokens"] == sum(tool["tokens"] for tool in tried.json["tools"]) > 0
    assert any(each.startswith("schemaless is left out") for each in tried.json["left_out"])

    (listed,) = plimsoll("mcp", "--json").json["servers"]
    assert (listed["name"], listed["tools"], listed["tokens"]) == ("files", 10, tried.json["tokens"])
    assert (listed["by_search"], listed["saved"]) == (False, 0)
    small = file.read_text().replace('policy = "off"', 'policy = "off"\nwindow = 2048')
    file.write_text(small)
    (listed,) = plimsoll("mcp", "--json").json["servers"]
    assert (listed["by_search"], listed["saved"]) == (True, tried.json["tokens"])
    assert "by search" in plimsoll("mcp").out
    file.write_text(f"{small}\n[tools]\ndefer_above = 0\n")
    assert not plimsoll("mcp", "--json").json["servers"][0]["by_search"]
    file.write_text(small.replace("window = 2048\n", ""))
    assert plimsoll("mcp", "remove", "files").code == 0
    assert plimsoll("mcp", "--json").json == {"servers": []}
    assert file.read_text().strip() == '# mine\npolicy = "off"'
    assert plimsoll("mcp", "remove", "files").code == 1


def test_a_server_of_a_project_is_started_there_alone(
    plimsoll: Plimsoll, project: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    plimsoll("mcp", "add", "here", "--scope", "project", "--", *PROGRAM)
    assert plimsoll("mcp", "--json").json["servers"][0]["here"]
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert not plimsoll("mcp", "--json").json["servers"][0]["here"]


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("add", "x"), 2, "Usage: plimsoll mcp add NAME -- COMMAND"),
        (("add", "9x", "--url", "http://127.0.0.1/"), 2, "a letter, then"),
        (("add", "x", "--url", "http://127.0.0.1/", "--env", "A=b"), 2, "only for a server with command"),
        (("add", "x", "--env", "A", "--", "y"), 2, "allowed: NAME=VALUE"),
        (("add", "x", "--header", "A", "--url", "http://127.0.0.1:1/mcp"), 2, "allowed: NAME=VARIABLE"),
        (("list", "x"), 2, "Usage: plimsoll mcp list"),
        (("test", "x"), 1, "No MCP server x. Configured: none."),
    ],
)
def test_what_cannot_be_is_said_and_nothing_is_written(
    plimsoll: Plimsoll, plimsoll_home: Path, words: tuple[str, ...], code: int, said: str
) -> None:
    result = plimsoll("mcp", *words)
    assert (result.code, said in result.err) == (code, True), result.err
    assert not Paths.from_env({"PLIMSOLL_HOME": str(plimsoll_home)}).config_file.exists()


def test_what_is_wrong_with_a_server_is_said(plimsoll: Plimsoll) -> None:
    plimsoll("mcp", "add", "crash", "--", *PROGRAM, "crash")
    tried = plimsoll("mcp", "test", "crash")
    assert tried.code == 1
    assert "crash does not work. It could not be started: it exited with status 7." in tried.err
    assert "It said: No harbour" in tried.err
