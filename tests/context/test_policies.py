"""The built-in policies, row by row: sizes, exact trigger thresholds, what stays, and the wording."""

from dataclasses import FrozenInstanceError, replace
from typing import Any

import pytest
from pydantic_ai.messages import (
    CompactionPart,
    ModelMessage,
    ModelRequest,
    ModelResponse,
    SystemPromptPart,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)

from tests.context.governor_kit import Writer, tokens
from tests.context.histories import as_items, long_conversation
from tui_app.context.compaction.compactor import PlainHost, writers_for
from tui_app.context.compaction.plan import Plan, plan_compaction
from tui_app.context.counting.encodings import TextCounter
from tui_app.context.counting.image_tokens import IMAGE_TOKENS
from tui_app.context.policy import (
    BACKGROUND,
    OFF,
    PLIMSOLL,
    PRESETS,
    PROGRESSIVE,
    RESERVE,
    SLIDING_WINDOW,
    Archive,
    MessageLimit,
    NormaliseLimits,
    Offload,
    Pointers,
    Policy,
    Recent,
    TokenLimit,
    Trim,
    derive,
    framed,
)
from tui_app.context.summaries.extractive import ExtractiveSummariser, MarkerSummariser
from tui_app.context.summaries.prompt import RESULT_LIMIT
from tui_app.context.tool_results.archive import to_archive
from tui_app.context.tool_results.trim import trim
from tui_app.context.views.tool_pairs import pairs
from tui_app.context.views.view import Item
from tui_app.context.windows.windows import resolve_window
from tui_app.events import Trigger
from tui_app.usage import Breakdown, ContextUsage, ContextWindow

KNOWN = ContextWindow(limit=100_000, source="model")
UNKNOWN = resolve_window()
CUT = Trim(chars=2_000, keep_messages=2, marker="\n[… cut here; {length} characters in all]")


def at(total: int, *, messages: int = 10, window: ContextWindow = KNOWN) -> ContextUsage:
    return ContextUsage(parts=Breakdown(user=total), window=window, messages=messages)


def writers(policy: Policy, trigger: Trigger) -> list[str]:
    """Return the writer of a summary, followed by its fallbacks."""
    extractive = ExtractiveSummariser(len)
    chain = writers_for(policy, trigger, PlainHost((Writer(),), extractive))
    names = {Writer: "model", MarkerSummariser: "marker", ExtractiveSummariser: "heuristic"}
    return [names[type(each)] for each in chain]


@pytest.mark.parametrize(
    ("policy", "values"),
    [
        (
            PLIMSOLL,
            {
                "automatic": True, "background_threshold": 0.8, "blocking_threshold": 0.95,
                "minimum_messages": 4, "limit": None, "at_turn_end": False, "recent_share": 0.12,
                "user_share": 0.08, "facts_share": 0.12, "plan_share": 0.05, "summary_share": 0.1,
                "target_share": 0.25, "target_tokens": 40_000,
                "restore_files_share": 0.05, "summary_by": "llm",
                "fallback": "heuristic", "safety_margin": 0.05, "minimum_gain": 0.05, "breaker_after": 2,
            },
        ),
        (
            SLIDING_WINDOW,
            {
                "limit": MessageLimit(messages=40), "keep_first_run": True, "manual_keeps_recent": False,
                "summary_by": "llm", "fallback": "marker", "user_share": 0.0, "facts_share": 0.0,
                "plan_share": 0.0, "restore_files_share": 0.0,
                "at_turn_end": False,
            },
        ),
        (
            RESERVE,
            {
                "limit": TokenLimit(reserve=16_384, unknown=8_000, messages=50), "at_turn_end": True,
                "recent_tokens": 20_000, "recent_messages": 5, "summary_by": "llm", "fallback": "none",
                "automatic": True, "user_share": 0.0, "facts_share": 0.0, "plan_share": 0.0,
            },
        ),
        (
            BACKGROUND,
            {
                "background_threshold": 0.8, "blocking_threshold": 0.95, "minimum_messages": 4,
                "recent_share": 0.0, "limit": None, "summary_by": "llm", "fallback": "none",
                "user_share": 0.05, "facts_share": 0.0, "plan_share": 0.05,
            },
        ),
        (
            PROGRESSIVE,
            {
                "blocking_threshold": 0.95, "background_threshold": 0.95, "recent_share": 0.2,
                "summary_by": "llm", "fallback": "heuristic", "limit": None, "user_share": 0.0,
                "facts_share": 0.0, "plan_share": 0.0,
            },
        ),
        (OFF, {"automatic": False}),
    ],
    ids=lambda value: value.name if isinstance(value, Policy) else "",
)  # fmt: skip
def test_sizes(policy: Policy, values: dict[str, object]) -> None:
    assert {name: getattr(policy, name) for name in values} == values


@pytest.mark.parametrize(
    ("policy", "stages"),
    [
        (SLIDING_WINDOW, {"trim": CUT}),
        (
            RESERVE,
            {
                "normalise": NormaliseLimits(
                    lines=2_000, bytes=51_200, chars=204_800, spill_chars=204_800, mode="head_tail"
                ),
                "archive": Archive(cutoff=10, strategy="llm", batch=4, start=0.0),
            },
        ),
        (BACKGROUND, {}),
        (
            PROGRESSIVE,
            {"offload": Offload(tokens=20_000, preview_lines=10), "pointers": Pointers(threshold=0.85)},
        ),
        (OFF, {}),
    ],
    ids=lambda value: value.name if isinstance(value, Policy) else "",
)
def test_stages(policy: Policy, stages: dict[str, object]) -> None:
    names = ("normalise", "offload", "archive", "trim", "pointers")
    assert {name: own for name in names if (own := getattr(policy.stages, name)) is not None} == stages


@pytest.mark.parametrize(
    ("figure", "value"),
    [
        (RESULT_LIMIT, 1_800),
        (IMAGE_TOKENS, 1_200),
        (UNKNOWN.limit, 128_000),
        (TextCounter(None).count("four" * 100 + "!"), 101),
        (writers(SLIDING_WINDOW, "blocking"), ["model", "marker"]),
        (writers(SLIDING_WINDOW, "manual"), ["model"]),
        (writers(RESERVE, "turn_end"), ["model"]),
        (writers(RESERVE, "overflow"), ["model"]),
        (writers(BACKGROUND, "background"), ["model"]),
        (writers(PROGRESSIVE, "blocking"), ["model", "heuristic"]),
    ],
)
def test_figures_and_fallbacks_that_the_presets_rely_on(figure: object, value: object) -> None:
    assert figure == value


def test_every_stage_of_the_default_policy_runs() -> None:
    stages = PLIMSOLL.stages
    assert None not in (stages.normalise, stages.offload, stages.archive, stages.trim, stages.pointers)


@pytest.mark.parametrize(
    ("policy", "usage", "pressure"),
    [
        (PLIMSOLL, at(79_999), "none"),
        (PLIMSOLL, at(80_000), "background"),
        (PLIMSOLL, at(80_000, messages=3), "none"),
        (PLIMSOLL, at(80_000, messages=4), "background"),
        (PLIMSOLL, at(94_999), "background"),
        (PLIMSOLL, at(95_000, messages=1), "blocking"),
        (SLIDING_WINDOW, at(90_000, messages=39), "none"),
        (SLIDING_WINDOW, at(90_000, messages=40), "none"),
        (SLIDING_WINDOW, at(90, messages=41), "blocking"),
        (SLIDING_WINDOW, at(0, messages=41), "none"),
        (SLIDING_WINDOW, at(100_000, messages=2), "none"),
        (SLIDING_WINDOW, at(100_001, messages=2), "blocking"),
        (RESERVE, at(83_616), "none"),
        (RESERVE, at(100_000), "none"),
        (RESERVE, at(100_001), "blocking"),
        (BACKGROUND, at(79_999), "none"),
        (BACKGROUND, at(80_000, messages=3), "none"),
        (BACKGROUND, at(80_000, messages=4), "background"),
        (BACKGROUND, at(94_999), "background"),
        (BACKGROUND, at(95_000, messages=3), "blocking"),
        (PROGRESSIVE, at(85_000), "none"),
        (PROGRESSIVE, at(94_999), "none"),
        (PROGRESSIVE, at(95_000), "blocking"),
        (PROGRESSIVE, at(95_001), "blocking"),
        (OFF, at(200_000, messages=500), "none"),
    ],
)
def test_before_a_request(policy: Policy, usage: ContextUsage, pressure: str) -> None:
    assert policy.pressure(usage) == pressure


@pytest.mark.parametrize(
    ("policy", "usage", "due"),
    [
        (RESERVE, at(83_615), False),
        (RESERVE, at(83_616), True),
        (RESERVE, at(83_617), True),
        (RESERVE, at(7_999, messages=500, window=UNKNOWN), False),
        (RESERVE, at(8_000, messages=1, window=UNKNOWN), True),
        (RESERVE, at(8_001, window=UNKNOWN), True),
        (replace(RESERVE, automatic=False), at(99_999), False),
        (RESERVE, at(0), False),
        (PLIMSOLL, at(99_999), False),
        (SLIDING_WINDOW, at(99_999, messages=99), False),
        (OFF, at(99_999), False),
    ],
)
def test_after_a_turn(policy: Policy, usage: ContextUsage, due: bool) -> None:
    assert policy.is_due_at_turn_end(usage) is due


@pytest.mark.parametrize(("messages", "due"), [(49, False), (50, True), (51, True)])
def test_messages_are_counted_where_there_is_no_limit_in_tokens(messages: int, due: bool) -> None:
    policy = replace(RESERVE, limit=TokenLimit(unknown=0))
    assert policy.is_due_at_turn_end(at(90_000, messages=messages, window=UNKNOWN)) is due
    assert policy.is_due_at_turn_end(at(90_000, messages=messages)), "the window is known: tokens decide"
    nothing = replace(RESERVE, limit=TokenLimit(unknown=0, messages=0))
    assert not nothing.is_due_at_turn_end(at(90_000, messages=messages, window=UNKNOWN))


@pytest.mark.parametrize(
    ("window", "mark"),
    [
        (ContextWindow(limit=128_000, source="setting"), 111_616),
        (ContextWindow(limit=16_385, source="server"), 1),
        (ContextWindow(limit=16_384, source="server"), 8_000),
        (ContextWindow(limit=8_192, source="server", reserve=512), 7_680),
        (UNKNOWN, 8_000),
    ],
)
def test_limit_of_reserve(window: ContextWindow, mark: int) -> None:
    assert RESERVE.background_mark(window) == mark
    assert RESERVE.is_due_at_turn_end(at(mark, window=window))
    assert not RESERVE.is_due_at_turn_end(at(mark - 1, window=window))


@pytest.mark.parametrize("messages", [1, 41, 100_000])
def test_a_limit_of_no_messages_never_compacts(messages: int) -> None:
    policy = replace(SLIDING_WINDOW, limit=MessageLimit(messages=0))
    assert policy.pressure(at(100_001, messages=messages)) == "none"


@pytest.mark.parametrize(
    ("policy", "window", "recent"),
    [
        (PLIMSOLL, KNOWN, Recent(tokens=12_000)),
        (PLIMSOLL, ContextWindow(limit=1_000, source="model", reserve=700), Recent(tokens=120)),
        (SLIDING_WINDOW, KNOWN, Recent(messages=20)),
        (replace(SLIDING_WINDOW, limit=MessageLimit(messages=9)), KNOWN, Recent(messages=4)),
        (replace(SLIDING_WINDOW, limit=MessageLimit(messages=10)), KNOWN, Recent(messages=5)),
        (replace(SLIDING_WINDOW, limit=MessageLimit(messages=1)), KNOWN, Recent(messages=4)),
        (RESERVE, KNOWN, Recent(tokens=20_000)),
        (RESERVE, ContextWindow(limit=56_384, source="model"), Recent(tokens=20_000)),
        (RESERVE, ContextWindow(limit=56_382, source="model"), Recent(tokens=19_999)),
        (RESERVE, UNKNOWN, Recent(tokens=4_000)),
        (replace(RESERVE, limit=TokenLimit(unknown=0)), UNKNOWN, Recent(tokens=20_000)),
        (replace(RESERVE, recent_tokens=0), KNOWN, Recent(messages=5)),
        (BACKGROUND, KNOWN, Recent()),
        (PROGRESSIVE, KNOWN, Recent(tokens=20_000)),
        (PROGRESSIVE, ContextWindow(limit=1_000_000, source="model"), Recent(tokens=200_000)),
    ],
)
def test_what_stays_of_the_newest(policy: Policy, window: ContextWindow, recent: Recent) -> None:
    assert policy.recent(window) == recent


def planned(policy: Policy, history: list[ModelMessage], trigger: Trigger, limit: int = 100_000) -> Plan:
    items = as_items(history)
    usage = at(
        sum(map(tokens, items)), messages=len(items), window=ContextWindow(limit=limit, source="model")
    )
    plan = plan_compaction(items, usage, tokens, policy, trigger=trigger)
    assert isinstance(plan, Plan)
    check_pairs(items, plan)
    return plan


def check_pairs(items: list[Item], plan: Plan) -> None:
    """Assert that calls and their results are removed or kept together."""
    left = {item.key for item in plan.split.old}
    for pair in pairs([item.message for item in items]):
        assert (items[pair.call].key in left) == (items[pair.answer].key in left)


def keys(items: tuple[Item, ...]) -> list[int]:
    return [item.key for item in items]


def test_the_sliding_window_keeps_the_first_run_and_the_last_half() -> None:
    plan = planned(SLIDING_WINDOW, long_conversation(11)[:41], "blocking")
    assert keys(plan.split.head) == [1, 2, 3, 4]
    assert plan.split.behind == 4
    # The twentieth from the end is a result, so its call stays too.
    assert keys(plan.split.recent) == list(range(22, 42))
    assert len(planned(SLIDING_WINDOW, long_conversation(11)[:42], "blocking").split.recent) == 21
    assert (plan.prompts_budget, plan.facts_budget) == (0, 0)


def test_without_an_answer_in_words_no_first_run_stays() -> None:
    silent = [each for each in long_conversation(15) if not any(isinstance(p, TextPart) for p in each.parts)]
    plan = planned(SLIDING_WINDOW, silent, "blocking")
    assert plan.split.head == ()
    assert plan.split.behind == 0


def test_a_first_run_goes_up_to_the_first_answer_with_text_and_its_results() -> None:
    history: list[ModelMessage] = [
        ModelRequest(parts=[SystemPromptPart("be kind"), UserPromptPart("go")]),
        ModelResponse(parts=[TextPart(" "), ToolCallPart("read", {}, "a")]),
        ModelRequest(parts=[ToolReturnPart("read", "x", "a")]),
        ModelResponse(parts=[TextPart("And now:"), ToolCallPart("read", {}, "b")]),
        ModelRequest(parts=[ToolReturnPart("read", "x", "b")]),
        *long_conversation(10),
    ]
    plan = planned(SLIDING_WINDOW, history, "blocking")
    assert keys(plan.split.head) == [1, 2, 3, 4, 5]
    assert plan.split.behind == 5


def test_a_summary_is_updated_and_belongs_to_no_first_run() -> None:
    summary = ModelRequest(parts=[CompactionPart("notes")])
    answer = ModelResponse(parts=[TextPart("I see.")])
    plan = planned(SLIDING_WINDOW, [summary, answer, *long_conversation(11)], "blocking")
    assert plan.split.head == ()
    assert keys(plan.split.old)[:2] == [1, 2]


def test_by_hand_the_sliding_window_summarises_all() -> None:
    plan = planned(SLIDING_WINDOW, long_conversation(3), "manual")
    assert (plan.split.head, plan.split.recent) == ((), ())
    assert len(plan.split.old) == 12


@pytest.mark.parametrize("trigger", ["overflow", "model_switch", "memory_pressure", "headless"])
def test_where_a_number_of_messages_helps_nothing_the_window_decides(trigger: Trigger) -> None:
    short = long_conversation(4)
    plan = planned(SLIDING_WINDOW, short, trigger)
    assert len(plan.split.old) > 0
    giant = [*long_conversation(10), *long_conversation(5, size=12_000)]
    plan = planned(SLIDING_WINDOW, giant, trigger, limit=16_000)
    assert plan.floor < plan.target


def test_reserve_keeps_tokens_or_five_messages() -> None:
    history = long_conversation(30)
    plan = planned(RESERVE, history, "turn_end", limit=30_000)
    kept = sum(map(tokens, plan.split.recent))
    assert 0 < kept <= RESERVE.recent_budget(ContextWindow(limit=30_000, source="model"))
    five = planned(replace(RESERVE, recent_tokens=0), history, "turn_end")
    assert keys(five.split.recent) == list(range(116, 121))
    # The fifth from the end is a result, so its call stays too.
    six = planned(replace(RESERVE, recent_tokens=0), history[:-1], "turn_end")
    assert keys(six.split.recent) == list(range(114, 120))


def test_background_keeps_only_what_is_not_answered_yet() -> None:
    history = long_conversation(8)
    assert planned(BACKGROUND, history, "manual").split.recent == ()
    assert planned(BACKGROUND, history, "manual").split.head == ()
    asked: list[ModelMessage] = [*history, ModelRequest(parts=[UserPromptPart("and now?")])]
    assert keys(planned(BACKGROUND, asked, "background").split.recent) == [33]
    called = [
        *asked,
        ModelResponse(parts=[ToolCallPart("read", {}, "new")]),
        ModelRequest(parts=[ToolReturnPart("read", "x", "new")]),
    ]
    split = planned(BACKGROUND, called, "background").split
    assert keys(split.recent) == [34, 35]
    assert keys(split.head) == [33], "the prompt that is being worked on stays"
    assert keys(planned(BACKGROUND, called[:-1], "background").split.recent) == [34], "an open call stays"


def test_progressive_keeps_the_system_prompt_and_a_fifth() -> None:
    system = ModelRequest(parts=[SystemPromptPart("be kind")])
    history = [system, *long_conversation(40)]
    plan = planned(PROGRESSIVE, history, "blocking", limit=sum(map(tokens, as_items(history))))
    assert keys(plan.split.head) == [1]
    assert sum(map(tokens, plan.split.recent)) <= plan.tokens_before * 0.2


@pytest.mark.parametrize(
    ("policy", "by_hand", "written", "text"),
    [
        (PLIMSOLL, False, True, "All {is} well."),
        (SLIDING_WINDOW, False, True, "[Notes on 7 messages that stood here]\nAll {is} well."),
        (SLIDING_WINDOW, True, True, "[Notes on the whole conversation so far]\nAll {is} well."),
        (
            SLIDING_WINDOW,
            False,
            False,
            "[7 messages that stood here are gone to make room; there are no notes on them]",
        ),
        (RESERVE, True, True, "[Notes on what was said before]\nAll {is} well."),
        (BACKGROUND, False, True, "All {is} well."),
    ],
)
def test_wording(policy: Policy, by_hand: bool, written: bool, text: str) -> None:
    form = policy.form_of(by_hand=by_hand)
    assert framed(form, "All {is} well.\n", count=7, written=written) == text


def test_progressive_frames_the_summary_and_says_where_the_rest_is() -> None:
    text = framed(PROGRESSIVE.form, "All is well.", count=7)
    assert text.startswith("[BEGINNING OF THE NOTES]\n")
    assert text.endswith("\n\nAll is well.\n\n[END OF THE NOTES]")
    assert "conversation_history/" in text
    assert "grep" in text


def test_only_a_compaction_by_hand_is_acknowledged() -> None:
    assert {name for name, policy in PRESETS.items() if policy.form.acknowledgement} == set()
    by_hand = {name for name, policy in PRESETS.items() if policy.form_of(by_hand=True).acknowledgement}
    assert by_hand == {"sliding-window"}


@pytest.mark.parametrize(("chars", "cut"), [(1_999, False), (2_000, False), (2_100, True)])
def test_older_results_of_the_sliding_window_are_cut(chars: int, cut: bool) -> None:
    history: list[ModelMessage] = [
        ModelRequest(parts=[UserPromptPart("go")]),
        ModelResponse(parts=[ToolCallPart("read", {}, "a")]),
        ModelRequest(parts=[ToolReturnPart("read", "x" * chars, "a")]),
        *long_conversation(1),
    ]
    assert SLIDING_WINDOW.stages.trim is not None
    rewrite = trim(as_items(history), SLIDING_WINDOW.stages.trim)
    assert (rewrite is not None) == cut
    if rewrite is not None:
        [change] = rewrite.changes
        [part] = change.message.parts
        assert isinstance(part, ToolReturnPart)
        assert part.content == "x" * 2_000 + "\n[… cut here; 2100 characters in all]"
        assert (part.tool_name, part.tool_call_id) == ("read", "a")


@pytest.mark.parametrize(("results", "leave"), [(10, 0), (11, 1), (14, 4)])
def test_results_beyond_ten_are_archived_under_reserve(results: int, leave: int) -> None:
    archive = RESERVE.stages.archive
    assert archive is not None
    chosen = to_archive(as_items(long_conversation(results)), archive)
    assert len(chosen) == leave


def test_policies_are_frozen_named_and_explained() -> None:
    assert list(PRESETS) == ["plimsoll", "sliding-window", "reserve", "background", "progressive", "off"]
    assert all(policy.about and len(policy.about) < 100 for policy in PRESETS.values())
    with pytest.raises(FrozenInstanceError):
        PLIMSOLL.name = "other"  # type: ignore[misc]


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"base": "plimsoll"}, {"limit": None, "stages": PLIMSOLL.stages, "background_threshold": 0.8}),
        ({"base": "plimsoll", "background_threshold": 0.6}, {"background_threshold": 0.6}),
        ({"base": "plimsoll", "max_messages": 60}, {"limit": MessageLimit(messages=60)}),
        ({"base": "plimsoll", "reserve_tokens": 9}, {"limit": TokenLimit(reserve=9)}),
        (
            {"base": "reserve", "max_messages": 9, "unknown_window_tokens": 7},
            {"limit": TokenLimit(reserve=16_384, unknown=7, messages=9)},
        ),
        ({"base": "sliding-window", "max_messages": 10}, {"limit": MessageLimit(messages=10)}),
        ({"base": "background", "recent_messages": 3}, {"recent_messages": 3, "recent_share": 0.0}),
        ({"base": "reserve", "plan_share": 0.1}, {"plan_share": 0.1, "facts_share": 0.0}),
        ({"base": "off", "automatic": True, "fallback": "none"}, {"automatic": True, "fallback": "none"}),
    ],
)
def test_policies_of_ones_own(changes: dict[str, object], expected: dict[str, object]) -> None:
    policy = derive("mine", changes)
    assert policy.name == "mine"
    assert str(changes["base"]) in policy.about
    assert {name: getattr(policy, name) for name in expected} == expected


@pytest.mark.parametrize(
    ("changes", "stage", "expected"),
    [
        ({"base": "background", "tool_output_trim_chars": 9}, "trim", Trim(chars=9)),
        ({"base": "background", "trim": True}, "trim", Trim()),
        ({"base": "background", "trim": False, "tool_output_trim_chars": 9}, "trim", None),
        ({"base": "sliding-window", "trim": False}, "trim", None),
        ({"base": "sliding-window", "trim_keep_messages": 4}, "trim", replace(CUT, keep_messages=4)),
        (
            {"base": "reserve", "tool_call_cutoff": 3, "tool_summary_strategy": "off"},
            "archive",
            Archive(cutoff=3, strategy="off"),
        ),
        ({"base": "reserve", "tool_output_max_lines": 9}, "normalise", NormaliseLimits(lines=9)),
        ({"base": "plimsoll", "tool_output_mode": "head"}, "normalise", NormaliseLimits(mode="head")),
        (
            {"base": "progressive", "offload_tokens": 5, "offload_preview_lines": 2},
            "offload",
            Offload(tokens=5, preview_lines=2),
        ),
        ({"base": "progressive", "pointers_threshold": 0.5}, "pointers", Pointers(threshold=0.5)),
    ],
)
def test_stages_of_ones_own(changes: dict[str, object], stage: str, expected: Any) -> None:
    assert getattr(derive("mine", changes).stages, stage) == expected
