"""The documentation agrees with the program: tables, links, commands, code and pictures."""

import json
import os
import re
import xml.etree.ElementTree as ET
from dataclasses import fields
from pathlib import Path
from typing import get_args

import pytest
from pydantic_ai import Agent
from pydantic_ai.models.test import TestModel

from tests.context.schema_check import problems
from tests.docs.pages import (
    DOCS,
    LINK,
    PAGES,
    ROOT,
    anchors,
    code_blocks,
    code_of,
    command_parser,
    load_script,
    options_of,
    page,
    prose,
    read,
    section,
)
from tests.ui.kit import unpainted
from tui_app.chat_keys import KEYS
from tui_app.cli.core.output import print_json
from tui_app.cli.program import COMMANDS, screen_parser
from tui_app.cli.setup.schema import output_names
from tui_app.context.compaction.plan import FORCED
from tui_app.context.policy import OFF, PLIMSOLL
from tui_app.context.windows.windows import resolve_window
from tui_app.conversation.hooks.hook_outcomes import INSTRUCTIONS_CHARS, OUTPUT_CHARS, RESULT_CHARS
from tui_app.conversation.hooks.hooks import END_S
from tui_app.events import (
    BY_TYPE,
    PAYLOADS,
    Error,
    Fact,
    HookOutcome,
    Notice,
    QuestionAsked,
    Record,
    TaskResumed,
    Trigger,
    TurnEnd,
    TurnRetry,
)
from tui_app.events.schema import event_schema
from tui_app.paths import Paths
from tui_app.providers import LOCAL_PORTS, PROTOCOLS, key_variables
from tui_app.session.stats import SessionStats
from tui_app.session.stats_rows import CompactionRow, ModelRow, SideRow, StageRow
from tui_app.settings import MODELS_BY_KEY, Endpoint, Settings, load_settings
from tui_app.settings.spec import SETTINGS
from tui_app.settings.tables import HOOK_EVENTS, POLICIES, Hook, policy_keys
from tui_app.ui.slash_commands import COMMANDS as SLASH_COMMANDS
from tui_app.usage import CATEGORIES, ContextWindow
from tui_app.version import __version__

PICTURES = {
    "chat": "timetable/board.py:52",
    "compacted": "Sundays in the ferry import",
    "context": "waits at",
    "models": "harbour:deck-4b",
}
"""Each screenshot, and text it must contain."""


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_relative_links_lead_somewhere(path: Path) -> None:
    broken = []
    for found in LINK.findall(prose(read(path))):
        target = found[0] or found[1]
        if re.match(r"[a-z]+:", target):
            continue
        name, _, anchor = target.partition("#")
        file = (path.parent / name).resolve() if name else path
        if not file.exists() or (anchor and anchor not in anchors(read(file))):
            broken.append(target)
    assert broken == []


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_no_page_names_a_folder_of_one_machine(path: Path) -> None:
    assert re.findall(r"(?<![\w.~$])/(?:home|root|Users|tmp|work|var|opt)/\S*", read(path)) == []


def test_every_page_is_reached_from_the_index() -> None:
    linked = {(DOCS / target).resolve() for target, _ in LINK.findall(page("docs/index.md"))}
    assert set(DOCS.glob("*.md")) - linked - {DOCS / "index.md"} == set()
    assert "docs/index.md" in page("README.md")


@pytest.mark.parametrize("command", ["plimsoll", "test"])
def test_first_commands_of_the_readme_exist(command: str) -> None:
    assert f"./{command}\n" in "".join(code_blocks(page("README.md"), "sh"))
    assert os.access(ROOT / command, os.X_OK)


def test_tables_of_keys_are_fresh() -> None:
    script = load_script(DOCS / "make_keys.py")
    text = page("docs/keys.md")
    assert script.filled(text) == text, "run: python docs/make_keys.py"


def test_every_key_and_slash_command_is_described() -> None:
    text = page("docs/keys.md")
    assert [key.id for key in KEYS if f"`{key.id}`" not in text] == []
    names = [name for command in SLASH_COMMANDS for name in command.names]
    assert [name for name in names if not re.search(rf"`/{name}[ `]", text)] == []


def test_keys_of_the_readme_are_those_of_the_program() -> None:
    labels = {label for key in KEYS for label in (key.label, *key.key.split(","))}
    rows = re.findall(r"^\| (`.+?) \|", section(page("README.md"), "Keys"), re.MULTILINE)
    written = {key for row in rows for key in re.findall(r"`([^`]+)`", row)}
    assert written
    assert written - labels == set()


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_is_described_with_all_its_options(name: str) -> None:
    text = section(page("docs/commands.md"), f"plimsoll {name}")
    described = set(re.findall(r"--[a-z][a-z-]+", text))
    assert options_of(command_parser(name)) - described == set()
    own = set(re.findall(r"`(--[a-z][a-z-]+)", text)) - {"--undo", "--redo"}
    assert own - options_of(command_parser(name)) - {"--model", "--window"} == set()


def test_options_of_the_screen_are_described() -> None:
    text = section(page("docs/commands.md"), "plimsoll")
    assert options_of(screen_parser()) == set(re.findall(r"^\| `(--[a-z][a-z-]+)", text, re.MULTILINE))


def test_no_command_is_described_that_does_not_exist() -> None:
    for path in PAGES:
        named = set(re.findall(r"(?:^|[`/ ])plimsoll ([a-z]+)\b", "\n".join(code_of(read(path)))))
        assert named - set(COMMANDS) - {"run"} == set(), path.name


def test_events_that_the_json_output_adds_to_the_log_are_described() -> None:
    text = section(page("docs/commands.md"), "Events")
    live = {each.TYPE for each in (Notice, QuestionAsked, TaskResumed, TurnEnd, TurnRetry)}
    rows = re.findall(r"^\| (`.+?) \|", text, re.MULTILINE)
    assert {name for row in rows for name in re.findall(r"`([a-z_.]+)`", row)} == live


def test_envelope_of_events_is_the_documented_one(capsys: pytest.CaptureFixture[str]) -> None:
    print_json(Record(seq=1, time=0.0, session="f12f203a", data=TurnEnd(outcome="done")).to_json())
    keys = re.findall(r'"(\w+)":', capsys.readouterr().out)[:5]
    [example] = code_blocks(section(page("docs/commands.md"), "Events"), "json")
    assert re.findall(r'"(\w+)":', example)[:5] == keys
    assert code_blocks(page("docs/events.md"), "json")[0] == example
    assert problems(json.loads(example), event_schema("tool.call")) == []


def test_usage_names_are_described() -> None:
    text = section(page("docs/commands.md"), "plimsoll context")
    assert [name for name in CATEGORIES if f"`{name}`" not in text] == []


def test_every_setting_is_described_with_its_default() -> None:
    rows = dict(
        re.findall(
            r"^\| `(\w+)` \| (.+?) \|", section(page("docs/settings.md"), "All settings"), re.MULTILINE
        )
    )
    assert set(rows) == set(SETTINGS)
    for key, built_in in rows.items():
        value = getattr(Settings(), key)
        expected = "not set" if value in ("", None) else f"`{toml(value)}`"
        assert built_in == expected, key


def toml(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return f'"{value}"' if isinstance(value, str) else str(value)


def test_example_of_the_settings_is_accepted(tmp_path: Path) -> None:
    from tui_app.paths import Paths

    paths = Paths.from_env({"PLIMSOLL_HOME": str(tmp_path)})
    for example in [
        *code_blocks(page("docs/settings.md"), "toml"),
        *code_blocks(page("docs/keys.md"), "toml"),
    ]:
        paths.config.mkdir(exist_ok=True)
        paths.config_file.write_text(example, encoding="utf-8")
        settings = load_settings(paths, {})
        assert set(settings.keymap) <= {key.id for key in KEYS}


@pytest.mark.parametrize("name", ["hooks", "mcp"])
def test_the_examples_run_nothing_of_the_folder(tmp_path: Path, name: str) -> None:
    from tui_app.paths import Paths
    from tui_app.system.trust import ProgramPlace

    paths = Paths.from_env({"PLIMSOLL_HOME": str(tmp_path)})
    paths.ensure()
    place = ProgramPlace(own=paths.config, folder=tmp_path / "opened", env={})
    started = []
    for example in code_blocks(page(f"docs/{name}.md"), "toml"):
        paths.config_file.write_text(example, encoding="utf-8")
        settings = load_settings(paths, {})
        started += [hook for hooks in settings.hooks.values() for hook in hooks]
        started += [server for server in settings.mcp.values() if server.command]
    assert started
    assert {place.start_folder(each.cwd) for each in started} == {paths.config}
    # git would run programs from a repository's configuration: a pager, a file monitor, a filter.
    assert not [each for each in started if "git" in str(each.command).split()]


def test_keys_of_endpoints_are_described() -> None:
    text = section(page("docs/settings.md"), "Endpoints")
    fields = set(Endpoint.__dataclass_fields__) - {"name"}
    assert set(re.findall(r"^\| `(\w+)` \|", text, re.MULTILINE)) == fields
    assert [name for name in PROTOCOLS if f"`{name}`" not in text] == []
    assert [name for name, port in LOCAL_PORTS.items() if f"`{name}:MODEL` ({port})" not in text] == []


def test_models_chosen_by_key_are_described() -> None:
    text = section(page("docs/settings.md"), "Which model")
    assert [pair for pair in MODELS_BY_KEY if f"| `{pair[0]}` | `{pair[1]}` |" not in text] == []


def test_numbers_of_the_governance_are_those_of_the_policy() -> None:
    text = page("docs/context-governance.md")
    rows = re.findall(r"^\| ([\d,]+) \| ([\d,]+) \| ([\d,]+) \| ([\d,]+) \| ([\d,]+) \|$", text, re.MULTILINE)
    assert len(rows) >= 5
    for row in rows:
        limit, *written = (int(cell.replace(",", "")) for cell in row)
        window: ContextWindow = resolve_window(model=limit)
        marks = [PLIMSOLL.background_mark(window), PLIMSOLL.blocking_mark(window)]
        assert written == [window.reserve, window.effective, *marks]
    shares = {
        "up to {} of the window": OFF.recent_share,
        "ends at {} of what the window has": PLIMSOLL.target_share,
        "a quarter of it and {} of the window": PLIMSOLL.summary_share,
        "aim is {} below the limit": PLIMSOLL.safety_margin,
        "freed less than {}": PLIMSOLL.minimum_gain,
    }
    flat = " ".join(text.split())
    assert [words for words, share in shares.items() if words.format(f"{share * 100:.0f}%") not in flat] == []
    assert f"with {PLIMSOLL.minimum_messages} messages or more" in flat


def test_files_named_in_the_architecture_exist() -> None:
    names = set(re.findall(r"`([\w/]+(?:\.py|/))`", page("docs/architecture.md")))
    places = [ROOT, ROOT / "tui_app", ROOT / "tui_app" / "context"]
    assert len(names) > 40
    assert [name for name in sorted(names) if not any((place / name).exists() for place in places)] == []


def test_names_of_the_walk_exist() -> None:
    sources = "\n".join(read(path) for path in (ROOT / "tui_app").rglob("*.py"))
    text = page("docs/architecture.md")
    dotted = re.findall(r"`([A-Z]\w+)\.(\w+)`", text)
    assert len(dotted) > 15
    missing = [
        f"{owner}.{name}"
        for owner, name in dotted
        if not re.search(rf"class {owner}\b", sources) or not re.search(rf"def {name}\b", sources)
    ]
    assert missing == []


async def test_code_of_the_context_package_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OPENAI_API_KEY", "unused")
    blocks = code_blocks(page("docs/context-package.md"), "python")
    names: dict[str, object] = {}
    for block in blocks:
        if "await" not in block:
            exec(compile(block, "context-package.md", "exec"), names)
    agent = names["agent"]
    assert isinstance(agent, Agent)
    with agent.override(model=TestModel()):
        for block in blocks:
            if "await" in block:
                lines = "\n".join(f"    {line}" for line in block.splitlines())
                exec(f"async def conversation():\n{lines}\n    return second", names)
                result = await names["conversation"]()  # type: ignore[operator]
                assert len(result.all_messages()) == 4


def test_changelog_keeps_its_format() -> None:
    text = page("CHANGELOG.md")
    versions = re.findall(r"^## (.*)$", text, re.MULTILINE)
    assert versions[0] == "[Unreleased]"
    assert all(re.fullmatch(r"\[\d+\.\d+\.\d+\](?: - \d{4}-\d\d-\d\d)?", version) for version in versions[1:])
    kinds = {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}
    assert set(re.findall(r"^### (.*)$", text, re.MULTILINE)) <= kinds
    assert any(version.startswith(f"[{__version__.split('.dev')[0]}]") for version in versions)


@pytest.mark.parametrize("name", [*PICTURES, "logo", "demo"])
def test_pictures_are_whole_and_reach_for_nothing(name: str) -> None:
    text = read(ROOT / "assets" / f"{name}.svg")
    assert ET.fromstring(text).tag.endswith("svg")
    addresses = set(re.findall(r"https?://[^\s\"'<)]+", text))
    assert addresses <= {"http://www.w3.org/2000/svg", "https://www.textualize.io"}


def test_every_picture_is_drawn_by_the_script() -> None:
    drawn = re.search(
        r"^PICTURES = \((.*?)^\)", read(ROOT / "assets/make_screenshots.py"), re.MULTILINE | re.DOTALL
    )
    assert drawn
    assert re.findall(r'\("(\w+)"', drawn[1]) == list(PICTURES)
    shown = {Path(found[0] or found[1]) for path in PAGES for found in LINK.findall(read(path))}
    assert {Path("assets/chat.svg"), Path("assets/compacted.svg"), Path("assets/logo.svg")} <= shown


def test_script_draws_all_pictures_without_a_trace_of_this_machine(tmp_path: Path) -> None:
    with unpainted():
        load_script(ROOT / "assets" / "make_screenshots.py").main(tmp_path)
    assert {path.stem for path in tmp_path.glob("*.svg")} == set(PICTURES)
    for path in tmp_path.glob("*.svg"):
        words = " ".join("".join(ET.fromstring(path.read_text("utf-8")).itertext()).split())
        assert PICTURES[path.stem] in words.replace("\u00a0", " ")
        assert str(tmp_path.parent) not in words


def test_what_shows_a_promise_is_there() -> None:
    """Files and schemas named on the page of promises exist."""
    shown = [row.rsplit("|", 2)[1] for row in page("docs/promises.md").splitlines() if row.startswith("| ")]
    named = [word for cell in shown for word in re.findall(r"`([^`]+)`", cell)]
    files = [word for word in named if word.startswith("tests/")]
    assert len(files) > 8
    assert [word for word in files if not [*ROOT.glob(word)]] == []
    schemas = [word.removeprefix("plimsoll schema").strip(' "') for word in named if " schema" in word]
    assert {each for each in schemas if each and each != "--list"} <= {*output_names(), *BY_TYPE}


def test_dependencies_are_all_explained() -> None:
    project = page("pyproject.toml")
    text = page("docs/dependencies.md")
    lists = re.findall(r"^\w+ = \[(.*?)^\]", project.split("[project.scripts]")[0], re.MULTILINE | re.DOTALL)
    names = {name for body in lists for name in re.findall(r'^  "([a-z0-9-]+)', body, re.MULTILINE)}
    assert "textual" in names
    assert "ruff" in names
    assert [name for name in sorted(names - {"plimsoll-tui"}) if f"`{name}`" not in text] == []


# The page of events is the one its script writes.


def test_tables_of_events_are_fresh() -> None:
    script = load_script(DOCS / "make_events.py")
    text = page("docs/events.md")
    assert script.filled(text) == text, "run: python docs/make_events.py"


def test_every_event_has_a_row_with_its_fields() -> None:
    rows = {row.split("`")[1]: row for row in page("docs/events.md").splitlines() if row.startswith("| `")}
    assert {payload.TYPE for payload in PAYLOADS} <= set(rows)
    for name, cls in (("error", Error), ("Fact", Fact)):
        assert [each.name for each in fields(cls) if f"`{each.name}`" not in rows[name]] == []


def test_page_without_its_marks_is_refused() -> None:
    script = load_script(DOCS / "make_events.py")
    with pytest.raises(ValueError, match="parts"):
        script.filled(page("docs/events.md").replace("<!-- end of parts -->", ""))


# The page on hooks agrees with the program.


TEXT = page("docs/hooks.md")


def rows(heading: str) -> list[list[str]]:
    """Cells of the tables in a section, without header rows."""
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
    keys = re.findall(r"^\| `(\w+)` \| (?:required|`|everything|the folder)", TEXT, re.MULTILINE)
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
    assert [row[0].strip("`") for row in rows("What you see")] == list(get_args(HookOutcome))
    flat = " ".join(TEXT.split())
    assert f"above {RESULT_CHARS:,} characters" in flat
    assert f"at most {INSTRUCTIONS_CHARS:,} characters" in flat
    assert f"the first {OUTPUT_CHARS:,} characters" in flat
    assert f"{END_S} seconds" in flat


# The pages list the names that scripts rely on, and table rows have as many cells as their headers.


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_rows_of_tables_have_as_many_cells_as_their_heads(path: Path) -> None:
    broken, cells = [], 0
    for line in prose(read(path)).splitlines():
        if not line.startswith("|"):
            cells = 0
            continue
        bars = len(re.findall(r"(?<!\\)\|", line))
        cells = cells or bars
        if bars != cells:
            broken.append(line)
    assert broken == []


def test_json_names_of_the_figures_are_described() -> None:
    text = section(page("docs/commands.md"), "plimsoll stats")
    rows = (ModelRow, CompactionRow, SideRow, StageRow)
    names = {*SessionStats().to_json(), *(field.name for row in rows for field in fields(row))}
    assert [name for name in sorted(names) if f"`{name}`" not in text] == []


def test_keys_of_all_providers_are_listed() -> None:
    text = page("docs/api-keys.md")
    assert [name for name in sorted(key_variables()) if f"`{name}`" not in text] == []


def test_every_trigger_has_a_row_and_those_that_no_guard_stops_are_named() -> None:
    text = page("docs/context-governance.md")
    rows = re.findall(r"^\| `(\w+)` \|", section(text, "What starts a compaction"), re.MULTILINE)
    assert set(rows) == set(get_args(Trigger))
    [forced] = re.findall(r"The last three do not stop (.+?)\.", text, re.DOTALL)
    assert set(re.findall(r"`(\w+)`", forced)) == FORCED


# The section on policies names every policy and every key of custom policies.


def first_cells() -> list[str]:
    text = section(page("docs/settings.md"), "Policies")
    rows = re.findall(r"^\| (`.+?) \|", text, re.MULTILINE)
    return [name for row in rows for name in re.findall(r"`([\w-]+)`", row)]


def test_policies_and_keys_are_described_in_their_order() -> None:
    assert first_cells() == [*POLICIES, *policy_keys().keys]


def test_table_of_keys_is_fresh() -> None:
    script = load_script(DOCS / "make_policies.py")
    for path in script.PAGES:
        text = path.read_text(encoding="utf-8")
        assert script.filled(text) == text, "run: python docs/make_policies.py"


def test_long_pages_have_contents() -> None:
    script = load_script(DOCS / "make_contents.py")
    assert len(script.pages()) > 10
    for path in script.pages():
        text = path.read_text(encoding="utf-8")
        assert script.filled(text) == text, "run: python docs/make_contents.py"


# The example on the page about simulating is the program's output.


def unpriced(text: str) -> str:
    """Prices, and thus the width of their column, change with the price list."""
    return re.sub(r" +", " ", re.sub(r"\$[\d.]+", "$", text))


def test_the_example_is_what_is_printed_and_drawn() -> None:
    script = load_script(DOCS / "make_simulation.py")
    text = page("docs/simulate.md")
    made, drawing = script.example(text)
    assert unpriced(made) == unpriced(text), "run: python docs/make_simulation.py"
    assert drawing == script.PICTURE.read_text(encoding="utf-8"), "run: python docs/make_simulation.py"
