"""``plimsoll schema``, and that the logs and output of real runs conform to it."""

import json
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from tests.cli.conftest import Plimsoll
from tests.context.schema_check import problems
from tests.docs.pages import command_parser
from tests.servers.behaviours import error
from tests.servers.fake_openai import FakeOpenAI
from tui_app.cli.program import COMMANDS
from tui_app.cli.setup.schema import output_names
from tui_app.events import BY_TYPE, PAYLOADS
from tui_app.paths import Paths
from tui_app.session.stores.sqlite_store import SqliteStore

OFFLINE = ("--model", "offline:extractive", "--json")


@pytest.fixture
def printed(plimsoll: Plimsoll) -> Any:
    """The schema as a program receives it."""
    result = plimsoll("schema")
    assert (result.code, result.err) == (0, "")
    return json.loads(result.out)


def logged(home: Path, session: str) -> list[Any]:
    """Return every record of a session's log as JSON."""
    store = SqliteStore(Paths.from_env({"PLIMSOLL_HOME": str(home)}).database, read_only=True)
    records = [json.loads(json.dumps(record.to_json())) for record, _ in store.records(session)]
    store.close()
    return records


def met(records: list[Any], schema: Any, *kinds: str) -> None:
    """Assert that all records conform to the schema and that the given types occur."""
    assert {record["type"] for record in records} >= set(kinds)
    assert {record["type"]: found for record in records if (found := problems(record, schema))} == {}


def test_schema_for_a_person_and_for_a_program(plimsoll: Plimsoll, printed: Any) -> None:
    shown, line = plimsoll("schema").out, plimsoll("schema", "--json")
    assert shown.startswith('{\n  "$schema": "https://json-schema.org/draft/2020-12/schema",\n')
    assert shown.isascii()
    assert line.json == printed
    assert set(BY_TYPE) <= set(printed["$defs"])


@pytest.mark.parametrize("kind", ["error", "session.compaction_complete", "session.usage_info", "turn.end"])
def test_schema_of_one_event_is_complete_in_itself(plimsoll: Plimsoll, printed: Any, kind: str) -> None:
    alone = json.loads(plimsoll("schema", kind).out)
    own = printed["$defs"][kind]
    assert {name: alone[name] for name in own} == own
    references = {text.partition('"')[0] for text in json.dumps(alone).split('"#/$defs/')[1:]}
    assert references == set(alone.get("$defs", {}))


def test_list_has_a_line_for_each_event(plimsoll: Plimsoll) -> None:
    every = plimsoll("schema", "--list").out.splitlines()
    lines, outputs = every[: len(PAYLOADS)], every[len(PAYLOADS) :]
    assert [line.split()[0] for line in lines] == [payload.TYPE for payload in PAYLOADS]
    assert {line.split()[1] for line in lines} == {"log", "live"}
    assert [line.split("  ")[0] for line in outputs] == list(output_names())
    events = plimsoll("schema", "--list", "--json").json["events"]
    assert [event["stored"] for event in events] == [payload.STORED for payload in PAYLOADS]
    for line, event in zip(lines, events, strict=True):
        assert line.startswith(event["type"])
        assert line.endswith(event["summary"])
        assert event["summary"]


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (("tool.cal",), "There is no schema tool.cal. Did you mean tool.call?"),
        (("sessions", "lits"), "There is no schema sessions lits. Did you mean sessions list?"),
        (("fact",), "There is no schema fact. To see them all: plimsoll schema --list"),
        (("usage",), "There is no schema usage. To see them all: plimsoll schema --list"),
        (("--list", "error"), "--list names all schemas. For one of them: plimsoll schema NAME"),
    ],
)
def test_wrong_use_is_one_sentence(plimsoll: Plimsoll, args: tuple[str, ...], words: str) -> None:
    result = plimsoll("schema", *args)
    assert (result.code, result.out, result.err) == (2, "", f"{words}\n")


def test_every_json_output_has_a_schema(plimsoll: Plimsoll) -> None:
    """The ``plimsoll`` fixture validates what tests print."""
    outputs = output_names()
    assert plimsoll("schema", "--list", "--json").json["outputs"] == list(outputs)
    for name in COMMANDS:
        options = command_parser(name)
        if "--json" not in options.format_help() or name == "run":
            continue
        actions = [each.choices for each in options._actions if each.dest == "action" and each.choices]
        expected = {f"{name} {action}" for action in actions[0]} if actions else {name}
        assert expected - {"schema"} <= set(outputs), name
    for name in outputs:
        schema = plimsoll("schema", name, "--json").json
        Draft202012Validator.check_schema(schema)
        assert schema["title"] == f"plimsoll {name} --json"


def test_schema_reads_and_writes_nothing(plimsoll: Plimsoll, plimsoll_home: Path) -> None:
    (plimsoll_home / "config").mkdir()
    (plimsoll_home / "config" / "config.toml").write_text("windw = 3\n")
    before = sorted(plimsoll_home.rglob("*"))
    assert plimsoll("schema").code == 0
    assert sorted(plimsoll_home.rglob("*")) == before


def test_imported_and_compacted_sessions_meet_it(
    plimsoll: Plimsoll, plimsoll_home: Path, imported: str, printed: Any
) -> None:
    for flags in ((), ("--undo",), ("--redo",)):
        assert plimsoll("compact", imported, *flags).code == 0
    met(
        logged(plimsoll_home, imported),
        printed,
        "session.start", "system.message", "user.message", "assistant.message", "tool.call", "tool.result",
        "session.compaction_start", "session.compaction_complete", "checkpoint.created",
        "session.compaction_undone", "session.compaction_redone",
    )  # fmt: skip


def test_lines_of_an_offline_run_meet_it(plimsoll: Plimsoll, plimsoll_home: Path, printed: Any) -> None:
    result = plimsoll("run", "when is low water?", *OFFLINE)
    assert result.code == 0
    met(
        result.lines,
        printed,
        "session.start", "user.message", "session.usage_info", "tool.call", "tool.result",
        "assistant.message", "turn.end", "session.end",
    )  # fmt: skip
    kept = [line for line in result.lines if line["type"] != "turn.end"]
    assert logged(plimsoll_home, kept[0]["session"]) == kept


def test_failed_turns_meet_it(
    plimsoll: Plimsoll, plimsoll_home: Path, printed: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    too_large = plimsoll("run", "word " * 3_000, *OFFLINE, "--window", "2000")
    with FakeOpenAI() as server:
        server.fallback = error(401, "wrong key")
        monkeypatch.setenv("PLIMSOLL_ENDPOINTS", f'{{local = {{base_url = "{server.base_url}"}}}}')
        refused = plimsoll("run", "hello", "--model", "local:scripted", "--json")
    for result, kind in ((too_large, "context_overflow"), (refused, "auth")):
        assert result.code == 1
        met(result.lines, printed, "error", "turn.end")
        (trouble,) = [line["data"] for line in result.lines if line["type"] == "error"]
        assert trouble["kind"] == kind
    met(logged(plimsoll_home, refused.lines[0]["session"]), printed, "user.message", "error")
    sizes = next(line["data"] for line in too_large.lines if line["type"] == "error")
    assert 0 < sizes["limit"] < sizes["requested"]


def test_damage_to_a_real_line_is_noticed(plimsoll: Plimsoll, printed: Any) -> None:
    start, *_ = plimsoll("run", "when is low water?", *OFFLINE).lines
    assert problems(start, printed) == []
    del start["data"]["cwd"]
    assert problems(start, printed) != []
