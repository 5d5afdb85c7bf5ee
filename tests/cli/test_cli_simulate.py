"""``plimsoll simulate``: table, JSON, chart, and all errors."""

import json
import signal
import xml.etree.ElementTree as ET
from collections.abc import Callable
from pathlib import Path
from subprocess import Popen
from typing import Any

import pytest

from tests.cli.conftest import Plimsoll
from tui_app.cli.sessions import simulate as simulating
from tui_app.conversation.audits.replay import STAGES
from tui_app.paths import Paths
from tui_app.settings.tables import POLICIES

WINDOW = 3_000
POLICY_NAMES = {
    "policy",
    "background_mark",
    "blocking_mark",
    "requests",
    "failed",
    "peak_tokens",
    "mean_tokens",
    "input_tokens",
    "output_tokens",
    "cached_tokens",
    "cached_share",
    "cache_read_tokens",
    "prefix_kept",
    "cost_usd",
    "compactions",
    "stages",
    "total",
    "messages",
    "retention",
    "recoverable",
    "facts",
    "details",
}
REQUEST_NAMES = {
    "request",
    "tokens",
    "messages",
    "utilization",
    "prefix_tokens",
    "prefix_kept",
    "cache_read_tokens",
    "output_tokens",
    "cost_usd",
    "failed",
    "needed",
    "stages",
}


def test_the_recording_of_the_demo_is_a_source(plimsoll: Plimsoll) -> None:
    result = plimsoll("simulate", "demo", "--window", 8_000, "--policy", "off", "--json")
    assert (result.code, result.err) == (0, "")
    [found] = result.json["simulations"]
    assert (found["source"], found["messages"], found["skipped"]) == ("demo", 156, [])
    # Without a policy the conversation does not fit, so there is something to see.
    assert found["windows"][0]["policies"][0]["failed"] > 0


def test_the_demo_wants_a_terminal_and_writes_nothing_without_one(
    plimsoll: Plimsoll, plimsoll_home: Path
) -> None:
    result = plimsoll("demo")
    assert (result.code, result.out) == (1, "")
    assert "needs a terminal" in result.err
    assert "plimsoll simulate demo" in result.err
    assert not list(plimsoll_home.rglob("*"))


def test_one_json_object_for_everything(plimsoll: Plimsoll, chat: Path, imported: str) -> None:
    result = plimsoll("simulate", chat, imported, "--window", WINDOW, "--window", 64_000, "--json")
    assert result.code == 0, result.err
    assert result.err == ""
    [from_file, from_log] = result.json["simulations"]
    assert (from_file["source"], from_log["source"]) == (str(chat), imported)
    assert from_file["windows"] == from_log["windows"]
    assert (from_file["answers"], from_file["model"], from_file["skipped"]) == (24, None, [])
    assert [window["limit"] for window in from_file["windows"]] == [WINDOW, 64_000]
    for window in from_file["windows"]:
        assert [policy["policy"] for policy in window["policies"]] == list(POLICIES)
        for policy in window["policies"]:
            assert set(policy) == POLICY_NAMES
            assert set(policy["stages"]) == set(STAGES)
            assert all(set(request) == REQUEST_NAMES for request in policy["details"])
            assert policy["cost_usd"] is None, "without a model there is no price"


def test_same_input_same_bytes(plimsoll: Plimsoll, chat: Path) -> None:
    runs = [plimsoll("simulate", chat, "--window", WINDOW, "--json").out for _ in range(2)]
    assert runs[0] == runs[1]


def test_nothing_is_written(plimsoll: Plimsoll, chat: Path, plimsoll_home: Path, imported: str) -> None:
    # Side files that SQLite creates for reading do not count.
    def written() -> dict[Path, bytes]:
        every = (path for path in sorted(plimsoll_home.rglob("*")) if path.is_file())
        return {path: path.read_bytes() for path in every if not path.name.endswith(("-shm", "-wal"))}

    before = written()
    assert plimsoll("simulate", chat, imported, "--window", WINDOW).code == 0
    assert written() == before


def test_no_home_is_made_for_a_file(plimsoll: Plimsoll, chat: Path, plimsoll_home: Path) -> None:
    assert plimsoll("simulate", chat, "--window", WINDOW, "--policy", "off").code == 0
    assert not plimsoll_home.exists() or list(plimsoll_home.rglob("*.db")) == []


def test_a_table_for_each_window(plimsoll: Plimsoll, chat: Path) -> None:
    result = plimsoll("simulate", chat, "--window", WINDOW, "--window", 64_000, "--policy", "plimsoll", "off")
    assert result.code == 0
    lines = result.out.splitlines()
    assert lines[0].startswith(f"{chat} (openai-chat): 49 messages, 24 answers")
    assert "model unknown" in lines[0]
    heads = [line for line in lines if line.startswith("policy ")]
    assert len(heads) == 2
    rows = [line.split()[0] for line in lines if line.startswith(("plimsoll ", "off "))]
    assert rows == ["plimsoll", "off"] * 2
    assert "unknown" in next(line for line in lines if line.startswith("plimsoll "))
    assert "$0" not in result.out


def test_verbose_shows_every_request(plimsoll: Plimsoll, chat: Path) -> None:
    result = plimsoll("simulate", chat, "--window", WINDOW, "--policy", "off", "--verbose")
    rows = [line for line in result.out.splitlines() if line.split()[:1] and line.split()[0].isdigit()]
    assert [int(row.split()[0]) for row in rows] == list(range(1, 25))
    assert "failed: needs" in result.out
    assert "truncate 1 (-" in result.out


def test_a_model_gives_prices(plimsoll: Plimsoll, chat: Path) -> None:
    asked = ("simulate", chat, "--window", WINDOW, "--policy", "plimsoll", "--model", "openai:gpt-5")
    [policy] = plimsoll(*asked, "--json").json["simulations"][0]["windows"][0]["policies"]
    assert policy["cost_usd"] > 0
    assert policy["cost_usd"] == pytest.approx(
        sum(request["cost_usd"] for request in policy["details"]), abs=1e-4
    )
    assert "priced as openai:gpt-5" in plimsoll(*asked).out


def test_a_policy_of_ones_own(plimsoll: Plimsoll, chat: Path, plimsoll_home: Path) -> None:
    config = Paths.from_env({"PLIMSOLL_HOME": str(plimsoll_home)}).config_file
    config.parent.mkdir(parents=True, exist_ok=True)
    config.write_text('[policies.harbour]\nbase = "sliding-window"\nmax_messages = 8\n')
    result = plimsoll("simulate", chat, "--window", 64_000, "--policy", "harbour", "off", "--json")
    harbour, off = result.json["simulations"][0]["windows"][0]["policies"]
    assert harbour["policy"] == "harbour"
    assert harbour["compactions"] > 0 == off["compactions"]
    every = plimsoll("simulate", chat, "--window", 64_000, "--policy", "all", "--json")
    names = [policy["policy"] for policy in every.json["simulations"][0]["windows"][0]["policies"]]
    assert names == [*POLICIES, "harbour"]


def drawn(plimsoll: Plimsoll, chat: Path, target: Path, *more: object) -> ET.Element:
    result = plimsoll("simulate", chat, "--window", WINDOW, "--plot", target, *more)
    assert result.code == 0, result.err
    return ET.fromstring(target.read_text(encoding="utf-8"))


def test_the_drawing(plimsoll: Plimsoll, chat: Path, tmp_path: Path) -> None:
    target = tmp_path / "berth.svg"
    root = drawn(plimsoll, chat, target, "--window", 64_000)
    space = "{http://www.w3.org/2000/svg}"
    assert root.tag == f"{space}svg"
    said = [element.text for element in root.iter(f"{space}text")]
    assert [name for name in POLICIES if said.count(name) != 2] == [], "a legend for each window"
    lines = list(root.iter(f"{space}polyline"))
    assert len(lines) >= 2 * len(POLICIES)
    assert all(len(line.attrib["points"].split()) == 24 for line in lines)
    marks = [text for text in said if text and "the window" in text]
    assert marks == ["3k the window", "64k the window"]
    assert any(text and text.startswith("2.4k plimsoll") for text in said)
    assert "prefers-color-scheme:dark" in target.read_text()
    assert sorted(path.name for path in tmp_path.glob("*berth*")) == ["berth.svg"], "nothing half is left"


def test_a_title_is_text_in_the_drawing(plimsoll: Plimsoll, chat: Path, tmp_path: Path) -> None:
    messages = json.loads(chat.read_text())
    messages[1]["content"] = 'Is 3 < 4 & "5" > 2 \x07\uffff for a sail?'
    chat.write_text(json.dumps(messages))
    target = tmp_path / "strange.svg"
    root = drawn(plimsoll, chat, target)
    [title] = [element.text for element in root.iter() if "sail" in (element.text or "")]
    assert title is not None
    assert title.startswith('Is 3 < 4 & "5" > 2 ')
    assert title.endswith("for a sail? in a window of 3k")


def test_skipped_lines_are_named(plimsoll: Plimsoll, chat: Path, tmp_path: Path) -> None:
    messages = [*json.loads(chat.read_text()), {"role": "user", "content": ""}, 7]
    broken = tmp_path / "broken.json"
    broken.write_text(json.dumps(messages))
    data = plimsoll("simulate", broken, "--window", WINDOW, "--policy", "off", "--json").json
    reported = plimsoll("import", broken, "--json").json["skipped"]
    assert data["simulations"][0]["skipped"] == reported
    assert len(reported) == 2
    shown = plimsoll("simulate", broken, "--window", WINDOW, "--policy", "off").out
    assert f"  line {reported[0]['line']}: {reported[0]['reason']}" in shown


def test_one_bad_source_does_not_keep_the_others_out(plimsoll: Plimsoll, chat: Path, tmp_path: Path) -> None:
    noise = tmp_path / "noise.json"
    noise.write_text("no conversation\x1b[31m")
    result = plimsoll(
        "simulate", noise, "ffff", tmp_path, chat, "--window", WINDOW, "--policy", "off", "--json"
    )
    assert result.code == 1
    assert [each["source"] for each in result.json["simulations"]] == [str(chat)]
    complaints = result.err.splitlines()
    assert "noise.json has no known format" in complaints[0]
    assert complaints[1] == "There is no file or session ffff."
    assert complaints[2].startswith(f"{tmp_path} is a folder. Name the transcripts in it")
    assert "\x1b" not in result.err


def test_a_window_that_is_too_small(plimsoll: Plimsoll, tmp_path: Path) -> None:
    messages = [{"role": "user", "content": "berth " * 2_000}, {"role": "assistant", "content": "Yes."}]
    chat = tmp_path / "long.json"
    chat.write_text(json.dumps(messages))
    result = plimsoll("simulate", chat, "--window", 1_000, "--json")
    assert (result.code, result.out) == (1, "")
    assert result.err.startswith("A window of 1,000 tokens is too small for ")
    assert len(result.err.splitlines()) == 1


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "required: --window"),
        (("--window", "12"), "at least 256"),
        (("--window", "many"), "whole number"),
        (("--window", "3000", "--policy", "a b"), "name of a policy"),
    ],
)
def test_wrong_usage(plimsoll: Plimsoll, chat: Path, arguments: tuple[str, ...], said: str) -> None:
    result = plimsoll("simulate", chat, *arguments)
    assert (result.code, result.out) == (2, "")
    assert said in result.err


def test_an_unknown_policy(plimsoll: Plimsoll, chat: Path) -> None:
    result = plimsoll("simulate", chat, "--window", WINDOW, "--policy", "nobodys")
    assert (result.code, result.out) == (2, "")
    assert "policy is 'nobodys'; allowed: plimsoll" in result.err


def test_a_drawing_that_cannot_be_written_is_refused_before_the_work(
    plimsoll: Plimsoll, chat: Path, tmp_path: Path
) -> None:
    asked = ("simulate", chat, "--window", WINDOW, "--plot")
    for target, said in ((tmp_path / "no" / "x.svg", "there is no folder"), (tmp_path, "is not a file")):
        result = plimsoll(*asked, target)
        assert (result.code, result.out) == (1, "")
        assert said in result.err
        assert len(result.err.splitlines()) == 1
    assert not (tmp_path / "no").exists()


def test_no_file_but_a_drawing_is_drawn_over(plimsoll: Plimsoll, chat: Path, tmp_path: Path) -> None:
    asked = ("simulate", chat, "--window", WINDOW, "--policy", "off", "--plot")
    before = chat.read_bytes()
    result = plimsoll(*asked, chat)
    assert (result.code, result.out) == (1, "")
    assert "is no drawing, so it was not replaced" in result.err
    assert chat.read_bytes() == before
    drawing = tmp_path / "drawn.svg"
    assert plimsoll(*asked, drawing).code == 0
    assert plimsoll(*asked, drawing).code == 0, "a drawing may be drawn again"


def test_ctrl_c(start: Callable[..., "Popen[str]"], tmp_path: Path) -> None:
    messages: list[dict[str, Any]] = []
    for number in range(3_000):
        messages += [
            {"role": "user", "content": f"Berth {number}? " + "quay " * 60},
            {"role": "assistant", "content": f"Free at {number}. " + "tide " * 60},
        ]
    chat = tmp_path / "endless.json"
    chat.write_text(json.dumps(messages))
    process = start("simulate", "gone.json", str(chat), "--window", "20000")
    assert process.stderr is not None
    assert "gone.json" in process.stderr.readline()
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out, err) == (130, "", "Stopped. Replayed: 0 of 2.\n")


def test_ctrl_c_between_two_replays_says_what_is_done(
    plimsoll: Plimsoll, chat: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = tmp_path / "other.json"
    other.write_bytes(chat.read_bytes())

    def interrupted(*_args: object, **_options: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(simulating, "show", interrupted)
    result = plimsoll("simulate", chat, other, "--window", WINDOW, "--policy", "off")
    assert (result.code, result.out, result.err) == (130, "", "Stopped. Replayed: 1 of 2.\n")
