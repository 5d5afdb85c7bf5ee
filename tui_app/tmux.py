"""What tmux says of itself."""

import shutil
import subprocess

_LIMIT_S = 2.0


def tmux_option(name: str) -> str:
    """The value of a server option; empty when tmux does not say. Blocks until it has answered."""
    tmux = shutil.which("tmux")
    if tmux is None:
        return ""
    try:
        done = subprocess.run(
            [tmux, "show-options", "-sv", name],
            capture_output=True,
            text=True,
            timeout=_LIMIT_S,
            check=False,
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""
