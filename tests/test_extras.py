"""The install command suggested for a missing extra works in the user's environment."""

import os
import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import get_args

import pytest

import tui_app
from tui_app import extras
from tui_app.extras import Extra, install_command

_ROOT = Path(tui_app.__file__).parent.parent


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A checkout of the package in an environment with pip."""
    monkeypatch.setattr(extras, "ROOT", tmp_path)
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    monkeypatch.setattr(sys, "executable", "/some where/python")
    monkeypatch.setattr(extras, "find_spec", lambda _name: object())
    return tmp_path


def test_a_checkout_installs_itself_with_the_python_that_runs_it(place: Path) -> None:
    (place / "pyproject.toml").write_text('[project]\nname = "plimsoll-tui"\n')
    command = install_command("serve")
    assert shlex.split(command) == ["/some where/python", "-m", "pip", "install", "-e", f"{place}[serve]"]


def test_elsewhere_the_package_goes_by_its_name(place: Path) -> None:
    (place / "pyproject.toml").write_text('[project]\nname = "another"\n')
    command = install_command("mcp")
    assert shlex.split(command) == ["/some where/python", "-m", "pip", "install", "plimsoll-tui[mcp]"]


@pytest.mark.usefixtures("place")
def test_an_environment_of_uv_has_no_pip(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extras, "find_spec", lambda _name: None)
    expected = ["uv", "pip", "install", "--python", "/some where/python", "plimsoll-tui[mcp]"]
    assert shlex.split(install_command("mcp")) == expected


def test_an_environment_of_pipx_is_added_to_by_pipx(place: Path) -> None:
    (place / "pipx_metadata.json").write_text("{}")
    assert shlex.split(install_command("acp")) == ["pipx", "inject", "plimsoll-tui", "plimsoll-tui[acp]"]


def test_every_extra_exists_and_the_readme_names_it() -> None:
    declared = tomllib.loads((_ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    known = set(get_args(Extra))
    assert known == set(declared) - {"test", "dev"}
    readme = (_ROOT / "README.md").read_text()
    assert known <= set(re.findall(r"^\| `(\w+)` \|", readme, re.M))


def test_no_hint_is_worded_elsewhere() -> None:
    sources = [path for path in (_ROOT / "tui_app").rglob("*.py") if path.name != "extras.py"]
    assert [path.name for path in sources if "plimsoll-tui[" in path.read_text()] == []


_WITHOUT_EXTRAS = """
import sys

MISSING = ("xllamacpp", "textual_serve", "aiohttp", "acp", "psycopg", "mcp", "opentelemetry.sdk",
           "opentelemetry.exporter")

class Hidden:
    def __init__(self, finder):
        self.finder = finder

    def __getattr__(self, name):
        return getattr(self.finder, name)

    def find_spec(self, name, *rest):
        if not any(name == each or name.startswith(each + ".") for each in MISSING):
            return self.finder.find_spec(name, *rest)

sys.meta_path[:] = map(Hidden, sys.meta_path)
import os
import shlex
from tui_app.__main__ import main
for line in sys.argv[1:]:
    setting, _, command = line.rpartition("; ")
    os.environ.update(item.split("=", 1) for item in setting.split())
    code = main(shlex.split(command))
    print(f"[{code}]", flush=True)
"""

_ASKED_FOR = [
    ("serve", "serve"),
    ("acp", "acp"),
    ("local", "run hi --model gguf:{folder}/tiny.gguf"),
    ("mcp", "mcp test tides"),
    ("postgres", "PLIMSOLL_STORE=postgresql://ada@127.0.0.1/tides; sessions"),
    ("postgres", "memory"),
]
"""Commands that need each extra. Telemetry works without its extra (see the tests of telemetry)."""


def _without_extras(folder: Path, *lines: str) -> str:
    command = [sys.executable, "-c", _WITHOUT_EXTRAS, *lines]
    env = {**os.environ, "PYTHONPATH": str(_ROOT), "PLIMSOLL_HOME": str(folder / "home")}
    done = subprocess.run(
        command,
        cwd=folder,
        env=env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=60,
        check=True,
    )
    return done.stdout


def test_a_turn_needs_none_of_them(tmp_path: Path) -> None:
    (tmp_path / "tides.txt").write_text("Low water on Sunday is at 09:40.\n")
    told = _without_extras(tmp_path, "run 'when is low water?' --model offline:extractive")
    assert "09:40" in told
    assert "[0]" in told


def test_who_needs_one_is_told_how_to_install_it(tmp_path: Path) -> None:
    (tmp_path / "tiny.gguf").write_bytes(b"GGUF")
    (tmp_path / "home" / "config").mkdir(parents=True)
    (tmp_path / "home" / "config" / "config.toml").write_text('[mcp.tides]\ncommand = "true"\n')
    lines = [line.format(folder=tmp_path) for _, line in _ASKED_FOR]
    answers = re.split(r"^\[(\d)\]\n", _without_extras(tmp_path, *lines), flags=re.M)
    for (extra, _), told, code in zip(_ASKED_FOR, answers[::2], answers[1::2], strict=False):
        assert code == "1", told
        assert f"[{extra}]'" in told
        assert "went wrong" not in told
    assert len(answers) == 2 * len(lines) + 1
