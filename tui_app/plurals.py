"""How many there are of a thing, in words: one wording for every room."""


def count(number: int, thing: str) -> str:
    """Write how many there are of a thing: ``1 turn``, ``1,204 turns``."""
    return f"{number:,} {thing}{'' if number == 1 else 's'}"
