"""What a person is told to type for a part that is missing works where they are."""

import os
import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import get_args

import tui_app
from tui_app.extras import Extra, install_command

_ROOT = Path(tui_app.__file__).parent.parent


def test_a_checkout_installs_itself_with_the_python_that_runs_it(tmp_path: Path) -> None:
    root = tmp_path / "a check out"
    root.mkdir()
    (root / "pyproject.toml").write_text('[project]\nname = "plimsoll-tui"\n')
    command = install_command("serve", root=root, python="/some where/python", has_pip=True)
    assert shlex.split(command) == ["/some where/python", "-m", "pip", "install", "-e", f"{root}[serve]"]


def test_elsewhere_the_package_goes_by_its_name(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text('[project]\nname = "another"\n')
    command = install_command("mcp", root=tmp_path, python="/env/bin/python", has_pip=True)
    assert shlex.split(command) == ["/env/bin/python", "-m", "pip", "install", "plimsoll-tui[mcp]"]


def test_an_environment_of_uv_has_no_pip() -> None:
    command = install_command("mcp", root=Path("/nowhere"), python="/tools/bin/python", has_pip=False)
    expected = ["uv", "pip", "install", "--python", "/tools/bin/python", "plimsoll-tui[mcp]"]
    assert shlex.split(command) == expected


def test_every_extra_exists_and_the_readme_names_it() -> None:
    declared = tomllib.loads((_ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    extras = set(get_args(Extra))
    assert extras == set(declared) - {"test", "dev"}
    readme = (_ROOT / "README.md").read_text()
    assert extras <= set(re.findall(r"^\| `(\w+)` \|", readme, re.M))


def test_no_hint_is_worded_elsewhere() -> None:
    sources = [path for path in (_ROOT / "tui_app").rglob("*.py") if path.name != "extras.py"]
    assert [path.name for path in sources if "plimsoll-tui[" in path.read_text()] == []


_WITHOUT_EXTRAS = """
import sys
from importlib.abc import MetaPathFinder

MISSING = ("xllamacpp", "textual_serve", "aiohttp", "acp", "psycopg", "mcp", "opentelemetry.sdk",
           "opentelemetry.exporter")

class Absent(MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if any(name == each or name.startswith(each + ".") for each in MISSING):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Absent())
from tui_app.__main__ import main
sys.exit(main(sys.argv[1:]))
"""


def test_a_turn_needs_none_of_them(tmp_path: Path) -> None:
    (tmp_path / "tides.txt").write_text("Low water on Sunday is at 09:40.\n")
    command = [
        sys.executable,
        "-c",
        _WITHOUT_EXTRAS,
        "run",
        "when is low water?",
        "--model",
        "offline:extractive",
    ]
    env = {**os.environ, "PYTHONPATH": str(_ROOT), "PLIMSOLL_HOME": str(tmp_path / "home")}
    done = subprocess.run(
        command, cwd=tmp_path, env=env, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "09:40" in done.stdout
