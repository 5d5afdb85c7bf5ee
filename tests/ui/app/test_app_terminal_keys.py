"""A tmux that does not tell shift+enter from enter: said once, with the key that works instead."""

import pytest

from tests.ui.kit import USUAL, Deck, Desk, shown
from tui_app.ui.terminal_input import keys_text, tell_of_keys

NOTICE = "tmux passes shift+enter on as enter: ctrl+j starts a new line."


def notices(deck: Deck) -> list[str]:
    return [each for each in deck.app.chat.session.state.notices if "tmux" in each]


async def test_it_is_said_once_and_never_again(desk: Desk) -> None:
    async with shown(desk.app(), USUAL) as deck:
        await deck.ready()
        desk.env["TMUX"] = "/tmp/tmux-0/default"  # not before: no test asks the tmux it may run in
        session = deck.app.chat.session
        await tell_of_keys(session, ask=lambda name: {"extended-keys": "on"}[name])
        assert notices(deck) == []
        await tell_of_keys(session, ask=lambda _: "off")
        await deck.until(lambda: notices(deck), "the notice")
        assert notices(deck)[0].startswith(NOTICE)
        await tell_of_keys(session, ask=lambda _: "off")
        assert len(notices(deck)) == 1
        await deck.says("1 notice")
        await deck.press("f2")
        await deck.says("extended-keys on")
        await deck.press("escape")
        await deck.until(lambda: "1 notice" not in deck.text, "nothing unread")


@pytest.mark.parametrize("env", [{}, {"TMUX": ""}])
async def test_outside_of_tmux_nobody_is_asked(desk: Desk, env: dict[str, str]) -> None:
    asked: list[str] = []
    desk.env.update(env)
    async with shown(desk.app(), USUAL) as deck:
        await deck.ready()
        await tell_of_keys(deck.app.chat.session, ask=lambda name: f"{asked.append(name)}")
    assert asked == []


def test_the_key_is_the_one_in_force() -> None:
    assert keys_text({}).startswith(NOTICE)
    assert "f6 starts a new line" in keys_text({"prompt.newline": "f6"})
    assert "give prompt.newline another key" in keys_text({"prompt.newline": "shift+enter"})
