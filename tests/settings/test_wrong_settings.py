"""Wrong settings files: every mistake is named, and what is advised works."""

from pathlib import Path

import pytest

from tui_app.paths import Paths
from tui_app.settings import Settings, SettingsError, WrongFile, load_settings
from tui_app.settings.edit import SettingsFile
from tui_app.settings.spec import SETTINGS


@pytest.fixture
def paths(tmp_path: Path) -> Paths:
    return Paths.from_env({"PLIMSOLL_HOME": str(tmp_path)})


def wrong(paths: Paths, text: str) -> WrongFile:
    paths.config_file.parent.mkdir(parents=True, exist_ok=True)
    paths.config_file.write_text(text, encoding="utf-8")
    with pytest.raises(WrongFile) as caught:
        load_settings(paths, {})
    return caught.value


def test_a_policy_without_a_base_says_what_that_may_be_and_how_to_take_it_out(paths: Paths) -> None:
    error = wrong(paths, "[policies.mine]\nbackground_threshold = 0.5\n")
    assert "policies.mine.base is missing; allowed: one of plimsoll, " in str(error)
    assert error.next_step == "Add it there, or take the whole out: plimsoll config unset policies.mine"
    SettingsFile(paths, {}).unset("policies.mine")
    assert load_settings(paths, {}) == Settings()


def test_all_that_is_wrong_is_known(paths: Paths) -> None:
    error = wrong(paths, 'window = "x"\nthem = "y"\nretries = -1\ntimeline = true\n')
    told = [str(each) for each in (error, *error.others)]
    assert [key in one for key, one in zip(("window", "them", "retries"), told, strict=True)] == [True] * 3


@pytest.mark.parametrize(
    ("text", "tokens"), [("24k", 24_000), ("1.5M", 1_500_000), ("32_000", 32_000), ("128 K", 128_000)]
)
def test_tokens_may_be_written_as_people_say_them(paths: Paths, text: str, tokens: int) -> None:
    assert SETTINGS["window"].rule.read(text) == tokens
    assert SettingsFile(paths, {}).set("window", text).window == tokens


@pytest.mark.parametrize("text", ["24q", "k", "1.5", "-2k", "0.0001k", "1e3"])
def test_what_is_no_number_of_tokens_is_refused(text: str, paths: Paths) -> None:
    with pytest.raises(SettingsError):
        SettingsFile(paths, {}).set("window", text)
