"""Write the example into docs/simulate.md: python docs/make_simulation.py."""

import contextlib
import io
import os
import re
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from tui_app.__main__ import main  # noqa: E402

PAGE, PICTURE = ROOT / "docs" / "simulate.md", ROOT / "assets" / "simulate.svg"
_COMMAND = re.compile(r"```sh\n(plimsoll simulate .+)\n```")
_OUTPUT = re.compile(r"(?<=```text\n).*?(?=```)", re.DOTALL)


def example(page: str) -> tuple[str, str]:
    """Run the command of the page in an empty folder.

    Args:
        page: Text of the page.

    Returns:
        The page with what was printed, and the drawing.
    """
    command = _COMMAND.search(page)
    assert command, "the page shows no command"
    printed, before = io.StringIO(), Path.cwd()
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(printed):
        os.chdir(folder)
        try:
            code = main(command[1].split()[1:])
            drawing = Path("demo.svg").read_text(encoding="utf-8")
        finally:
            os.chdir(before)
    assert code == 0, "the command failed"
    table = printed.getvalue().partition("\nDrawn:")[0].rstrip() + "\n"
    return _OUTPUT.sub(lambda _: table, page, count=1), drawing


if __name__ == "__main__":
    text, picture = example(PAGE.read_text(encoding="utf-8"))
    PAGE.write_text(text, encoding="utf-8")
    PICTURE.write_text(picture, encoding="utf-8")
