"""``plimsoll run``: what it says beside the answer."""

import re
from pathlib import Path

import pytest

from tests.cli.conftest import Plimsoll
from tests.servers.behaviours import Text
from tests.servers.fake_openai import FakeOpenAI
from tui_app.context.events import SessionStart
from tui_app.conversation.telemetry import NO_ADDRESS
from tui_app.paths import Paths
from tui_app.session.store import Store

QUESTION = ("run", "when is low water?", "--model", "offline:extractive")


def begin(home: Path, cwd: str) -> str:
    paths = Paths.from_env({"PLIMSOLL_HOME": str(home)})
    paths.ensure()
    store = Store(paths.database)
    session = store.create(SessionStart(cwd=cwd, model=""), time=1.0)
    store.close()
    return session


@pytest.mark.parametrize(
    "folder",
    ["gone", "no\x00folder", "long" * 2_000, "README.md/below"],
    ids=["gone", "no path", "too long", "below a file"],
)
@pytest.mark.parametrize("flags", [(), ("--json",)])
def test_folder_of_a_session_that_is_gone_is_said(
    plimsoll: Plimsoll, plimsoll_home: Path, project: Path, folder: str, flags: tuple[str, ...]
) -> None:
    session = begin(plimsoll_home, f"{project}/{folder}")
    result = plimsoll(*QUESTION, "--session", session, *flags)
    assert result.code == 0
    first = result.err.splitlines()[0]
    assert first.startswith(f"The folder of this session, {project}/")
    assert first.endswith(f", does not exist. Working in {project}.")
    assert len(first) < 1_000
    assert "does not exist" not in result.out


def test_folder_that_is_there_or_was_chosen_needs_no_word(
    plimsoll: Plimsoll, plimsoll_home: Path, project: Path
) -> None:
    there, gone = begin(plimsoll_home, str(project)), begin(plimsoll_home, str(project / "gone"))
    for arguments in (("--session", there), ("--session", gone, "--cwd", "."), ()):
        result = plimsoll(*QUESTION, *arguments)
        assert result.code == 0
        assert "does not exist" not in result.err


def test_what_keeps_telemetry_from_being_sent_is_said(
    plimsoll: Plimsoll, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PLIMSOLL_TELEMETRY", '{otlp_endpoint = "on"}')
    result = plimsoll(*QUESTION)
    assert result.code == 0
    assert result.err.splitlines()[0] == NO_ADDRESS


def test_short_memory_is_said(plimsoll: Plimsoll, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PLIMSOLL_MEMORY_LIMIT_MB", "1")
    result = plimsoll(*QUESTION)
    assert result.code == 0
    assert re.search(r"^Memory is short \([\d,]+ of 1 MB\): caches were dropped\.$", result.err, re.MULTILINE)


def test_a_prompt_above_the_budget_is_refused(
    plimsoll: Plimsoll, fake_openai: FakeOpenAI, plimsoll_home: Path
) -> None:
    fake_openai.add(Text("Fine.", usage=(100_000, 10_000)))
    config = plimsoll_home / "config" / "config.toml"
    config.parent.mkdir(parents=True, exist_ok=True)
    config.write_text(
        f'[endpoints.own]\nbase_url = "{fake_openai.base_url}"\n'
        "price_in = 2.0\nprice_out = 10.0\nwindow = 128000\n"
        "[budget]\nsession_usd = 0.3\n"
    )
    first = plimsoll("run", "hello", "--model", "own:scripted", "--json")
    assert first.code == 0, first.err
    session = first.lines[0]["session"]
    again = plimsoll("run", "more", "--session", session)
    assert again.code == 1
    assert "$0.30 of its budget of $0.30. The prompt was not sent." in again.err
    assert len(fake_openai.journal) == 1
