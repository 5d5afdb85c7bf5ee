"""``plimsoll run`` has nobody to ask: what asks is denied, and that is said, unless it was allowed before."""

from pathlib import Path

import pytest

from tests.cli.conftest import Plimsoll

WRITE = ("run", "write notes/tide.txt: high at noon", "--model", "offline:extractive")
RUN = ("run", "run: echo high water", "--model", "offline:extractive")


@pytest.mark.parametrize(
    ("flags", "written"),
    [
        ((), False),
        (("--yes",), True),
        (("--allow", "write_file notes/*"), True),
        (("--allow", "write_file docs/*"), False),
        (("--allow", "run_command"), False),
        (("--yes", "--read-only"), False),
    ],
)
def test_a_file_is_written_only_where_that_was_allowed(
    plimsoll: Plimsoll, project: Path, flags: tuple[str, ...], written: bool
) -> None:
    result = plimsoll(*WRITE, *flags)
    assert result.code == 0
    assert (project / "notes/tide.txt").exists() is written
    if written:
        assert (project / "notes/tide.txt").read_text() == "high at noon\n"


def test_a_denial_is_said_on_stderr_and_in_the_events(plimsoll: Plimsoll) -> None:
    result = plimsoll(*RUN)
    assert "denied: run_command echo high water" in result.err
    assert "--allow or --yes lets it" in result.err
    decided = [line for line in plimsoll(*RUN, "--json").lines if line["type"] == "approval.decided"]
    assert [(line["data"]["decision"], line["data"]["by"]) for line in decided] == [("denied", "unattended")]


def test_a_command_is_run_and_quoted(plimsoll: Plimsoll) -> None:
    result = plimsoll(*RUN, "--allow", "run_command echo")
    assert "Exit code 0" in result.out
    assert "high water" in result.out
    assert "denied" not in result.err


def test_rules_of_the_settings_count_and_deny_wins_over_yes(plimsoll: Plimsoll, plimsoll_home: Path) -> None:
    config = plimsoll_home / "config"
    config.mkdir(parents=True, exist_ok=True)
    (config / "config.toml").write_text('[approvals]\nallow = ["run_command echo"]\n')
    assert "Exit code 0" in plimsoll(*RUN).out
    (config / "config.toml").write_text('[approvals]\ndeny = ["run_command echo"]\n')
    result = plimsoll(*RUN, "--yes")
    assert "Exit code" not in result.out
    assert 'denied by the rule "run_command echo"' in result.err


@pytest.mark.parametrize("rule", ["", "run_command ls; rm", "a b\nc", "se;nd x"])
def test_a_rule_that_could_allow_nothing_is_wrong_usage(plimsoll: Plimsoll, rule: str) -> None:
    result = plimsoll(*RUN, "--allow", rule)
    assert result.code == 2
    assert "allowed:" in result.err


OWN_AGENT = """
from pathlib import Path

from pydantic_ai import Agent
from pydantic_ai.models.test import TestModel

helper = Agent(TestModel(call_tools=["book"], custom_output_text="That was all."))

@helper.tool_plain
def book(ferry: str) -> str:
    Path("booked").touch()
    return "booked"
"""


@pytest.mark.parametrize(
    ("flags", "rules", "why"),
    [
        ((), "", "asks unless a rule allows it; --allow or --yes lets it"),
        (("--allow", "book"), "", ""),
        (("--yes",), "", ""),
        ((), 'allow = ["book"]', ""),
        (
            ("--yes", "--read-only"),
            'allow = ["book"]',
            "read-only mode: no rule says that this tool only looks",
        ),
        (("--read-only",), 'looks = ["book"]', ""),
        (("--yes",), 'deny = ["book"]', 'by the rule "book"'),
    ],
)
def test_a_tool_of_an_agent_of_ones_own_runs_only_where_that_was_allowed(
    plimsoll: Plimsoll, plimsoll_home: Path, project: Path, flags: tuple[str, ...], rules: str, why: str
) -> None:
    (project / "agents.py").write_text(OWN_AGENT)
    (plimsoll_home / "config").mkdir(parents=True, exist_ok=True)
    (plimsoll_home / "config/config.toml").write_text(f"[approvals]\n{rules}\n")
    result = plimsoll("run", "Book.", "--agent", "agents.py:helper", *flags)
    assert result.code == 0
    assert "That was all." in result.out
    assert (project / "booked").exists() is not bool(why)
    assert why in result.err
    assert ("denied" in result.err) is bool(why)


def test_the_environment_gives_no_rules(plimsoll: Plimsoll, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PLIMSOLL_APPROVALS", '{allow = ["*"]}')
    result = plimsoll(*RUN)
    assert result.code != 0
    assert "only in the settings file" in result.err


def test_config_set_keeps_comments_inside_a_list(plimsoll: Plimsoll, plimsoll_home: Path) -> None:
    config = plimsoll_home / "config/config.toml"
    config.parent.mkdir(parents=True, exist_ok=True)
    config.write_text(
        '[approvals]\nallow = [\n  # tests\n  "run_command pytest",\n  "edit_file",  # all\n]\n'
    )
    assert (
        plimsoll("config", "set", "approvals.allow", '["run_command pytest", "edit_file", "plan"]').code == 0
    )
    text = config.read_text()
    assert "# tests" in text
    assert "# all" in text
    assert '"plan"' in text
    assert plimsoll("config", "set", "approvals.allow", '["edit_file"]').code == 0
    assert "pytest" not in config.read_text()
    assert '"edit_file",  # all' in config.read_text()
    assert plimsoll("config", "set", "approvals.allow", '["nonsense;"]').code != 0


SECRET = "TOKEN=hunter2"


@pytest.mark.parametrize(
    ("prompt", "rule", "answered"),
    [
        ("read .env", "read_file .env", 'Not done: the rule "read_file .env" forbids it.'),
        ("grep hunter2", "read_file .env", "Files left out by rules of the user: 1."),
        ("grep hunter2", "grep", 'Not done: the rule "grep" forbids it. I found nothing'),
        ("list files", "ls", 'Not done: the rule "ls" forbids it.'),
    ],
)
def test_what_must_not_be_read_is_not_and_the_answer_says_so(
    plimsoll: Plimsoll, plimsoll_home: Path, project: Path, prompt: str, rule: str, answered: str
) -> None:
    (project / ".env").write_text(f"{SECRET}\n")
    (plimsoll_home / "config").mkdir(parents=True, exist_ok=True)
    (plimsoll_home / "config/config.toml").write_text(f'[approvals]\ndeny = ["{rule}"]\n')
    result = plimsoll("run", prompt, "--model", "offline:extractive", "--yes")
    assert result.code == 0
    assert answered in result.out
    assert "Do not try" not in result.out
    assert SECRET not in result.out + result.err
    assert "glob" not in result.err, "no other way is tried"


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("git -C . push origin HEAD", 'denied by the rule "run_command git push": run_command git -C . push'),
        ("git --no-pager push", 'denied by the rule "run_command git push"'),
        ("git -c alias.p=push p", "which this may be: not all of it is known before it runs"),
        ("git --unheard-of x push", "which this may be: not all of it is known before it runs"),
    ],
)
def test_what_a_rule_may_deny_is_refused_without_a_screen_whatever_else_allows_it(
    plimsoll: Plimsoll, plimsoll_home: Path, line: str, why: str
) -> None:
    (plimsoll_home / "config").mkdir(parents=True, exist_ok=True)
    (plimsoll_home / "config/config.toml").write_text(
        '[approvals]\ndeny = ["run_command git push"]\nallow = ["run_command"]\n'
    )
    for more in (("--yes",), ("--allow", "run_command git"), ()):
        result = plimsoll("run", f"run: {line}", "--model", "offline:extractive", *more)
        assert "Exit code" not in result.out
        assert why in result.err
        assert "lets it" not in result.err, "nothing on the command line does"


def test_a_rule_about_no_tool_is_pointed_out(plimsoll: Plimsoll, plimsoll_home: Path) -> None:
    (plimsoll_home / "config").mkdir(parents=True, exist_ok=True)
    config = plimsoll_home / "config/config.toml"
    config.write_text('[approvals]\ndeny = ["run_comand git push", "read_file .env", "ferries_book"]\n')
    said = "deny run_comand git push: No tool is called run_comand: is run_command meant?"
    checks = [each for each in plimsoll("doctor", "--json").json["checks"] if each["name"] == "approvals"]
    assert [(each["state"], each["text"]) for each in checks] == [
        ("warn", said),
        ("warn", "deny ferries_book: No tool is called ferries_book."),
    ]
    assert said in plimsoll("config", "set", "approvals.allow", '["plan"]').err
    config.write_text(config.read_text() + '[mcp.ferries]\ncommand = "ferries"\n')
    checks = [each for each in plimsoll("doctor", "--json").json["checks"] if each["name"] == "approvals"]
    assert [each["text"] for each in checks] == [said]
    assert plimsoll("config", "set", "approvals.deny", '["run_command git push"]').err == ""
    assert "2 rules" in plimsoll("doctor").out
