"""Rules about tools that there cannot be are pointed out; those of servers and agents are given their due."""

import pytest

from tui_app.settings.tables import ApprovalRule, Ruling, misnamed, parse_rule
from tui_app.tool_specs import TOOLS


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("run_comand git push", "No tool is called run_comand: is run_command meant?"),
        ("Run_Command git push", "No tool is called Run_Command: is run_command meant?"),
        ("read_files .env", "No tool is called read_files: is read_file meant?"),
        ("mail__send", "No tool is called mail__send."),
        ("reed_*", "No tool is called reed_*."),
        ("ferries", "No tool is called ferries."),
        ("ferriesx_book", "No tool is called ferriesx_book."),
    ],
)
def test_a_name_that_is_no_tools(text: str, said: str) -> None:
    assert misnamed(parse_rule("deny", text), ("ferries",)) == said


@pytest.mark.parametrize(
    "text",
    [*sorted(TOOLS), "*", "read_*", "*_file x", "ferries_book", "ferries_*", "fer*", "run_comman?"],
)
def test_a_name_that_may_be_one(text: str) -> None:
    assert misnamed(parse_rule("deny", text), ("ferries",)) == ""


@pytest.mark.parametrize("ruling", ["allow", "ask", "deny", "looks"])
def test_what_only_looks_is_never_ours(ruling: Ruling) -> None:
    said = misnamed(ApprovalRule(ruling, "tracker_search"), ())
    assert (said == "") is (ruling == "looks")
