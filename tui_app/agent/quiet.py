"""The terminal belongs to the program: what the library beneath it would say of itself is left out."""

import pydantic_ai


def keep_library_quiet() -> None:
    """Let no run of this process begin with pydantic-ai's banner, which goes to stderr.

    A variable of the environment would do it too, but what tools and hooks run would inherit that.
    """
    pydantic_ai.BANNER_ENABLED = False
