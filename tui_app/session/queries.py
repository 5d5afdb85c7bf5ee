"""Search queries. Any text is valid, and nothing in it is interpreted as the index's own syntax."""

import re
from collections.abc import Mapping, Sequence
from types import MappingProxyType

from tui_app.records import frozen
from tui_app.session.stores.word_index import WORD, index_words, is_joined

MOST_WORDS = 16
"""Maximum number of words and phrases of a query."""

_NONE: Mapping[str, Sequence[str]] = MappingProxyType({})

_PIECES = re.compile(r'"([^"]*)"?|([^\s"]+)')


@frozen
class Term:
    """One condition that a message must match."""

    words: tuple[str, ...]
    """Adjacent words, in this order."""
    begins: bool = False
    """Whether the last word is a prefix."""

    def indexed(self) -> tuple[tuple[str, ...], bool]:
        """Return the words as the index has them, and whether the last one is a prefix there."""
        found = tuple(index_words("_".join(self.words), ends=False))
        return found, self.begins or (len(found[-1]) == 1 and is_joined(found[-1]))


def read_query(text: str, *, typing: bool = False) -> tuple[Term, ...]:
    """Parse a query; any text is one.

    Words match anywhere, ``"two words"`` match side by side, and ``harb*`` matches every word with that
    prefix. Everything else only separates words.

    Args:
        text: The query as typed.
        typing: Whether the last word is still being typed, and so is a prefix.
    """
    terms: list[Term] = []
    for quoted, bare in _PIECES.findall(text):
        words = tuple(WORD.findall(quoted or bare))
        if any(index_words("_".join(words))):
            terms.append(Term(words, begins=bare.endswith("*")))
    if typing and terms and text[-1:].isalnum():
        terms[-1] = Term(terms[-1].words, begins=True)
    return tuple(terms[:MOST_WORDS])


def match_expression(terms: Sequence[Term], longer: Mapping[str, Sequence[str]] = _NONE) -> str:
    """Express a query in the index's syntax, with everything quoted.

    Args:
        terms: The conditions.
        longer: For prefixes that the index should not expand itself: the words to search instead.
    """
    return f"text : ({' AND '.join(_match_term(term, longer) for term in terms)})"


def _match_term(term: Term, longer: Mapping[str, Sequence[str]]) -> str:
    words, begins = term.indexed()
    *first, last = words
    if not begins:
        return f'"{" ".join(words)}"'
    if last not in longer:
        return f'"{" ".join(words)}" *'
    return "({})".format(" OR ".join(f'"{" ".join([*first, word])}"' for word in longer[last]))
