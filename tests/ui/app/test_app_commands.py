"""Slash commands and the palette: exact names at any typing speed, every action once, with its key."""

from collections import Counter
from inspect import isawaitable

import pytest

from tests.servers.behaviours import Text
from tests.servers.fake_openai import FakeOpenAI
from tests.ui.app.story import Story
from tests.ui.kit import USUAL, WIDE, Deck, Desk, shown
from tui_app.chat_keys import KEYS, key_labels
from tui_app.ui.dialogs.compactions.context import ContextScreen
from tui_app.ui.dialogs.details import DetailsScreen
from tui_app.ui.dialogs.help import HelpScreen
from tui_app.ui.dialogs.help_rows import command_of, fixed_rows, help_rows
from tui_app.ui.dialogs.models import ModelPicker
from tui_app.ui.dialogs.palette import PaletteRow, PaletteScreen, own_bindings, palette_rows
from tui_app.ui.dialogs.questions import ConfirmDialog, EditDialog
from tui_app.ui.dialogs.sessions.sessions import SessionsScreen
from tui_app.ui.prompt.completion import OfferList
from tui_app.ui.slash_commands import COMMANDS
from tui_app.ui.timeline import Timeline
from tui_app.ui.transcript.transcript import Transcript

# Slash commands: exact names at any typing speed, confirmation only before a loss, and their effects.


@pytest.mark.parametrize("name", ["/compact", "/offload"])
async def test_typed_in_one_go_it_runs(served: Desk, fake_openai: FakeOpenAI, name: str) -> None:
    async with shown(served.app()) as deck:
        await deck.ready()
        await deck.press(*name, "enter")
        await deck.says("Nothing to compact")
        assert deck.editor.is_empty
    assert fake_openai.journal == []


async def test_a_beginning_is_completed_and_not_run(served: Desk) -> None:
    async with shown(served.app()) as deck:
        await deck.ready()
        await deck.press(*"/compac", "enter")
        assert deck.editor.text == "/compact "
        assert "Nothing to compact" not in deck.text
        await deck.press("enter")
        await deck.says("Nothing to compact")


async def test_a_beginning_is_completed_to_the_command_of_that_name_before_an_alias(served: Desk) -> None:
    async with shown(served.app()) as deck:
        await deck.ready()
        await deck.press(*"/session")
        assert deck.widget(OfferList).splitlines()[0].strip().startswith("› /session checkpoints")
        await deck.press("enter")
        assert deck.editor.text == "/session checkpoints"


async def test_a_prompt_that_begins_like_a_command_undoes_nothing(served: Desk) -> None:
    async with shown(served.app(served.store(Story().user("Why?").answer("So.")))) as deck:
        await deck.ready()
        await deck.send("/undo the edit in tide.py")
        await deck.says("/undo takes no arguments. Send /undo alone.")
        assert deck.editor.text == "/undo the edit in tide.py"
        assert not deck.app.chat.session.state.status.text


async def test_an_unknown_name_is_named_with_the_closest(served: Desk, fake_openai: FakeOpenAI) -> None:
    async with shown(served.app()) as deck:
        await deck.ready()
        await deck.press(*"/compaktion", "enter")
        await deck.says("No command /compaktion. Closest: /compact")
        assert deck.editor.text == "/compaktion"
        assert deck.kinds == []
    assert fake_openai.journal == []


async def test_a_path_is_no_command(served: Desk, fake_openai: FakeOpenAI) -> None:
    fake_openai.add(Text("A file of accounts."))
    async with shown(served.app()) as deck:
        await deck.ready()
        await deck.press(*"/etc/passwd", "enter")
        await deck.answered()
        assert "A file of accounts." in deck.text


ALIASES: tuple[tuple[str, type], ...] = (
    ("/tokens", ContextScreen),
    ("/threads", SessionsScreen),
    ("/sessions", SessionsScreen),
    ("/help", HelpScreen),
    ("/model", ModelPicker),
)


async def test_aliases_open_the_same_screens(served: Desk) -> None:
    async with shown(served.app()) as deck:
        await deck.ready()
        for name, screen in ALIASES:
            await deck.send(name)
            await deck.until(lambda screen=screen: isinstance(deck.app.screen, screen), name)
            await deck.press("escape")
            await deck.until(lambda: deck.app.screen is deck.app.chat, "the chat")
            assert deck.app.focused is deck.editor, name


async def test_the_list_shows_what_fits_and_tab_fills_it_in(served: Desk) -> None:
    async with shown(served.app()) as deck:
        await deck.ready()
        await deck.press("slash")
        await deck.until(lambda: deck.widget(OfferList), "the commands")
        rows = deck.widget(OfferList).splitlines()
        assert len(rows) == 8
        assert rows[0].strip().startswith("› /compact")
        await deck.press("down", "tab")
        assert deck.editor.text == "/undo"


async def test_clearing_asks_first_and_keeps_by_default(served: Desk) -> None:
    session = served.store(Story().turns(2))
    view = served.agent_view(session)
    async with shown(served.app(session)) as deck:
        await deck.ready()
        gauge = deck.gauge
        await ask_to_clear(deck)
        assert "Clear the context? 4 messages leave the model's view; the log keeps" in deck.text
        await deck.press("enter")
        assert served.agent_view(session) == view
        await ask_to_clear(deck)
        await deck.press("y")
        await deck.until(lambda: "clear" in deck.kinds, "the entry")
        await deck.until(lambda: deck.gauge != gauge, "another gauge")
        assert served.agent_view(session) == []
        assert "question 1" in deck.text


async def ask_to_clear(deck: Deck) -> None:
    await deck.send("/clear")
    await deck.until(lambda: isinstance(deck.app.screen, ConfirmDialog), "the question")


async def test_question_mark_on_an_empty_prompt_lists_every_key_and_command(served: Desk) -> None:
    async with shown(served.app()) as deck:
        await deck.ready()
        await deck.press("question_mark")
        await deck.until(lambda: isinstance(deck.app.screen, HelpScreen), "help")
        for words in ("ctrl+g", "Compact the conversation", "/compact"):
            assert words in deck.text
        await deck.press(*"checkpoints")
        await deck.says("/session checkpoints")
        await deck.press(*["backspace"] * len("checkpoints"), "question_mark")
        await deck.until(lambda: deck.app.screen is deck.app.chat)
        await deck.type("why")
        await deck.press("question_mark")
        assert deck.editor.text == "why?"


async def test_every_command_is_in_the_palette(served: Desk) -> None:
    async with shown(served.app()) as deck:
        await deck.ready()
        offered = {command.title for command in palette_rows(deck.app.screen)}
        assert {f"/{command.name}" for command in COMMANDS} <= offered
        await deck.press("ctrl+p")
        await deck.until(lambda: deck.app.screen is not deck.app.chat, "the palette")
        await deck.press(*"/compact")
        await deck.says("Summarise old history")
        await deck.press("enter")
        await deck.until(lambda: deck.app.screen is deck.app.chat, "the chat")


async def test_copy_and_export_say_what_they_did(served: Desk) -> None:
    session = served.store(Story().user("why?").answer("Because.\n\n- one\n- two"))
    async with shown(served.app(session)) as deck:
        await deck.ready()
        await deck.send("/copy")
        await deck.says("Sent 4 lines to the terminal's clipboard.")
        assert deck.app.clipboard == "Because.\n\n- one\n- two"
        await deck.send("/export talk.md")
        await deck.says("Exported to")
        assert "Because." in (served.cwd / "talk.md").read_text(encoding="utf-8")
        await deck.send("/export talk.svg")
        await deck.says("Not exported: .svg is not a format. Use .md, .txt, .html, .json or .jsonl.")
        await deck.send("/export ~nobody-of-this-name/talk.md")
        await deck.says("Not exported: there is no folder")
        await deck.send("/export nowhere/talk.md")
        await deck.says("Not exported: there is no folder ")
        assert not (served.cwd / "talk.svg").exists()
        assert not (served.cwd / "nowhere").exists()
        await deck.send("/export README.md/talk.md")
        await deck.says("/export did not work. ")
        assert "1 notice" not in deck.hints


NOTHING_TO_DO = (
    ("/undo", "Nothing to undo."),
    ("/redo", "Nothing to redo."),
    ("/copy", "There is no answer to copy yet."),
    ("/export", "Nothing to export: nothing has been said yet."),
    ("/rewind", "Nothing to rewind: the context has no earlier prompt."),
    ("/retry", "Nothing to send again: there is no earlier prompt."),
    ("/fork", "Nothing to fork: there is no prompt yet."),
    ("/pin", "Nothing is pinned."),
    ("/pin last", "There is no message yet."),
    ("/unpin last", "Nothing is pinned."),
    ("/clear", "Nothing to clear: the context has no messages."),
    ("/compact", "Nothing to compact yet: there are fewer than two messages."),
    ("/queue", "Nothing is queued."),
    ("/stats", "0 turns, 0 requests, 0 tool calls"),
    ("/memory", "No memories yet."),
    ("/history", "Nothing has been said yet."),
    ("/session checkpoints", "There is no checkpoint yet."),
    ("/skills", "There are no skills."),
    ("/mcp", "No MCP server is configured."),
    ("/resume", "There is no other session yet."),
    ("/subconscious run", "Nothing has been said in this session"),
)


async def test_a_command_with_nothing_to_do_says_so(desk: Desk) -> None:
    async with shown(desk.app(), USUAL) as deck:
        await deck.ready()
        for command, words in NOTHING_TO_DO:
            assert words not in deck.words, command
            await deck.send(command)
            await deck.says(words)
            assert not list(desk.cwd.glob("plimsoll-*")), command
            while deck.app.screen is not deck.app.chat:
                deck.app.screen.dismiss(None)
                await deck.settle()


@pytest.mark.parametrize(
    ("typed", "words"),
    [
        ('/goal dry feet --chek "true"', "A goal needs a check"),
        ("/copy the last", "/copy takes"),
        ("/theme mauve", "mauve"),
        ("/mcp reload quay", "No MCP server quay."),
        ("/compact --up-to soon", "--up-to"),
        ("/export notes.pdf", ".pdf is not a format"),
        ("/rewind 99", "#99 is not a prompt"),
        ("/exclude 99", "#99 is not part of"),
        ("/pin 99", "#99 is not part of"),
        ("/compact --from 99", "no message #99"),
        ("/goal dry feet --count 2 --foo 3", "--foo is not possible. Allowed: --check"),
        ("/guard edits", "not a complete guard. Use /guard edits PATH"),
    ],
)
async def test_a_refused_command_is_back_in_the_editor(served: Desk, typed: str, words: str) -> None:
    async with shown(served.app(served.store(Story().user("Why?").answer("So.")))) as deck:
        await deck.ready()
        await deck.send(typed)
        await deck.until(lambda: words in deck.status, "why not")
        await deck.until(lambda: deck.editor.text == typed, "the command in the prompt")


async def test_a_refused_command_does_not_mix_with_what_was_typed_meanwhile(served: Desk) -> None:
    async with shown(served.app()) as deck:
        await deck.ready()
        await deck.type("when is low water?")
        deck.app.chat.action_slash("/goal dry feet")
        await deck.until(lambda: "A goal needs a check" in deck.status, "why not")
        assert deck.editor.text == "when is low water?"


async def test_status_history_and_checkpoints_are_words(served: Desk) -> None:
    async with shown(served.app(served.store(Story().turns(2)))) as deck:
        await deck.ready()
        for command, words in (
            ("/history", "2 turns, 4 rows in the conversation."),
            ("/status", "harbour:scripted"),
            ("/session checkpoints", "There is no checkpoint yet. One is written"),
        ):
            await deck.send(command)
            await deck.says(words)
            await deck.press("escape")
            await deck.until(lambda: deck.app.screen is deck.app.chat, "the chat")


async def test_new_begins_an_empty_session_and_lets_the_old_one_go(
    served: Desk, fake_openai: FakeOpenAI
) -> None:
    fake_openai.add(Text("Hello."))
    session = served.store(Story().turns(1))
    async with shown(served.app(session)) as deck:
        await deck.ready()
        await deck.send("/new")
        await deck.until(lambda: deck.app.chat.session.id not in ("", session), "another session")
        await deck.ready()
        assert deck.kinds == []
        assert "question 0" not in deck.text
        await deck.send("hi")
        await deck.answered()
        assert "Hello." in deck.text
    with served.log() as store:
        assert len(store.sessions()) == 2


# The palette lists each action of the chat and the focused widget once, with its key.


NOW_AND_THEN = {"prompt.complete", "prompt.close_list", "prompt.expand"}
"""Actions that apply only while a list is open or the cursor is at a paste."""


def offered(deck: Deck) -> dict[str, PaletteRow]:
    rows = list(palette_rows(deck.app.chat))
    assert [title for title, count in Counter(row.title for row in rows).items() if count > 1] == []
    return {row.title: row for row in rows}


def story() -> Story:
    return Story().user("When?").tool("read_file", '{"path": "tide.txt"}', "high water " * 900).answer("Now.")


async def test_every_key_of_the_chat_is_in_palette_and_help(served: Desk) -> None:
    told = {(row.text, row.label) for row in help_rows({})}
    async with shown(served.app(served.store(story()))) as deck:
        await deck.ready()
        rows = offered(deck)
        for key in KEYS:
            if key.id == "app.palette" or key.id in NOW_AND_THEN:
                continue
            command = command_of(key)
            row = rows[f"/{command.name}" if command is not None else key.description]
            assert key_labels(key.key) in row.keys, key.id
            assert command is not None or key.tooltip in row.purpose
            assert (key.description, key_labels(key.key)) in told


async def test_every_key_of_the_focused_list_is_in_palette_and_help(served: Desk) -> None:
    told = {(row.text, row.label) for row in fixed_rows()}
    async with shown(served.app(served.store(story()))) as deck:
        await deck.ready()
        for kind in (Transcript, Timeline):
            deck.app.chat.query_one(kind).focus()
            await deck.settle()
            await deck.press("up", *(["v"] if kind is Transcript else []))
            rows = offered(deck)
            for binding in own_bindings(kind):
                assert binding.description in rows, binding.id
                assert key_labels(binding.key) in rows[binding.description].keys
                assert (binding.description, key_labels(binding.key)) in told


async def test_textual_offers_nothing_in_words_of_its_own(served: Desk) -> None:
    async with shown(served.app()) as deck:
        await deck.ready()
        assert {"Quit", "Theme", "Keys", "Screenshot", "Maximize"} & set(offered(deck)) == set()


async def choose(deck: Deck, words: str) -> None:
    await deck.press("ctrl+p")
    await deck.until(lambda: deck.app.screen is not deck.app.chat, "the palette")
    await deck.press(*words)
    await deck.until(lambda: "No matches" not in deck.text)
    await deck.press("enter")


async def test_actions_are_run_from_the_palette(served: Desk) -> None:
    async with shown(served.app(served.store(story()))) as deck:
        await deck.ready()
        shown_before = deck.app.chat.pane.timeline.display
        await choose(deck, "timeline")
        await deck.until(lambda: deck.app.chat.pane.timeline.display != shown_before, "the other state")
        await choose(deck, "notices")
        await deck.until(lambda: isinstance(deck.app.screen, DetailsScreen), "the notices")
        await deck.press("escape")
        await deck.until(lambda: deck.app.screen is deck.app.chat)


async def test_marked_rows_are_archived_from_the_palette(served: Desk) -> None:
    async with shown(served.app(served.store(story()))) as deck:
        await deck.ready()
        deck.transcript.focus()
        await deck.settle()
        await deck.press("up", "up", "v")
        assert [entry.kind for entry in deck.transcript.marked] == ["tool"]
        view = deck.app.chat.session.presenter.agent_view
        await choose(deck, "archive")
        await deck.until(lambda: view.rewrites, "the archived result")


ON_ROWS = [
    "Mark",
    "Pin or unpin",
    "Copy as text",
    "Archive",
    "Offload",
    "Undo compaction",
    "Compact up to here",
]


async def test_what_is_done_with_rows_is_offered_before_there_is_one_and_says_so(served: Desk) -> None:
    async with shown(served.app(served.store(story()))) as deck:
        await deck.ready()
        assert {"Previous entry", "Mark upwards"}.isdisjoint(offered(deck)), "walking needs the list"
        for action in ON_ROWS:
            deck.app.chat.session.reply(f"Next is {action}.")
            await deck.until(lambda: deck.status.startswith("Next is"), "nothing said")
            done = offered(deck)[action].run()
            if isawaitable(done):
                await done
            await deck.says("No row is marked: press tab, then up.")


async def test_a_key_of_ones_own_is_named(served: Desk) -> None:
    served.change(keymap={"chat.notices": "f6", "chat.compact": "ctrl+k"})
    async with shown(served.app()) as deck:
        await deck.ready()
        rows = offered(deck)
        assert rows["Notices"].keys == "f6"
        assert rows["/compact"].keys == "ctrl+k"


async def test_in_a_dialog_the_palette_offers_what_its_keys_do(served: Desk) -> None:
    first = served.store(Story("Tide notes").user("When?").answer("Now."))
    served.store(story())
    async with shown(served.app(first), USUAL) as deck:
        await deck.ready()
        await deck.send("/sessions")
        await deck.until(lambda: isinstance(deck.app.screen, SessionsScreen), "the sessions")
        dialog = deck.app.screen
        rows = {row.title: row.purpose for row in palette_rows(dialog)}
        assert {"Rename", "Close"} <= set(rows)
        assert "Command palette" not in rows, "it is open"
        assert not any(title.startswith("/") for title in rows)
        await deck.press("ctrl+p")
        await deck.until(lambda: deck.app.screen is not dialog, "the palette")
        await deck.press(*"rename")
        await deck.press("enter")
        await deck.until(lambda: isinstance(deck.app.screen, EditDialog), "the new title")
        await deck.press("escape")
        await deck.until(lambda: isinstance(deck.app.screen, SessionsScreen), "the sessions again")
        await deck.press("f8")
        await deck.until(lambda: isinstance(deck.app.screen, ConfirmDialog), "the question")
        asked = [row.title for row in palette_rows(deck.app.screen)]
        assert "Close" in asked
        assert len(asked) == len(set(asked)) > 2


FOUND_BY = {"cost": "/stats", "new session": "/new", "keys": "/settings", "word for word": "/pin"}


async def test_a_command_is_found_by_what_it_is_for(desk: Desk) -> None:
    async with shown(desk.app(), WIDE) as deck:
        await deck.ready()
        for wanted, command in FOUND_BY.items():
            await deck.press("ctrl+p")
            await deck.until(lambda: isinstance(deck.app.screen, PaletteScreen), "the palette")
            await deck.press(*("space" if sign == " " else sign for sign in wanted))
            await deck.says(command)
            await deck.back()
