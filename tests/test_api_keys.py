"""Reading and storing API keys, and keeping them out of everything else."""

import stat
import subprocess
import sys
from pathlib import Path

import pytest

from tests.fake_keyring import FakeKeyring
from tui_app.agent.models import ModelNotReady, build_model
from tui_app.api_keys import ApiKeys, KeyringTrouble, stored_names
from tui_app.paths import Paths
from tui_app.settings import Settings, resolve_model
from tui_app.system.environment import Secrets, keys_in, without_keys

NAME, KEY = "ANTHROPIC_API_KEY", "key-of-the-harbour-master"


@pytest.fixture
def paths(plimsoll_home: Path) -> Paths:
    return Paths.from_env({"PLIMSOLL_HOME": str(plimsoll_home)})


def made(paths: Paths, keyring: FakeKeyring | None = None, **env: str) -> ApiKeys:
    return ApiKeys(env, paths, keyring or FakeKeyring())


def test_a_stored_key_is_read_back_and_only_its_name_is_written(paths: Paths) -> None:
    keyring = FakeKeyring()
    made(paths, keyring).store(NAME, KEY)
    again = made(paths, keyring)
    assert (again.source(NAME), keyring.reads) == ("keyring", 0)
    assert again[NAME] == KEY
    assert stored_names(paths) == {NAME}
    assert KEY not in paths.keyring_names.read_text()
    assert stat.S_IMODE(paths.keyring_names.stat().st_mode) == 0o600


def test_the_environment_ranks_above_and_an_empty_variable_is_no_key(paths: Paths) -> None:
    keyring = FakeKeyring({NAME: KEY})
    made(paths, keyring).store(NAME, KEY)
    assert made(paths, keyring, **{NAME: "from-the-shell"})[NAME] == "from-the-shell"
    assert made(paths, keyring, **{NAME: " "})[NAME] == KEY


def test_a_key_for_this_run_is_written_nowhere(paths: Paths) -> None:
    keyring = FakeKeyring()
    keys = made(paths, keyring)
    keys.use_temporarily(NAME, KEY)
    assert (keys[NAME], keys.source(NAME), keyring.keys, stored_names(paths)) == (KEY, "this run", {}, set())


def test_an_erased_key_is_gone_everywhere(paths: Paths) -> None:
    keyring = FakeKeyring()
    keys = made(paths, keyring)
    keys.store(NAME, KEY)
    assert keys.erase(NAME)
    assert (NAME in keys, keyring.keys, stored_names(paths), keys.erase(NAME)) == (False, {}, set(), False)


def test_nothing_is_noted_when_the_keyring_refuses(paths: Paths) -> None:
    keys = made(paths, FakeKeyring(broken=True))
    with pytest.raises(KeyringTrouble):
        keys.store(NAME, KEY)
    assert (stored_names(paths), NAME in keys) == (set(), False)


def test_a_keyring_that_cannot_be_read_is_said_where_the_key_is_needed(paths: Paths) -> None:
    keyring = FakeKeyring()
    made(paths, keyring).store(NAME, KEY)
    keyring.broken = True
    keys = made(paths, keyring)
    with pytest.raises(KeyringTrouble):
        build_model("anthropic:claude-sonnet-4-5", env=keys)
    assert NAME not in keys.readable()


@pytest.mark.parametrize("text", ["", "[", "{}", '[1, "A_KEY"]'])
def test_a_damaged_list_of_names_breaks_nothing(paths: Paths, text: str) -> None:
    paths.ensure()
    paths.keyring_names.write_text(text)
    assert stored_names(paths) <= {"A_KEY"}


def test_the_first_model_is_known_without_the_keyring(paths: Paths) -> None:
    keyring = FakeKeyring()
    keys = made(paths, keyring)
    keys.store(NAME, KEY)
    assert resolve_model(Settings(), {}, keys.names).startswith("anthropic:")
    assert keyring.reads == 0


@pytest.mark.parametrize(
    ("variable", "model"),
    [
        (NAME, "anthropic:claude-sonnet-4-5"),
        ("OPENAI_API_KEY", "openai:gpt-5-mini"),
        ("OPENROUTER_API_KEY", "openrouter:openai/gpt-5"),
        ("DEEPSEEK_API_KEY", "deepseek:deepseek-chat"),
        ("GOOGLE_API_KEY", "google:gemini-3.8-flash"),
    ],
)
def test_a_model_is_made_with_a_key_that_no_child_process_sees(
    paths: Paths, variable: str, model: str
) -> None:
    keys = made(paths)
    with pytest.raises(ModelNotReady):
        build_model(model, env=keys)
    keys.store(variable, KEY)
    assert build_model(model, env=keys).model_name == model.partition(":")[2]
    show = "import os; print(dict(os.environ))"
    shown = subprocess.run([sys.executable, "-c", show], capture_output=True, check=True)
    assert KEY.encode() not in shown.stdout


def test_hooks_get_neither_variable_nor_text_with_a_key(paths: Paths) -> None:
    keys = made(paths)
    keys.use_temporarily(NAME, KEY)
    secrets = Secrets(keys_in(keys.env), keys)
    assert KEY in secrets
    assert KEY in set(secrets)
    assert KEY not in without_keys(keys.env).values()


def test_nothing_about_keys_shows_them(paths: Paths) -> None:
    keys = made(paths, OPENAI_API_KEY="sk-from-the-shell-0123456789")
    keys.use_temporarily(NAME, KEY)
    assert KEY not in repr(keys) + str(keys) + repr(Secrets(keys_in(keys.env), keys))
    assert "sk-from" not in repr(keys)


def test_the_library_is_not_loaded_before_a_key_is_needed() -> None:
    code = "import sys, tui_app.ui.run, tui_app.cli.program; print('keyring' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
