"""Write the golden files: ``python -m tests.golden``.

Those of real transcripts are written only with ``--transcripts FOLDER``, and the sessions file of this
version only with ``--sessions-file``, because it must have been written by an older program.
"""

import argparse
import gzip
import os
import sys
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from tests.golden import HERE, checksum_lines
from tests.golden.commands import help_texts, played_commands, schema_text, sessions_file
from tests.golden.plays import Lines, made_up_imports, plays, transcript
from tests.golden.replacements import replacements
from tests.golden.tables import tables
from tests.quality.test_safety import SESSIONS, text
from tests.quality.transcripts import find_files
from tui_app.version import __version__

_PROCESSES = min(2, os.cpu_count() or 1)


def main() -> int:
    """Write the files, and print their names."""
    parser = argparse.ArgumentParser(prog="python -m tests.golden", description=__doc__)
    parser.add_argument(
        "--transcripts", type=Path, metavar="FOLDER", help="real transcripts, only for checksums"
    )
    parser.add_argument("--sessions-file", action="store_true", help="a sessions file of this version")
    options = parser.parse_args()
    if options.sessions_file:
        name = f"sessions-{__version__}.db.gz"
        (HERE / name).write_bytes(gzip.compress(sessions_file(), mtime=0))
        print(name)
    for name, made in _texts(options.transcripts):
        (HERE / name).write_text(made, encoding="utf-8")
        print(name)
    return 0


def _texts(transcripts: Path | None) -> Iterator[tuple[str, str]]:
    yield "help.txt", help_texts()
    yield "schema.json", schema_text()
    yield "tables.txt", tables()
    yield "commands.txt", played_commands()
    yield "replacements.txt", replacements()
    found: Lines = made_up_imports()
    for name, messages in SESSIONS.items():
        found |= plays(name, messages, text())
    yield "made-up.txt", checksum_lines(found)
    if transcripts:
        with ProcessPoolExecutor(_PROCESSES) as pool:
            parts = list(pool.map(transcript, find_files([transcripts])))
        yield "transcripts.txt", checksum_lines({what: made for part in parts for what, made in part.items()})


if __name__ == "__main__":
    sys.exit(main())
