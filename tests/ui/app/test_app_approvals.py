"""Approvals appear above the prompt, which stays usable."""

import asyncio
import os
import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import pytest
from textual.widgets import Input

from tests.conversation.test_approvals import together
from tests.servers.behaviours import Text, Tool, tool
from tests.servers.fake_openai import FakeOpenAI
from tests.ui.kit import SMALL, USUAL, WIDE, Deck, Desk, shown
from tui_app.events import ApprovalDecided
from tui_app.settings import load_settings
from tui_app.settings.tables import rules_of
from tui_app.ui import approvals as approval_box
from tui_app.ui.approvals import ApprovalBox
from tui_app.ui.chat import pane as chat_pane
from tui_app.ui.dialogs.extensions.approvals import ApprovalsScreen
from tui_app.ui.dialogs.questions import EditDialog
from tui_app.ui.keyboard import lone_letter
from tui_app.ui.panels.output_tail import OutputTail
from tui_app.ui.timeline import Timeline, TimelineFilter

LONG = "".join(f"line {number}\n" for number in range(80))


@pytest.fixture
def _at_once(served: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """Allow tools to act, and answer approvals without the protection delay, unless a test restores it."""
    served.change(read_only=False)
    monkeypatch.setattr(approval_box, "QUIET_S", 0.0)
    monkeypatch.setattr(chat_pane, "QUIET_S", 0.01)


def box(deck: Deck) -> ApprovalBox:
    return deck.app.chat.query_one(ApprovalBox)


async def asked(deck: Deck, prompt: str = "Do it.", subject: str = "") -> ApprovalBox:
    """Send a prompt and wait for its approval."""
    if prompt:
        await deck.send(prompt)
    await deck.until(lambda: box(deck).question is not None and subject in _subject(deck), "a question")
    await deck.until(lambda: box(deck).has_focus, "the keys")
    return box(deck)


def _subject(deck: Deck) -> str:
    question = box(deck).question
    return question.subject if question is not None else ""


def decisions(desk: Desk) -> Sequence[ApprovalDecided]:
    with desk.log() as log:
        session = log.sessions()[0].id
        records = [log.record(session, head.seq) for head in log.heads(session)]
    return [each.data for each in records if each is not None and isinstance(each.data, ApprovalDecided)]


def write(path: str = "plan.txt", content: str = "sea\nsky\n") -> Tool:
    return tool("write_file", path=path, content=content)


@pytest.mark.usefixtures("_at_once")
@pytest.mark.parametrize("size", [WIDE, USUAL], ids=["120x40", "80x24"])
async def test_once(served: Desk, fake_openai: FakeOpenAI, size: tuple[int, int]) -> None:
    fake_openai.add(write(content=LONG), Text("Done."))
    async with shown(served.app(), size) as deck:
        await deck.ready()
        await asked(deck)
        for words in (
            "Allow this edit?   plan.txt",
            "1 + line 0",
            "y read on",
            "n no",
            "esc stop",
            "rows below",
        ):
            assert words in deck.text, words
        assert "+ line 79" not in deck.text
        assert deck.hints.split()[:4] == ["tab", "prompt", "f3", "context"]
        assert "compact" not in deck.hints
        assert "keys" not in deck.hints, "its sign would be typed into the prompt"
        await deck.press("y", "a", "y")
        await deck.until(lambda: "+ line 0" not in deck.text, "the next pages")
        assert not (served.cwd / "plan.txt").exists(), "nothing is allowed before all of it was seen"
        await deck.hurry(*["down"] * 90)
        await deck.says("80 + line 79")
        await deck.says("y yes")
        assert 'a always "write_file plan.txt"' in deck.text
        assert not (served.cwd / "plan.txt").exists()
        await deck.press("y")
        await deck.answered()
        assert (served.cwd / "plan.txt").read_text() == LONG
        assert box(deck).question is None
        assert deck.editor.has_focus
        assert "Allow" not in deck.text


@pytest.mark.usefixtures("_at_once")
async def test_lines_behind_the_last_change_need_not_be_read(served: Desk, fake_openai: FakeOpenAI) -> None:
    (served.cwd / "plan.txt").write_text("".join(f"line {number}\n" for number in range(20)))
    new = "sea\nsky\nwind\nrain"
    fake_openai.add(tool("edit_file", path="plan.txt", old_text="line 9", new_text=new), Text("Done."))
    async with shown(served.app(), USUAL) as deck:
        await deck.ready()
        await asked(deck)
        await deck.says("13 + rain")
        await deck.says("y yes")
        assert re.search(r"[1-3] more rows? below", deck.text), "nothing changes there"
        await deck.press("y")
        await deck.answered()
    assert new in (served.cwd / "plan.txt").read_text()


@pytest.mark.usefixtures("_at_once")
@pytest.mark.parametrize("size", [WIDE, USUAL, SMALL], ids=["120x40", "80x24", "40x12"])
async def test_a_long_diff_leaves_everything_else_on_the_screen(
    served: Desk, fake_openai: FakeOpenAI, size: tuple[int, int]
) -> None:
    fake_openai.add(write(content=LONG * 3), write("sky.txt", LONG * 3), Text("Done."))
    async with shown(served.app(), size) as deck:
        await deck.ready()
        for prompt, subject in (("Do it.", "plan.txt"), ("", "sky.txt")):
            await asked(deck, prompt, subject)
            await deck.settle()
            rows = ("#approval-title", "#approval-keys", "#prompt-row", "#gauge", "#hints")
            places = [deck.app.chat.query_one(row).region for row in rows]
            for above, below in pairwise(places):
                assert above.height > 0
                assert above.bottom <= below.y
            assert places[-1].bottom == size[1]
            assert "y read on" in deck.rows[places[1].y]
            assert deck.gauge[:6] in deck.rows[places[-2].y]
            assert "tab prompt" in deck.rows[places[-1].y]
            await deck.press("end", "y")
        await deck.answered()


@pytest.mark.usefixtures("_at_once")
async def test_a_call_that_somebody_is_asked_about_does_not_run_and_one_refused_has_not_failed(
    served: Desk, fake_openai: FakeOpenAI
) -> None:
    fake_openai.add(write(), Text("Done."))
    async with shown(served.app(), WIDE) as deck:
        await deck.ready()
        await asked(deck)
        await deck.settle()
        assert "waits for you" in deck.text
        deck.app.chat.query_one(Timeline).shown = TimelineFilter.ALL
        await deck.settle()
        assert re.search(r"│  \S pla\S* +waiting", deck.text)
        assert "running" not in deck.text
        await deck.press("n")
        await deck.press("enter")
        await deck.answered()
        assert re.search(r"write_file plan\S* +✗ denied", deck.text), "conversation"
        assert re.search(r"│  \S pla\S* +✗ denied", deck.text), "timeline"
        assert "failed" not in deck.text


@pytest.mark.usefixtures("_at_once")
async def test_in_the_least_room_prompt_gauge_and_answers_are_there(
    served: Desk, fake_openai: FakeOpenAI
) -> None:
    fake_openai.add(write(content=LONG), Text("Done."))
    async with shown(served.app(), SMALL) as deck:
        await deck.ready()
        await asked(deck)
        for words in ("Allow this edit?", "y read on", "n no", deck.gauge[:6]):
            assert words in deck.text
        prompt = deck.editor.region
        assert 0 < prompt.y < 12
        await deck.press("n", *"why")
        await deck.says("why")
        await deck.press("escape", "end", "y")
        await deck.answered()


@pytest.mark.usefixtures("_at_once")
async def test_no_with_a_reason(served: Desk, fake_openai: FakeOpenAI) -> None:
    fake_openai.add(write(), Text("All right."))
    async with shown(served.app()) as deck:
        await deck.ready()
        await asked(deck)
        await deck.press("n", *"not yet", "escape")
        assert box(deck).has_focus, "esc leaves the line first"
        await deck.press("n", *"too early", "enter")
        await deck.answered()
    assert [(one.decision, one.reason) for one in decisions(served)] == [("denied", "too early")]


@pytest.mark.usefixtures("_at_once")
async def test_a_reason_typed_in_a_hurry_allows_nothing(served: Desk, fake_openai: FakeOpenAI) -> None:
    fake_openai.add(write(), Text("All right."))
    async with shown(served.app()) as deck:
        await deck.ready()
        await asked(deck)
        await deck.hurry("n", *"yea", "enter")
        await deck.answered()
    assert [(one.decision, one.reason) for one in decisions(served)] == [("denied", "yea")]


@pytest.mark.usefixtures("_at_once")
async def test_from_now_on_with_another_rule(served: Desk, fake_openai: FakeOpenAI) -> None:
    fake_openai.add(write("docs/a.md"), write("docs/b.md"), Text("Done."))
    async with shown(served.app()) as deck:
        await deck.ready()
        await asked(deck)
        await deck.press("e")
        line = box(deck).query_one(Input)
        assert line.value == "write_file docs/a.md"
        line.value = "write_file src/*"
        await deck.press("enter")
        await deck.says("does not allow this call")  # a rule must match the call
        line.value = "write_file docs/*"
        await deck.press("enter")
        await deck.answered()
    assert [(one.scope, one.by) for one in decisions(served)] == [("always", "person"), ("rule", "rule")]
    assert sorted(path.name for path in (served.cwd / "docs").iterdir()) == ["a.md", "b.md"]


@pytest.mark.usefixtures("_at_once")
async def test_several_one_after_the_other(served: Desk, fake_openai: FakeOpenAI) -> None:
    fake_openai.add(together(write("a"), write("b"), tool("run_command", command="echo c")), Text("Done."))
    async with shown(served.app()) as deck:
        await deck.ready()
        await asked(deck)
        await deck.says("2 more wait")
        await deck.press("y")
        await asked(deck, "", "b")
        await deck.press("n", "enter")
        await asked(deck, "", "echo c")
        await deck.press("y")
        await deck.answered()
    made = [(one.subject, one.decision) for one in decisions(served)]
    assert made == [("a", "allowed"), ("b", "denied"), ("echo c", "allowed")]


@pytest.mark.usefixtures("_at_once")
async def test_what_nobody_has_allowed_yet_waits_and_what_asks_nothing_runs(
    served: Desk, fake_openai: FakeOpenAI
) -> None:
    calls = together(
        write("a.txt"), tool("ls"), write("a.txt", "other\n"), tool("run_command", command="echo c")
    )
    fake_openai.add(calls, Text("Done."))

    def waiting() -> list[str]:
        """The conversation's calls in order, and whether the screen shows each as waiting."""
        rows = [row.split("│")[0].strip() for row in deck.rows if re.match("┃ [✱✎$]", row)]
        names = {"✱": "ls", "✎": "write_file", "$": "run_command"}
        return [
            f"{names[row.split()[1]]} {'waits' if row.endswith('waits for you') else 'over'}" for row in rows
        ]

    async with shown(served.app(), WIDE) as deck:
        await deck.ready()
        await asked(deck, subject="a.txt")
        others = ["ls over", "write_file waits", "run_command waits"]
        await deck.until(lambda: waiting() == ["write_file waits", *others], "all that wait")
        await deck.settle()
        assert "running" not in deck.text
        await deck.press("y")
        await deck.until(lambda: "other" in deck.text, "the second change of the same file")
        await deck.until(lambda: waiting() == ["write_file over", *others], "the first one's end")
        await asked(deck, "", "a.txt")
        await deck.press("y")
        await asked(deck, "", "echo c")
        left = ["write_file over", "ls over", "write_file over", "run_command waits"]
        await deck.until(lambda: waiting() == left and "running" not in deck.text, "the last one")
        await deck.press("n", "enter")
        await deck.answered()
        assert "waits for you" not in deck.text


@pytest.mark.usefixtures("_at_once")
@pytest.mark.parametrize("size", [(40, 10), (38, 20)])
async def test_no_key_answers_what_is_not_on_the_screen(
    served: Desk, fake_openai: FakeOpenAI, size: tuple[int, int]
) -> None:
    fake_openai.add(write(), Text("Done."))
    async with shown(served.app()) as deck:
        await deck.ready()
        await asked(deck)
        await deck.pilot.resize_terminal(*size)
        await deck.pilot.pause()
        await deck.press("y")
        await deck.until(lambda: deck.editor.text == "y", "what was typed")
        assert decisions(served) == []
        await deck.pilot.resize_terminal(*WIDE)
        await deck.press("backspace", "f12", "y")
        await deck.until((served.cwd / "plan.txt").exists, "the file")
    assert [one.decision for one in decisions(served)] == ["allowed"]


@pytest.mark.usefixtures("_at_once")
async def test_an_answer_gives_the_keys_back_at_once(served: Desk, fake_openai: FakeOpenAI) -> None:
    fake_openai.add(write(), Text("Done."))
    async with shown(served.app()) as deck:
        await deck.ready()
        await asked(deck)
        await deck.press("n")
        pane = deck.app.chat.query_one(chat_pane.ChatPane)
        # The next approval may arrive before the screen has processed anything else.
        pane.show(replace(deck.app.chat.session.state, question=None))
        assert deck.app.screen.focused is pane.prompt.editor
        await deck.press("escape")
        await deck.idle()


@pytest.mark.usefixtures("_at_once")
async def test_beside_a_draft_only_the_key_that_works_is_named(served: Desk, fake_openai: FakeOpenAI) -> None:
    fake_openai.add(tool("run_command", command="npm test unit"), Text("Done."))
    async with shown(served.app()) as deck:
        await deck.ready()
        await deck.send("Do it.")
        await deck.type("any")
        await deck.says("f12 answer")
        assert "always any" not in deck.text
        await deck.press("f12")
        await deck.says('w always any "npm test unit …"')
        await deck.press("escape")
        await deck.idle()


@pytest.mark.usefixtures("_at_once")
async def test_a_draft_keeps_the_keys(served: Desk, fake_openai: FakeOpenAI) -> None:
    fake_openai.add(write(), Text("Done."))
    async with shown(served.app()) as deck:
        await deck.ready()
        await deck.send("Do it.")
        await deck.type("any")
        await deck.says("f12 answer")
        await deck.press("y", "n")
        assert deck.editor.text == "anyyn"
        assert box(deck).question is not None
        await deck.press("enter")
        await deck.until(lambda: deck.queue, "the queue")
        await deck.press("f12", "y")
        await deck.until((served.cwd / "plan.txt").exists, "the file")
    assert [one.decision for one in decisions(served)] == ["allowed"]


@pytest.mark.usefixtures("_at_once")
async def test_letters_of_somebody_who_still_writes_go_to_the_prompt(
    served: Desk, fake_openai: FakeOpenAI, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(approval_box, "QUIET_S", 60.0)
    monkeypatch.setattr(chat_pane, "QUIET_S", 0.0)
    fake_openai.add(write(), Text("Done."))
    async with shown(served.app()) as deck:
        await deck.ready()
        await asked(deck)
        await deck.press("y", "e", "s")
        await deck.until(lambda: deck.editor.text == "yes", "the draft")
        assert box(deck).question is not None
        assert decisions(served) == []


@pytest.mark.usefixtures("_at_once")
async def test_other_letters_start_a_prompt_at_once(served: Desk, fake_openai: FakeOpenAI) -> None:
    fake_openai.add(write(), Text("Done."))
    async with shown(served.app()) as deck:
        await deck.ready()
        await asked(deck)
        await deck.press("w", "a", "y")
        assert deck.editor.text == "way"
        assert decisions(served) == []


@pytest.mark.usefixtures("_at_once")
@pytest.mark.parametrize("word", ["you", "and", "yes", "easy"])
async def test_a_letter_that_begins_a_word_is_no_answer(
    served: Desk, fake_openai: FakeOpenAI, monkeypatch: pytest.MonkeyPatch, word: str
) -> None:
    monkeypatch.setattr(lone_letter, "ALONE_S", 60.0)
    fake_openai.add(write(), Text("Done."))
    async with shown(served.app()) as deck:
        await deck.ready()
        await asked(deck)
        await deck.press(*word)
        assert deck.editor.text == word
        assert box(deck).question is not None
        assert decisions(served) == []
        assert not (served.cwd / "plan.txt").exists()


@pytest.mark.usefixtures("_at_once")
async def test_what_is_typed_right_behind_n_is_the_reason(
    served: Desk, fake_openai: FakeOpenAI, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lone_letter, "ALONE_S", 60.0)
    fake_openai.add(write(), Text("All right."))
    async with shown(served.app()) as deck:
        await deck.ready()
        await asked(deck)
        await deck.hurry("n", *"yet too early", "enter")
        await deck.answered()
        assert deck.editor.text == ""
    assert [(one.decision, one.reason) for one in decisions(served)] == [("denied", "yet too early")]


@pytest.mark.usefixtures("_at_once")
async def test_words_that_come_at_once_are_no_answer_either(
    served: Desk, fake_openai: FakeOpenAI, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lone_letter, "ALONE_S", 60.0)
    fake_openai.add(write(), Text("Done."))
    async with shown(served.app()) as deck:
        await deck.ready()
        await asked(deck)
        await deck.hurry(*"yay")
        await deck.until(lambda: deck.editor.text == "yay", "the draft")
        assert decisions(served) == []


@pytest.mark.usefixtures("_at_once")
async def test_a_letter_that_nothing_follows_answers(
    served: Desk, fake_openai: FakeOpenAI, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lone_letter, "ALONE_S", 0.01)
    fake_openai.add(write(), Text("Done."))
    async with shown(served.app()) as deck:
        await deck.ready()
        await asked(deck)
        await deck.press("y")
        await deck.until((served.cwd / "plan.txt").exists, "the file")
        await deck.answered()


@pytest.mark.usefixtures("_at_once")
async def test_esc_says_no_and_stops_the_turn(served: Desk, fake_openai: FakeOpenAI) -> None:
    fake_openai.add(write())
    async with shown(served.app()) as deck:
        await deck.ready()
        await asked(deck)
        await deck.press("escape")
        await deck.idle()
        assert box(deck).question is None
        assert deck.status.startswith("Stopped")
    assert [one.decision for one in decisions(served)] == ["cancelled"]
    assert not (served.cwd / "plan.txt").exists()


@pytest.mark.usefixtures("_at_once")
async def test_nothing_in_a_command_can_hide(served: Desk, fake_openai: FakeOpenAI) -> None:
    line = "echo \x1b[8mhidden\x1b[0m \u202egnp\u202c \u200b[bold]x[/bold]"
    fake_openai.add(tool("run_command", command=line), Text("Done."))
    async with shown(served.app()) as deck:
        await deck.ready()
        await asked(deck)
        assert r"$ echo \x1b[8mhidden\x1b[0m \u202egnp\u202c \u200b[bold]x[/bold]" in deck.text
        await deck.press("n", "enter")
        await deck.answered()


@pytest.mark.usefixtures("_at_once")
async def test_output_is_shown_while_a_command_runs(served: Desk, fake_openai: FakeOpenAI) -> None:
    fake_openai.add(tool("run_command", command="echo begun; read x < pipe; echo over"), Text("Done."))
    os.mkfifo(served.cwd / "pipe")
    async with shown(served.app()) as deck:
        await deck.ready()
        await asked(deck)
        await deck.press("y")
        tail = deck.app.chat.query_one(OutputTail)
        await deck.until(lambda: tail.display and tail.output == "begun\n", "the output")
        await asyncio.to_thread((served.cwd / "pipe").write_text, "go\n")
        await deck.answered()
        assert not tail.display


@pytest.mark.usefixtures("_at_once")
async def test_rules_and_decisions_are_listed_and_changed(served: Desk, fake_openai: FakeOpenAI) -> None:
    config = served.paths.config_file
    config.parent.mkdir(parents=True, exist_ok=True)
    config.write_text('# mine\n[approvals]\nallow = [\n  "write_file docs/**",  # prose\n]\n')
    served.change(approvals=load_settings(served.paths, {}).approvals)
    fake_openai.add(write(), tool("run_command", command="echo x"), Text("Done."))
    async with shown(served.app()) as deck:
        await deck.ready()
        await asked(deck)
        await deck.press("a")
        await asked(deck, "", "echo")
        await deck.press("n", *"no", "enter")
        await deck.answered()
        await deck.send("/approvals")
        await deck.until(lambda: isinstance(deck.app.screen, ApprovalsScreen), "the rules")
        for words in ("write_file docs/**", "your file", "this session", "denied: run_command echo x"):
            assert words in deck.text
        await deck.press("f7")
        await deck.until(lambda: isinstance(deck.app.screen, EditDialog), "the dialog")
        deck.app.screen.query_one(Input).value = "deny run_command rm"
        await deck.press("enter")
        await deck.says("written to")
        text = config.read_text()
        assert '  "write_file docs/**",  # prose\n' in text
        assert f'[approvals.repositories."{served.cwd.resolve()}"]\ndeny = ["run_command rm"]' in text
        while "write_file plan.txt" not in deck.text.splitlines()[_marked(deck)]:
            await deck.press("down")
        await deck.press("f9")
        await deck.says("write_file plan.txt: written to")
        rules = load_settings(served.paths, {}).approvals
        assert [each.text for each in rules_of(rules, served.cwd)] == [
            "run_command rm", "write_file docs/**", "write_file plan.txt"
        ]  # fmt: skip
        assert [each.text for each in rules_of(rules, served.cwd.parent)] == ["write_file docs/**"]
        await deck.says("this repo")
        await deck.press("f6")
        await deck.until(lambda: load_settings(served.paths, {}).approvals["allow"][1:], "the general rule")
        rules = load_settings(served.paths, {}).approvals
        assert rules["allow"] == ("write_file docs/**", "write_file plan.txt")
        assert [each.source for each in rules_of(rules, served.cwd)] == ["repository", "settings", "settings"]
        await deck.until(lambda: "run_command rm" in deck.text, "the rules")
        while "run_command rm" not in deck.text.splitlines()[_marked(deck)]:
            await deck.press("up")
        await deck.press("f8")
        await deck.says("run_command rm: removed")
        rules = load_settings(served.paths, {}).approvals
        assert [each.source for each in rules_of(rules, served.cwd)] == ["settings"] * 2
        assert "# prose" in config.read_text()
        assert "# mine" in config.read_text()


def _marked(deck: Deck) -> int:
    options = deck.app.screen.query_one("#approvals-list")
    return options.region.y + (getattr(options, "highlighted", 0) or 0)


@pytest.mark.usefixtures("_at_once")
async def test_a_rule_about_no_tool_is_pointed_out(served: Desk) -> None:
    config = served.paths.config_file
    config.parent.mkdir(parents=True, exist_ok=True)
    config.write_text('[approvals]\ndeny = ["run_comand git push"]\n')
    served.change(approvals=load_settings(served.paths, {}).approvals)
    async with shown(served.app()) as deck:
        await deck.ready()
        await deck.send("/approvals")
        await deck.until(lambda: isinstance(deck.app.screen, ApprovalsScreen), "the rules")
        await deck.says("no such tool")
        await deck.says("is run_command meant?")
        await deck.press("f7")
        await deck.until(lambda: isinstance(deck.app.screen, EditDialog), "the dialog")
        deck.app.screen.query_one(Input).value = "deny reed_file .env"
        await deck.press("enter")
        await deck.says("No tool is called reed_file: is read_file meant?")
        await deck.until(lambda: deck.text.count("no such tool") == 2, "both")


# Tools of the user's own agent also need approval, because their effect is unknown.


@pytest.fixture
def _own_agent_at_once(served: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """Answer approvals without the protection delay."""
    served.change(read_only=False)
    monkeypatch.setattr(approval_box, "QUIET_S", 0.0)
    monkeypatch.setattr(chat_pane, "QUIET_S", 0.01)


OWN_AGENT = """
from pathlib import Path

from pydantic_ai import Agent

helper = Agent()

@helper.tool_plain
def book(ferry: str) -> str:
    Path(__file__).with_name("booked").write_text(ferry)
    return "booked"
"""
BOOK = tool("book", ferry="Elsa \x1b[8m[bold]")


@pytest.mark.usefixtures("_own_agent_at_once")
@pytest.mark.parametrize(
    ("keys", "booked", "decision"),
    [
        (("y",), True, ("allowed", "once", "")),
        (("a",), True, ("allowed", "always", "")),
        (("n", *"not she", "enter"), False, ("denied", "once", "not she")),
    ],
)
async def test_a_tool_of_an_agent_of_ones_own(
    served: Desk, fake_openai: FakeOpenAI, keys: tuple[str, ...], booked: bool, decision: tuple[str, str, str]
) -> None:
    (served.cwd / "agents.py").write_text(OWN_AGENT)
    fake_openai.add(BOOK, Text("Done."))
    async with shown(served.app(agent="agents.py:helper"), WIDE) as deck:
        await deck.ready()
        await asked(deck)
        for words in (
            "Allow this call?   book",
            r'{"ferry":"Elsa \u001b[8m[bold]"}',
            "y yes",
            'a always "book"',
        ):
            assert words in deck.text, words
        await deck.press(*keys)
        await deck.answered()
    assert (served.cwd / "booked").exists() is booked
    assert [(one.decision, one.scope, one.reason) for one in decisions(served)] == [decision]
    assert decision[2] in str(fake_openai.journal[-1]["messages"][-1])


@pytest.mark.usefixtures("_own_agent_at_once")
async def test_a_rule_says_that_a_tool_only_looks(served: Desk, fake_openai: FakeOpenAI) -> None:
    served.change(read_only=True)
    (served.cwd / "agents.py").write_text(OWN_AGENT)
    fake_openai.add(BOOK, Text("It may not."), BOOK, Text("Now it may."))
    async with shown(served.app(agent="agents.py:helper"), WIDE) as deck:
        await deck.ready()
        await deck.send("Book.")
        await deck.says("It may not.")
        assert [(one.decision, one.by) for one in decisions(served)] == [("denied", "mode")]
        assert "no rule marks this tool as read-only" in str(fake_openai.journal[-1]["messages"][-1])
        await deck.send("/approvals")
        await deck.until(lambda: isinstance(deck.app.screen, ApprovalsScreen), "the rules")
        await deck.press("f7")
        await deck.until(lambda: isinstance(deck.app.screen, EditDialog), "the dialog")
        deck.app.screen.query_one(Input).value = "looks book Elsa"
        await deck.press("enter")
        await deck.says("after it: ")
        deck.app.screen.query_one(Input).value = "looks book"
        await deck.press("enter")
        await deck.says("looks book: written to")
        await deck.press("escape")
        await deck.until(lambda: not isinstance(deck.app.screen, ApprovalsScreen), "the chat")
        await deck.send("Book.")
        await deck.says("Now it may.")
    assert (served.cwd / "booked").exists()
