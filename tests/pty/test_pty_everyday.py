"""Everyday use of a terminal agent in a real terminal, with several features per walk."""

import json
import signal
import struct
import sys
import zlib
from pathlib import Path

import pytest

from tests.forked import completed
from tests.process_ends import gone, numbers_in
from tests.pty.conftest import Machine
from tests.repository import begin, git
from tests.servers import mcp_stdio
from tests.servers.behaviours import Text, Tool, tool
from tests.servers.fake_openai import FakeOpenAI
from tests.servers.responses import Searches
from tests.walkthroughs.walk import COLUMNS, ROWS, Emulated, Walk

pytestmark = pytest.mark.pty


def write(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


def start(
    machine: Machine, model: FakeOpenAI, *arguments: str, settings: str = "", tables: str = "", **env: str
) -> Walk:
    """Start the program with a scripted model and some settings in a terminal."""
    text = f'model = "local:scripted"\nsandbox = "off"\n{settings}\n{tables}\n[endpoints.local]\n'
    write(machine.home / "config/config.toml", f'{text}window = 64_000\nbase_url = "{model.base_url}"\n')
    return opened(machine, *arguments, **env)


def opened(machine: Machine, *arguments: str, **env: str) -> Walk:
    env = {**machine.env, **env}
    window = Emulated(arguments, env=env, cwd=machine.workspace, columns=COLUMNS, rows=ROWS, forked=True)
    return Walk(machine.stack.enter_context(window)).see(" · ok")


def calls(walk: Walk) -> int:
    """Number of notifications for a finished turn or a question."""
    assert isinstance(walk.window, Emulated)
    told = bytes(walk.window.output)
    return told.count(b"\x1b]9;") - told.count(b"\x1b]9;4;")


def test_a_plan_becomes_work_and_whoever_waits_is_called(machine: Machine, fake_openai: FakeOpenAI) -> None:
    todos = [{"text": "pick a port", "state": "doing"}, {"text": "serve"}]
    fake_openai.add(
        tool("write_file", path="plan.txt", content="too early\n"),
        tool("plan", text="1. Pick a port.\n2. Serve."),
        Text("That is my plan."),
        tool("todo", items=todos),
        tool("ask_user", question="Which port?", choices=["8080", "3000"]),
        tool("write_file", path="port.txt", content="3000\n"),
        Text("It is set."),
        Text("Once more."),
    )
    walk = start(machine, fake_openai, settings='notify = "always"')
    walk.see("ask").press("shift+tab").see("edit mode: edits in the folder are allowed")
    walk.press("shift+tab").see("plan mode").send("plan the server").see("That is my plan.", "f9")
    walk.not_see("esc stops")
    assert not (machine.workspace / "plan.txt").exists(), "plan mode writes nothing"
    before = calls(walk)
    assert before, "the end of a turn calls"
    walk.press("f9").read("Which port?", "1 8080", "2 3000", "● pick a port", "0 of 2")
    assert calls(walk) > before, "and so does a question"
    walk.type("2").see("It is set.").not_see("esc stops")
    assert (machine.workspace / "port.txt").read_text() == "3000\n", "edit mode is back, and asks nothing"
    assert "The user answers: 3000" in str(fake_openai.journal[-1])
    # In ask mode the same tool asks, and one key approves it.
    fake_openai.add(tool("write_file", path="port.txt", content="80\n"), Text("Changed."))
    walk.send("/mode ask").see("ask mode").send("change it").see("Once more.").not_see("esc stops")
    walk.send("now").read("Allow this edit?", "port.txt", "y yes").type("y").see("Changed.")
    walk.leave()
    assert (machine.workspace / "port.txt").read_text() == "80\n"


def test_commands_of_ones_own_and_in_the_background(machine: Machine, fake_openai: FakeOpenAI) -> None:
    pids, rules = machine.workspace / "pids", '[approvals]\nallow = ["run_command sh serve.sh"]'
    write(machine.workspace / "serve.sh", f"echo $$ >>{pids}; echo listening; setsid sleep 600 & wait\n")
    fake_openai.add(Text("I see it."))
    serve = tool("run_command", command="sh serve.sh", background=True)
    fake_openai.add(serve, Text("It runs."), serve, Text("Again."))
    walk = start(machine, fake_openai, tables=rules)
    walk.send("!echo lee; exit 4").see("exit 4").send("!!echo shoal").see("exit 0 · not sent")
    walk.send("!echo be''gun; sleep 600").see("begun", "Running $").press("escape").see("stopped")
    walk.type("!").press("up", "up").see("▐ !!echo shoal").press("ctrl+c").not_see("▐ !!echo")
    walk.send("look").see("I see it.").not_see("esc stops")
    assert "lee" in str(fake_openai.journal[-1])
    assert "shoal" not in str(fake_openai.journal[-1]), "what is kept from the model"
    walk.send("serve it").see("It runs.", "1 task in the background").not_see("esc stops")
    walk.send("/tasks").see("1 running", "sh serve.sh").press("enter").see("listening").type("s")
    walk.see("stopped").press("escape").see("0 running").press("escape").not_see("0 running")
    walk.send("and again").see("Again.", "1 task in the background").not_see("esc stops")
    stopped, running = numbers_in(pids)
    assert gone(stopped)
    assert isinstance(walk.window, Emulated)
    walk.window.kill(signal.SIGKILL)
    assert gone(running), "nothing outlives a killed program"
    assert [line for line in machine.left() if "sleep" in line] == []


def picture() -> bytes:
    """A PNG of two by two pixels."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", 2, 2, 8, 2, 0, 0, 0)
    pixels = zlib.compress((b"\0" + b"\xff\0\0" * 2) * 2)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", pixels) + chunk(b"IEND", b"")


def test_what_a_folder_brings_is_followed_and_shown(
    machine: Machine, fake_openai: FakeOpenAI, tmp_path: Path
) -> None:
    more = tmp_path / "more"
    write(more / "log.txt", "calm\n")
    write(machine.home / "config/AGENTS.md", "Answer like a sailor.")
    write(machine.workspace / "AGENTS.md", "Reef early. @docs/knots.md")
    write(machine.workspace / "docs/knots.md", "A bowline holds.")
    write(machine.workspace / "deck/AGENTS.md", "Mind the boom.")
    write(machine.workspace / "deck/log.txt", "windy\n")
    mate = "---\ndescription: Keeps the log.\n---\nYou are mate."
    write(machine.workspace / ".plimsoll/agents/mate.md", mate)
    (machine.workspace / "flag.png").write_bytes(picture())
    looks = ("flag.png", "deck/log.txt", str(more / "log.txt"))
    fake_openai.add(Tool(tuple(("read_file", {"path": each}) for each in looks)), Text("A red flag."))
    fake_openai.add(tool("delegate", agent="mate", task="Look at the log."), Text("He is back."))
    fake_openai.add(tool("ls"), Text("All calm."), phrase="You are mate")
    walk = start(machine, fake_openai, "--add-dir", str(more))
    walk.send("/effort high").see("high").send("look around").see("A red flag.", "deck/AGENTS.md")
    walk.not_see("esc stops")
    sent = str(fake_openai.journal[-1])
    for words in ("like a sailor", "Reef early", "A bowline holds", "Mind the boom", "windy", "calm"):
        assert words in sent, words
    assert "data:image/png;base64," in sent
    walk.send("send the mate").see("mate", "He is back.").not_see("esc stops")
    assert "All calm." in str(fake_openai.journal[-1])
    walk.send("/status").see("AGENTS.md", "docs/knots.md", "deck/AGENTS.md", "Agents mate", "Effort high")
    walk.press("escape").not_see("Effort high").press("f3").see("deck/AGENTS.md", "docs/knots.md")
    walk.press("escape").not_see("docs/knots.md").leave()


def test_a_change_is_seen_and_committed_with_the_keys_of_vim(
    machine: Machine, fake_openai: FakeOpenAI
) -> None:
    begin(machine.workspace)
    fake_openai.add(tool("edit_file", path="tides.md", old_text="7.3", new_text="7.4"), Text("Raised."))
    walk = start(machine, fake_openai, "--mode", "edit", settings="vim_keys = true")
    walk.type("raise the tide now").see("▐ raise the tide now").press("escape").see("normal")
    walk.type("db").see("▐ raise the tide w").type("x0").type("A please").see("please").press("enter")
    walk.see("Raised.").not_see("esc stops")
    assert "raise the tide  please" in str(fake_openai.journal[-1]["messages"][1])
    walk.send("/diff").see("1 by this session", "+ The spring tide at Brest reaches 7.4 metres.")
    walk.press("escape").not_see("1 by this session")
    fake_openai.add(Text("Raise the tide"))
    walk.send("/commit").read("Raise the tide", "git runs its hooks", "enter").press("enter")
    walk.see("Committed").leave()
    assert git(machine.workspace, "log", "-1", "--format=%s").strip() == "Raise the tide"
    assert git(machine.workspace, "status", "--short") == ""


def test_servers_of_tools_bring_prompts_and_resources(machine: Machine, fake_openai: FakeOpenAI) -> None:
    pytest.importorskip("mcp")
    added = ("mcp", "add", "files", "--", sys.executable, "-S", mcp_stdio.__file__, "rich")
    for words in (added, ("mcp", "test", "files"), ("mcp", "list")):
        done = completed(words, env=machine.env, cwd=machine.workspace, limit_s=60)
        assert done.returncode == 0
    assert "files" in done.stdout
    fake_openai.add(Text("Hail back."), Text("A chart."))
    tables = (machine.home / "config/config.toml").read_text()
    walk = start(machine, fake_openai, tables=tables).send("/mcp").see("files", "3 resources")
    walk.press("escape").not_see("3 resources").send("/files:hail Gull").see("Hail back.")
    walk.not_see("esc stops").send("read @files:notes://chart now").see("A chart.").not_see("esc stops")
    assert "Hail Gull, calmly." in str(fake_openai.journal[0])
    walk.leave()


def test_a_search_of_the_provider_is_a_row(machine: Machine, fake_openai: FakeOpenAI) -> None:
    fake_openai.add(Searches("At noon.", "tide turns", ("https://tides.example.org/noon",)))
    env = {"OPENAI_API_KEY": "test-key", "OPENAI_BASE_URL": fake_openai.base_url}
    walk = opened(machine, "--model", "openai:scripted", PLIMSOLL_WEB_SEARCH="true", **env)
    walk.send("when does the tide turn?").see("web search: tide turns · 1 page", "At noon.").leave()


def test_words_leave_the_models_sight_and_a_new_session_takes_over(
    machine: Machine, fake_openai: FakeOpenAI
) -> None:
    days = "".join(f"day {day}: wind force {day % 9}\n" for day in range(1_400))
    write(machine.workspace / "log.txt", days)
    notes = Text("Title: Tides\n## State\n- High water is at noon, as the user asked.")
    fake_openai.add(notes, notes, phrase="At most about")
    fake_openai.add(*[Text("Nothing to change.")] * 9, phrase="You keep the context board")
    fake_openai.add(Text("Noted."), tool("read_file", path="log.txt"), Text("High water at noon."))
    fake_openai.add(Text("Gladly forgotten."))
    walk = start(machine, fake_openai)
    walk.send("the password is kelp").see("Noted.").not_see("esc stops")
    walk.send("when is high water?").see("High water at noon.").not_see("esc stops")
    walk.send("/exclude kelp").see("/exclude takes numbers of messages").press("ctrl+c").see("Draft cleared")
    walk.send("/exclude #900").see("#900").press("ctrl+c").send("/exclude #2 turn").see("excluded")
    walk.send("go on").see("Gladly forgotten.").not_see("esc stops")
    sent = str(fake_openai.journal[-1])
    assert "kelp" not in sent
    assert "High water at noon." in sent
    walk.send("/undo").not_see("× excluded").send("/redo").see("excluded")
    fake_openai.add(tool("compact_context", reason="The next task begins."), Text("On with it."))
    walk.send("next task").see("On with it.").not_see("esc stops").see("The next task begins.")
    walk.send("/audit").see("kept", "lost").press("escape").not_see("lost")
    fake_openai.add(Text("The brief is read."))
    walk.send("/handoff write the timetable").read("Review the brief", "High water", "enter")
    walk.press("enter").see("handed over", "▐ write the timetable").press("enter")
    walk.see("The brief is read.")
    asked = [str(request) for request in fake_openai.journal if "write the timetable" in str(request)]
    assert any("[Handoff]" in request and "kelp" not in request for request in asked)
    walk.leave()


def test_hooks_the_clipboard_and_a_server_that_asks(machine: Machine, fake_openai: FakeOpenAI) -> None:
    pytest.importorskip("mcp")
    said, bin = machine.home / "said", machine.home / "bin"
    hooks = {
        "userPrompt": "! grep -q secret || exit 2",
        "preTool": 'grep -q read_file && echo \'{"args": {"path": "tides.md"}}\' || true',
        "turnEnd": f"cat >>{said}",
        "waiting": f"cat >>{said}",
    }
    rows = [f"[[hooks.{each}]]\nshell = true\ncommand = {json.dumps(run)}" for each, run in hooks.items()]
    asks = ["-S", mcp_stdio.__file__, "plain"]
    tables = "\n".join(
        [
            *rows,
            f"[mcp.files]\ncommand = '{sys.executable}'\nargs = {asks}",
            "[approvals]",
            "allow = ['files_ask']",
        ]
    )
    (machine.home / "flag.png").write_bytes(picture())
    write(bin / "xclip", f"#!/bin/sh\ncat {machine.home / 'flag.png'}\n")
    (bin / "xclip").chmod(0o755)
    env = {"DISPLAY": ":7", "PATH": f"{bin}:{machine.env['PATH']}"}
    fake_openai.add(
        tool("read_file", path="other.md"), Text("It rises."), tool("files_ask"), Text("Gull it is.")
    )
    walk = start(machine, fake_openai, tables=tables, **env)
    walk.send("my secret").see("refused").press("ctrl+c")
    walk.not_see("▐ my secret").type("look ").type("\x16").see("[picture 1]").press("enter").see("It rises.")
    walk.not_see("esc stops")
    sent = str(fake_openai.journal)
    assert "secret" not in sent
    assert "data:image/png;base64," in sent
    assert "reaches 7.3 metres" in sent, "of the file that the hook named"
    walk.send("which boat?").read("Which boat?", "Boat").type("Gull").press("enter").read("berths")
    walk.press("escape").see("Gull it is.").not_see("esc stops").leave()
    assert '"turn.end"' in said.read_text()
    assert '"mcp.question"' in said.read_text()
