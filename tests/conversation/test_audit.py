"""Audits: what compactions by other programs lost, in made-up transcripts whose losses are known."""

import json
from pathlib import Path
from time import process_time
from typing import Any

import pytest

from tests.session.importing import foreign
from tests.session.importing.foreign import Script, call, text
from tui_app.context.policy import PRESETS
from tui_app.conversation.audits.audit import Audit, audit, report, with_policies
from tui_app.conversation.audits.transcript import recorded_file

REQUEST = "Build the ferry timetable."
RULE, STAYS = "Never touch the legacy importer.", "Always use tabs in table.py."
ERROR = "FAILED tests/test_tides.py::test_low - AssertionError: 4 != 5"
INVENTED = "The file src/harbour_master.py was deleted."
SUMMARY = f"The user wants a ferry timetable. {STAYS} `src/table.py` was edited.\n\n{INVENTED}"


def claude(folder: Path, summary: str = SUMMARY, trigger: str = "auto") -> Path:
    """Write a Claude Code transcript with a compaction.

    It contains rules, an open error and an edited file. The summary keeps one rule and the file, and invents
    a deletion.
    """
    script = Script()
    script.user(f"{REQUEST} {RULE} {STAYS}")
    script.says("m1", text("I edit the table."), call("c1", "Edit", file_path="src/table.py",
                old_string="a", new_string="b"))  # fmt: skip
    script.returns("c1", "The file src/table.py has been updated.")
    script.says("m2", call("c2", "Bash", command="pytest -q tests/test_tides.py"))
    script.user([foreign.result("c2", f"{ERROR}\n1 failed\n[exit code 1]", is_error=True)])
    script.says("m3", text("One test fails."))
    script.compacts(summary, trigger)
    script.user("Go on.")
    script.says("m4", text("Going on."))
    return script.write(folder)


def codex(folder: Path, *, keeps_prompt: bool, old: bool = False) -> Path:
    """Write the same conversation as a Codex rollout; Codex can keep prompts next to its summary."""

    def item(**payload: Any) -> foreign.Json:
        return {"timestamp": foreign.T0.format(1), "type": "response_item", "payload": payload}

    def said(role: str, words: str) -> foreign.Json:
        kind = "output_text" if role == "assistant" else "input_text"
        return {"type": "message", "role": role, "content": [{"type": kind, "text": words}]}

    prompt = f"{REQUEST} {RULE} {STAYS}"
    history = [said("user", prompt)] if keeps_prompt else []
    compacted: foreign.Json = {"message": SUMMARY}
    if not old:
        compacted["replacement_history"] = [*history, said("user", SUMMARY)]
    output = json.dumps({"output": f"{ERROR}\n1 failed", "metadata": {"exit_code": 1}})
    records = [
        foreign.codex()[0],
        item(**said("user", prompt)),
        item(type="function_call", name="shell", call_id="c2",
             arguments=json.dumps({"command": ["pytest", "-q", "tests/test_tides.py"]})),
        item(type="function_call_output", call_id="c2", output=output),
        item(**said("assistant", "One test fails.")),
        {"timestamp": foreign.T0.format(9), "type": "compacted", "payload": compacted},
        item(**said("user", "Go on.")),
    ]  # fmt: skip
    path = folder / "rollout.jsonl"
    path.write_bytes(foreign.jsonl(records))
    return path


def texts(told: list[dict[str, str]]) -> list[str]:
    return [each["text"] for each in told]


def audited(path: Path) -> dict[str, Any]:
    (found,) = audit(recorded_file(path)).to_json()["compactions"]
    return dict(found)


def test_what_claude_code_lost(tmp_path: Path) -> None:
    found = audit(recorded_file(claude(tmp_path))).to_json()
    (compaction,) = found["compactions"]
    assert (found["format"], found["messages"]) == ("claude-code", 8)
    assert (compaction["trigger"], compaction["message"], compaction["way_back"]) == ("automatic", 6, False)
    assert (compaction["messages_before"], compaction["messages_after"]) == (6, 1)
    assert compaction["tokens_before"] > compaction["tokens_after"] > 0
    assert (compaction["reported_before"], compaction["reported_after"]) == (171_000, None)
    assert texts(compaction["rules_gone"]) == [REQUEST, RULE], "all that the user said and that is gone"
    (error,) = compaction["errors_gone"]
    assert "pytest -q tests/test_tides.py" in error["text"]
    assert error["state"] == "lost"
    assert compaction["facts"]["request"] == {"kept": 1, "recoverable": 0, "lost": 2}
    assert compaction["facts"]["error"] == {"kept": 0, "recoverable": 0, "lost": 1}
    assert compaction["facts"]["file"] == {"kept": 1, "recoverable": 0, "lost": 0}
    assert (compaction["claims"], compaction["statements"]) == ([INVENTED], 4)


def test_a_transcript_that_is_named_is_a_way_back(tmp_path: Path) -> None:
    named = f"{SUMMARY}\n\nFor details read the full transcript at: /home/ann/.claude/projects/shop/s1.jsonl"
    compaction = audited(claude(tmp_path, named, "manual"))
    assert (compaction["trigger"], compaction["way_back"]) == ("manual", True)
    assert compaction["facts"]["request"] == {"kept": 1, "recoverable": 2, "lost": 0}
    assert texts(compaction["rules_gone"]) == [REQUEST, RULE], (
        "gone word for word, though it can be read again"
    )


@pytest.mark.parametrize(
    ("options", "gone"),
    [
        ({"keeps_prompt": False}, [REQUEST, RULE]),
        ({"keeps_prompt": True}, []),
        ({"keeps_prompt": True, "old": True}, []),
    ],
)
def test_what_codex_lost(tmp_path: Path, options: dict[str, bool], gone: list[str]) -> None:
    """Kept prompts are in view; otherwise newer files name them as removed, and old files do not."""
    compaction = audited(codex(tmp_path, **options))
    assert compaction["trigger"] is None
    assert texts(compaction["rules_gone"]) == gone
    assert compaction["facts"]["error"] == {"kept": 0, "recoverable": 0, "lost": 1}
    assert INVENTED in compaction["claims"]
    assert compaction["messages_after"] == (1 if gone else 2)


def test_a_stretch_that_claude_code_keeps_stays_in_view(tmp_path: Path) -> None:
    script = Script()
    script.user(RULE)
    script.says("m1", text("Yes."))
    head = script.user(STAYS)
    script.says("m2", text("Tabs it is."))
    script.compacts("They talked about tabs.")
    script.records[-2]["compactMetadata"]["preservedSegment"] = {"headUuid": head}
    compaction = audited(script.write(tmp_path))
    assert (compaction["messages_before"], compaction["messages_after"]) == (4, 3)
    assert texts(compaction["rules_gone"]) == [RULE]


def test_what_is_lost_is_counted_once(tmp_path: Path) -> None:
    """A second compaction is not blamed for what the first one lost, only for what the first had kept."""
    script = Script()
    script.user(f"{RULE} {STAYS}")
    script.says("m1", text("Yes."))
    script.compacts(STAYS)
    script.user("Go on.")
    script.says("m2", text("Done."))
    script.compacts("The user said: Go on.")
    found = audit(recorded_file(script.write(tmp_path)))
    assert [[each.text for each in compaction.lost_facts("request")] for compaction in found.compactions] == [
        [RULE],
        [STAYS],
    ]
    assert found.to_json()["total"]["rules_gone"] == 2


def test_an_invention_does_not_prove_itself(tmp_path: Path) -> None:
    script = Script()
    script.user("Build the ferry timetable.")
    script.says("m1", text("Done."))
    for number in (1, 2):
        script.compacts(f"The ferry timetable was built.\n\n{INVENTED}")
        script.user("Go on.")
        script.says(f"m1{number}", text("Done."))
    for compaction in audit(recorded_file(script.write(tmp_path))).compactions:
        assert compaction.claims == (INVENTED,)


async def compared(found: Audit) -> Audit:
    return await with_policies(found, list(PRESETS.values()), lambda *_: None)


async def test_policies_are_asked_for_the_same_facts(tmp_path: Path) -> None:
    found = await compared(audit(recorded_file(claude(tmp_path))))
    (compaction,) = found.to_json()["compactions"]
    assert [each["policy"] for each in compaction["policies"]] == list(PRESETS)
    facts = {kind: sum(states.values()) for kind, states in compaction["facts"].items()}
    for each in compaction["policies"]:
        assert {kind: sum(states.values()) for kind, states in each["facts"].items()} == facts
    # Everything is small, so nothing had to be removed.
    assert compaction["policies"][0]["facts"]["request"] == {"kept": 3, "recoverable": 0, "lost": 0}
    assert found.window >= compaction["tokens_before"]


async def test_a_conversation_without_compactions_has_none(tmp_path: Path) -> None:
    path = foreign.valid_script().write(tmp_path)
    found = await compared(audit(recorded_file(path)))
    assert (found.compactions, found.window, found.to_json()["total"]["compactions"]) == ((), 0, 0)


def test_totals_are_those_of_the_parts(tmp_path: Path) -> None:
    (tmp_path / "more").mkdir()
    found = report([audit(recorded_file(claude(tmp_path))), audit(recorded_file(claude(tmp_path / "more")))])
    parts = [compaction for each in found["audits"] for compaction in each["compactions"]]
    assert found["total"]["compactions"] == len(parts) == 2
    for key in ("tokens_before", "tokens_after", "statements"):
        assert found["total"][key] == sum(part[key] for part in parts)
    for key in ("rules_gone", "errors_gone", "claims"):
        assert found["total"][key] == sum(len(part[key]) for part in parts)
    for kind, states in found["total"]["facts"].items():
        assert states == {state: sum(part["facts"][kind][state] for part in parts) for state in states}
    for part in parts:
        gone = len(part["rules_gone"]) + len(part["errors_gone"]) + len(part["others_gone"])
        assert gone == sum(states["recoverable"] + states["lost"] for states in part["facts"].values())


def long(folder: Path, turns: int, *, every: int) -> Path:
    script = Script()
    script.user(f"{RULE} {STAYS}")
    for number in range(turns):
        script.says(
            f"m{number}", text(f"Step {number}."), call(f"c{number}", "Bash", command=f"ls src/{number}")
        )
        script.returns(f"c{number}", "\n".join(f"src/{number}/stop_{line}.py" for line in range(60)))
        if number % every == every - 1:
            script.compacts(f"The user said: {RULE} The folders up to src/{number} were listed.")
    return script.write(folder)


def test_the_time_it_takes_grows_with_the_file(tmp_path: Path) -> None:
    """Four times the input takes about four times as long, not sixteen."""

    def seconds(turns: int) -> float:
        recorded = recorded_file(long(tmp_path, turns, every=turns // 2))
        start = process_time()
        audit(recorded)
        return process_time() - start

    # Taking the minimum of two also covers warming up.
    small = min(seconds(100) for _ in range(2))
    assert any(seconds(400) < 8 * small + 0.5 for _ in range(2))
