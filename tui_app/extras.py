"""Optional parts of the program, and the command that adds one to this installation."""

import shlex
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Literal

Extra = Literal["serve", "mcp", "acp", "local", "otel", "postgres", "lsp"]
DISTRIBUTION = "plimsoll-tui"
ROOT = Path(__file__).resolve().parent.parent
"""The folder that contains the package."""


def install_command(extra: Extra) -> str:
    """Return the command that installs an extra for this program.

    It names the interpreter, because plain ``pip`` may belong to another Python. Environments made by uv have
    no pip, and those of pipx may have none. In a checkout, the checkout itself is installed in editable mode,
    because no package need be published.

    Args:
        extra: Its name in ``pyproject.toml``.
    """
    target = f"-e '{ROOT}[{extra}]'" if is_checkout(ROOT) else f"'{DISTRIBUTION}[{extra}]'"
    if (Path(sys.prefix) / "pipx_metadata.json").exists():
        return f"pipx inject {DISTRIBUTION} {target}"
    interpreter = shlex.quote(sys.executable or "python3")
    if find_spec("pip") is not None:
        return f"{interpreter} -m pip install {target}"
    return f"uv pip install --python {interpreter} {target}"


def is_checkout(root: Path) -> bool:
    """Return whether a folder contains the program's sources, not an installed copy."""
    try:
        text = (root / "pyproject.toml").read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return False
    return f'name = "{DISTRIBUTION}"' in text
