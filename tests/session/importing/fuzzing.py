"""What tests of damaged files share: a small valid transcript, any JSON values, and what always holds."""

from hypothesis import strategies as st
from pydantic_ai.messages import ModelMessagesTypeAdapter

from tests.session.importing.claude_records import Script, call, text
from tui_app.session.importers import Imported

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=10),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=8,
)


def valid_script() -> Script:
    script = Script()
    script.user("Start")
    script.says("m1", text("Looking"), call("t1", path="a"))
    script.returns("t1", "content")
    script.says("m2", text("Done"))
    return script


def strict(imported: Imported) -> None:
    """Every text can be stored as UTF-8 and every message is one that pydantic-ai reads."""
    texts = [event.message for event in imported.events if event.message]
    ModelMessagesTypeAdapter.validate_json(f"[{','.join(texts)}]".encode())
    repr([event.data for event in imported.events]).encode()
