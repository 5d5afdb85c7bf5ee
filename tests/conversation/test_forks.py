"""Forked and background subagents: what they start with, how they get messages, and what is left."""

import asyncio
import json
import re
from dataclasses import replace
from typing import Any

import pytest
from pydantic_ai.exceptions import ToolFailed

from tests.conversation.driving import Desk, Following, assert_valid, of, turn, until, view_bytes
from tests.conversation.test_subagents import lay_agent, of_log, words
from tests.servers.behaviours import HangMidStream, Text, Tool, error, tool
from tests.servers.caching import CachingAnthropic
from tests.servers.fake_openai import FakeOpenAI
from tests.servers.signals import Signal
from tests.servers.strict import WIRES, strict_server
from tui_app.agent.subagents import Order
from tui_app.conversation.approvals import Decision
from tui_app.conversation.assembly import OpenSession, open_session
from tui_app.conversation.work import Prompt, Rewind
from tui_app.events import (
    ApprovalRequested,
    CompactionStart,
    SessionStart,
    SubAgentEnd,
    SubAgentStart,
    SubAgentStep,
    TaskTold,
    ToolArchived,
    ToolResult,
    TurnEnd,
)
from tui_app.session.management import delete_session
from tui_app.session.preview import StatsReader
from tui_app.session.search import search_sessions
from tui_app.session.views.user_view import fold_user_view
from tui_app.settings import Endpoint

COPY = "You are a copy of the assistant above"


def results(records: list[Any]) -> list[str]:
    return [each.text for each in of(records, ToolResult) if isinstance(each, ToolResult)]


async def test_a_fork_begins_with_the_very_bytes_of_its_parent(desk: Desk, fake_openai: FakeOpenAI) -> None:
    desk.server("local", fake_openai.base_url, window=200_000)
    for name in "abcdefgh":
        (desk.cwd / f"{name}.txt").write_text("\n".join(f"{name}{n} sea and sky" for n in range(1_500)))
    reads = Tool(tuple(("read_file", {"path": f"{name}.txt", "lines": 1_500}) for name in "abcdefgh"))
    both = Tool((("fork", {"task": "Count the seas."}), ("fork", {"task": "Count the skies."})))
    fake_openai.add(reads, both, Text("Both counted."))
    fake_openai.add(
        tool("write_file", path="seas.txt", content="1500"),
        Text("`a.txt` has most."),
        phrase="Count the seas",
    )
    fake_openai.add(Text("There are none."), phrase="Count the skies")
    fake_openai.add(Text("Both counted."), phrase="has ended")
    rules = {"allow": ("write_file *.txt",)}
    async with desk.session(explore={}, read_only=False, approvals=rules) as opened:
        records = await turn(opened.conversation, "Read all, then count.")
        parent = fake_openai.journal[1]
        forks = [each for each in fake_openai.journal if COPY in str(each["messages"][-1])]
        assert len(forks) == 2
        for sent in forks:
            whole, known = json.dumps(sent["messages"]), json.dumps(parent["messages"])
            assert whole.startswith(known.removesuffix("]"))
            assert json.dumps(sent["tools"]) == json.dumps(parent["tools"])
            assert len(known) > 280_000
            assert len(known) / len(whole) > 0.95
        one, two = results(records)[-2:]
        starts = of_log(opened, SubAgentStart)
        assert [each.name for each in starts] == ["fork-1", "fork-2"]
        assert all(each.fork and each.session for each in starts)
        assert "There are none. (unchecked)" in one + two
        assert f"seas.txt · created ({starts[0].session}#" in one + two
        # Claims from the parent's messages cite their numbers there.
        assert "`a.txt` has most. (#" in one + two
        assert_valid(opened.conversation)
        # Subagent sessions are not listed, and are deleted together with their parent's session.
        assert [each.id for each in opened.store.sessions()] == [opened.conversation.session]
        assert set(opened.store.children(opened.conversation.session)) == {each.session for each in starts}
        # A search of all sessions finds each message once, and the model can fetch it by its number.
        found = search_sessions(opened.store.path, "Read all")
        assert {each.session for each in found} == {opened.conversation.session}
        child = starts[0].session
        last = max(head.seq for head in opened.store.heads(child) if head.type == "assistant.message")
        hit = await opened.conversation.tooling.project.fetch(child, last, "c")
        assert "`a.txt` has most." in str(hit)
        session, database, folder = opened.conversation.session, opened.store.path, opened.folder.path
    delete_session(database, folder.parent, session)
    assert not [*folder.parent.iterdir()]


BIG = "\n".join(f"{n} sea and sky" for n in range(24_000))
"""A prompt of more than 100,000 tokens."""


def plain(body: Any) -> str:
    """Return what the model reads of a request, on any wire, without cache markers."""
    said = next(body[key] for key in ("messages", "input", "contents") if key in body)
    head = [body.get(key) for key in ("tools", "system", "instructions", "systemInstruction")]
    return re.sub(r', "cache_control": {[^}]*}', "", json.dumps([*head, said]))


@pytest.mark.parametrize("wire", WIRES)
async def test_on_every_wire_all_but_the_task_was_sent_before(desk: Desk, wire: str) -> None:
    with strict_server() as strict:
        strict.calls, strict.call, kind = True, ("ls", {"path": "."}), WIRES[wire]
        root = f"{strict.url}/{wire}"
        base = root if kind.protocol in ("anthropic", "google") else f"{root}/v1"
        desk.endpoints["yard"] = Endpoint(name="yard", protocol=kind.protocol, base_url=base, window=400_000)
        async with desk.session(explore={}, model=f"yard:{kind.model}") as opened:
            await turn(opened.conversation, BIG)
            await turn(opened.conversation, "And then?")
            before = len(strict.bodies)
            await opened.conversation.agents.send(Order(call="c", task="Count.", fork=True))
            known, sent = plain(strict.bodies[before - 1]), plain(strict.bodies[before])
            assert not strict.refused
            assert sent.startswith(known.rstrip(']}"'))
            assert len(known) / len(sent) > 0.95
            assert len(known) > 400_000


async def test_a_provider_reads_a_fork_from_its_cache(desk: Desk) -> None:
    with CachingAnthropic() as server:
        desk.endpoints["claude"] = Endpoint(
            name="claude", protocol="anthropic", base_url=server.base_url, window=400_000
        )
        async with desk.session(explore={}, model="claude:claude-sonnet-5") as opened:
            await turn(opened.conversation, BIG)
            await turn(opened.conversation, "And then?")
            orders = [Order(call=f"c{n}", task=f"Count {n}.", fork=True) for n in range(3)]
            await asyncio.gather(*map(opened.conversation.agents.send, orders))
            for billed in server.bill[-3:]:
                assert billed.read > 100_000
                assert billed.read / (billed.read + billed.fresh + sum(billed.written.values())) > 0.95
            steps = of_log(opened, SubAgentStep)
            assert all(step.cache_read_tokens > 0.95 * step.input_tokens for step in steps)


async def test_the_background(desk: Desk, fake_openai: FakeOpenAI) -> None:
    desk.server("local", fake_openai.base_url, window=32_000)
    calls = (
        ("explore", {"task": "Look up.", "background": True}),
        ("fork", {"task": "Look down.", "background": True}),
    )
    fake_openai.add(Tool(calls), Text("They work."))
    fake_openai.add(Text("Blue."), Text("Grey now."), phrase="Look up.")
    fake_openai.add(Text("Wet."), phrase="Look down.")
    async with desk.session(explore={}) as opened:
        conversation, agents = opened.conversation, opened.conversation.agents
        records = await turn(conversation, "Send them.")
        assert all("works in the background" in text for text in results(records))
        await asyncio.gather(*(each.work for each in agents.every.values() if each.work))
        assert [each.outcome for each in of_log(opened, SubAgentEnd)] == ["done", "done"]
        # The model is told in one line, and reads each brief with the tool.
        waits = Tool((("agents", {"action": "wait", "name": "explore-1"}),))
        fake_openai.add(waits, phrase="Go on.")
        fake_openai.add(
            Tool((("agents", {"action": "send", "name": "explore-1", "text": "And now?"}),)), phrase="Blue"
        )
        fake_openai.add(waits, phrase="goes on")
        fake_openai.add(Text("All known."), phrase="Grey now")
        records = await turn(conversation, "Go on.")
        (told,) = of(records, TaskTold)
        assert isinstance(told, TaskTold)
        assert sorted(told.ids) == ["explore-1", "fork-1"]
        blue, goes_on, grey = results(records)
        assert ("Blue. (unchecked)" in blue, "goes on" in goes_on, "Grey now." in grey) == (True, True, True)
        assert "And now?" in str(fake_openai.journal[-2]["messages"]) or "And now?" in str(
            fake_openai.journal[-3]
        )
        assert_valid(conversation)


async def test_a_child_at_work_is_alive_told_stopped_and_outlives_a_rewind(
    desk: Desk, fake_openai: FakeOpenAI
) -> None:
    desk.server("local", fake_openai.base_url, window=32_000)
    fake_openai.add(tool("fork", task="Look long.", background=True), Text("It works."))
    fake_openai.add(tool("ls"), HangMidStream(), phrase="Look long.")
    async with desk.session(explore={}) as opened:
        conversation, agents = opened.conversation, opened.conversation.agents
        await turn(conversation, "Send it.")
        await (await fake_openai.request(4)).paused.wait()
        host = conversation.compactor.host
        assert [line for line in host.alive() if "fork-1" in line]
        prompt = next(
            head.seq for head in opened.store.heads(conversation.session) if head.type == "user.message"
        )
        conversation.submit(Rewind(prompt))
        await conversation.settle()
        (agent,) = agents.working
        await agents.stop_agent("fork-1")
        (end,) = of_log(opened, SubAgentEnd)
        assert (end.outcome, end.reason, end.calls) == ("stopped", "It was stopped.", 1)
        assert agent.ended.brief.startswith("fork-1 was stopped before it had an answer. It was stopped.")
        assert not agents.working


async def test_killed_and_promoted(desk: Desk, fake_openai: FakeOpenAI) -> None:
    desk.server("local", fake_openai.base_url, window=32_000)
    fake_openai.add(tool("fork", task="Look well.", background=True), Text("It works."))
    fake_openai.add(tool("read_file", path="README.md"), Text("Seen."), phrase="Look well.")
    async with desk.session(explore={}) as opened:
        conversation = opened.conversation
        await turn(conversation, "Send it.")
        await asyncio.gather(*(each.work for each in conversation.agents.every.values() if each.work))
        session, store = conversation.session, opened.store
        # As if the program had been killed: a subagent without an end, and one that the log does not mention.
        (start,) = of_log(opened, SubAgentStart)
        store.append(session, start, None, time=1.0)
        child = start.session
        lost = store.create(SessionStart(cwd="/", model="m", parent=session), time=1.0)
    async with desk.session(explore={}, session=session) as opened:
        end = of_log(opened, SubAgentEnd)[-1]
        assert (end.outcome, end.reason) == ("stopped", "The program ended first.")
        assert "- README.md · read" in end.brief
        assert lost not in opened.store.children(session)
        assert await opened.conversation.agents.promote("fork-1") == child
        assert child in {each.id for each in opened.store.sessions()}
        texts = [message for _, message in opened.store.records(child) if message]
    async with desk.session(session=child) as opened:
        # The subagent's session opens like any other, with all its messages.
        assert view_bytes(opened.conversation).decode().split("\n") == texts
        fake_openai.add(Text("Here."), phrase="Still there?")
        records = await turn(opened.conversation, "Still there?")
        assert of(records, TurnEnd)[-1].outcome == "done"
        assert_valid(opened.conversation)


@pytest.mark.parametrize(
    ("front", "said"),
    [
        ({"policy": "nonesuch"}, "policy: 'nonesuch' is none; allowed: plimsoll"),
        ({"window": "3"}, "window: '3' is no share of a window"),
        ({"fork": "perhaps"}, "fork: 'perhaps' is neither true nor false"),
        ({"background": "1"}, "background: '1' is neither true nor false"),
    ],
)
async def test_front_matter_that_cannot_be(desk: Desk, front: dict[str, str], said: str) -> None:
    lay_agent(desk.cwd / ".plimsoll/agents", "mate", **front)
    async with desk.session(explore={}) as opened:
        (refused,) = opened.extras.project.agents.refused
        assert "mate.md" in refused
        assert said in refused


async def test_an_agent_has_its_own_policy_and_gauge(desk: Desk, fake_openai: FakeOpenAI) -> None:
    lay_agent(desk.cwd / ".plimsoll/agents", "mate", policy="off", window="25%", background="true")
    lay_agent(desk.cwd / ".plimsoll/agents", "twin", fork="true", model="local:other")
    desk.server("local", fake_openai.base_url, window=32_000)
    calls = [("delegate", {"agent": name, "task": "Look."}) for name in ("mate", "twin")]
    fake_openai.add(Tool(tuple(calls)), Text("Sent."))
    fake_openai.add(Text("Seen."), phrase="You are mate, and you are short")
    fake_openai.add(Text("Seen too."), phrase="You are twin, and you are short")
    async with desk.session(explore={}) as opened:
        records = await turn(opened.conversation, "Send both.")
        await asyncio.gather(*(each.work for each in opened.conversation.agents.every.values() if each.work))
        mate, twin = sorted(of_log(opened, SubAgentStart), key=lambda each: each.agent)
        assert (mate.background, mate.fork, twin.background, twin.fork) == (True, False, False, True)
        steps = {each.tool_call_id: each for each in of_log(opened, SubAgentStep)}
        assert (steps[mate.tool_call_id].window, steps[twin.tool_call_id].window) == (8_000, 32_000)
        assert steps[twin.tool_call_id].context_tokens > steps[mate.tool_call_id].context_tokens > 0
        (notes,) = [each.note for each in opened.extras.project.agents.found if each.name == "twin"]
        assert notes == "a fork has the session's own model"
        assert "Seen too." in "".join(map(words, of(records, ToolResult)))


async def test_nobody_waits_for_one_that_will_not_end(desk: Desk, fake_openai: FakeOpenAI) -> None:
    desk.server("local", fake_openai.base_url, window=32_000)
    fake_openai.add(Text("Blue."), phrase="Look up.")
    async with desk.session(explore={}) as opened:
        agents = opened.conversation.agents
        # Stopped before its task has started.
        await agents.send(Order(call="a", task="Look down.", background=True))
        told = await agents.tend("stop", "explore-1", "")
        assert told == "explore-1: stopped. It was stopped."
        # Two calls wait, and only one brief arrives.
        await agents.send(Order(call="b", task="Look up.", background=True))
        waits = (agents.tend("wait", "", "") for _ in range(2))
        brief, refused = await asyncio.wait_for(asyncio.gather(*waits, return_exceptions=True), 60)
        assert "Blue." in str(brief)
        assert "every brief was read" in str(refused)


async def test_no_session_of_one_is_lost_when_another_is_deleted(desk: Desk, fake_openai: FakeOpenAI) -> None:
    desk.server("local", fake_openai.base_url, window=32_000)
    fake_openai.add(*(Text("Seen.") for _ in range(6)), phrase="Look.")
    fake_openai.add(Text("Hello."), phrase="Good day")
    async with desk.session(explore={}) as opened:
        agents, session = opened.conversation.agents, opened.conversation.session
        await turn(opened.conversation, "Good day.")
        for call in "ab":
            await agents.send(Order(call=call, task="Look."))
        gone = await agents.promote("explore-1")
        kept = agents.every["explore-2"].session
    opening = desk.opening()
    delete_session(opening.database, opening.paths.sessions_dir, gone)
    for call in ("c", ""):
        async with desk.session(explore={}, session=session) as opened:
            if call:
                await opened.conversation.agents.send(Order(call=call, task="Look."))
            assert kept in opened.store.children(session)
            assert list(opened.conversation.agents.every) == ["explore-2", "explore-3"]


async def test_a_brief_says_who_declined_a_call(desk: Desk, fake_openai: FakeOpenAI) -> None:
    desk.server("local", fake_openai.base_url, window=32_000)
    fake_openai.add(tool("fork", task="Push it."), Text("So."))
    runs = (tool("run_command", command=f"git push {name}") for name in ("sea", "sky"))
    fake_openai.add(*runs, Text("I did not push."), phrase="Push it.")
    opening = desk.opening(explore={}, read_only=False, approvals={"deny": ("run_command git push sea",)})
    opened = open_session(replace(opening, attended=True))
    try:
        watching = Following(opened.conversation.bus)
        opened.conversation.submit(Prompt("Send it."))
        asked = (await until(watching, lambda data: isinstance(data, ApprovalRequested))).data
        assert isinstance(asked, ApprovalRequested)
        assert asked.subject == "git push sky"
        no = Decision("no", reason="Never push.")
        assert opened.conversation.tooling.approvals.decide(asked.id, no)
        await opened.conversation.settle()
        (end,) = of_log(opened, SubAgentEnd)
        assert "the user refused: `git push sky`" in end.brief
        assert "git push sea" not in end.brief
        # Text that the program adds after the user's words does not count as theirs.
        assert "Do not try" not in str(opened.conversation.agents.history.ledger().prompts())
    finally:
        await opened.close()


async def test_one_that_goes_on_is_at_work_again_and_keeps_its_limits(
    desk: Desk, fake_openai: FakeOpenAI
) -> None:
    desk.server("local", fake_openai.base_url, window=32_000)
    fake_openai.add(tool("explore", task="Look up."), Text("So."), Text("Go on."))
    fake_openai.add(tool("ls"), Text("Blue."), phrase="for another assistant")
    async with desk.session(explore={"max_steps": 4}) as opened:
        conversation, agents = opened.conversation, opened.conversation.agents
        await turn(conversation, "Send it.")
        fake_openai.add(tool("ls"), HangMidStream(), phrase="And now?")
        assert "goes on" in await agents.tend("send", "explore-1", "And now?")
        await (await fake_openai.request(6)).paused.wait()
        # Its row, the warning on leaving, and the statistics include it.
        (row,) = (
            each for each in fold_user_view(opened.store.heads(conversation.session)).entries if each.calls
        )
        assert row.at_work
        starts = of_log(opened, SubAgentStart)
        assert [(each.task, each.again) for each in starts] == [("Look up.", False), ("And now?", True)]
        assert StatsReader(opened.store.path, conversation.session).read().sub_agents == 1
        await agents.stop_agent("explore-1")
        # As if the program had been killed after the subagent was resumed.
        session, step = conversation.session, of_log(opened, SubAgentStep)[0]
        opened.store.append(session, starts[-1], None, time=1.0)
        opened.store.append(session, step, None, time=1.0)
    async with desk.session(explore={"max_steps": 4}, session=session) as opened:
        agents, end = opened.conversation.agents, of_log(opened, SubAgentEnd)[-1]
        assert (end.reason, end.steps, end.calls) == ("The program ended first.", 4, 3)
        with pytest.raises(ToolFailed, match="explore-1 has used up its 4 steps"):
            await agents.tend("send", "explore-1", "And again.")


async def test_what_one_did_not_read_is_told(desk: Desk, fake_openai: FakeOpenAI) -> None:
    desk.server("local", fake_openai.base_url, window=32_000)
    hold = Signal()
    fake_openai.add(replace(tool("ls"), hold=hold), HangMidStream(), phrase="Look up.")
    async with desk.session(explore={"max_steps": 1}) as opened:
        agents = opened.conversation.agents
        await agents.send(Order(call="a", task="Look up.", background=True))
        await (await fake_openai.request(1)).paused.wait()
        assert "after the present step" in await agents.tend("send", "explore-1", "And down.")
        hold.set()
        brief = await agents.tend("wait", "explore-1", "")
        assert "It used up its 1 step. Not read: 1 message sent to it." in brief


async def test_news_is_told_until_the_view_has_it_and_not_again(desk: Desk, fake_openai: FakeOpenAI) -> None:
    desk.server("local", fake_openai.base_url, window=32_000)
    fake_openai.add(Text("Hello."), phrase="Good day")
    fake_openai.add(Text("Blue."), phrase="Look up.")

    async def news(opened: OpenSession, prompt: str) -> bool:
        return bool(of(await turn(opened.conversation, prompt), TaskTold))

    async with desk.session(explore={}) as opened:
        agents, session = opened.conversation.agents, opened.conversation.session
        await turn(opened.conversation, "Good day")
        await agents.send(Order(call="a", task="Look up.", background=True))
        await asyncio.gather(*(each.work for each in agents.every.values() if each.work))
        fake_openai.add(error(401, "No such key."), phrase="One?")
        assert await news(opened, "One?")
        fake_openai.add(Text("I see."), phrase="Two?")
        assert not await news(opened, "Two?")
        assert str(fake_openai.journal[-1]).count("explore-1 done") == 1, "the prompt that failed has left it"
    async with desk.session(explore={}, session=session) as opened:
        agents = opened.conversation.agents
        fake_openai.add(tool("agents", action="wait"), Text("Blue it is."), phrase="Three?")
        assert not await news(opened, "Three?"), "it is kept over a resume"
        assert "Blue. (unchecked)" in of_log(opened, ToolResult)[-1].text
    async with desk.session(explore={}, session=session) as opened:
        with pytest.raises(ToolFailed, match="every brief was read"):
            await opened.conversation.agents.tend("wait", "", "")
        asked = [each for each in opened.conversation.history.view.visible() if each.type == "user.message"]
        opened.conversation.submit(Rewind(asked[-1].seq))
        await opened.conversation.settle()
        assert "Blue." in await opened.conversation.agents.tend("wait", "", "")


async def test_a_policy_of_ones_own_costs_what_it_asks_and_compacts_only_what_goes_on(
    desk: Desk, fake_openai: FakeOpenAI
) -> None:
    lay_agent(desk.cwd / ".plimsoll/agents", "mate", policy="reserve")
    desk.server("local", fake_openai.base_url, window=32_000)
    (desk.cwd / "long.txt").write_text("\n".join(f"{n} sea and sky" for n in range(1_500)))
    for n in range(12):
        (desk.cwd / f"{n}.txt").write_text(f"{n}: the tide comes in\n" * 40)
    looks = Tool(tuple(("read_file", {"path": f"{n}.txt"}) for n in range(12)))
    read = tool("read_file", path="long.txt", lines=1_500)
    fake_openai.add(looks, Text("Seen."), phrase="You are mate")
    fake_openai.add(Text("- #3: nothing", usage=(700, 7)), phrase="Write the notes on these results")
    async with desk.session(explore={"max_steps": 99}) as opened:
        agents, store = opened.conversation.agents, opened.store
        named = opened.extras.project.agents.named("mate")
        assert "Seen." in await agents.send(Order(call="a", task="Look.", agent=named))
        child = agents.every["mate-1"].session

        async def went_on(text: str, *kinds: type) -> list[Any]:
            await agents.tend("send", "mate-1", text)
            await agents.tend("wait", "mate-1", "")
            return of([record for record, _ in store.records(child)], *kinds)

        fake_openai.add(read, Tool(read.calls * 2), Text("Yes."), phrase="And now?")
        (digest,) = await went_on("And now?", ToolArchived, CompactionStart)
        assert (digest.STAGE, digest.input_tokens) == ("archive", 700)
        end, steps = of_log(opened, SubAgentEnd)[-1], of_log(opened, SubAgentStep)
        assert [step.input_tokens for step in steps].count(700) == 1
        assert end.input_tokens == sum(step.input_tokens for step in steps)
        # What the subagent has read since leaves too little room for more.
        fake_openai.add(Text("Yes."), phrase="Once more.")
        assert await went_on("Once more.", CompactionStart)


async def test_what_cannot_be_done_with_sub_agents_costs_neither_turn_nor_sub_agent(
    desk: Desk, fake_openai: FakeOpenAI
) -> None:
    desk.server("local", fake_openai.base_url, window=32_000)
    wrong = [
        ("agents", {"action": "send", "name": "nobody-9", "text": "Hello."}),
        ("agents", {"action": "stop"}),
        ("agents", {"action": "wait", "name": "x" * 5_000}),
        ("agents", {"action": "wait"}),
        ("fork", {"task": " \n"}),
    ]
    nested = (tool("fork", task=f"Look {n}.") for n in range(5))
    fake_openai.add(*nested, Text("Done alone."), phrase="Send others.")
    fake_openai.add(*(Tool((call,)) for call in wrong), phrase="Go.")
    fake_openai.add(tool("fork", task="Send others."), Text("So be it."))
    async with desk.session(explore={}) as opened:
        records = await turn(opened.conversation, "Go.")
        assert [each.outcome for each in of(records, TurnEnd)] == ["done"]
        *told, brief = results(records)
        assert told[0].startswith("There is no sub-agent 'nobody-9'. There are: none.")
        assert max(map(len, told)) < 200
        assert "Done alone." in brief
        assert_valid(opened.conversation)


async def test_questions_of_two_at_once_are_asked_one_after_the_other(
    desk: Desk, fake_openai: FakeOpenAI
) -> None:
    desk.server("local", fake_openai.base_url, window=32_000)
    tasks = ("Write one.", "Write two.")
    fake_openai.add(Tool(tuple(("fork", {"task": task}) for task in tasks)), phrase="Send both.")
    for task in tasks:
        write = tool("write_file", path=f"{task[6:9]}.txt", content=task)
        fake_openai.add(write, Text("Written."), phrase=f"{task}")
    opened = open_session(replace(desk.opening(explore={}, read_only=False), attended=True))
    try:
        watching = Following(opened.conversation.bus)
        opened.conversation.submit(Prompt("Send both."))
        names = set()
        for answer in (Decision("no"), Decision("once")):
            asked = (await until(watching, lambda data: isinstance(data, ApprovalRequested))).data
            while asked.id in names:
                asked = (await until(watching, lambda data: isinstance(data, ApprovalRequested))).data
            names.add(asked.id)
            assert opened.conversation.tooling.approvals.decide(asked.id, answer)
        await opened.conversation.settle()
        assert len([*desk.cwd.glob("one.txt"), *desk.cwd.glob("two.txt")]) == 1
        assert_valid(opened.conversation)
    finally:
        await opened.close()
