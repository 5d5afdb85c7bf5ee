"""Optional parts of the program, and the command that adds one to this very installation."""

import shlex
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Literal

Extra = Literal["serve", "mcp", "acp", "local", "otel", "postgres", "lsp"]
DISTRIBUTION = "plimsoll-tui"
ROOT = Path(__file__).resolve().parent.parent
"""The folder that the package is in."""


def install_command(extra: Extra) -> str:
    """The command that installs an extra where this program runs.

    Plain ``pip`` may be that of another Python, so the interpreter is named. Environments that uv has made
    hold no pip, and those of pipx hold one or not. From a checkout the checkout is what has to be
    installed, in place as it runs now: nothing of that name need be published.

    Args:
        extra: As ``pyproject.toml`` names it.
    """
    target = f"-e '{ROOT}[{extra}]'" if is_checkout(ROOT) else f"'{DISTRIBUTION}[{extra}]'"
    if (Path(sys.prefix) / "pipx_metadata.json").exists():
        return f"pipx inject {DISTRIBUTION} {target}"
    interpreter = shlex.quote(sys.executable or "python3")
    if find_spec("pip") is not None:
        return f"{interpreter} -m pip install {target}"
    return f"uv pip install --python {interpreter} {target}"


def is_checkout(root: Path) -> bool:
    """Whether a folder holds the program's sources, and not an environment it was installed into."""
    try:
        text = (root / "pyproject.toml").read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return False
    return f'name = "{DISTRIBUTION}"' in text
