"""Search queries: any text is one, and nothing in it is read as the index's own syntax."""

import re
from collections.abc import Mapping, Sequence
from types import MappingProxyType

from tui_app.records import frozen
from tui_app.session.stores.word_index import WORD, index_words, is_joined

MOST_WORDS = 16
"""Words and phrases of a query that count."""

_NONE: Mapping[str, Sequence[str]] = MappingProxyType({})

_PIECES = re.compile(r'"([^"]*)"?|([^\s"]+)')


@frozen
class Term:
    """One thing that a message has to hold."""

    words: tuple[str, ...]
    """Side by side, in this order."""
    begins: bool = False
    """Whether the last one may go on."""

    def indexed(self) -> tuple[tuple[str, ...], bool]:
        """The words as the index holds them, and whether the last one is only the beginning of one there."""
        found = tuple(index_words("_".join(self.words), ends=False))
        return found, self.begins or (len(found[-1]) == 1 and is_joined(found[-1]))


def read_query(text: str, *, typing: bool = False) -> tuple[Term, ...]:
    """What a query asks for; any text is one.

    Words stand by themselves, ``"two words"`` side by side, and ``harb*`` for every word that so begins.
    Everything else only separates words.

    Args:
        text: As it was typed.
        typing: Whether the last word is still being typed, so that it may go on.
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
    """A query in the index's own language, with nothing in it that could be read as its syntax.

    Args:
        terms: What is wanted.
        longer: For beginnings of words that are not to be looked up by the index: words that so begin.
    """
    return f"text : ({' AND '.join(_wanted(term, longer) for term in terms)})"


def _wanted(term: Term, longer: Mapping[str, Sequence[str]]) -> str:
    words, begins = term.indexed()
    *first, last = words
    if not begins:
        return f'"{" ".join(words)}"'
    if last not in longer:
        return f'"{" ".join(words)}" *'
    return "({})".format(" OR ".join(f'"{" ".join([*first, word])}"' for word in longer[last]))
