"""Checks of the files that Plimsoll keeps and ships."""

import hashlib
import os
import sqlite3
from contextlib import closing
from importlib import resources
from pathlib import Path

from tui_app.cli.doctor.report import Check, fail, ok, warn
from tui_app.paths import Paths
from tui_app.session.migrations import MIGRATIONS
from tui_app.session.repair import index_trouble

_SUMS = "SHA256SUMS"


def check_folders(paths: Paths) -> Check:
    """Whether what is kept can be written. Missing folders are not made, their parents are looked at."""
    refused = [
        folder for folder in (paths.config, paths.data, paths.state, paths.cache) if not _writable(folder)
    ]
    if refused:
        hint = "Give yourself write access, or set PLIMSOLL_HOME to a folder of your own."
        return fail("folders", f"cannot write {', '.join(map(str, refused))}", hint)
    if trouble := sessions_folder_trouble(paths):
        return fail("folders", *trouble)
    return ok("folders", f"data in {paths.data}")


def sessions_folder_trouble(paths: Paths) -> tuple[str, str] | None:
    """What keeps the files of sessions out of their folder, and what to do; None where nothing does."""
    folder = paths.sessions_dir
    if folder.is_dir():
        if os.access(folder, os.W_OK | os.X_OK):
            return None
        return f"cannot write {folder}, where the files of sessions go", "Give yourself write access."
    if folder.is_symlink():
        return (
            f"{folder} is a link to a folder that is not there, and the files of sessions go into it",
            f"Bring back {folder.readlink()}, or remove the link.",
        )
    if folder.exists():
        return (
            f"{folder} is no folder, and the files of sessions go into one of this name",
            "Move it away, then: plimsoll doctor --repair. It writes the missing files anew.",
        )
    return None


def _writable(folder: Path) -> bool:
    existing = next(path for path in (folder, *folder.parents) if path.exists())
    return existing.is_dir() and os.access(existing, os.W_OK | os.X_OK)


def check_database(path: Path) -> Check:
    """Whether the sessions file is whole and of a version this program knows."""
    name = "sessions"
    if not path.exists():
        return ok(name, "none yet")
    hint = "Close every session, then: plimsoll doctor --repair. It keeps the damaged file."
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, timeout=5.0)) as db:
            problems = [str(row[0]) for row in db.execute("PRAGMA quick_check(3)")]
            schema = int(db.execute("PRAGMA user_version").fetchone()[0])
            if problems != ["ok"]:
                return fail(name, f"damaged: {problems[0]}", hint)
            if schema > len(MIGRATIONS):
                return fail(name, f"written by a newer version (schema {schema})", "Update Plimsoll.")
            count = db.execute("SELECT COUNT(*) FROM sessions").fetchone()[0] if schema else 0
            trouble = index_trouble(db) if schema > 1 else ""
    except sqlite3.Error as error:
        return fail(name, f"cannot be read: {error}", hint)
    if trouble:
        return warn(name, f"the index of words does not fit: {trouble}", hint)
    size = path.stat().st_size / 1_000_000
    return ok(name, f"{count:,} in {path} ({size:.1f} MB, schema {schema})")


def check_tokenizer() -> Check:
    """Whether the shipped token ranks are those that were published."""
    data = resources.files("tui_app.context.data")
    try:
        sums = [line.split() for line in data.joinpath(_SUMS).read_text("ascii").splitlines()]
        digests = {name: hashlib.sha256(data.joinpath(name).read_bytes()).hexdigest() for _, name in sums}
    except (OSError, ValueError) as error:
        return fail("tokenizer", f"token ranks are missing: {error}", "Install Plimsoll again.")
    wrong = [name for digest, name in sums if digests[name] != digest]
    if wrong or not sums:
        return fail("tokenizer", f"damaged: {', '.join(wrong) or _SUMS}", "Install Plimsoll again.")
    return ok("tokenizer", ", ".join(name.removesuffix(".tiktoken") for _, name in sums))


def check_log(path: Path) -> Check:
    """Where to read about anything unexpected."""
    size = path.stat().st_size if path.exists() else 0
    return ok("log", f"{path} ({size:,} bytes)" if size else "empty")
