"""The words of a question about a tool."""

from tui_app.context.events import ApprovalRequested
from tui_app.ui.approval_text import question_detail

DIFF = "--- /dev/null\n+++ b/a.txt\n@@ -0,0 +1 @@\n+hello"


def asked(subject: str) -> ApprovalRequested:
    return ApprovalRequested(
        id="1", tool_call_id="1", tool="write_file", kind="file", subject=subject, detail=DIFF
    )


def test_a_diff_begins_with_what_changes_where_the_question_names_the_file() -> None:
    assert question_detail(asked("a.txt")).plain == "@@ -0,0 +1 @@\n+hello"


def test_a_path_that_the_question_has_no_room_for_stands_in_the_diff() -> None:
    assert question_detail(asked(f"{'deep/' * 40}a.txt")).plain == DIFF
