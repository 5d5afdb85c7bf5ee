"""A git repository of a test."""

import subprocess
from pathlib import Path


def git(folder: Path, *words: str) -> str:
    """What ``git`` prints in a folder; raises where it fails."""
    done = subprocess.run(("git", *words), cwd=folder, check=True, capture_output=True, text=True)
    return done.stdout


def begin(folder: Path) -> Path:
    """Make a folder a repository whose first commit holds all of it."""
    git(folder, "init", "-q", "-b", "main")
    git(folder, "config", "user.name", "Ada")
    git(folder, "config", "user.email", "ada@example.org")
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "Begin")
    return folder
