"""Every screen and state has a look in both themes and both usual sizes."""

from collections import defaultdict
from collections.abc import Mapping

from tests.ui.looks import LOOKS, kept_looks

WANTED = {f"{size} {theme}" for size in ("120x40", "80x24") for theme in ("dark", "light")}
SPECIAL = {"started_light", "plain", "tiny", "too_small", "very_wide", "without_colour", "chat_at_40x12"}
"""Unusual terminals and settings: each has one or two looks."""
OVER = "in_the_background_over_the_chat"
"""At 80 columns only, because wider terminals show the timeline next to the chat."""

_NAMED = """
first_run chat_with_tools left_behind error attached file_list command_list waiting_prompts
answering trying_again running read_only asking_for_models
changes_and_what_came_to_nothing-nothing changes_and_what_came_to_nothing-in_timeline
reading_and_steering-found reading_and_steering-marked reading_and_steering-marked_items
reading_and_steering-one_message reading_and_steering-long_question a_message_as_json
compacting compacted_entry compacted_up_to-nothing compacted_up_to-in_timeline by_the_provider
the_row_of_an_edit edited_compaction in_the_background-behind in_the_background-behind_context
in_the_background_over_the_chat
compaction_that_does_not_stand-cancelled compaction_that_does_not_stand-failed
compaction_that_does_not_stand-undone filtered_timeline
compacted_detail compaction_diff compaction_facts compaction_part-left compaction_part-stayed
compaction_part-numbers summary_editor
a_summary_while_it_is_written review review_under_way-edited review_under_way-focus_on
review_with_facts_at_risk brief
gauge-82 gauge-97 gauges context context_items-saved context_items-by_age context_items-searched stats
question-edit question-command reason rules_and_decisions files_of_a_rewind
sub_agent-row sub_agent-detail
model_picker switch_dialog key_dialog where_to_keep_it
sessions search checkpoints pins exclude imported rewind earlier_prompts queue
memory empty_memory session_with_a_board skills mcp_servers help list progress
policies screen-agents screen-checkpoints screen-clash screen-clear screen-edit screen-fork screen-keymap
screen-merge screen-merge-files screen-notices
screen-palette screen-settings screen-status screen-themes screen-reading screen-asking
started_light-chat started_light-settings started_light-themes started_light-palette
plain plain-context plain-settings plain-stats
tiny-clear tiny-context tiny-models tiny-rewind tiny-sessions tiny-settings tiny-stats
chat_at_40x12 too_small very_wide-chat very_wide-context very_wide-models very_wide-settings
without_colour-chat without_colour-clear without_colour-models
"""
STATES = frozenset(_NAMED.split())
"""Every state with a look, by name and scene; remove a state here when it goes."""
_DRAWN = """
first_run chat_with_tools command_list file_list answering running waiting_prompts reading_and_steering-found
reading_and_steering-marked read_only error
compacted_entry compacted_detail compaction_facts compaction_diff summary_editor review
in_the_background-behind filtered_timeline
model_picker switch_dialog key_dialog sessions search context stats rewind help queue earlier_prompts
screen-settings screen-keymap screen-themes screen-palette memory skills mcp_servers list
sub_agent-detail question-edit rules_and_decisions without_colour-chat
"""
DRAWN = {
    *(f"{state}-120x40-dark" for state in _DRAWN.split()),
    *(f"{state}-120x40-light" for state in ("chat_with_tools", "compacted_detail", "context")),
    *(f"{state}-80x24-dark" for state in ("chat_with_tools", "context", "plain-context")),
}
"""States that are also kept as SVG. Create an empty file, and ``--update-looks`` fills it."""


def looks() -> Mapping[str, set[str]]:
    """The sizes and themes in which each state is kept."""
    kept = defaultdict(set)
    for file in LOOKS.glob("*.txt"):
        for head in kept_looks(file):
            state, size, *themes = head.split()
            kept[state] |= {f"{size} {theme}" for theme in themes}
    return kept


def test_no_state_goes_unnoticed() -> None:
    kept = set(looks())
    assert STATES - kept == set(), "states without a look"
    assert kept - STATES == set(), "states that are not named above"


def test_both_themes_and_sizes() -> None:
    kept = looks()
    left_out = {state for state in kept if state.split("-")[0] in SPECIAL | {OVER}}
    assert {state: kept[state] ^ WANTED for state in kept.keys() - left_out if kept[state] != WANTED} == {}
