"""Trim: the head of an old result stays, and nothing of the present turn is touched."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic_ai.messages import BinaryContent, ModelMessage, ModelRequest, ToolReturnPart

from tests.context.histories import as_items, messages, retry_prompt
from tests.context.stages.stage_kit import (
    applied,
    call,
    check,
    from_json,
    names,
    only,
    result,
    said,
    view,
    words,
)
from tui_app.context.policy import SLIDING_WINDOW_MARKER, Offload, Trim
from tui_app.context.tool_results.archive import digest_message
from tui_app.context.tool_results.normalise import trim
from tui_app.context.tool_results.offload import offload
from tui_app.context.view import Item, Rewrite

LONG = "0123456789" * 300
AT_ONCE = Trim(keep_messages=0, marker=SLIDING_WINDOW_MARKER)
WINDOW = Trim(keep_messages=2, marker=SLIDING_WINDOW_MARKER)


def run(items: list[Item], settings: Trim | None = None) -> Rewrite | None:
    chosen = settings or Trim()
    return check(items, lambda given: trim(given, chosen))


def keys(rewrite: Rewrite | None) -> list[int]:
    return [change.key for change in rewrite.changes] if rewrite is not None else []


def test_everything_in_front_of_the_latest_prompt_is_cut() -> None:
    old = [said(), call("a"), result("a", LONG), words()]
    items = view(*old, said("now"), call("b"), result("b", LONG))
    rewrite = run(items)
    assert keys(rewrite) == [3]
    assert only(rewrite).content == LONG[:2_000] + (
        '\n[… trimmed: 3,000 characters in all; search_history "#3" has all of it …]'
    )
    assert rewrite is not None
    assert rewrite.changes[0].note == "trimmed from 3,000 characters"


def test_a_digest_does_not_begin_a_turn() -> None:
    items = view(said(), call("a"), result("a", LONG), digest_message("x"), call("b"), result("b", LONG))
    assert run(items) is None
    assert keys(run(view(*(item.message for item in items), said("now")))) == [3, 6]


def test_without_a_prompt_all_is_the_present_turn() -> None:
    assert run(view(call("a"), result("a", LONG), words())) is None


def test_the_sliding_window_keeps_its_exact_form() -> None:
    items = view(said(), call("a"), result("a", LONG), call("b"), result("b", LONG))
    rewrite = run(items, WINDOW)
    assert keys(rewrite) == [3]
    assert only(rewrite).content == LONG[:2_000] + "\n[… cut here; 3000 characters in all]"


def test_results_of_one_answer_are_one_message() -> None:
    items = view(said(), call("a"), result("a", LONG), call("b", "c"), result("b", LONG), result("c", LONG))
    assert keys(run(items, WINDOW)) == [3]
    assert keys(run(items, Trim(keep_messages=1))) == [3]
    assert keys(run(items, Trim(keep_messages=0))) == [3, 5, 6]
    assert keys(run(items, Trim(keep_messages=100))) == []


def test_sections_of_one_message_are_one_message() -> None:
    whole = ModelRequest(parts=[*result("b", LONG).parts, *said().parts])
    front = view(said(), call("a"), result("a", LONG), call("b"))
    parts = [Item(5, result("b", LONG), whole=whole), Item(6, said(), whole=whole)]
    assert keys(trim([*front, *parts], Trim(keep_messages=1))) == [3]


def test_structured_content_is_measured_and_cut_as_json() -> None:
    content = {"rows": ["x" * 10] * 300}
    rewrite = run(view(said(), call("a"), result("a", content), words(), said("now")), WINDOW)
    text = only(rewrite).content
    assert text.startswith('{"rows":["xxxxxxxxxx",')
    assert text.endswith("\n[… cut here; 3910 characters in all]")
    assert len(text) == 2_000 + len("\n[… cut here; 3910 characters in all]")


def test_what_would_not_become_smaller_stays() -> None:
    marked = 2_000 + len("\n[… cut here; 2000 characters in all]")
    for size in (1_999, 2_000, marked):
        assert run(view(said(), call("a"), result("a", "x" * size)), AT_ONCE) is None
    rewrite = run(view(said(), call("a"), result("a", "x" * (marked + 1))), AT_ONCE)
    assert len(only(rewrite).content) == marked


def test_zero_trims_nothing() -> None:
    assert run(view(said(), call("a"), result("a", LONG), said("now")), Trim(chars=0)) is None


def test_errors_are_cut_and_stay_errors() -> None:
    legacy = ModelRequest(parts=[retry_prompt(LONG, tool="read", call_id="a")])
    part = only(run(view(said(), call("a"), legacy, said("now"))))
    assert (part.outcome, part.tool_name, part.tool_call_id) == ("retried", "read", "a")
    failed = only(run(view(said(), call("a"), result("a", LONG, outcome="failed"), said("now"))))
    assert failed.outcome == "failed"


def test_results_with_files_stay_whole() -> None:
    image = BinaryContent(b"\x89PNG", media_type="image/png")
    assert run(view(said(), call("a"), result("a", [LONG, image]), said("now"))) is None


def test_a_smaller_limit_later_still_tells_the_real_length() -> None:
    items = view(said(), call("a"), result("a", LONG), said("now"))
    first = run(items)
    assert first is not None
    second = run(applied(items, first), Trim(chars=500))
    assert "trimmed: 3,000 characters in all" in only(second).content


def test_the_path_of_an_offloaded_result_survives() -> None:
    items = view(said(), call("a"), result("a", ("y" * 450 + "\n") * 1_000), said("now"))
    moved = offload(items, Offload(), len, names())
    assert moved is not None
    content = only(run(applied(items, moved))).content
    assert moved.files[0].name in content
    assert f"{451_000:,} characters in all" in content


def test_foreign_metadata_and_stored_results_are_not_trimmed_twice() -> None:
    for metadata in (["theirs"], None):
        items = view(said(), call("a"), result("a", LONG * 10, metadata=metadata))
        rewrite = trim(items, AT_ONCE)
        assert rewrite is not None
        after = applied(items, rewrite)
        assert trim(after, AT_ONCE) is None
        bare = ToolReturnPart("read", only(rewrite).content, "a")
        assert trim(view(said(), call("a"), ModelRequest(parts=[bare])), AT_ONCE) is None
        assert trim([Item(item.key, from_json(item.message)) for item in after], AT_ONCE) is None


@pytest.mark.parametrize("marker", ["{size}", "{length", "{}", "{length:zz}", "{length.real}"])
def test_a_marker_is_a_template_of_length_and_key(marker: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        Trim(marker=marker)


def test_negative_sizes_are_refused() -> None:
    with pytest.raises(ValueError, match="negative"):
        Trim(chars=-1)
    with pytest.raises(ValueError, match="negative"):
        Trim(keep_messages=-1)


@given(
    messages(),
    st.integers(0, 60),
    st.one_of(st.none(), st.integers(0, 4)),
    st.sampled_from([Trim().marker, SLIDING_WINDOW_MARKER, "", "{{{length:>9,}}} {key}{key}"]),
)
def test_any_history(history: list[ModelMessage], chars: int, keep: int | None, marker: str) -> None:
    run(as_items(history), Trim(chars=chars, keep_messages=keep, marker=marker))


def test_an_earlier_failure_that_nothing_has_solved_stays_whole() -> None:
    def ran(command: str, text: str) -> list[ModelMessage]:
        args = {"command": command}
        return [call(command, tool="run_command", args=args), result(command, text, tool="run_command")]

    broken = f"{LONG}\nmake: *** [all] Error 1\nExit code 2"
    items = view(said(), *ran("make", broken), *ran("ls", LONG), words(), said(), words())
    assert keys(run(items)) == [5]
    solved = view(*(item.message for item in items), *ran("make", "fine"))
    assert keys(run(solved)) == [3, 5]
    assert keys(run(items, WINDOW)) == [3, 5], "a policy that keeps a number of messages knows no failures"
