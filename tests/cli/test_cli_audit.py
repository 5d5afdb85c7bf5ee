"""``plimsoll audit``: table, JSON, HTML page, and all errors."""

import json
import re
from html import unescape
from pathlib import Path

import pytest

from tests.cli.conftest import Plimsoll
from tests.conversation.test_audit import INVENTED, REQUEST, RULE, claude
from tests.session.importing import foreign
from tests.session.importing.foreign import Script, text
from tui_app.context.policy import PRESETS
from tui_app.session.exports.audit_page import audit_page

HOSTILE = 'Never use <script>alert("x")</script> or <img src=x onerror=y> & \x1b[31mred.'


def words(page: str) -> str:
    """Return the visible text of a page."""
    body = page.partition("<body>")[2]
    return unescape(re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", body)))


def test_the_table(plimsoll: Plimsoll, tmp_path: Path) -> None:
    result = plimsoll("audit", claude(tmp_path))
    assert (result.code, result.err) == (0, "")
    assert "1 compaction" in result.out
    assert re.search(r"^Requests +1 +0 +2$", result.out, re.MULTILINE)
    assert f"lost: 2\n- {REQUEST}\n- {RULE}\n" in result.out
    assert f"Lines not in the log, of 4: 1\n- {INVENTED}" in result.out
    assert all(re.search(rf"^{name} +\d", result.out, re.MULTILINE) for name in PRESETS)


def test_the_page_shows_the_numbers_of_the_json(plimsoll: Plimsoll, tmp_path: Path) -> None:
    path, page = claude(tmp_path), tmp_path / "audit.html"
    result = plimsoll("audit", path, "--json", "--html", page)
    assert (result.code, result.err) == (0, "")
    written = page.read_text(encoding="utf-8")
    assert written == audit_page(result.json)
    (found,) = result.json["audits"]
    seen = words(written)
    assert f"{found['messages']} messages" in seen
    assert (
        f"Claims that the log does not hold: 1 of {found['compactions'][0]['statements']} statements" in seen
    )
    assert f"{RULE} #2 lost" in seen
    assert written.count('class="cut"') == 2, "one compaction, in a wide and a narrow drawing"
    assert plimsoll("audit", path, "--html", page).out.endswith(f"Written: {page}\n"), (
        "a page may be replaced"
    )


def test_the_page_loads_nothing_and_what_was_said_stays_text(plimsoll: Plimsoll, tmp_path: Path) -> None:
    script = Script()
    script.user(f"{HOSTILE} Build it.")
    script.says("m1", text("Yes."))
    script.compacts(f"The file {HOSTILE} was deleted.")
    script.record("custom-title", customTitle=HOSTILE)
    page = tmp_path / "audit.html"
    assert plimsoll("audit", script.write(tmp_path), "--html", page).code == 0
    written = page.read_text(encoding="utf-8")
    assert "alert" in written
    assert not re.search(
        r"<(script|img|link|iframe|object)\b|\x1b|\bon\w+=\"|https?://|url\(|@import", written
    )
    assert "default-src 'none'" in written


def test_nothing_compacted_is_said_plainly(plimsoll: Plimsoll, tmp_path: Path) -> None:
    page = tmp_path / "audit.html"
    result = plimsoll("audit", foreign.valid_script().write(tmp_path), "--html", page)
    assert (result.code, result.err) == (0, "")
    assert "never compacted: nothing was lost" in result.out
    assert "never compacted" in words(page.read_text(encoding="utf-8"))


def test_the_recording_of_the_demo(plimsoll: Plimsoll) -> None:
    result = plimsoll("audit", "demo")
    assert result.code == 0
    assert "demo (openai-chat): 156 messages, 14.6k tokens, 1 compaction" in result.out
    assert "The batch size must stay 250, the website counts on it." in result.out
    assert "Ran `python3 -m ferry.migrate --all`: 412 callers were moved." in result.out


def test_what_is_no_transcript_is_named_and_the_rest_is_audited(plimsoll: Plimsoll, tmp_path: Path) -> None:
    path, other = claude(tmp_path), tmp_path / "notes.txt"
    other.write_text("Just notes.")
    result = plimsoll("audit", other, path, "nosuch", "--json")
    assert result.code == 1
    assert str(other) in result.err
    assert "There is no file or session nosuch." in result.err
    assert [each["source"] for each in result.json["audits"]] == [str(path)]


def test_several_have_a_total(plimsoll: Plimsoll, tmp_path: Path) -> None:
    (tmp_path / "more").mkdir()
    result = plimsoll("audit", claude(tmp_path), claude(tmp_path / "more"))
    assert "Total: 2 compactions" in result.out
    assert "and 2 open errors gone" in result.out
    file = claude(tmp_path)
    twice = plimsoll("audit", file, f"{tmp_path}/more/../{file.name}", "--json")
    assert twice.json["total"]["compactions"] == 1
    assert (plimsoll("audit", file, "--html", "").code, plimsoll("audit", "").code) == (2, 2)


@pytest.mark.parametrize("text", ["keep me", "<p>mine"])
def test_another_file_is_not_overwritten(plimsoll: Plimsoll, tmp_path: Path, text: str) -> None:
    page = tmp_path / "mine.html"
    page.write_text(text)
    result = plimsoll("audit", claude(tmp_path), "--html", page)
    assert result.code == 1
    assert "is no page, so it was not replaced" in result.err
    assert page.read_text() == text


def test_names_of_files_are_one_line_and_devices_no_pages(plimsoll: Plimsoll, tmp_path: Path) -> None:
    path, page = claude(tmp_path).rename(tmp_path / "a\nfile.jsonl"), tmp_path / "pa\nge.html"
    result = plimsoll("audit", path, "no\nsuch", "--html", page)
    assert result.code == 1
    assert "a file.jsonl (claude-code): " in result.out
    assert result.out.endswith("pa ge.html\n")
    assert result.err == "There is no file or session no such.\n"
    odd = tmp_path / "o\ndd.txt"
    odd.write_text("Just notes.")
    assert len(plimsoll("audit", odd).err.splitlines()) == 1
    for device in ("/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"):
        refused = plimsoll("audit", path, "--html", device)
        assert (refused.code, refused.out) == (1, "")
        assert refused.err == f"{device} is not a file that a page could be written to.\n"


def test_a_session_says_the_same_as_its_file(plimsoll: Plimsoll, tmp_path: Path) -> None:
    path = claude(tmp_path)
    session = plimsoll("import", path, "--json").json["session"]
    from_file, from_log = plimsoll("audit", path, session, "--json").json["audits"]
    assert from_file["compactions"] == from_log["compactions"]
    assert from_file["context"] == from_log["context"]
    assert (from_log["source"], from_log["format"]) == (session, "claude-code")


def test_a_session_of_our_own(plimsoll: Plimsoll, imported: str) -> None:
    assert plimsoll("compact", imported, "--extract", "--window", 4_000, "--json").code == 0
    result = plimsoll("audit", imported, "--json")
    (compaction,) = result.json["audits"][0]["compactions"]
    assert (compaction["trigger"], compaction["way_back"], compaction["statements"]) == ("headless", True, 0)
    assert all(states["lost"] == 0 for states in compaction["facts"].values()), "the log is still there"
    assert not compaction["undone"]
    assert plimsoll("compact", imported, "--undo").code == 0
    assert "headless, undone later" in plimsoll("audit", imported).out
    assert compaction["rules_gone"] == []
    assert plimsoll("compact", imported, "--extract", "--window", 4_000).code == 0
    both = plimsoll("audit", imported, "--json").json["audits"][0]
    first, second = both["compactions"]
    assert (first["undone"], second["undone"]) == (True, False)
    assert second["facts"] == compaction["facts"], "as if the other one had never been"
    assert (both["total"]["compactions"], both["total"]["undone"]) == (1, 1)
    assert both["total"]["facts"] == second["facts"]
    assert "1 compaction (1 more undone later and left out), " in plimsoll("audit", imported).out


def test_the_exported_log_says_the_same(plimsoll: Plimsoll, imported: str, tmp_path: Path) -> None:
    assert plimsoll("compact", imported, "--extract", "--window", 4_000).code == 0
    log = tmp_path / "log.jsonl"
    assert plimsoll("export", imported, "--format", "jsonl", "--no-mask", "--output", log).code == 0
    from_log, from_file = plimsoll("audit", imported, log, "--json").json["audits"]
    assert json.dumps(from_log["compactions"]) == json.dumps(from_file["compactions"])
