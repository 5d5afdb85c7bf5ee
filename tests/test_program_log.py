"""Messages of libraries go to the log file, never to the terminal."""

import logging
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import ROOT
from tui_app.system.program_log import ProgramLog, logging_to


def test_the_file_is_made_with_the_first_entry_and_is_private(tmp_path: Path) -> None:
    path = tmp_path / "state" / "plimsoll.log"
    with logging_to(path, "run"):
        logging.getLogger("x").info("nothing worth a line")
        assert not path.exists()
        with logging_to(path, "acp"):
            logging.getLogger("x").warning("key sk-proj-%s", "a1B2" * 12)
    text = path.read_text()
    assert text.count("run WARNING x key") == 1
    assert "a1B2a1B2" not in text
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert not [each for each in logging.getLogger().handlers if isinstance(each, ProgramLog)]


def test_a_log_that_cannot_be_written_fails_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "state").write_text("a file")
    with logging_to(tmp_path / "state" / "plimsoll.log", "run"):
        logging.getLogger("x").warning("lost")
    assert capsys.readouterr().err == ""


def test_it_is_begun_anew_when_it_has_grown_large(tmp_path: Path) -> None:
    path = tmp_path / "plimsoll.log"
    path.write_text("x" * 1_000_001)
    with logging_to(path, "run"):
        logging.getLogger("x").warning("fresh")
    assert path.read_text().endswith("fresh\n")
    assert len(path.read_text()) < 200


def in_a_process(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True)
    return done.stderr


def test_in_somebody_elses_program_nothing_is_printed_unless_that_asks_for_it() -> None:
    said = "logging.getLogger('tui_app.context.compaction.proposal').warning('not written')"
    assert in_a_process(f"import logging, tui_app.context\n{said}") == ""
    asked = in_a_process(f"import logging, tui_app.context\nlogging.basicConfig()\n{said}")
    assert "not written" in asked


def test_warnings_go_there_too(tmp_path: Path) -> None:
    path = tmp_path / "plimsoll.log"
    code = (
        "import warnings\nfrom pathlib import Path\nfrom tui_app.system.program_log import logging_to\n"
        f"with logging_to(Path({str(path)!r}), 'run'):\n    warnings.warn('odd usage')\n"
    )
    assert in_a_process(code) == ""
    assert "odd usage" in path.read_text()
