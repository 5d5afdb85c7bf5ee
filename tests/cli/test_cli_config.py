"""``plimsoll config set`` and ``unset``."""

from pathlib import Path

import pytest

from tests.cli.conftest import Plimsoll
from tui_app.paths import Paths


@pytest.fixture
def file(plimsoll_home: Path) -> Path:
    return Paths.from_env({"PLIMSOLL_HOME": str(plimsoll_home)}).config_file


def test_set_writes_and_unset_takes_out(plimsoll: Plimsoll, file: Path) -> None:
    result = plimsoll("config", "set", "theme", "nord")
    assert (result.code, result.out) == (0, f"theme is set in {file}\n")
    assert file.read_text() == 'theme = "nord"\n'
    assert plimsoll("config", "show", "--json").json["theme"] == "nord"
    told = plimsoll("config", "unset", "theme", "--json").json
    assert told == {"key": "theme", "file": str(file), "from": "default", "in_force": "plimsoll-dark"}
    assert file.read_text() == ""


def test_a_variable_that_ranks_above_is_named(
    plimsoll: Plimsoll, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PLIMSOLL_THEME", "dracula")
    result = plimsoll("config", "set", "theme", "nord")
    assert result.code == 0
    assert result.err == "PLIMSOLL_THEME ranks above the file: the change shows once that is gone.\n"
    assert plimsoll("config", "set", "theme", "nord", "--json").json["from"] == "environment"


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (
            ["set", "window", "3"],
            2,
            "window is 3; allowed: a whole number of tokens, at most 100,000,000 and at least 256.",
        ),
        (["set", "windw", "3"], 2, "unknown setting 'windw'. Did you mean window?"),
        (["set", "theme", "nrd"], 2, "theme is 'nrd'; allowed: one of plimsoll-dark"),
        (["set", "keymap.chat.models", "ctrl+g"], 2, "ctrl+g is a key of chat.compact"),
        (["set", "theme"], 2, "Usage: plimsoll config set KEY VALUE"),
        (["unset"], 2, "Usage: plimsoll config unset KEY"),
        (["path", "theme"], 2, "Usage: plimsoll config path and nothing behind it"),
    ],
)
def test_refusals_say_what_is_allowed(
    plimsoll: Plimsoll, file: Path, words: list[str], code: int, said: str
) -> None:
    result = plimsoll("config", *words)
    assert result.code == code
    assert said in result.err
    assert not file.exists()


@pytest.mark.parametrize("words", [("theme", "nope"), ("window", "abc"), ("policy", "nope")])
def test_every_bad_value_is_told_alike(plimsoll: Plimsoll, file: Path, words: tuple[str, str]) -> None:
    result = plimsoll("config", "set", *words)
    key, value = words
    assert result.code == 2
    assert result.err.startswith(f"{key} is '{value}'; allowed: ")
    assert result.err.endswith(f" Nothing was written to {file}.\n")


def test_a_file_that_was_wrong_before_is_no_wrong_call(plimsoll: Plimsoll, file: Path) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("windw = 3\n")
    result = plimsoll("config", "set", "theme", "nord")
    assert result.code == 1
    assert "unknown setting 'windw'" in result.err


@pytest.mark.parametrize(
    ("toml", "step"),
    [
        ("windw = 3\n", "Change it there, or take it out: plimsoll config unset windw"),
        (
            '[keymap]\n"chat.compact" = "cmd+k"\n',
            "Change it there, or take it out: plimsoll config unset keymap.chat.compact",
        ),
        ("[keymap\n", "Mend it with an editor, or move the file away: every setting then has its default."),
    ],
)
def test_what_is_wrong_in_the_file_is_told_with_what_to_do_about_it(
    plimsoll: Plimsoll, file: Path, toml: str, step: str
) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(toml)
    result = plimsoll("run", "hello")
    assert (result.code, result.out) == (1, "")
    told, next_step = result.err.splitlines()
    assert told.startswith(f"{file}: ")
    assert next_step == step
    if "unset" in step:
        assert plimsoll("config", "unset", step.rsplit(maxsplit=1)[-1]).code == 0
        assert plimsoll("run", "hello").code == 0


def test_doing_what_is_said_mends_any_number_of_wrong_values(plimsoll: Plimsoll, file: Path) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(
        'themee = 3\nretries = "x"\ntheme = "nope"\n# kept\nbell_after_s = 5.0\n'
        '\n[keymap]\n"chat.nosuch" = "f5"\n'
        '\n[endpoints.my-box]\nbase_url = "http://127.0.0.1:1/v1"\nfoo = 1\n'
    )
    for _ in range(5):
        told = plimsoll("config", "show")
        assert told.code != 0
        step = next(line for line in told.err.splitlines() if "plimsoll config unset" in line)
        plimsoll("config", "unset", step.rsplit(maxsplit=1)[-1])
    assert plimsoll("config", "show").code == 0
    assert "# kept\nbell_after_s = 5.0\n" in file.read_text()
