"""The words of a question about a tool."""

from dataclasses import replace

from tui_app.events import ApprovalRequested
from tui_app.ui.approvals import question_detail, question_hints

DIFF = "--- /dev/null\n+++ b/a.txt\n@@ -0,0 +1 @@\n+hello"
ASKED = ApprovalRequested(
    id="1", tool_call_id="1", tool="write_file", kind="file", subject="a.txt", detail=DIFF
)


def test_a_diff_begins_with_what_changes_where_there_is_little_room() -> None:
    assert question_detail(ASKED, bare=True).plain == "@@ -0,0 +1 @@\n+hello"
    assert question_detail(ASKED).plain == DIFF


def test_a_rule_is_offered_in_little_room_for_as_long_as_it_holds() -> None:
    asked = replace(ASKED, pattern="write_file a.txt")
    hints = question_hints(asked, typing=False, editing=False, focused=True, short=True)
    assert [hint.text for hint in hints if hint.label == "a"] == ["session"]
