"""The command line: what it starts, the order of its words, and what it loads."""

import json
import subprocess
import sys
from argparse import Namespace
from collections.abc import Iterator, Sequence
from itertools import combinations
from pathlib import Path
from pkgutil import resolve_name

import pytest

from tests.cli.conftest import Plimsoll
from tui_app.cli.program import COMMANDS, load_command, parse
from tui_app.events import SessionStart, UserMessage
from tui_app.paths import Paths
from tui_app.session.stores.sqlite_store import SqliteStore
from tui_app.ui import run as launch
from tui_app.ui.launch import Launch

# ``plimsoll`` without a command: how the screen is started.


@pytest.fixture
def launches(monkeypatch: pytest.MonkeyPatch) -> list[Launch]:
    """Collect the launches of the screen, which is never shown."""
    seen: list[Launch] = []

    def run_app(wanted: Launch) -> int:
        seen.append(wanted)
        return 0

    monkeypatch.setattr(launch, "run_app", run_app)
    monkeypatch.setenv("TEXTUAL_DRIVER", "none")
    return seen


def begin(home: Path, *, cwd: Path, time: float, said: bool = True) -> str:
    paths = Paths.from_env({"PLIMSOLL_HOME": str(home)})
    paths.ensure()
    store = SqliteStore(paths.database)
    session = store.create(SessionStart(cwd=str(cwd), model=""), time=time)
    if said:
        store.append(session, UserMessage(text="Hello"), None, time=time)
    store.close()
    return session


def test_new_session_in_the_current_folder(plimsoll: Plimsoll, launches: list[Launch], project: Path) -> None:
    assert plimsoll().code == 0
    (wanted,) = launches
    assert (wanted.cwd, wanted.session, wanted.model, wanted.pick_session) == (project, "", "", False)


def test_folder_and_flags(plimsoll: Plimsoll, launches: list[Launch], project: Path) -> None:
    (project / "run").mkdir()
    args = ("./run", "--model", "offline:extractive", "--policy", "off", "--plain")
    assert plimsoll(*args).code == 0
    (wanted,) = launches
    assert (wanted.cwd, wanted.model) == (project / "run", "offline:extractive")
    assert (wanted.settings.policy, wanted.settings.plain) == ("off", True)


def test_flags_not_given_leave_the_settings_alone(
    plimsoll: Plimsoll, launches: list[Launch], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PLIMSOLL_PLAIN", "1")
    monkeypatch.setenv("PLIMSOLL_POLICY", "off")
    plimsoll()
    assert (launches[0].settings.plain, launches[0].settings.policy) == (True, "off")


def test_exit_code_is_that_of_the_screen(
    plimsoll: Plimsoll, launches: list[Launch], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(launch, "run_app", lambda _: 143)
    assert plimsoll().code == 143
    assert launches == []


def test_continue_prefers_this_folder(
    plimsoll: Plimsoll, launches: list[Launch], project: Path, plimsoll_home: Path, tmp_path: Path
) -> None:
    begin(plimsoll_home, cwd=project, time=1.0)
    here = begin(plimsoll_home, cwd=project, time=2.0)
    elsewhere = begin(plimsoll_home, cwd=tmp_path, time=3.0)
    begin(plimsoll_home, cwd=project, time=4.0, said=False)
    plimsoll("--continue")
    (project / "new").mkdir()
    plimsoll("new", "--continue")
    assert [wanted.session for wanted in launches] == [here, elsewhere]


def test_continue_with_nothing_to_go_on_with(
    plimsoll: Plimsoll, launches: list[Launch], project: Path, plimsoll_home: Path
) -> None:
    for _ in range(2):
        result = plimsoll("--continue")
        assert result.code == 1
        assert result.err.startswith("There is no session to continue yet.")
        begin(plimsoll_home, cwd=project, time=4.0, said=False)
    assert launches == []


def test_resume_by_id_or_from_the_list(
    plimsoll: Plimsoll, launches: list[Launch], project: Path, plimsoll_home: Path
) -> None:
    session = begin(plimsoll_home, cwd=project, time=1.0)
    plimsoll("--resume", session[:7])
    plimsoll("--resume")
    assert [(wanted.session, wanted.pick_session) for wanted in launches] == [(session, False), ("", True)]
    assert plimsoll("--resume", "zzzz").code == 1
    assert len(launches) == 2


def test_no_terminal(plimsoll: Plimsoll, launches: list[Launch], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TEXTUAL_DRIVER")
    result = plimsoll()
    assert (result.code, result.err) == (
        1,
        'The screen needs a terminal. In scripts, use: plimsoll run "…"\n',
    )
    assert launches == []


def test_any_policy_that_the_settings_know(
    plimsoll: Plimsoll, launches: list[Launch], plimsoll_home: Path
) -> None:
    file = Paths.from_env({"PLIMSOLL_HOME": str(plimsoll_home)}).config_file
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text('[policies.mine]\nbase = "reserve"\n')
    for name in ("progressive", "mine"):
        assert plimsoll("--policy", name).code == 0
    assert [(wanted.policy, wanted.settings.policy) for wanted in launches] == [
        ("progressive", "progressive"),
        ("mine", "mine"),
    ]
    result = plimsoll("--policy", "yours")
    assert result.code == 2
    assert "--policy is 'yours'; allowed: one of plimsoll, sliding-window," in result.err
    assert result.err.rstrip().endswith("off, mine.")


def test_a_mode_of_the_command_line_is_above_the_setting(
    plimsoll: Plimsoll, launches: list[Launch], plimsoll_home: Path
) -> None:
    file = Paths.from_env({"PLIMSOLL_HOME": str(plimsoll_home)}).config_file
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text('mode = "plan"\n')
    assert plimsoll().code == 0
    assert plimsoll("--mode", "ask").code == 0
    assert [wanted.opening().first_mode for wanted in launches] == ["plan", "ask"]
    assert [wanted.opening("a1b2").mode for wanted in launches] == [None, None]
    assert plimsoll("--mode", "yolo").code == 2


# Options and words of a command in any order mean the same.


Option = tuple[str, ...]

CASES: list[tuple[str, tuple[str, ...], tuple[Option, ...]]] = [
    ("run", ("low water",), (("--json",), ("--model", "offline:extractive"), ("--session", "a1b2"))),
    ("run", ("tide",), (("--background",), ("--json",), ("--session", "a1b2"))),
    ("attach", ("a1b2",), ()),
    ("stop", ("a1b2", "b2c3"), (("--all",), ("--json",))),
    ("demo", (), (("--plain",),)),
    ("run", ("-",), (("--yes",), ("--allow", "shell"), ("--mode", "edit"))),
    ("run", ("tide",), (("--schema", "tide.json"), ("--add-dir", "docs"), ("--effort", "high"))),
    ("sessions", (), (("--json",),)),
    ("sessions", ("list",), (("--json",),)),
    ("sessions", ("show", "a1b2"), (("--json",),)),
    ("sessions", ("search", "low", "water"), (("--json",),)),
    ("sessions", ("rename", "a1b2", "Low", "water"), (("--json",),)),
    ("sessions", ("fork", "a1b2"), (("--at", "3"), ("--json",))),
    ("sessions", ("delete", "a1b2"), (("--yes",), ("--json",))),
    ("sessions", ("backup", "copy.db"), (("--json",),)),
    ("sessions", ("prune",), (("--dry-run",), ("--yes",))),
    ("import", ("one.jsonl", "two.jsonl"), (("--format", "codex"), ("--json",))),
    ("export", ("a1b2",), (("--format", "html"), ("-o", "page.html"), ("--force",))),
    ("context", ("a1b2",), (("--json",), ("--window", "8000"), ("--pin", "3"))),
    ("exclude", ("a1b2", "3", "4"), (("--turn",), ("--json",))),
    ("handoff", ("a1b2", "low", "water"), (("--extract",), ("--json",), ("--window", "8000"))),
    ("diff", ("a1b2",), (("--message",), ("--model", "offline:extractive"), ("--json",))),
    ("stats", ("a1b2",), (("--json",),)),
    ("why", ("a1b2", "#7"), (("--json",),)),
    ("agents", ("a1b2",), (("--json",),)),
    ("branch", ("a1b2",), (("--at", "3"), ("--name", "list them"), ("--json",))),
    ("merge", ("a1b2", "list"), (("--extract",), ("--dry-run",), ("--json",), ("--no-files",))),
    ("tree", ("a1b2",), (("--json",),)),
    ("worktrees", ("merge", "quay"), (("--json",), ("--yes",), ("--cwd", "."))),
    ("memory", ("add", "Ships", "sail"), (("--kind", "rule"), ("--everywhere",), ("--json",))),
    ("memory", ("edit", "1", "Ships sail"), (("--json",), ("--folder", "."))),
    ("memory", ("forget", "1"), (("--yes",), ("--json",))),
    ("memory", ("run", "a1b2"), (("--model", "offline:extractive"), ("--json",))),
    ("memory", ("list",), (("--all",), ("--pruned",))),
    ("compact", ("a1b2",), (("--focus", "tides"), ("--from", "2"), ("--dry-run",), ("--json",))),
    ("simulate", ("a1b2", "b2c3"), (("--window", "8000"), ("--json",), ("--verbose",))),
    ("audit", ("a1b2", "b2c3"), (("--json",), ("--html", "a.html"))),
    ("models", (), (("--all",), ("--json",))),
    ("keys", ("set", "OPENAI_API_KEY"), (("--json",),)),
    ("keys", ("unset", "OPENAI_API_KEY"), (("--json",),)),
    ("doctor", (), (("--repair",), ("--json",))),
    ("schema", ("error",), (("--json",),)),
    ("mcp", ("add", "files"), (("--url", "http://127.0.0.1/"), ("--scope", "project"), ("--json",))),
    ("mcp", ("test", "files"), (("--json",),)),
    ("serve", (".",), (("--port", "8000"), ("--no-token",))),
    ("acp", (), (("--model", "offline:extractive"), ("--window", "8000"), ("--mode", "plan"))),
    ("config", ("set", "theme", "dark"), (("--json",),)),
    ("config", ("show", "theme"), (("--json",),)),
    ("trust", ("harbour",), (("--no",), ("--json",))),
]


def orders(words: Sequence[str], options: Sequence[Option]) -> Iterator[list[str]]:
    """Every placement of the options, in their order, before, between and after the words."""
    for places in combinations(range(len(words) + len(options)), len(options)):
        rest, left = iter(words), iter(options)
        yield [
            part
            for place in range(len(words) + len(options))
            for part in (next(left) if place in places else (next(rest),))
        ]


def parsed(name: str, argv: Sequence[str]) -> Namespace:
    return parse(load_command(name), argv)


@pytest.mark.parametrize(("name", "words", "options"), CASES, ids=[" ".join((c[0], *c[1])) for c in CASES])
def test_options_may_stand_anywhere(name: str, words: Sequence[str], options: Sequence[Option]) -> None:
    expected = parsed(name, [*words, *(part for option in options for part in option)])
    for argv in orders(words, options):
        assert parsed(name, argv) == expected, argv


def test_every_command_is_looked_at() -> None:
    assert {name for name, _, _ in CASES} == set(COMMANDS)


def test_what_stands_behind_two_dashes_is_a_word() -> None:
    for argv in (["add", "--json", "--", "--all"], ["--json", "add", "--", "--all"]):
        args = parsed("memory", argv)
        assert (args.action, args.words, args.json, args.all) == ("add", ["--all"], True, False)


@pytest.mark.parametrize(
    ("argv", "told"),
    [
        (("sessions", "delete", "--sure", "a1b2"), "Unrecognized arguments: --sure"),
        (("export", "--json", "a1b2"), "Unrecognized arguments: --json"),
        (("stats", "--json", "a1b2", "b2c3"), "Unrecognized arguments: b2c3"),
        (("export",), "The following arguments are required: ID"),
        (("sessions", "--yes", "burn", "a1b2"), "invalid choice: 'burn'"),
        (("sessions", "list", "--at", "3"), "--at is for sessions fork. See: plimsoll sessions --help"),
        (("sessions", "show", "a1b2", "--yes"), "--yes is for sessions delete, prune. "),
        (("memory", "--kind", "rule"), "--kind is for memory add. "),
        (("mcp", "list", "--scope", "project"), "--scope is for mcp add. "),
    ],
)
def test_what_nobody_knows_is_refused(plimsoll: Plimsoll, argv: tuple[str, ...], told: str) -> None:
    done = plimsoll(*argv)
    assert (done.code, done.out) == (2, "")
    assert told in done.err
    assert f"See: plimsoll {argv[0]} --help" in done.err


@pytest.mark.parametrize("name", COMMANDS)
def test_help_shows_the_words_as_well(plimsoll: Plimsoll, name: str) -> None:
    shown = plimsoll(name, "--help").out
    assert shown.startswith(f"usage: plimsoll {name} ")
    words = {word for case, words, _ in CASES if case == name for word in words}
    assert ("positional arguments:" in shown) is bool(words)


def test_options_in_front_of_the_words_are_heard(plimsoll: Plimsoll) -> None:
    assert plimsoll("memory", "add", "--kind", "rule", "Never push on Fridays").code == 0
    assert '"kind": "rule"' in plimsoll("memory", "list", "--json").out
    assert plimsoll("memory", "forget", "--yes", "1").code == 0


# Start-up: frequent commands and the first paint load neither the agent side nor the screen.


ROOT = Path(__file__).parents[2]
AGENT = ("pydantic_ai", "tiktoken", "openai", "anthropic", "google.genai")
SCREEN = ("textual",)
REPORT = """
import json, sys
from tui_app.__main__ import main
code = main({argv!r})
print(json.dumps([code, [name for name in {names!r} if name in sys.modules]]), file=sys.stderr)
"""
START = """
import json, os, sys
import tui_app.ui.run as launch
seen = []
def fake(wanted):
    seen.extend(name for name in {names!r} if name in sys.modules)
    return 7
launch.run_app = fake
os.environ["TEXTUAL_DRIVER"] = "none"
from tui_app.__main__ import main
print(json.dumps([main([]), seen]), file=sys.stderr)
"""


def run(code: str) -> list[object]:
    done = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    last: list[object] = json.loads(done.stderr.splitlines()[-1])
    return last


@pytest.mark.parametrize(
    ("argv", "code"),
    [
        (["--version"], 0),
        (["--help"], 0),
        (["run", "--help"], 0),
        (["run"], 2),
        (["run", "x", "--window", "no"], 2),
        (["nowhere"], 2),
        (["sessions", "list"], 0),
        (["sessions", "show", "ffff"], 1),
        (["export", "ffff"], 1),
        (["config", "show"], 0),
    ],
)
def test_light_commands_stay_light(argv: list[str], code: int) -> None:
    assert run(REPORT.format(argv=argv, names=AGENT + SCREEN)) == [code, []]


def test_report_would_notice() -> None:
    code = "import textual.geometry\n" + REPORT.format(argv=["--version"], names=AGENT + SCREEN)
    assert run(code) == [0, ["textual"]]


def test_screen_starts_before_the_agent_side_is_loaded() -> None:
    assert run(START.format(names=AGENT)) == [7, []]


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_of_the_table_has_a_function(name: str) -> None:
    command = load_command(name)
    for does in [each[0] for each in command.actions.values()] or [command.does]:
        assert callable(resolve_name(f"tui_app.cli.{does}"))
