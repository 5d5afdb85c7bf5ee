"""Guards: rules in the user's words that code enforces, offered once, and in force after compactions."""

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from tests.conversation.driving import Desk, done, of, turn
from tests.conversation.test_approvals import command, decided, results, working
from tests.conversation.test_subagents import lay_agent
from tests.servers.behaviours import Text, tool
from tests.servers.fake_openai import FakeOpenAI
from tests.servers.signals import Signal
from tui_app.agent.approvals.command_line import Folder
from tui_app.agent.approvals.guards import breaks
from tui_app.agent.approvals.rules import Action
from tui_app.conversation.consent.guards import checkable, parse_guard
from tui_app.conversation.handoff import begin_session, write_brief
from tui_app.conversation.turns.turns import NOT_TESTED
from tui_app.conversation.work import Compact
from tui_app.events import ApprovalDecided, GuardBroken, GuardLifted, GuardOffered, GuardSet, UserMessage
from tui_app.session.rewind_fork import fork_session
from tui_app.settings.rules import Refused

LONG = "The tide tables of the north harbour say when the water is high. " * 40
FREE = ("run_command", "write_file", "edit_file")
EDITS = (
    "sed -i s/a/b/ legacy/x.py", "rm legacy/x.py", "rm -rf legacy", "rm legacy/*.py", "echo x > legacy/a",
    "cd legacy && rm x.py", "mv legacy/a b", "cp b legacy/", "tee legacy/x", "git checkout -- legacy/x.py",
    "git rm legacy/x", "bash -c 'rm legacy/x'", "cat a >> ./legacy/b", "git restore legacy",
    "sudo rm legacy/a",
    "find legacy -name x -delete", "ruff format legacy", "git mv legacy/a b", "truncate -s 0 legacy/a",
    "cd legacy; echo a > b",
)  # fmt: skip
SCRIPTS = (
    "awk 'BEGIN{system(\"rm x\")}' a", "awk '{print > \"out\"}' a", "sed -n 'w out' a", "sed s/a/b/e a",
    "git remote add x y",
)  # fmt: skip
LOOKS = (
    "cat legacy/x", "grep -r foo legacy/", "pytest legacy/", "git diff legacy/", "cp legacy/a b", "ls legacy",
    "ruff check legacy", "rm src/x", "sed s/a/b/ legacy/x > out", "head legacy/x | tee out", "git add legacy",
    "python legacy/run.py", "cat legacy/x > /dev/null", "rm notlegacy/x", "git checkout legacy-2",
    "git stash",
    "find legacy -name '*.py'", "npm test -- legacy", "diff legacy/a b", "docker build .",
)  # fmt: skip


def run(line: str) -> Action:
    return Action(tool="run_command", kind="command", subject=line)


@pytest.mark.parametrize(
    ("guard", "broken", "kept"),
    [
        ("edits legacy/", EDITS, LOOKS),
        ("edits *.lock", ("rm uv.lock", "echo > a/poetry.lock"), ("cat uv.lock", "rm locks")),
        ("command git commit", ("git commit -m x", "git -C a commit", "ls && git commit"), ("git log", "ls")),
        ("writes", SCRIPTS, ("awk '{print $1}' a", "sed -n 1,5p a", "git remote show origin")),
        ("writes", EDITS, ("cat a", "grep -r x .", "git log -3", "ls; git status", "cd a && ls", "rg x")),
    ],
)  # fmt: skip
def test_what_breaks_a_guard_and_what_does_not(
    guard: str, broken: tuple[str, ...], kept: tuple[str, ...]
) -> None:
    found = parse_guard(guard)
    assert [line for line in broken if breaks(found, run(line), Folder()) != "surely"] == []
    assert [line for line in kept if breaks(found, run(line), Folder()) != "no"] == []


def test_tools_of_servers_are_stopped_by_what_their_arguments_say() -> None:
    guard = parse_guard("edits legacy/")
    for tool_name, args, stopped in (
        ("fs__write_file", '{"path": "legacy/x", "content": "a"}', True),
        ("fs__move_file", '{"source": "legacy/x", "destination": "y"}', True),
        ("fs__read_file", '{"path": "legacy/x"}', False),
        ("jira__close", '{"id": 1}', False),
    ):
        action = Action(tool=tool_name, kind="other", subject=args)
        assert (breaks(guard, action, Folder()) == "surely") is stopped


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Never touch legacy/, other teams call it.", ["edits legacy/"]),
        ("Fass `alt/*.py` nicht an. Dann los.", ["edits alt/*.py"]),
        ("`git commit` は実行しないで。", ["command git commit"]),
        ("I never want to see git push here.", ["command git push"]),
        ("Only 3 km/h and/or less, please.", []),
        ("```\nrm -rf legacy/\n```", []),
        ("Use the name `legacy` for it.", []),
    ],
)
def test_what_can_be_checked_is_known_by_form_in_any_language(text: str, found: list[str]) -> None:
    offers = list(checkable(text, 7, lambda path: False))
    assert [one.text for one in offers] == found
    assert {one.source for one in offers} <= {7}
    assert all(one.quote in text for one in offers)


@pytest.mark.parametrize("text", ["edits", "command ", "writes all", "never legacy/", ""])
def test_what_is_no_guard_is_refused(text: str) -> None:
    with pytest.raises(Refused):
        parse_guard(text)


async def test_it_is_offered_once_with_quote_and_number_and_lifted_again(
    desk: Desk, fake_openai: FakeOpenAI
) -> None:
    (desk.cwd / "legacy").mkdir()
    async with working(desk, fake_openai, allow=FREE) as opened:
        conversation, guards = opened.conversation, opened.guards
        fake_openai.add(Text("Yes."), Text("Yes."))
        records = await turn(conversation, "Never touch legacy/ please. And go on.")
        [prompt] = [record.seq for record in records if isinstance(record.data, UserMessage)]
        [told] = of(records, GuardOffered)
        assert told.headline() == f'#{prompt}: "Never touch legacy/ please." can be a guard: /guard'
        assert not of(await turn(conversation, "I said legacy/ stays as it is."), GuardOffered)
        [offer] = guards.offers()
        assert (offer.text, offer.source) == ("edits legacy/", prompt)
        guards.set(offer)
        assert not guards.offers()
        write = tool("write_file", path="legacy/a.txt", content="a")
        fake_openai.add(write, Text("All right."), write, Text("Done."))
        [(outcome, text)] = results(await turn(conversation, "Go."))
        assert outcome == "denied"
        assert f'guard of the user, #{prompt}: "Never touch legacy/ please."' in text
        guards.lift(next(iter(guards.active)))
        assert [outcome for outcome, _ in results(await turn(conversation, "Go."))] == ["success"]
        assert (desk.cwd / "legacy/a.txt").exists()
        kinds = (GuardSet, GuardLifted)
        log = [record for record, _ in opened.store.records(conversation.session)]
        assert [type(each) for each in of(log, *kinds)] == [*kinds]


SPELT = ("edits legacy/", "edits ./legacy", "edits legacy/**", "edits leg?cy/", "edits LEGACY")


@pytest.mark.parametrize("guard", SPELT)
async def test_what_breaks_a_guard_after_a_compaction_is_stopped_and_nothing_else(
    desk: Desk, fake_openai: FakeOpenAI, guard: str
) -> None:
    """Every command line is judged under every guard, and a model runs each under one of them."""
    (desk.cwd / "legacy").mkdir(exist_ok=True)
    async with working(desk, fake_openai, allow=FREE, attended=False, guards=(guard,)) as opened:
        fake_openai.add(Text(f"Well. {LONG}"))
        await turn(opened.conversation, f"Work on, and leave legacy alone. {LONG}")
        await done(opened.conversation, Compact(extract=True))
        gate = opened.conversation.tooling.approvals
        assert [line for line in EDITS if not gate.judged(run(line)).guard] == []
        assert [line for line in LOOKS if gate.judged(run(line)).ruling != "allow"] == []
        for line in EDITS[SPELT.index(guard) :: len(SPELT)]:
            fake_openai.add(command(line), Text("All right."))
            records = await turn(opened.conversation, "Go on.")
            assert [by for _, by, _, _ in decided(records)] == ["guard"], line


TESTS = "echo '3 passed in 0.1s'"
FAILED = "echo '1 failed, 2 passed in 0.1s'; exit 1"
WRITE = tool("write_file", path="src/a.py", content="a = 1\n")


@pytest.mark.parametrize(
    ("calls", "stopped"),
    [
        ([WRITE], True),
        ([WRITE, command("ls")], True),
        ([command(TESTS), WRITE], True),
        ([WRITE, command(TESTS)], False),
        ([WRITE, command(FAILED)], False),
        ([command("echo a > b"), command("echo 'Found 3 errors.'")], True),
        ([command("echo a > /dev/null"), command("ls")], False),
    ],
)
async def test_a_turn_that_changed_files_ends_only_with_tests(
    desk: Desk, fake_openai: FakeOpenAI, calls: list[Any], stopped: bool
) -> None:
    async with working(desk, fake_openai, attended=False, yes=True, guards=("tests",)) as opened:
        # A model that ignores the guard is stopped once.
        fake_openai.add(*calls, Text("Done."), *([Text("Still done.")] if stopped else []))
        await turn(opened.conversation, "Go.")
        await opened.conversation.settle()
        log = [record for record, _ in opened.store.records(opened.conversation.session)]
        broken = [each for each in of(log, GuardBroken) if isinstance(each, GuardBroken)]
        assert bool(broken) is stopped
        prompts = [each.text for each in of(log, UserMessage) if isinstance(each, UserMessage)]
        assert prompts == ["Go.", *([NOT_TESTED] if stopped else [])]
        if stopped:
            assert broken[0].headline() == 'not done: no tests since 1 file changed · "tests"'
            assert "said by a guard of the user" in str(fake_openai.exchanges[-1].body)


async def test_what_has_told_of_tests_once_is_offered_and_counts_whatever_it_prints(
    desk: Desk, fake_openai: FakeOpenAI
) -> None:
    check = desk.cwd / "check.sh"
    check.write_text("echo '3 passed in 0.1s'\n")
    async with working(desk, fake_openai, allow=FREE) as opened:
        fake_openai.add(command("sh check.sh"), Text("Passed."), Text("Yes."))
        await turn(opened.conversation, "Have a look.")
        assert not opened.guards.offers()
        [offered] = of(
            await turn(opened.conversation, "Vor dem Ende `sh check.sh` laufen lassen."), GuardOffered
        )
        assert "`sh check.sh`" in offered.headline()
        offer = next(each for each in opened.guards.offers() if each.forbids == "tests")
        opened.guards.set(offer)
        check.write_text("true\n")
        fake_openai.add(WRITE, command("sh check.sh"), Text("Done."))
        records = await turn(opened.conversation, "Go.")
        assert not of(records, GuardBroken)


async def test_it_survives_resuming_forks_and_handovers(desk: Desk, fake_openai: FakeOpenAI) -> None:
    async with working(desk, fake_openai, allow=FREE) as opened:
        fake_openai.add(Text("Yes."))
        await turn(opened.conversation, "Never run `git commit` here.")
        [offer] = opened.guards.offers()
        opened.guards.set(offer)
        session, sessions = opened.conversation.session, desk.opening().paths.sessions_dir
        fork = fork_session(opened.store, sessions, session, now=1.0).session
    opening = desk.opening(session=session)
    draft = await write_brief(opening, "Finish it", extract=True)
    after = begin_session(opening, draft, draft.brief.text)
    for resumed, place in ((session, "#"), (fork, "#"), (after, f"{session[:8]}#")):
        async with working(desk, fake_openai, session=resumed, allow=FREE) as opened:
            fake_openai.add(command("git commit -m done"), Text("All right."))
            records = await turn(opened.conversation, "Go on.")
            [one] = [each for each in of(records, ApprovalDecided) if isinstance(each, ApprovalDecided)]
            assert (one.decision, one.by) == ("denied", "guard")
            assert f'{place}{offer.source}: "Never run `git commit` here."' in one.reason


@pytest.mark.parametrize(
    ("sent", "inner", "after", "stopped"),
    [
        ("fork", [WRITE], [], True),
        ("fork", [WRITE], [command(TESTS)], False),
        ("fork", [WRITE, command(TESTS)], [], False),
        ("fork", [command("ls")], [], False),
        ("mate", [command("echo a > b")], [], True),
    ],
)
async def test_what_a_sub_agent_changed_ends_a_turn_only_with_tests(
    desk: Desk, fake_openai: FakeOpenAI, sent: str, inner: list[Any], after: list[Any], stopped: bool
) -> None:
    more = {"attended": False, "yes": True, "guards": ("tests",), "explore": {"enabled": True}}
    lay_agent(desk.cwd / ".plimsoll/agents", "mate", tools="*")
    for background in (False, True):
        (desk.cwd / "src/a.py").unlink(missing_ok=True)
        task = {"task": f"Change it, {background}.", "background": background}
        call = tool("fork", **task) if sent == "fork" else tool("delegate", agent=sent, **task)
        fake_openai.add(call, phrase="Have it changed.")
        hold = Signal()
        first, *rest = inner
        fake_openai.add(replace(first, hold=hold), *rest, Text("So."), phrase=task["task"])
        if background:
            fake_openai.add(Text("It is sent."), phrase="works in the background")
        else:
            hold.set()
        again = "Go on" if background else "has ended"
        fake_openai.add(*after, Text("Done."), Text("Still done."), phrase=again)
        async with working(desk, fake_openai, **more) as opened:
            conversation = opened.conversation
            await turn(conversation, "Have it changed.")
            if background:
                hold.set()
                works = [each.work for each in conversation.agents.every.values() if each.work]
                await asyncio.gather(*works)
                await turn(conversation, "Go on.")
            await conversation.settle()
            log = [record for record, _ in opened.store.records(conversation.session)]
            assert bool(of(log, GuardBroken)) is stopped
            fake_openai.add(Text("Nothing."), phrase="What now?")
            assert not of(await turn(conversation, "What now?"), GuardBroken), "it is said once"
