"""Who may use the served screen."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tui_app.web.server import Answer, Gate, is_loopback, new_token

TOKEN = "t0ken-of-the-server"
GATE = Gate(host="127.0.0.1", port=8420, token=TOKEN)
HERE = {"Host": "127.0.0.1:8420"}
INSIDE = {"plimsoll-8420": TOKEN}


@pytest.mark.parametrize(
    ("headers", "query", "cookies", "answer"),
    [
        (HERE, {}, INSIDE, Answer.SERVE),
        (HERE, {"token": TOKEN}, {}, Answer.SIGN_IN),
        (HERE, {"token": TOKEN}, {"plimsoll-8420": "old"}, Answer.SIGN_IN),
        (HERE, {}, {}, Answer.NO_TOKEN),
        (HERE, {"token": TOKEN[:-1]}, {}, Answer.NO_TOKEN),
        (HERE, {"token": ""}, {"plimsoll-8420": ""}, Answer.NO_TOKEN),
        (HERE, {}, {"plimsoll-8421": TOKEN}, Answer.NO_TOKEN),
        (HERE, {"token": "tökén"}, {}, Answer.NO_TOKEN),
        ({"Host": "localhost:8420"}, {}, INSIDE, Answer.SERVE),
        ({"Host": "[::1]:8420"}, {}, INSIDE, Answer.SERVE),
        ({"Host": "evil.example:8420"}, {"token": TOKEN}, INSIDE, Answer.WRONG_HOST),
        ({"Host": "127.0.0.1:9000"}, {}, INSIDE, Answer.WRONG_HOST),
        ({"Host": "127.0.0.1:no"}, {}, INSIDE, Answer.WRONG_HOST),
        ({"Host": "127.0.0.1"}, {}, INSIDE, Answer.WRONG_HOST),
        ({}, {}, INSIDE, Answer.WRONG_HOST),
        ({**HERE, "Origin": "http://127.0.0.1:8420"}, {}, INSIDE, Answer.SERVE),
        ({**HERE, "Origin": "http://127.0.0.1:3000"}, {}, INSIDE, Answer.WRONG_ORIGIN),
        ({**HERE, "Origin": "null"}, {}, INSIDE, Answer.WRONG_ORIGIN),
    ],
)
def test_judgement(
    headers: dict[str, str], query: dict[str, str], cookies: dict[str, str], answer: Answer
) -> None:
    assert GATE.judge(headers, query, cookies) is answer


@pytest.mark.parametrize(
    ("host", "named", "served"),
    [
        ("0.0.0.0", "192.168.1.20:8420", True),
        ("0.0.0.0", "localhost:8420", True),
        ("0.0.0.0", "evil.example:8420", False),
        ("::", "[fe80::1]:8420", True),
        ("192.168.1.20", "192.168.1.20:8420", True),
        ("192.168.1.20", "192.168.1.21:8420", False),
        ("harbour.local", "HARBOUR.local:8420", True),
        ("harbour.local", "localhost:8420", False),
    ],
)
def test_names_of_other_addresses(host: str, named: str, served: bool) -> None:
    answer = Gate(host=host, port=8420, token="").judge({"Host": named}, {}, {})
    assert (answer is Answer.SERVE) is served


@given(st.text(), st.text())
def test_nobody_comes_in_without_the_token(token: str, cookie: str) -> None:
    if TOKEN not in (token, cookie):
        assert GATE.judge(HERE, {"token": token}, {"plimsoll-8420": cookie}) is Answer.NO_TOKEN


def test_address_and_token() -> None:
    assert GATE.address == f"http://127.0.0.1:8420/?token={TOKEN}"
    assert Gate(host="::1", port=1, token="").address == "http://[::1]:1/"
    assert len({new_token() for _ in range(100)}) == 100
    assert min(len(new_token()) for _ in range(100)) == 32


@pytest.mark.parametrize(("host", "alone"), [("127.9.9.9", True), ("LOCALHOST", True), ("0.0.0.0", False)])
def test_loopback(host: str, alone: bool) -> None:
    assert is_loopback(host) is alone
