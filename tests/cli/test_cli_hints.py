"""What errors advise in a shell: commands and flags, never the keys of the screen."""

import re
from pathlib import Path

import pytest

from tests.agent.test_errors import CASES
from tests.cli.conftest import Plimsoll
from tui_app.agent.catalog import why_unavailable
from tui_app.agent.errors import describe_error
from tui_app.agent.models import ModelNotReady, UnknownModel
from tui_app.agent.tool_failures import disk_trouble
from tui_app.cli.failures import for_shell
from tui_app.cli.run import AnswerView, JsonView
from tui_app.context.storage_errors import StorageError
from tui_app.conversation.turns import too_large
from tui_app.events import Error, Notice, Payload, Record, TurnRetry
from tui_app.session.lock import Overtaken
from tui_app.session.store import SessionDeleted
from tui_app.usage import ContextWindow

SCREEN = re.compile(r"ctrl\+|alt\+|\bf\d+\b|(?<![\w/])/[a-z]+\b|\b[Pp]ress\b")
"""Keys and slash commands."""
ERRORS = {
    **{name: describe_error(case[0], model="openai:gpt-5") for name, case in CASES.items()},
    "prompt too large": too_large(ContextWindow(limit=1_000, source="setting", reserve=100), 2_000),
    "not ready": why_unavailable(ModelNotReady("openai:gpt-5 needs OPENAI_API_KEY."), model="openai:gpt-5"),
    "no such model": why_unavailable(UnknownModel("There is no model 'x'."), model="x"),
}


@pytest.mark.parametrize("error", ERRORS.values(), ids=ERRORS.keys())
def test_no_key_of_the_screen_is_named(error: Error, capsys: pytest.CaptureFixture[str]) -> None:
    record = Record(seq=1, time=1.0, session="s", data=error)
    AnswerView().show(record)
    JsonView().show(record)
    shown = capsys.readouterr()
    assert not SCREEN.search(for_shell(error.hint)), for_shell(error.hint)
    assert for_shell(error.hint) in shown.err
    assert error.message in shown.err
    assert not SCREEN.search(error.message)
    assert '"kind"' in shown.out
    assert not SCREEN.search(shown.out.replace(error.detail, "")), shown.out


@pytest.mark.parametrize(
    ("said", "shell"),
    [
        (
            Notice(text="own:a did not answer. own:b answers from now on; /model own:a goes back."),
            "own:a did not answer. own:b answers from now on; --model own:a goes back.",
        ),
        (
            Notice(text="MCP server broken: It could not be started. /mcp shows more."),
            "MCP server broken: It could not be started.",
        ),
        (Notice(text="Memory: 2 remembered. /memory shows the board."), "plimsoll memory shows the board."),
        (
            Error(kind="input", message="Too long for a model; /model helps."),
            "Too long for a model; --model helps.",
        ),
        (
            TurnRetry(attempt=2, attempts=3, wait_s=1.0, reason="It is silent; see /model."),
            "It is silent; see --model. Trying again in 1 s",
        ),
        (
            Error(kind="internal", message="Interrupted.", hint="/retry sends it again."),
            "Interrupted. Send it again with plimsoll run.",
        ),
        (SessionDeleted("a1b2"), "Start a new one with plimsoll run."),
        (Overtaken("another window, on ada"), "open the session again with plimsoll --resume."),
    ],
    ids=["fallback", "server", "memory", "message", "retry", "unanswered", "deleted", "overtaken"],
)
def test_whatever_is_said_on_the_way_speaks_to_the_shell(
    said: Payload | StorageError, shell: str, capsys: pytest.CaptureFixture[str]
) -> None:
    payload = disk_trouble(said) if isinstance(said, StorageError) else said
    record = Record(seq=0, time=1.0, session="s", data=payload)
    AnswerView().show(record)
    err = capsys.readouterr().err
    assert shell in err
    assert not SCREEN.search(err)
    JsonView().show(record)
    assert not SCREEN.search(capsys.readouterr().out)


def test_pattern_would_notice() -> None:
    assert any(SCREEN.search(error.hint) for error in ERRORS.values())


@pytest.mark.parametrize(
    ("hint", "said"),
    [
        (
            "Press ctrl+g to compact it, see /context for what is big, or take a larger model with /model.",
            "Compact it with plimsoll compact, see plimsoll context for what is big, "
            "or take a larger model with --model.",
        ),
        ("Shorten the prompt, compact with ctrl+g.", "Shorten the prompt, compact with plimsoll compact."),
        ("The details (ctrl+o) tell more.", "The details (--json) tell more."),
        ("Choose another model with /model.", "Choose another model with --model."),
        (
            "Did you mean meta/model-1 or http://host/model?",
            "Did you mean meta/model-1 or http://host/model?",
        ),
        ("", ""),
    ],
)
def test_keys_and_slash_commands_become_commands_and_flags(hint: str, said: str) -> None:
    assert for_shell(hint) == said


def test_commands_speak_to_the_shell(plimsoll: Plimsoll, imported: str, tmp_path: Path) -> None:
    results = [
        plimsoll("run", "Hello", "--model", "openai:gpt-5"),
        plimsoll("run", "Hello", "--model", "openai:gpt-5", "--json"),
        plimsoll("run", "Hello", "--session", imported, "--model", "openai:gpt-5"),
        plimsoll("run", "word " * 3_000, "--model", "offline:extractive", "--window", "2000"),
        plimsoll("compact", imported, "--model", "openai:gpt-5"),
        plimsoll("sessions", "show", imported),
        plimsoll("sessions", "show", imported, "--json"),
    ]
    for result in results:
        said = (result.out + result.err).replace(str(tmp_path), "")
        assert "--model" in said
        assert "/model" not in said
        assert "ctrl+" not in said
