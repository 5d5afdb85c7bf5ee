"""``plimsoll agents``: the subagents of a session, from the shell."""

from contextlib import closing
from pathlib import Path

from tests.cli.conftest import Plimsoll
from tui_app.events import Payload, SessionStart, SubAgentEnd, SubAgentPromoted, SubAgentStart, SubAgentStep
from tui_app.paths import Paths
from tui_app.session.rewind_fork import fork_session
from tui_app.session.stores.database import open_store

OFFLINE = ("--model", "offline:extractive", "--json")


def test_those_of_a_session_with_what_each_has_used(plimsoll: Plimsoll, plimsoll_home: Path) -> None:
    session = plimsoll("run", "when is low water?", *OFFLINE).lines[0]["session"]
    assert plimsoll("agents", session).out == f"{session} has sent no sub-agents.\n"
    paths = Paths.from_env({"PLIMSOLL_HOME": str(plimsoll_home)})
    with closing(open_store(paths.database)) as store:

        def write(event: Payload) -> None:
            store.append(session, event, None, time=1.0)

        def sent(name: str, call: str, **more: bool) -> str:
            child = store.create(SessionStart(cwd="/", model="m:x", parent=session), time=1.0)
            names = {"tool_call_id": call, "name": name, "session": child, "model": "m:x"}
            write(SubAgentStart(task="Look\nup.", max_steps=9, **names, **more))
            return child

        fork = sent("fork-1", "a", fork=True, background=True)
        used = {"input_tokens": 900, "output_tokens": 100, "cost_usd": 0.25}
        write(SubAgentEnd(tool_call_id="a", outcome="failed", reason="No such key.", steps=1, **used))
        own = sent("mate-1", "b")
        write(SubAgentEnd(tool_call_id="b", outcome="done", steps=2, **used))
        store.append(own, SubAgentPromoted(name="mate-1"), None, time=1.0)
        lost = sent("explore-1", "c")
        write(SubAgentStep(tool_call_id="c", model="m:x", **used))
        copy = fork_session(store, paths.sessions_dir, session, now=2.0).session
    found = plimsoll("agents", session[:6], "--json").json
    assert found["session"] == session
    rows = [(each["name"], each["state"], each["session"], each["steps"]) for each in found["agents"]]
    expected = [
        ("explore-1", "stopped", lost, 1),
        ("mate-1", "promoted", own, 2),
        ("fork-1", "failed", fork, 1),
    ]
    assert rows == expected
    assert [each["cost_usd"] for each in found["agents"]] == [0.25, 0.25, 0.25]
    assert [each["reason"] for each in found["agents"]] == ["The program ended first.", "", "No such key."]
    shown = [" ".join(line.split()) for line in plimsoll("agents", session).out.splitlines()]
    assert shown[0] == "name state steps tokens cost session task"
    assert shown[2] == f"mate-1 promoted 2 1.0k $0.25 {own} Look up."
    # A fork copies the log of its session, but not its subagents.
    assert plimsoll("agents", copy, "--json").json["agents"] == []
    assert plimsoll("agents", "--json").json["session"] == session
