"""What the settings may say of MCP servers."""

from pathlib import Path

import pytest

from tui_app.paths import Paths
from tui_app.settings import Settings, SettingsError, load_settings
from tui_app.settings.tables import McpServer


def read(tmp_path: Path, text: str, env: dict[str, str] | None = None) -> Settings:
    paths = Paths.from_env({"PLIMSOLL_HOME": str(tmp_path)})
    paths.ensure()
    paths.config_file.write_text(text)
    return load_settings(paths, env or {})


def test_a_program_and_an_address(tmp_path: Path) -> None:
    settings = read(
        tmp_path,
        """
        [mcp.files]
        command = "npx"
        args = ["-y", "server"]
        env = { TOKEN = "$GITHUB_TOKEN" }
        cwd = "~/ship"
        [mcp.web]
        url = "https://example.org/mcp/"
        headers_env = { Authorization = "WEB_HEADER" }
        tools = ["search"]
        timeout = 5
        enabled = false
        """,
    )
    assert settings.mcp["files"] == McpServer(
        name="files", command="npx", args=("-y", "server"), env={"TOKEN": "$GITHUB_TOKEN"}, cwd="~/ship"
    )
    assert settings.mcp["web"] == McpServer(
        name="web",
        url="https://example.org/mcp",
        headers_env={"Authorization": "WEB_HEADER"},
        tools=("search",),
        timeout=5.0,
        enabled=False,
    )
    assert settings.mcp["files"].where == "npx -y server"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[mcp.a]\nargs = []", "mcp.a.command is missing; allowed: either command or url"),
        ('[mcp.a]\ncommand = "x"\nurl = "http://h/"', "mcp.a.command is given beside url"),
        (
            '[mcp.a]\nurl = "http://h/"\nenv = {A = "b"}',
            "mcp.a.env is given; allowed: only for",
        ),
        ('[mcp.a]\ncommand = "x"\nheaders_env = {A = "B"}', "only for a server with url"),
        ('[mcp.a]\ncommand = "x"\nargs = "y"', "mcp.a.args"),
        ('[mcp.a]\nurl = "http://h/"\nheaders_env = {A = "Bearer sk-123"}', "(not shown)"),
        ('[mcp."a b"]\ncommand = "x"', "no good name"),
        ('[mcp.a]\ncommand = "x"\ntimeout = 0', "mcp.a.timeout"),
        ('[mcp.a]\ncomand = "x"', "did you mean command?"),
    ],
)
def test_what_is_wrong_is_said(tmp_path: Path, text: str, told: str) -> None:
    with pytest.raises(SettingsError) as error:
        read(tmp_path, text)
    assert told in str(error.value)
    assert "sk-123" not in str(error.value)


def test_the_environment_names_no_server(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="only in the settings file"):
        read(tmp_path, "", {"PLIMSOLL_MCP": '{a = {command = "x"}}'})
