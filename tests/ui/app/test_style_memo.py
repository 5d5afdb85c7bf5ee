"""Styles that tests keep for the whole process are those that Textual itself would give."""

from typing import Any
from unittest import mock

from textual.css.stylesheet import Stylesheet
from textual.dom import DOMNode

from tests.servers.fake_openai import FakeOpenAI
from tests.ui import style_memo
from tests.ui.app.scenes import SCENES, talk
from tests.ui.kit import SMALL, WIDE, Deck, Desk, shown

WALK = ("draft", "timeline", "context", "sessions", "models", "help", "palette")


def styles_of(node: DOMNode) -> dict[str, Any]:
    parts = {name: styles.base._rules.copy() for name, styles in node._component_styles.items()}
    marks = (node._has_hover_style, node._has_focus_within, node._has_order_style, node._has_odd_or_even)
    return {"": node.styles.base._rules.copy(), **parts, "marks": marks}


def differing(deck: Deck) -> dict[DOMNode, Any]:
    """What Textual, asked anew, would change."""
    app, found = deck.app, {}
    with mock.patch.object(Stylesheet, "apply", style_memo.textual_apply):
        for node in (app, app.screen, *app.screen.walk_children()):
            kept = styles_of(node)
            app.stylesheet.apply(node)
            if (fresh := styles_of(node)) != kept:
                found[node] = (kept, fresh)
    return found


async def test_textual_would_style_every_widget_alike(desk: Desk, fake_openai: FakeOpenAI) -> None:
    assert Stylesheet.apply is style_memo._apply
    desk.serve(fake_openai)
    async with shown(desk.app(desk.store(talk())), WIDE) as deck:
        await deck.ready()
        for scene in WALK:
            await deck.back()
            await SCENES[scene](deck)
            await deck.settle()
            assert differing(deck) == {}, scene
            for theme, size in (("plimsoll-light", SMALL), ("ansi-dark", WIDE), ("plimsoll-dark", WIDE)):
                deck.app.theme = theme
                await deck.pilot.resize_terminal(*size)
                await deck.settle()
                assert differing(deck) == {}, (scene, theme)
                for widget in deck.app.screen.focus_chain:
                    deck.app.screen.set_focus(widget)
                    await deck.settle()
                    assert differing(deck) == {}, (scene, theme, widget)
