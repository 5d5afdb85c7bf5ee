"""The page on hooks says what the program does."""

import json
import re
from pathlib import Path
from typing import get_args

from tests.context.schema_check import problems
from tests.docs.pages import code_blocks, page, section
from tui_app.conversation.hooks import END_S, INSTRUCTIONS_CHARS, OUTPUT_CHARS, RESULT_CHARS
from tui_app.events import HookOutcome
from tui_app.events.schema import event_schema
from tui_app.paths import Paths
from tui_app.settings import load_settings
from tui_app.settings.tables import HOOK_EVENTS, Hook

TEXT = page("docs/hooks.md")


def rows(heading: str) -> list[list[str]]:
    """Cells of the tables in a section, without their heads."""
    lines = re.findall(r"^\| (`.*) \|$", section(TEXT, heading), re.MULTILINE)
    return [[cell.strip() for cell in line.split(" | ")] for line in lines]


def test_the_example_is_read(tmp_path: Path) -> None:
    paths = Paths.from_env({"PLIMSOLL_HOME": str(tmp_path)})
    paths.ensure()
    (example,) = code_blocks(TEXT, "toml")
    paths.config_file.write_text(example)
    assert {event: len(hooks) for event, hooks in load_settings(paths, {}).hooks.items()} == {
        "preCompact": 2, "preTool": 1, "postCompact": 1,
    }  # fmt: skip


def test_events_triggers_and_keys() -> None:
    table = rows("When they run")
    assert [row[0].strip("`") for row in table] == list(HOOK_EVENTS)
    triggers = {row[0].strip("`"): tuple(re.findall(r"`(\w+)`", row[2])) for row in table}
    assert triggers["preCompact"] == HOOK_EVENTS["preCompact"]
    assert triggers["sessionStart"] == HOOK_EVENTS["sessionStart"]
    assert [event_schema(row[3].strip("`"))["title"] for row in table] == [row[3].strip("`") for row in table]
    keys = re.findall(r"^\| `(\w+)` \| (?:required|`|everything)", TEXT, re.MULTILINE)
    assert set(keys) == {*Hook.__dataclass_fields__, "shell"}
    assert f"`{Hook(command='x').timeout_s}`" in TEXT


def test_what_stands_on_stdin_meets_its_schema() -> None:
    examples = [json.loads(block) for block in code_blocks(TEXT, "json")]
    assert len(examples) == 3
    for example in examples:
        assert example.pop("hook") in HOOK_EVENTS
        assert isinstance(example.pop("trigger"), str)
        assert problems(example, event_schema(example["type"])) == []


def test_outcomes_and_numbers() -> None:
    assert [row[0].strip("`") for row in rows("What is seen of it")] == list(get_args(HookOutcome))
    flat = " ".join(TEXT.split())
    assert f"above {RESULT_CHARS:,} characters" in flat
    assert f"at most {INSTRUCTIONS_CHARS:,} characters" in flat
    assert f"the first {OUTPUT_CHARS:,} characters" in flat
    assert f"{END_S} seconds" in flat
