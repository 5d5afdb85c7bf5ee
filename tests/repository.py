"""Git repositories for tests."""

import subprocess
from pathlib import Path


def git(folder: Path, *words: str) -> str:
    """Run ``git`` in a folder and return its output; raises if it fails."""
    done = subprocess.run(("git", *words), cwd=folder, check=True, capture_output=True, text=True)
    return done.stdout


def begin(folder: Path) -> Path:
    """Initialise a repository in a folder and commit all its files."""
    git(folder, "init", "-q", "-b", "main")
    git(folder, "config", "user.name", "Ada")
    git(folder, "config", "user.email", "ada@example.org")
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "Begin")
    return folder
