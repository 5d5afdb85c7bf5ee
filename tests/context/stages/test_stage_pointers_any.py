"""Pointers in any session: nothing that a call wrote is lost."""

import json

from hypothesis import given
from hypothesis import strategies as st
from pydantic_ai.messages import ModelMessage, ModelRequest, ToolCallPart, ToolReturnPart

from tests.context.histories import as_items, messages
from tests.context.stages.pointers_kit import BODY, OTHER, REPORT, Disk, run
from tests.context.stages.stage_kit import applied, call, said, words
from tui_app.context.facts.observations import argument_texts
from tui_app.context.policy import Pointers


@st.composite
def working(draw: st.DrawFn) -> list[ModelMessage]:
    """A session that writes and edits a few files, answers some calls, and is asked now and then."""
    history: list[ModelMessage] = [said()]
    for number in range(draw(st.integers(0, 8))):
        body = draw(st.sampled_from([BODY, OTHER, "short", BODY * 2]))
        path = draw(st.sampled_from(["a", "b", "./a"]))
        tool, args = draw(
            st.sampled_from(
                [
                    ("write_file", {"path": path, "content": body}),
                    ("Edit", {"file_path": path, "old_string": "x", "new_string": body}),
                    ("MultiEdit", {"file_path": path, "edits": [{"new_string": body}, {"new_string": BODY}]}),
                    ("apply_patch", {"patch": f"*** Update File: {path}\n+{body}"}),
                    ("read_file", {"path": path}),
                ]
            )
        )
        shape = json.dumps(args) if draw(st.booleans()) else args
        history.append(call(str(number), tool=tool, args=shape))
        if draw(st.integers(0, 5)):
            outcome = draw(st.sampled_from(["success", "success", "failed"]))
            content = draw(st.sampled_from(["ok", REPORT, {"diff": REPORT}]))
            metadata = draw(st.sampled_from([None, {"n": 1}, ["theirs"]]))
            part = ToolReturnPart(tool, content, str(number), outcome=outcome, metadata=metadata)
            history.append(ModelRequest(parts=[part]))
        if draw(st.booleans()):
            history += [words(), said()]
    return history


@given(
    working(), st.sampled_from([{}, {"a": BODY}, {"a": OTHER, "b": BODY, "./a": BODY}]), st.integers(0, 600)
)
def test_any_session_of_writing(history: list[ModelMessage], files: dict[str, str], smallest: int) -> None:
    items = as_items(history)
    disk = Disk(**files)
    rewrite = run(items, disk, Pointers(min_chars=smallest))
    if rewrite is None:
        return
    stored = {file.text for file in rewrite.files}
    new = {item.key: item.message for item in applied(items, rewrite)}
    for item in items:
        for old_part, new_part in zip(item.message.parts, new[item.key].parts, strict=True):
            if isinstance(old_part, ToolCallPart) and isinstance(new_part, ToolCallPart):
                for text in set(_strings(old_part)) - set(_strings(new_part)):
                    assert text in stored or any(text in content for content in files.values()), "it is lost"


def _strings(part: ToolCallPart) -> list[str]:
    return list(argument_texts(part.args_as_dict()))


@given(messages())
def test_any_history(history: list[ModelMessage]) -> None:
    assert run(as_items(history), Disk()) is None
