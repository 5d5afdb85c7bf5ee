"""The cost of deciding on a tool call, relative to a library on the same texts."""

import random
import re
import shlex
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from statistics import median

import pytest
from pydantic_ai.messages import ModelRequest, ToolReturnPart

from tui_app.agent.approvals.command_line import Folder
from tui_app.agent.approvals.rules import Action, judge
from tui_app.context.ledger.origins import Origins
from tui_app.context.shell_line import read_line
from tui_app.context.tool_titles import call_title
from tui_app.context.views.view import Item
from tui_app.settings.tables import parse_rule

pytestmark = [pytest.mark.benchmark, pytest.mark.timeout(300)]
MOST = 60
"""Maximum as a multiple of the library's reader, which takes 10 to 20 µs per line."""
MOST_READ = 4
"""Maximum for reading messages, once before the first decision, as a multiple of finding their words."""
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
        decide(line)  # the table's rows are read when a program is first seen
        read_line.cache_clear()
        ratios.append(seconds(lambda line=line: decide(line)) / seconds(lambda line=line: split(line)))
    print(f"{len(rules)} rules, {len(ratios)} lines: {median(ratios):.0f} times the library's reader")
    assert median(ratios) < MOST


def test_reading_what_was_said_costs_a_few_times_finding_its_words() -> None:
    dice = random.Random(7)
    vocabulary = ["".join(dice.choices("abcdefghij", k=dice.randint(2, 9))) for _ in range(20_000)]
    origins, ratios = Origins(call_title), []
    for number in range(60):
        texts = [" ".join(dice.choices(vocabulary, k=700)) for _ in range(20)]
        said = [ModelRequest(parts=[ToolReturnPart("read_file", text, "c1")]) for text in texts]
        items = [Item(number * 20 + place, message) for place, message in enumerate(said)]
        origins.count([item.key for item in items], more=True)
        finding = seconds(partial(re.findall, r"\w+", " ".join(texts)))
        ratios.append(seconds(partial(origins.grow, items)) / finding)
    print(f"{median(ratios):.1f} times finding the words")
    assert median(ratios) < MOST_READ
