"""The example on the page about simulating is what the program prints and draws."""

import re

from tests.docs.pages import DOCS, load_script, page


def unpriced(text: str) -> str:
    """Prices change with the price list, and the width of their column with them."""
    return re.sub(r" +", " ", re.sub(r"\$[\d.]+", "$", text))


def test_the_example_is_what_is_printed_and_drawn() -> None:
    script = load_script(DOCS / "make_simulation.py")
    text = page("docs/simulate.md")
    made, drawing = script.example(text)
    assert unpriced(made) == unpriced(text), "run: python docs/make_simulation.py"
    assert drawing == script.PICTURE.read_text(encoding="utf-8"), "run: python docs/make_simulation.py"
