"""Unsent prompts: kept per folder until they are sent."""

from pathlib import Path

from tui_app.session.prompts import MOST_UNSENT, forget_unsent, keep_unsent, unsent

HERE, THERE = Path("/home/ann/ferry"), Path("/home/ann/tides")


def test_they_come_back_in_order_where_they_were_written(tmp_path: Path) -> None:
    file = tmp_path / "data" / "unsent.jsonl"
    keep_unsent(file, HERE, ["first", "second\nline\u2028"])
    keep_unsent(file, THERE, ["elsewhere"])
    keep_unsent(file, HERE, ["third \ud800", "first"])
    assert unsent(file, HERE) == ["second\nline\u2028", "third \ud800", "first"]
    assert unsent(file, THERE) == ["elsewhere"]
    assert file.stat().st_mode & 0o777 == 0o600


def test_what_was_sent_is_kept_no_longer(tmp_path: Path) -> None:
    file = tmp_path / "unsent.jsonl"
    keep_unsent(file, HERE, ["one", "two", "one"])
    keep_unsent(file, THERE, ["one"])
    forget_unsent(file, HERE, "one")
    assert unsent(file, HERE) == ["two"]
    assert unsent(file, THERE) == ["one"]


def test_nothing_is_written_for_nothing(tmp_path: Path) -> None:
    file = tmp_path / "unsent.jsonl"
    keep_unsent(file, HERE, [])
    forget_unsent(file, HERE, "one")
    assert not file.exists()
    assert unsent(file, HERE) == []


def test_a_torn_line_costs_no_other(tmp_path: Path) -> None:
    file = tmp_path / "unsent.jsonl"
    keep_unsent(file, HERE, ["whole"])
    with file.open("a") as end:
        end.write('{"folder": "/home/ann/fer')
    keep_unsent(file, HERE, ["behind it"])
    with file.open("ab") as end:
        end.write(b'\xff\n[1]\n{"folder": 1, "text": 2}\n"text"\n')
    assert unsent(file, HERE) == ["whole", "behind it"]


def test_the_newest_are_kept(tmp_path: Path) -> None:
    file = tmp_path / "unsent.jsonl"
    keep_unsent(file, HERE, [f"prompt {number}" for number in range(MOST_UNSENT + 10)])
    assert unsent(file, HERE)[0] == "prompt 10"
    forget_unsent(file, HERE, "prompt 11")
    assert len(file.read_text().splitlines()) == MOST_UNSENT
