"""Start-up: what is asked for often and what is painted first loads neither agent side nor screen."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

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
