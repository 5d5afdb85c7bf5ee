"""Every screen and state has a picture in both themes and both usual sizes."""

import re
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path

PICTURES = Path(__file__).parent / "__snapshots__"
WANTED = {f"{size}-{theme}" for size in ("120x40", "80x24") for theme in ("dark", "light")}
_NAME = re.compile(r"test_(?P<state>\w+?)(?:\[(?P<ids>.*)\])?\.svg")
# One file has the light theme of what is dark in another.
_ALSO = {
    "chat_with_tools": "chat",
    "command_list": "commands",
    "earlier_prompts": "prompts",
    "filtered_timeline": "timeline",
    "model_picker": "models",
}
SPECIAL = {"plain", "tiny", "too_small", "very_wide", "without_colour", "chat_at_40x12"}
"""Pictures of unusual terminals: each state of them has one or two."""
ZONES = "gauge"
"""The whole chat near the lines of the gauge, beside the pictures of all its states."""
OVER = "in_the_background_over_the_chat"
"""At 80 columns only: with more of them the timeline stands beside the chat."""

_NAMED = """
chat first_run left_behind error notices attached file_list commands waiting_prompts
answering trying_again running asking_for_models read_only
compacting compacted_entry compacted_up_to-nothing compacted_up_to-in_timeline by_the_provider
the_row_of_an_edit edited_compaction in_the_background-behind in_the_background-behind_context
in_the_background_over_the_chat
compaction_that_does_not_stand-cancelled compaction_that_does_not_stand-failed
compaction_that_does_not_stand-undone
timeline changes_and_what_came_to_nothing-nothing changes_and_what_came_to_nothing-in_timeline
compacted_detail compaction_diff compaction_facts compaction_part-left compaction_part-stayed
compaction_part-numbers summary_editor
a_summary_while_it_is_written review review-edited review-focus_on review_with_facts_at_risk
gauge-82 gauge-97 gauges context context_items-saved context_items-by_age context_items-searched
stats status
reading_and_steering-found reading_and_steering-marked reading_and_steering-marked_items
reading_and_steering-one_message reading_and_steering-long_question a_message_as_json
question-edit question-command reason rules_and_decisions files_of_a_rewind
sub_agent-row sub_agent-detail
models switch_dialog key_dialog where_to_keep_it policies edit settings themes keymap clash
sessions search checkpoints pins rewind fork prompts queue clear
memory empty_memory session_with_a_board skills mcp_servers help palette list progress
plain- plain-context plain-settings plain-stats
tiny-clear tiny-context tiny-models tiny-rewind tiny-sessions tiny-settings tiny-stats
chat_at_40x12- too_small- very_wide-chat very_wide-context very_wide-models very_wide-settings
without_colour-chat without_colour-clear without_colour-models
"""
STATES = frozenset(_NAMED.split())
"""Every state that has a picture, by its name and scene: one that goes is taken out here as well."""


def state_of(picture: Path) -> tuple[str, str]:
    """What a picture shows, and in which size and theme."""
    found = _NAME.fullmatch(picture.name)
    assert found is not None, picture.name
    state, ids = found["state"], (found["ids"] or "").split("-")
    sizes = [each for each in ids if each in ("120x40", "80x24")]
    light = "light" in ids or state == "light"
    scenes = [each for each in ids if each not in (*sizes, "dark", "light", "plimsoll")]
    parts = scenes if state in ("dark", "light") else [_ALSO.get(state, state), *scenes]
    return "-".join(parts), f"{sizes[0] if sizes else ''}-{'light' if light else 'dark'}"


def pictures() -> Mapping[str, set[str]]:
    """The sizes and themes in which each state is shown."""
    shown = defaultdict(set)
    for picture in PICTURES.glob("*/*.svg"):
        state, look = state_of(picture)
        shown[state].add(look)
    return shown


def test_no_state_goes_unnoticed() -> None:
    shown = set(pictures())
    assert STATES - shown == set(), "states without a picture"
    assert shown - STATES == set(), "states that are not named above"


def test_both_themes_and_sizes() -> None:
    shown = pictures()
    left_out = {state for state in shown if state.split("-")[0] in SPECIAL | {ZONES, OVER}}
    missing = {state: WANTED - looks for state, looks in shown.items() if state not in left_out}
    assert {state: sorted(looks) for state, looks in missing.items() if looks} == {}
