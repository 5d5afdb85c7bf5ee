"""Denied paths stay unread: by every read-only tool, in every spelling, and by sub-agents."""

import os
from typing import Any

import pytest

from tests.conversation.driving import Desk, Following, assert_valid, of, turn, until
from tests.conversation.test_approvals import NO, ONCE, decided, played, results, together, working
from tests.servers.behaviours import Text, Tool, tool
from tests.servers.fake_openai import FakeOpenAI
from tui_app.conversation.work import Prompt
from tui_app.events import ApprovalDecided, ApprovalRequested, Notice
from tui_app.ui.slash import find_commands

SECRET = "SECRET=hunter2"
DENIED = 'Not done: the rule "{}" forbids it. Do not try the same in another way'


@pytest.fixture
def desk(desk: Desk) -> Desk:
    """A folder with secrets, some of them behind links."""
    keys = desk.cwd / "keys"
    keys.mkdir()
    for path in (desk.cwd / ".env", keys / "prod.key"):
        path.write_text(f"{SECRET}\n")
    (desk.cwd / "link").symlink_to(".env")
    (desk.cwd / "way").symlink_to("keys")
    (desk.cwd / "app.py").write_text("SECRET = os.environ['SECRET']\n")
    return desk


async def said(desk: Desk, server: FakeOpenAI, call: Tool, *deny: str, **more: Any) -> tuple[str, str]:
    """The outcome of one call under the deny rules."""
    server.add(call, Text("Done."))
    more = {"read_only": False, "attended": False, "yes": True, **more}
    async with working(desk, server, approvals={"deny": deny}, **more) as opened:
        records = await turn(opened.conversation, "Look.")
        assert_valid(opened.conversation)
    [result] = results(records)
    return result


@pytest.mark.parametrize(
    ("rule", "call"),
    [
        ("read_file .env", tool("read_file", path=".env")),
        ("read_file .env", tool("read_file", path="./.env")),
        ("read_file .env", tool("read_file", path="keys/../.env")),
        ("read_file .env", tool("read_file", path="link")),
        ("read_file .ENV", tool("read_file", path=".env")),
        ("read_file link", tool("read_file", path="link")),
        ("read_file", tool("read_file", path="app.py")),
        ("read_*", tool("read_file", path="app.py")),
        ("*", tool("read_file", path="app.py")),
        ("* .env", tool("read_file", path=".env")),
        ("read_file keys/**", tool("read_file", path="keys/prod.key")),
        ("read_file keys/", tool("read_file", path="way/prod.key")),
        ("read_file keys", tool("read_file", path="keys/prod.key")),
        ("read_file *.{key,pem}", tool("read_file", path="keys/prod.key")),
        ("read_file .env", tool("grep", pattern="SECRET", path=".env")),
        ("read_file keys/**", tool("grep", pattern="SECRET", path="keys")),
        ("read_file keys/**", tool("grep", pattern="SECRET", path="way")),
        ("read_file", tool("grep", pattern="SECRET")),
        ("grep", tool("grep", pattern="SECRET")),
        ("grep .env", tool("grep", pattern="SECRET", path="link")),
        ("ls", tool("ls")),
        ("ls keys", tool("ls", path="way")),
        ("glob", tool("glob", pattern="*")),
        ("glob keys/**", tool("glob", pattern="keys/*")),
        ("search_history", tool("search_history", query="Look")),
        ("search_history *hunter*", tool("search_history", query="Hunter2")),
        ("todo", tool("todo", items=[{"text": "x"}])),
        ("plan", tool("plan", text="x")),
        ("explore", tool("explore", task="Look.")),
        ("read_file .env", tool("write_file", path=".env", content="x")),
        ("read_file .env", tool("edit_file", path="link", old_text="SECRET=", new_text="x")),
    ],
)
async def test_what_is_denied_stays_denied(
    desk: Desk, fake_openai: FakeOpenAI, rule: str, call: Tool
) -> None:
    outcome, text = await said(desk, fake_openai, call, rule, explore={})
    assert outcome == "denied"
    assert text.startswith(DENIED.format(rule))
    assert "hunter2" not in str(fake_openai.journal)


async def test_an_absolute_path_is_the_same_file(desk: Desk, fake_openai: FakeOpenAI) -> None:
    call = tool("read_file", path=str(desk.cwd / "link"))
    assert (await said(desk, fake_openai, call, "read_file link"))[0] == "denied"


async def test_a_message_brought_back_as_a_file_is_a_search_of_the_conversation(
    desk: Desk, fake_openai: FakeOpenAI
) -> None:
    fake_openai.add(Text("Hello."), tool("read_file", path="#2"), Text("Done."))
    async with working(desk, fake_openai, approvals={"deny": ("search_history",)}) as opened:
        [first, *_] = [record.seq for record in await turn(opened.conversation, "Hi.") if record.seq]
        assert first
        assert [one[0] for one in results(await turn(opened.conversation, "Look."))] == ["denied"]


@pytest.mark.parametrize(
    ("rule", "call", "shown"),
    [
        ("read_file .env", tool("grep", pattern="SECRET"), {"app.py", "keys/prod.key"}),
        ("read_file keys/**", tool("grep", pattern="SECRET"), {"app.py", ".env"}),
        ("read_file *.key", tool("grep", pattern="SECRET"), {"app.py", ".env"}),
        ("grep .env", tool("grep", pattern="SECRET"), {"app.py", "keys/prod.key"}),
        ("glob .env", tool("glob", pattern="**/*"), {"app.py", "keys/prod.key", "README.md"}),
        ("ls .env", tool("ls"), {"app.py", "keys/", "README.md", "link@", "way@"}),
    ],
)
async def test_of_a_folder_everything_else_is_shown_and_the_rest_is_counted(
    desk: Desk, fake_openai: FakeOpenAI, rule: str, call: Tool, shown: set[str]
) -> None:
    outcome, text = await said(desk, fake_openai, call, rule)
    assert outcome == "success"
    *rows, note = text.splitlines()
    assert note == "[files left out by rules of the user: 1; name one to ask for it]"
    assert {row.split(":")[0].split("  ")[0] for row in rows} == shown


@pytest.mark.parametrize("rule", ["read_file .env", "glob .env", "grep keys/**"])
async def test_names_are_no_secret_unless_a_rule_says_so_of_the_tool_that_lists_them(
    desk: Desk, fake_openai: FakeOpenAI, rule: str
) -> None:
    outcome, text = await said(desk, fake_openai, tool("ls"), rule)
    assert outcome == "success"
    assert ".env" in text
    assert "left out" not in text


async def test_what_only_looks_goes_ahead_without_a_word(desk: Desk, fake_openai: FakeOpenAI) -> None:
    rules = {"deny": ("read_file .env",), "allow": ("read_file", "grep"), "ask": ("ls keys",)}
    calls = [tool("read_file", path="app.py"), tool("grep", pattern="import"), tool("ls")]
    fake_openai.add(together(*calls), Text("Done."))
    async with working(desk, fake_openai, approvals=rules, read_only=True, attended=False) as opened:
        records = await turn(opened.conversation, "Look.")
        assert {outcome for outcome, _ in results(records)} == {"success"}
        assert not of(records, ApprovalRequested, ApprovalDecided), "nothing was decided, nothing is kept"


@pytest.mark.parametrize(
    ("more", "outcome"), [({}, "denied"), ({"yes": True}, "success"), ({"read_only": True}, "denied")]
)
async def test_where_nobody_is_there_what_asks_is_denied(
    desk: Desk, fake_openai: FakeOpenAI, more: dict[str, Any], outcome: str
) -> None:
    fake_openai.add(tool("read_file", path=".env"), Text("Done."))
    rules = {"ask": ("read_file .env",)}
    async with working(desk, fake_openai, attended=False, approvals=rules, **more) as opened:
        assert [one[0] for one in results(await turn(opened.conversation, "Look."))] == [outcome]


async def test_a_person_is_asked_and_a_folder_around_it_is_no_way_past_that(
    desk: Desk, fake_openai: FakeOpenAI
) -> None:
    read, search = tool("read_file", path="link"), tool("grep", pattern="SECRET")
    fake_openai.add(read, read, search, Text("Done."))
    async with working(desk, fake_openai, approvals={"ask": ("read_file .env",)}) as opened:
        records = await played(opened, "Look.", ONCE, NO)
        (first, once), (second, no), (third, rows) = results(records)
        assert (first, second, third) == ("success", "denied", "success")
        assert once == f"1\t{SECRET}"
        assert "the user said no" in no
        assert ".env:1:" not in rows
        asked = next(iter(of(records, ApprovalRequested)))
        assert isinstance(asked, ApprovalRequested)
        assert (asked.tool, asked.subject, asked.pattern) == ("read_file", ".env", "")


async def test_a_yes_to_a_folder_is_one_to_what_the_same_rule_says_of_its_files(
    desk: Desk, fake_openai: FakeOpenAI
) -> None:
    fake_openai.add(tool("grep", pattern="SECRET", path="keys"), Text("Done."))
    async with working(desk, fake_openai, approvals={"ask": ("grep keys/**",)}) as opened:
        [(outcome, text)] = results(await played(opened, "Look.", ONCE))
        assert (outcome, text) == ("success", f"keys/prod.key:1: {SECRET}")


async def test_sub_agents_are_held_to_the_same_rules(desk: Desk, fake_openai: FakeOpenAI) -> None:
    looks = together(
        tool("read_file", path=".env"), tool("grep", pattern="SECRET"), tool("read_file", path="app.py")
    )
    fake_openai.add(tool("explore", task="Find the secret."), Text("Done."))
    fake_openai.add(looks, Text("There is none."), phrase="for another assistant")
    rules = {"deny": ("read_file .env", "read_file *.key")}
    async with working(desk, fake_openai, approvals=rules, explore={}) as opened:
        records = await turn(opened.conversation, "Look.")
        assert decided(records) == [("denied", "rule", "rule", "read_file .env")]
        assert DENIED.format("read_file .env") in str(fake_openai.journal[2]).replace("\\", "")
        assert "os.environ" in str(fake_openai.journal[2])
        assert "hunter2" not in str(fake_openai.journal)
        assert_valid(opened.conversation)


async def test_a_person_is_asked_about_what_a_sub_agent_wants_to_read(
    desk: Desk, fake_openai: FakeOpenAI
) -> None:
    fake_openai.add(tool("explore", task="Find the secret."), Text("Done."))
    fake_openai.add(tool("read_file", path=".env"), Text("None."), phrase="for another assistant")
    async with working(desk, fake_openai, approvals={"ask": ("read_file .env",)}, explore={}) as opened:
        await played(opened, "Look.", NO)
        assert "the user said no" in str(fake_openai.journal[2])


async def test_a_denied_file_that_is_named_in_a_prompt_stays_here_and_that_is_said(
    desk: Desk, fake_openai: FakeOpenAI
) -> None:
    fake_openai.add(Text("Done."))
    async with working(desk, fake_openai, approvals={"deny": ("read_file .env",)}) as opened:
        watching = Following(opened.conversation.bus)
        opened.conversation.submit(Prompt("What is in @link?", files=("./.env",)))
        notice = await until(watching, lambda data: isinstance(data, Notice))
        await opened.conversation.settle()
    assert notice.data == Notice(text='@./.env is not attached: the rule "read_file .env" forbids it.')
    assert "hunter2" not in str(fake_openai.journal[0])


async def test_other_case_leads_to_the_same_file_where_the_file_system_says_so(
    desk: Desk, fake_openai: FakeOpenAI
) -> None:
    """Simulated by a link, because case-insensitive file systems are not available everywhere."""
    path = desk.cwd / ".Env"
    if not path.exists():
        os.link(desk.cwd / ".env", path)
    outcome, _ = await said(desk, fake_openai, tool("read_file", path=".Env"), "read_file .env")
    assert outcome == "denied"


# Text sent without a tool: instructions, skills, commands and attached files.

LINKS = {
    "CLAUDE.md": ".env",
    "AGENTS.md": "link",
    ".claude/skills/env/SKILL.md": "../../../.env",
    ".plimsoll/skills/key/SKILL.md": "../../../way/prod.key",
    ".plimsoll/commands/env.md": "../../.env",
}


@pytest.mark.parametrize("inner", ["", "deck"])
async def test_no_link_leads_around_a_rule(desk: Desk, fake_openai: FakeOpenAI, inner: str) -> None:
    text = f"---\nname: env\ndescription: {SECRET}\n---\n{SECRET}\n"
    for path in (desk.cwd / ".env", desk.cwd / "keys/prod.key"):
        path.write_text(text)
    (desk.cwd / ".git").mkdir()
    root, folder = desk.cwd, desk.cwd / inner
    folder.mkdir(exist_ok=True)
    for name, target in LINKS.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).symlink_to(target)
    (folder / "one.md").symlink_to(root / ".env")
    (folder / "notes.md").write_text("Low water at nine.\n")
    desk.cwd = folder
    approvals = {"deny": ("read_file .env",), "ask": ("read_file keys/**",)}
    opening = desk.opening(approvals=approvals)
    assert find_commands(folder, desk.own, (), opening.may_read()) == ()
    assert opening.brought().rows() == []
    fake_openai.add(Text("Aye."))
    async with working(desk, fake_openai, approvals=approvals) as opened:
        opened.conversation.submit(Prompt("Look at them", ("one.md", "notes.md")))
        await opened.conversation.settle()
        refused = [file.note for file in opened.extras.project.files]
        assert refused == ['not read: the rule "read_file .env" forbids it'] * 2
        assert len(opened.extras.project.skills.refused) == 2
    sent = str(fake_openai.journal)
    assert (SECRET in sent, "Low water at nine" in sent) == (False, True)


async def test_a_rule_about_all_files_is_no_reason_to_leave_instructions_out(desk: Desk) -> None:
    (desk.cwd / "AGENTS.md").write_text("Answer like a sailor.")
    async with desk.session(approvals={"ask": ("read_file",)}) as opened:
        assert [file.text for file in opened.extras.project.files] == ["Answer like a sailor."]


async def test_the_programs_own_files_are_no_instructions(desk: Desk) -> None:
    (desk.cwd / ".git").mkdir()
    desk.home = desk.cwd / "home"
    (desk.home / "config").mkdir(parents=True)
    (desk.home / "config/config.toml").write_text("# SECRET=hunter2\n")
    (desk.cwd / "AGENTS.md").symlink_to("home/config/config.toml")
    async with desk.session() as opened:
        assert [file.note for file in opened.extras.project.files] == [
            "not read: it is in a folder of Plimsoll itself"
        ]
