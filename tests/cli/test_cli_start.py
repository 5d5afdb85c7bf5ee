"""``plimsoll`` without a command: what the screen is started with."""

from pathlib import Path

import pytest

from tests.cli.conftest import Plimsoll
from tui_app.events import SessionStart, UserMessage
from tui_app.paths import Paths
from tui_app.session.sqlite_store import SqliteStore
from tui_app.ui import run as launch
from tui_app.ui.launch import Launch


@pytest.fixture
def launches(monkeypatch: pytest.MonkeyPatch) -> list[Launch]:
    """Everything the screen was started with; it is never shown."""
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
        assert result.err.startswith("There is no session to go on with yet.")
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
