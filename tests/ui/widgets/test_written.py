"""Fields in which a person writes: keys act in their order, and what is pasted stays what it was."""

import pytest
from textual import events
from textual.app import App, ComposeResult

from tui_app.ui.widgets import WrittenArea, WrittenLine


class Desk(App[None]):
    def compose(self) -> ComposeResult:
        yield WrittenLine()
        yield WrittenArea()


def burst(app: App[None], *keys: str) -> None:
    """Put keys into the queue at once, as a line that hung for a moment does."""
    for key in keys:
        app.post_message(events.Key(key, key if len(key) == 1 else None))


@pytest.mark.parametrize("kind", [WrittenLine, WrittenArea])
@pytest.mark.parametrize(
    ("keys", "text"),
    [
        ((*"abc", "backspace", "backspace", *"xyz"), "axyz"),
        ((*"hello", "left", "left", *"XX"), "helXXlo"),
        ((*"hello", "ctrl+w", *"YY"), "YY"),
        ((*"zzzz", "ctrl+u", *"queued"), "queued"),
        ((*"bc", "home", "a"), "abc"),
    ],
)
async def test_keys_act_in_the_order_they_were_typed(
    kind: type[WrittenLine | WrittenArea], keys: tuple[str, ...], text: str
) -> None:
    app = Desk()
    async with app.run_test() as pilot:
        field = app.query_one(kind)
        field.focus()
        await pilot.pause()
        burst(app, *keys)
        await pilot.pause()
        await pilot.pause()
        assert (field.value if isinstance(field, WrittenLine) else field.text) == text


async def test_tabs_of_a_paste_stay_tabs() -> None:
    app = Desk()
    async with app.run_test() as pilot:
        area = app.query_one(WrittenArea)
        area.post_message(events.Paste("all:\n\tgcc \x1b[31m-o x\u202e\n"))
        await pilot.pause()
        assert area.text == "all:\n\tgcc -o x\ufffd\n"
