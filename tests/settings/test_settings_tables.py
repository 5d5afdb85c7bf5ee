"""Hooks and MCP servers in the settings file: what is accepted, and how errors are reported."""

from pathlib import Path
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tui_app.cli.setup.config import settings_json
from tui_app.events import HookName, Trigger
from tui_app.paths import Paths
from tui_app.settings import Settings, SettingsError, load_settings
from tui_app.settings.rules import Refused
from tui_app.settings.tables import APPROVALS, HOOK_EVENTS, HOOKS, TRIGGERS, Hook, McpServer, rules_of

# Hooks: what is accepted, how errors are reported, and that no other file may define them.


SAMPLE = """
[[hooks.preCompact]]
command = ["python3", "guard.py"]
match = "background"
timeout_s = 5

[[hooks.preCompact]]
command = "git log -1 --format=%s"
shell = true
match = ["manual", "headless"]

[[hooks.postTool]]
command = ["make", "format"]
match = "*_file"
"""


@pytest.fixture
def paths(tmp_path: Path) -> Paths:
    found = Paths.from_env({"PLIMSOLL_HOME": str(tmp_path / "home")})
    found.ensure()
    return found


def refusal(paths: Paths, toml: str) -> str:
    paths.config_file.write_text(toml)
    with pytest.raises(SettingsError) as caught:
        load_settings(paths, {})
    return str(caught.value)


def test_words_are_those_of_the_events() -> None:
    assert get_args(Trigger) == TRIGGERS
    assert get_args(HookName) == tuple(HOOK_EVENTS)


def test_what_a_file_may_say(paths: Paths) -> None:
    paths.config_file.write_text(SAMPLE)
    settings = load_settings(paths, {})
    assert settings.hooks == {
        "preCompact": (
            Hook(command=("python3", "guard.py"), match=("background",), timeout_s=5.0),
            Hook(command="git log -1 --format=%s", match=("manual", "headless")),
        ),
        "postTool": (Hook(command=("make", "format"), match=("*_file",)),),
    }
    first, second = settings_json(settings)["hooks"]["preCompact"]  # type: ignore[index]
    assert first == {
        "command": ("python3", "guard.py"),
        "match": ("background",),
        "timeout_s": 5.0,
        "cwd": "",
        "on_failure": "ignore",
        "shell": False,
    }
    assert second["shell"] is True


@pytest.mark.parametrize(
    ("toml", "parts"),
    [
        ("hooks = 3", ["hooks is 3", "preCompact", "sessionEnd"]),
        (
            "[[hooks.preCompct]]",
            ["hooks.preCompct", "an unknown event (did you mean preCompact?)", "only preC"],
        ),
        ('[hooks.preTool]\ncommand = ["x"]', ["hooks.preTool", "a list of tables"]),
        (
            '[[hooks.postTool]]\ncommand = ["x"]\non_failure = "deny"',
            ["hooks.postTool.1.on_failure", "ignore"],
        ),
        ("[[hooks.preTool]]", ["hooks.preTool.1.command", "missing"]),
        ('[[hooks.preTool]]\ncommand = ["x"]\n[[hooks.preTool]]\ncommand = []', ["hooks.preTool.2.command"]),
        ('[[hooks.preTool]]\ncommand = ["x", 1]', ["hooks.preTool.1.command", "a list such as"]),
        ('[[hooks.preTool]]\ncommand = [" "]', ["hooks.preTool.1.command", "a list such as"]),
        ('[[hooks.preTool]]\ncommand = ["a\\u0000b"]', ["hooks.preTool.1.command", "a list such as"]),
        ('[[hooks.preTool]]\ncommand = "make x"', ["1.command is 'make x'", "a string needs shell = true"]),
        ('[[hooks.preTool]]\ncommand = ["x"]\nshell = true', ["1.shell", "only where command is a string"]),
        ('[[hooks.preTool]]\ncommand = ["x"]\ntimeout = 3', ["1.timeout", "did you mean timeout_s?"]),
        ('[[hooks.preTool]]\ncommand = ["x"]\ntimeout_s = 0', ["1.timeout_s is 0", "from 0.1 to 3600"]),
        ('[[hooks.preTool]]\ncommand = ["x"]\nmatch = ""', ["1.match is ''", "names of tools"]),
        (
            '[[hooks.preCompact]]\ncommand = ["x"]\nmatch = "automatic"',
            ["1.match", "'automatic'", "manual, b"],
        ),
        ('[[hooks.sessionStart]]\ncommand = ["x"]\nmatch = ["new", "old"]', ["'old'", "new, resume"]),
        ('[[hooks.sessionEnd]]\ncommand = ["x"]\nmatch = "*"', ["1.match", "nothing: leave it out"]),
    ],
)
def test_file_key_value_and_what_is_allowed(paths: Paths, toml: str, parts: list[str]) -> None:
    message = refusal(paths, toml)
    assert message.startswith(str(paths.config_file))
    assert [part for part in parts if part not in message] == []
    assert "\n" not in message


def test_the_environment_defines_no_commands(paths: Paths) -> None:
    env = {"PLIMSOLL_HOOKS": '{sessionStart = [{command = ["touch", "x"]}]}'}
    with pytest.raises(SettingsError, match=r"PLIMSOLL_HOOKS is .*; allowed: only in the settings file"):
        load_settings(paths, env)
    with pytest.raises(SettingsError) as caught:
        load_settings(paths, {"PLIMSOLL_HOKS": "1"})
    assert "PLIMSOLL_HOOKS" not in str(caught.value)
    with pytest.raises(SettingsError, match="unknown setting '--hooks'"):
        load_settings(paths, {}, {"hooks": {}})


_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=9),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["command", "shell", "timeout_s", "match"]), inner, max_size=4)
    ),
    max_leaves=9,
)


@given(
    st.dictionaries(st.sampled_from([*HOOK_EVENTS, "preLunch"]), st.lists(_VALUES, max_size=2), max_size=2)
)
def test_whatever_stands_there_is_hooks_or_a_refusal(value: dict[str, object]) -> None:
    try:
        checked = HOOKS.check(value)
    except Refused as refused:
        assert refused.allowed  # noqa: PT017 - both outcomes are right, of a fixed shape
        return
    assert isinstance(checked, dict)
    for event, tables in checked.items():
        for table in tables:
            hook = Hook(**table)
            assert hook.command
            assert 0.1 <= hook.timeout_s <= 3_600
            words = HOOK_EVENTS[event]
            assert words is None or all(
                any(Hook(command="x", match=(m,)).fits(w) for w in words) for m in hook.match
            )


# MCP servers.


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
        ('[mcp.a]\ncommand = "x"\nurl = "http://h/"', "mcp.a.command is given with url"),
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


def test_rules_of_a_repository_hold_there_and_general_ones_everywhere(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "work")
    table = {
        "allow": ("run_command ls",),
        "repositories": {
            str(tmp_path / "link"): {"allow": ("run_command make",), "deny": ("run_command rm",)}
        },
    }
    assert APPROVALS.check(table) == table

    def known(root: Path | None) -> list[tuple[str, str]]:
        return [(rule.text, rule.source) for rule in rules_of(table, root)]

    own = [
        ("run_command rm", "repository"),
        ("run_command ls", "settings"),
        ("run_command make", "repository"),
    ]
    assert known(tmp_path / "work") == own
    assert known(tmp_path) == [("run_command ls", "settings")]
    assert known(None) == own
    with pytest.raises(Refused, match="the path of a repository"):
        APPROVALS.check({"repositories": {"work": {}}})
