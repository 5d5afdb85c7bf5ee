"""Archiving: which results are archived, their stubs, and the digest, which a model may write."""

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic_ai import Agent
from pydantic_ai.messages import (
    BinaryContent,
    ModelMessage,
    ModelRequest,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models.function import AgentInfo, FunctionModel

from tests.context.governor_kit import plain_counter
from tests.context.histories import as_items, complaints, long_conversation, messages
from tests.context.tool_results.kit import (
    applied,
    call,
    check,
    from_json,
    names,
    only,
    result,
    said,
    steps,
    view,
    words,
)
from tui_app.context.counting.expenses import Spent
from tui_app.context.history import ListHistory
from tui_app.context.message_marks import DIGEST_HEADING, is_archived, is_digest, is_digest_part, mark_of
from tui_app.context.policy import RESERVE, Archive, Offload
from tui_app.context.tool_results.archive import (
    archived,
    digest_input,
    digest_message,
    heuristic_digest,
    to_archive,
)
from tui_app.context.tool_results.offload import offload
from tui_app.context.tool_results.stages import StageHost, StageRunner
from tui_app.context.views.rewrites import Digest, Rewrite
from tui_app.context.views.view import Item, to_messages
from tui_app.events import Payload, ToolArchived
from tui_app.system.secrets import MASK

# Which results are archived, their stubs, and what the digest contains.


TEXT = "a result that is long enough to be worth a stub in its place. " * 4


def run(items: Sequence[Item], settings: Archive) -> Rewrite | None:
    def stage(given: Sequence[Item]) -> Rewrite | None:
        chosen = to_archive(given, settings)
        return archived(chosen, heuristic_digest(chosen, given)) if chosen else None

    return check(items, stage)


def keys(items: Sequence[Item], settings: Archive | None = None) -> list[int]:
    chosen = settings or Archive(cutoff=2)
    run(items, chosen)
    return [item.key for item in to_archive(items, chosen)]


def texts(count: int) -> list[str]:
    return [f"{number}: {TEXT}" for number in range(1, count + 1)]


def test_ten_results_stay_visible() -> None:
    assert keys(view(said(), *steps(*texts(10)), words()), Archive()) == []
    assert keys(view(said(), *steps(*texts(12)), words()), Archive()) == [3, 5]


def test_a_stub_keeps_tool_call_and_outcome() -> None:
    items = view(said(), call("x"), result("x", TEXT, outcome="failed"), *steps(*texts(2)), words())
    part = only(run(items, Archive(cutoff=2)))
    assert (part.tool_name, part.tool_call_id, part.outcome) == ("read", "x", "failed")
    assert (
        part.content
        == '[Result archived: see the tool digest further down; search_history "#3" brings it back]'
    )
    assert is_archived(part)
    assert mark_of(part) == {
        "kind": "tool_result_archived",
        "stages": ["archive"],
        "length": len(TEXT),
    }
    bare = archived(items[2:3], "x", handles=False)
    assert only(bare).content == "[Result archived: see the tool digest further down]"


def test_one_digest_for_all_of_them() -> None:
    items = view(said("find it"), *steps(*texts(5)), words())
    rewrite = run(items, Archive(cutoff=2))
    assert rewrite is not None
    assert [change.key for change in rewrite.changes] == [3, 5, 7]
    assert rewrite.digest is not None
    text = rewrite.digest.parts[0].content  # type: ignore[union-attr]
    assert str(text).startswith("[Digest of tool results]\n")
    assert [line.split()[0] for line in str(text).split("\n")[3:]] == ["#3", "#5", "#7"]
    assert rewrite.digest.metadata == {"plimsoll": {"kind": "tool_summary"}}
    assert complaints([*to_messages(applied(items, rewrite)), said()]) == []


def as_items_from(key: int, history: Sequence[ModelMessage]) -> list[Item]:
    return [Item(key + place, message) for place, message in enumerate(history)]


def test_results_of_the_newest_answer_stay() -> None:
    results = [result(one, TEXT) for one in ("a", "b", "c", "d")]
    items = view(said(), *steps(*texts(1)), call("a", "b", "c", "d"), *results)
    assert keys(items, Archive(cutoff=0)) == [3]
    assert keys(view(*(item.message for item in items), words()), Archive(cutoff=0)) == [3, 5, 6, 7, 8]


def test_what_was_brought_back_in_this_turn_stays() -> None:
    back = [call("h", tool="search_history"), result("h", TEXT, tool="search_history")]
    turn = [said("now"), *back, *steps(*texts(4)), words()]
    assert keys(view(*turn)) == [5, 7]
    assert keys(view(*turn, said("next"))) == [3, 5, 7]


def test_results_without_a_known_call_stay() -> None:
    stray = result("ghost", TEXT)
    twice = ModelRequest(parts=[*result("x", TEXT).parts, *result("x", TEXT).parts])
    items = view(said(), stray, call("x"), twice, call("open"), *steps(*texts(3)), words())
    assert keys(items, Archive(cutoff=0)) == [7, 9, 11]


def test_short_results_and_files_stay_and_do_not_push_newer_ones_out() -> None:
    image = BinaryContent(b"\x89PNG", media_type="image/png")
    light = ["ok", [TEXT, image], "done"]
    assert keys(view(said(), *steps(*light, *texts(2)), words())) == []
    assert keys(view(said(), *steps(*light, *texts(3)), words())) == [9]
    assert keys(view(said(), *steps(*texts(1), *light, *texts(1)), words())) == [3]


def test_strategy_off() -> None:
    assert keys(view(said(), *steps(*texts(12)), words()), Archive(strategy="off")) == []


def test_a_message_with_many_results_leaves_whole() -> None:
    many = ModelRequest(parts=[ToolReturnPart("read", TEXT, one) for one in ("a", "b", "c")])
    items = view(said(), call("a", "b", "c"), many, *steps(*texts(2)), words())
    rewrite = run(items, Archive(cutoff=4))
    assert rewrite is not None
    assert [change.key for change in rewrite.changes] == [3]
    assert all(is_archived(part) for part in rewrite.changes[0].message.parts)


def test_nothing_to_archive_needs_no_digest() -> None:
    assert archived((), "x") == Rewrite(stage="archive", changes=())
    assert archived(view(result("a", "ok")), "x") == Rewrite(stage="archive", changes=())


def test_foreign_metadata_is_kept_and_the_stub_known_by_its_mark() -> None:
    items = view(said(), call("x"), result("x", TEXT, metadata=["theirs"]), words())
    part = only(archived(items[2:3], "x"))
    assert mark_of(part)["metadata"] == ["theirs"]
    assert is_archived(part)
    assert not is_archived(ToolReturnPart("read", part.content, "x")), "a file that says the same"


def test_a_digest_is_nothing_a_person_said() -> None:
    digest = digest_message("#3 read: x")
    assert is_digest(digest)
    assert is_digest(from_json(digest))
    assert is_digest(ModelRequest(parts=digest.parts)), "pydantic-ai drops metadata when it merges requests"
    assert is_digest(ModelRequest(parts=[*digest.parts, *digest.parts]))
    assert is_digest(
        ModelRequest(parts=[UserPromptPart(f"{DIGEST_HEADING} of old")], metadata=digest.metadata)
    )
    assert not is_digest(said(f"{DIGEST_HEADING}\nwhat is this line for?"))
    assert not is_digest(ModelRequest(parts=[*digest.parts, *said().parts], metadata=digest.metadata))
    assert not is_digest(ModelRequest(parts=said().parts, metadata=digest.metadata))
    assert not is_digest(ModelRequest(parts=[]))
    assert not is_digest(words(str(digest.parts[0].content)))  # type: ignore[union-attr]


async def test_marks_survive_a_run_that_merges_requests() -> None:
    items = view(said(), *steps(*texts(3)))
    rewrite = archived(to_archive(items, Archive(cutoff=1)), "notes")
    history = to_messages(applied(items, rewrite))
    seen: list[ModelMessage] = []

    def answer(sent: list[ModelMessage], _info: AgentInfo) -> ModelResponse:
        seen.extend(sent)
        return ModelResponse(parts=[TextPart("done")])

    await Agent(FunctionModel(answer)).run("next", message_history=history)
    results = [part for message in seen for part in message.parts if isinstance(part, ToolReturnPart)]
    assert [is_archived(part) for part in results] == [True, True, False]
    prompts = [part for message in seen for part in message.parts if isinstance(part, UserPromptPart)]
    assert [is_digest_part(part) for part in prompts] == [False, True, False]


@pytest.mark.parametrize("wrong", [{"cutoff": -1}, {"batch": 0}])
def test_sizes_are_checked(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="allowed: a whole number"):
        Archive(**wrong)


@given(messages(max_size=30), st.integers(0, 4))
def test_any_history(history: list[ModelMessage], cutoff: int) -> None:
    run(as_items(history), Archive(cutoff=cutoff))


@given(st.lists(st.sampled_from([2, 5, 300]), max_size=30), st.integers(0, 8))
def test_the_newest_results_stay_and_older_ones_leave_first(sizes: list[int], cutoff: int) -> None:
    items = view(said(), *steps(*("x" * size for size in sizes)), words())
    chosen = keys(items, Archive(cutoff=cutoff))
    every = [2 * place + 3 for place in range(len(sizes))]
    heavy = [key for key, size in zip(every, sizes, strict=True) if size == 300]
    assert chosen == heavy[: len(chosen)]
    stays = heavy[len(chosen) :]
    visible = [key for key in every if stays and key >= stays[0]]
    assert len(visible) <= cutoff
    assert not set(chosen) & set(every[len(every) - cutoff :])


def test_a_failure_that_nothing_has_solved_stays() -> None:
    def ran(command: str, text: str) -> list[ModelMessage]:
        args = {"command": command}
        return [call(command, tool="run_command", args=args), result(command, text, tool="run_command")]

    broken = f"{TEXT}\nExit code 2"
    items = view(said(), *ran("make", broken), *ran("make docs", broken), *steps(*texts(4)), words())
    assert keys(items, Archive(cutoff=1)) == [7, 9, 11], "and it does not count"
    mended = view(*(item.message for item in items), *ran("make docs", TEXT), said(), words())
    assert keys(mended, Archive(cutoff=1)) == [5, 7, 9, 11, 13]
    many = [message for number in range(8) for message in ran(f"make part{number}", broken)]
    assert keys(view(said(), *many, *steps(*texts(1)), words()), Archive(cutoff=0)) == [3, 5, 7, 19], (
        "whoever leaves eight failures behind is not going to mend the oldest"
    )


def test_what_a_person_declined_stays() -> None:
    items = view(said(), call("x"), result("x", TEXT, outcome="denied"), *steps(*texts(3)), words())
    assert keys(items, Archive(cutoff=1)) == [5, 7]


# The digest of archived results: its lines, and the input for a model that writes it.


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
    assert heuristic_digest(chosen, items).split("\n") == [
        '#3 grep "sunday" in src · 7 hits: src/a.py:3: sunday = 6 … src/c.py:1: sunday',
        "#5 run_command pytest -q · failed: E boom … 1 failed",
    ]
    assert heuristic_digest(chosen).startswith("#3 grep · 7 hits: ")


def test_an_offloaded_result_is_named_with_its_file() -> None:
    items = view(said(), call("a"), result("a", TEXT * 1_000), words())
    moved = offload(items, Offload(tokens=50), len, names())
    assert moved is not None
    after = applied(items, moved)
    line = heuristic_digest(after[2:3], after)
    assert f"{len(TEXT) * 1_000:,} characters in {moved.files[0].name}" in line
    part = only(archived(after[2:3], "x"))
    assert mark_of(part)["file"] == moved.files[0].name
    assert mark_of(part)["stages"] == ["offload", "archive"]
    assert mark_of(part)["length"] == len(TEXT) * 1_000


def test_of_many_lines_the_first_and_the_last_stay() -> None:
    items = view(said(), *steps(*(f"{number}: {TEXT}" for number in range(40))))
    chosen = to_archive([*items, Item(99, words())], Archive(cutoff=0))
    lines = heuristic_digest(chosen, items).split("\n")
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
    digest = heuristic_digest((items[2], items[4]), items)
    assert MASK in digest
    for start in range(0, len(key) - 12, 4):
        assert key[start : start + 12] not in digest


def test_the_material_for_a_model_is_shared_fairly_and_masked() -> None:
    secret = "api_key = 'sk-proj-" + "A1b2C3d4E5f6G7h8" * 3 + "'"
    items = view(said(), *steps("short", f"{secret}\n" + "x" * 100_000, "y" * 100_000))
    chosen = tuple(items[2::2])
    text = digest_input(chosen, items)
    assert 11_500 < len(text) <= 12_000
    assert "#3 read · 1 line\nshort" in text
    assert abs(text.count("x") - text.count("y")) < 300
    assert MASK in text
    assert "A1b2C3d4" not in text


@given(st.lists(st.text(max_size=3_000), max_size=60), st.integers(1, 900))
def test_no_digest_is_longer_than_it_may_be(contents: list[str], limit: int) -> None:
    items = view(said(), *steps(*contents))
    assert len(heuristic_digest(items[2::2], items, limit)) <= limit
    assert len(digest_input(items[2::2], items, limit)) <= limit


def test_calls_of_a_broken_kind_do_no_harm() -> None:
    broken = ModelResponse(parts=[ToolCallPart("read", "{not json", "a")])
    items = view(said(), broken, result("a", TEXT), words())
    assert "#3 read" in heuristic_digest(items[2:3], items)


# Digests by a model: asked once, and used only if the answer has content.


@pytest.mark.asyncio
@pytest.mark.parametrize(
    ("answer", "performed_by", "chars"),
    [
        ("- #3: found", "model", None),
        ("- #3: found " * 500, "model", 1_200),
        (" \n", "heuristic", None),
        (None, "heuristic", None),
        (ValueError("no"), "heuristic", None),
    ],
)
async def test_one_model_call_for_all_that_leaves(
    answer: str | Exception | None, performed_by: str, chars: int | None
) -> None:
    asked: list[tuple[str, int]] = []

    async def ask(material: str, chars: int) -> Digest | None:
        asked.append((material, chars))
        if isinstance(answer, Exception):
            raise answer
        return None if answer is None else Digest(text=answer, model="m", spent=Spent(input_tokens=7))

    heard: list[Payload] = []
    view = ListHistory(plain_counter(), heard.append)
    view.sync(long_conversation(14, size=2_000))
    around = StageHost(digest=ask)
    await StageRunner(policy=RESERVE, history=view, count=len, around=around).make_room()
    assert [len(material) <= limit * 10 == 12_000 for material, limit in asked] == [True]
    (event,) = [event for event in heard if isinstance(event, ToolArchived)]
    assert len(event.changes) == 4, "above ten, until ten stay"
    assert (event.performed_by, event.policy) == (performed_by, "reserve")
    assert event.input_tokens == (7 if isinstance(answer, str) else 0)
    (item,) = [item for item in view.items() if is_digest(item.message)]
    text = str(item.message.parts[0].content)  # type: ignore[union-attr]
    assert chars is None or len(text.partition("\n\n")[2]) == chars
