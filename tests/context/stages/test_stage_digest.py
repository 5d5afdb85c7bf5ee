"""The digest of archived results: its lines, and the material for a model that writes it."""

from hypothesis import given
from hypothesis import strategies as st
from pydantic_ai.messages import ModelResponse, ToolCallPart

from tests.context.stages.stage_kit import applied, call, names, only, result, said, steps, view, words
from tui_app.context.message_marks import mark_of
from tui_app.context.policy import Archive, Offload
from tui_app.context.secrets import MASK
from tui_app.context.tool_results.archive import (
    archived,
    clip_digest,
    digest_input,
    heuristic_digest,
    to_archive,
)
from tui_app.context.tool_results.offload import offload
from tui_app.context.view import Item

TEXT = "a result that is long enough to be worth a stub in its place. " * 4


def test_a_line_says_tool_subject_outcome_and_both_ends() -> None:
    hits = "src/a.py:3: sunday = 6\nsrc/b.py:9: # sunday\n" + "src/c.py:1: sunday\n" * 5
    items = view(
        said(),
        call("a", tool="grep", args={"pattern": "sunday", "path": "src"}),
        result("a", hits, tool="grep"),
        call("b", tool="run_command", args='{"command": "pytest -q"}'),
        result("b", "E   boom\n\n1 failed\n" + " " * 100, tool="run_command", outcome="failed"),
    )
    chosen = (items[2], items[4])
    assert heuristic_digest(chosen, Archive(), items).split("\n") == [
        '#3 grep "sunday" in src · 7 hits: src/a.py:3: sunday = 6 … src/c.py:1: sunday',
        "#5 run_command pytest -q · failed: E boom … 1 failed",
    ]
    assert heuristic_digest(chosen, Archive()).startswith("#3 grep · 7 hits: ")


def test_an_offloaded_result_is_named_with_its_file() -> None:
    items = view(said(), call("a"), result("a", TEXT * 1_000), words())
    moved = offload(items, Offload(tokens=50), len, names())
    assert moved is not None
    after = applied(items, moved)
    line = heuristic_digest(after[2:3], Archive(), after)
    assert f"{len(TEXT) * 1_000:,} characters in {moved.files[0].name}" in line
    part = only(archived(after[2:3], "x"))
    assert mark_of(part)["file"] == moved.files[0].name
    assert mark_of(part)["stages"] == ["offload", "archive"]
    assert mark_of(part)["length"] == len(TEXT) * 1_000


def test_of_many_lines_the_first_and_the_last_stay() -> None:
    items = view(said(), *steps(*(f"{number}: {TEXT}" for number in range(40))))
    chosen = to_archive([*items, Item(99, words())], Archive(cutoff=0))
    lines = heuristic_digest(chosen, Archive(), items).split("\n")
    assert lines[0].startswith("#3 read")
    assert lines[-1].startswith("#81 read")
    assert any(line.startswith("[… ") and " more, #" in line for line in lines)
    assert len("\n".join(lines)) <= 800


def test_lines_without_a_model_hold_no_secret_either() -> None:
    key = "sk-proj-" + "A1b2C3d4E5f6G7h8" * 3
    long = "x" * 1_975 + " " + key + " end"
    items = view(
        said(),
        call("a", tool="run_command", args={"command": f"curl -H 'Authorization: Bearer {key}'"}),
        result("a", f"OPENAI_API_KEY={key}\nfine\ntoken: {key}", tool="run_command"),
        call("b", tool="read", args={"path": "log"}),
        result("b", f"{long}\n{long}", tool="read"),
    )
    digest = heuristic_digest((items[2], items[4]), Archive(), items)
    assert MASK in digest
    for start in range(0, len(key) - 12, 4):
        assert key[start : start + 12] not in digest


def test_the_material_for_a_model_is_shared_fairly_and_masked() -> None:
    secret = "api_key = 'sk-proj-" + "A1b2C3d4E5f6G7h8" * 3 + "'"
    items = view(said(), *steps("short", f"{secret}\n" + "x" * 100_000, "y" * 100_000))
    chosen = tuple(items[2::2])
    text = digest_input(chosen, Archive(), items)
    assert 11_500 < len(text) <= 12_000
    assert "#3 read · 1 line\nshort" in text
    assert abs(text.count("x") - text.count("y")) < 300
    assert MASK in text
    assert "A1b2C3d4" not in text


def test_what_a_model_wrote_is_clipped() -> None:
    assert clip_digest("  notes \n", Archive()) == "notes"
    assert len(clip_digest("n" * 5_000, Archive())) <= 1_200


@given(st.lists(st.text(max_size=3_000), max_size=60), st.integers(1, 900))
def test_no_digest_is_longer_than_it_may_be(contents: list[str], limit: int) -> None:
    items = view(said(), *steps(*contents))
    settings = Archive(digest_chars=limit, llm_input_chars=limit, llm_output_chars=limit)
    assert len(heuristic_digest(items[2::2], settings, items)) <= limit
    assert len(digest_input(items[2::2], settings, items)) <= limit
    assert len(clip_digest("".join(contents), settings)) <= limit


def test_calls_of_a_broken_kind_do_no_harm() -> None:
    broken = ModelResponse(parts=[ToolCallPart("read", "{not json", "a")])
    items = view(said(), broken, result("a", TEXT), words())
    assert "#3 read" in heuristic_digest(items[2:3], Archive(), items)
