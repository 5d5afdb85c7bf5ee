"""``plimsoll keys``: names only, values from stdin only."""

import io
import json
import os
import sys
from pathlib import Path

import keyring
import pytest

from tests.cli.conftest import Plimsoll
from tests.fake_keyring import PLACE, FileKeyring

KEY = "gsk_keyofthe harbour".replace(" ", "")


@pytest.fixture
def ring(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    place = tmp_path / "ring.json"
    monkeypatch.setenv(PLACE, str(place))
    before = keyring.get_keyring()
    keyring.set_keyring(FileKeyring())
    monkeypatch.setattr(sys, "stdin", io.StringIO(f"{KEY}\n"))
    yield place
    keyring.set_keyring(before)


@pytest.fixture
def headless(monkeypatch: pytest.MonkeyPatch) -> None:
    from keyring.backends.fail import Keyring

    before = keyring.get_keyring()
    keyring.set_keyring(Keyring())
    monkeypatch.setattr(sys, "stdin", io.StringIO(f"{KEY}\n"))
    yield
    keyring.set_keyring(before)


def everything(result: object, home: Path) -> str:
    files = [path.read_bytes().decode("utf-8", "replace") for path in home.rglob("*") if path.is_file()]
    return "".join([str(result), *files])


def test_a_key_is_set_listed_and_taken_out(plimsoll: Plimsoll, ring: Path, plimsoll_home: Path) -> None:
    done = plimsoll("keys", "set", "GROQ_API_KEY")
    assert done.code == 0, done.err
    assert json.loads(ring.read_text()) == {"plimsoll/GROQ_API_KEY": KEY}
    listed = plimsoll("keys", "--json")
    assert listed.json == {"keys": [{"name": "GROQ_API_KEY", "source": "keyring", "providers": ["groq"]}]}
    assert KEY not in everything((done, listed, plimsoll("keys"), plimsoll("config")), plimsoll_home)
    assert plimsoll("keys", "unset", "GROQ_API_KEY").code == 0
    assert json.loads(ring.read_text()) == {}
    assert plimsoll("keys", "unset", "GROQ_API_KEY").code == 1


def test_the_environment_is_named_as_a_source(
    plimsoll: Plimsoll, ring: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-in-the-environment")
    out = plimsoll("keys").out
    assert "OPENAI_API_KEY  environment" in out
    assert "sk-in" not in out


@pytest.mark.parametrize(
    "words", [("set", "GROQ_API_KEY", KEY), ("set", KEY), ("set", f"GROQ_API_KEY={KEY}"), ("unset", KEY)]
)
def test_a_key_as_an_argument_is_refused_and_not_repeated(
    plimsoll: Plimsoll, ring: Path, plimsoll_home: Path, words: tuple[str, ...]
) -> None:
    done = plimsoll("keys", *words)
    assert done.code == 2
    assert KEY not in everything(done, plimsoll_home)
    assert not ring.exists()


@pytest.mark.parametrize("typed", ["", "\n", "two words\n", "one\ntwo\n", "esc\x1b[31m\n", "b\u00e9ta\n"])
def test_what_is_no_key_is_not_kept(
    plimsoll: Plimsoll, ring: Path, monkeypatch: pytest.MonkeyPatch, typed: str
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO(typed))
    assert plimsoll("keys", "set", "GROQ_API_KEY").code == 2
    assert not ring.exists()


def test_without_a_keyring_it_is_said_what_to_do(plimsoll: Plimsoll, headless: None) -> None:
    done = plimsoll("keys", "set", "GROQ_API_KEY")
    assert (done.code, done.out) == (1, "")
    assert "no usable keyring: set GROQ_API_KEY in the environment" in done.err
    assert plimsoll("keys", "--json").json == {"keys": []}


def test_a_locked_keyring_is_said_in_our_own_words(plimsoll: Plimsoll, ring: Path) -> None:
    ring.write_text('{"locked": "yes"}')
    done = plimsoll("keys", "set", "GROQ_API_KEY")
    assert done.code == 1
    assert "is locked" in done.err
    assert "sk-not" not in done.err


def test_an_endpoints_key_may_be_kept(plimsoll: Plimsoll, ring: Path, plimsoll_home: Path) -> None:
    assert plimsoll("keys", "set", "HARBOUR_KEY").code == 2
    plimsoll(
        "config", "set", "endpoints", '{harbour = {base_url = "http://127.0.0.1:9", key_env = "HARBOUR_KEY"}}'
    )
    sys.stdin = io.StringIO(KEY)
    assert plimsoll("keys", "set", "HARBOUR_KEY").code == 0


def test_a_model_finds_its_key_there(plimsoll: Plimsoll, ring: Path) -> None:
    assert plimsoll("keys", "set", "DEEPSEEK_API_KEY").code == 0
    rows = [row for row in plimsoll("models", "--json").json["models"] if row["name"].startswith("deepseek:")]
    assert {(row["available"], row["why_not"]) for row in rows} == {(True, "")}
    assert "DEEPSEEK_API_KEY" not in os.environ
