"""``plimsoll why``: receipts in a shell."""

from tests.cli.conftest import Plimsoll

OFFLINE = ("--model", "offline:extractive", "--json")


def test_receipts_of_a_session_and_of_one_request(plimsoll: Plimsoll) -> None:
    first = plimsoll("run", "when is low water?", *OFFLINE).lines
    session = first[0]["session"]
    plimsoll("run", "and high water?", "--session", session, *OFFLINE)
    found = plimsoll("why", session, "--json").json
    assert found["cost_usd"] == plimsoll("stats", session, "--json").json["cost_usd"] == 0.0
    answers = [line["seq"] for line in first if line["type"] == "assistant.message"]
    assert [each["seq"] for each in found["requests"]][: len(answers)] == answers
    one = plimsoll("why", session, f"#{answers[0]}", "--json").json
    assert one["requests"] == found["requests"][:1]
    assert one["tokens"]["system"] > 0
    assert {part["name"] for part in one["requests"][0]["parts"]} >= {"tools", "system prompt", "clock"}
    shown = plimsoll("why", session).out.splitlines()
    assert shown[0].split()[:2] == ["#", "request"]
    assert shown[1].split()[:2] == [f"#{answers[0]}", "when"]
    assert f"{len(found['requests'])} requests · $0.00" in shown[-1]
    assert plimsoll("why", session, str(answers[0])).out.startswith(f"#{answers[0]}  offline:extractive")


def test_what_is_no_request_is_said(plimsoll: Plimsoll) -> None:
    session = plimsoll("run", "when is low water?", *OFFLINE).lines[0]["session"]
    result = plimsoll("why", session, "9999")
    assert (result.code, result.out) == (1, "")
    assert result.err == f"No request of {session} belongs to #9999. All of them: plimsoll why {session}\n"
