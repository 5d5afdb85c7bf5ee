"""What it costs to decide about a command line, against splitting it with the library's own reader."""

import shlex
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from statistics import median

import pytest

from tui_app.agent.approvals.command_line import Folder
from tui_app.agent.approvals.rules import Action, judge
from tui_app.context.shell_line import read_line
from tui_app.settings.tables import parse_rule

pytestmark = [pytest.mark.benchmark, pytest.mark.timeout(300)]
MOST = 60
"""Times of the library's reader at most, which takes some ten to twenty microseconds for a line."""
TABLE = Path(__file__).parents[1] / "agent/approvals/rule_lines.tsv"
ROWS = [row.split("\t") for row in TABLE.read_text("utf-8").splitlines() if not row.startswith("# ")]


def seconds(act: Callable[[], object]) -> float:
    start = time.perf_counter()
    act()
    return time.perf_counter() - start


def test_deciding_about_a_line_costs_little(tmp_path: Path) -> None:
    allowed = {rule for row in ROWS if row[1] != "*" for rule in row[1].split(" ; ")}
    rules = [parse_rule("allow", f"run_command {rule}") for rule in sorted(allowed)]
    rules += [parse_rule("deny", f"run_command {rule}") for rule in ("git push", "rm -rf", "curl")]
    folder = Folder(tmp_path)

    def decide(line: str) -> None:
        judge(Action(tool="run_command", kind="command", subject=line), rules, folder=folder)

    def split(line: str) -> None:
        with suppress(ValueError):
            shlex.split(line)

    ratios = []
    for _, _, line in ROWS:
        decide(line)  # rows of the table are read when a program is met first
        read_line.cache_clear()
        ratios.append(seconds(lambda line=line: decide(line)) / seconds(lambda line=line: split(line)))
    print(f"{len(rules)} rules, {len(ratios)} lines: {median(ratios):.0f} times the library's reader")
    assert median(ratios) < MOST
