"""Telling the language a person writes in, from its commonest words or its script; nothing is looked up."""

import re
from collections.abc import Iterable

from tui_app.context.fact_extractors.words import words

_COMMON: dict[str, frozenset[str]] = {
    "English": words(
        "the and is are to of it that this with for you not have be on what can should please my"
    ),
    "German": words(
        "der die das und ist nicht ein eine mit für auf den dem bitte wie wird auch noch sich wenn aber"
        " dass kann"
    ),
    "French": words(
        "le la les et est une pas pour dans que qui des du avec sur vous je ce cette être fait mais"
    ),
    "Spanish": words(
        "el la los las y es una no para en que con por se lo del está como pero esto hay más cuando"
    ),
    "Italian": words(
        "il lo la gli e è una non per in che con di del della sono questo come ma anche più quando"
    ),
    "Portuguese": words(
        "o a os as e é uma não para em que com do da por se isso está como mas também mais você"
    ),
    "Dutch": words(
        "de het een en is niet van voor met dat dit op ook maar als wordt zijn naar je kan moet geen"
    ),
    "Polish": words(
        "i w nie na się jest to że z do jak ale czy po tak co dla już tylko może proszę przez jeszcze"
    ),
    "Swedish": words("och det att är inte en ett på som för med den av om kan till har jag men också ska så"),
    "Russian": words(
        "и в не на что это как с по но из для так все бы или мне если уже надо нужно чтобы есть"
    ),
    "Ukrainian": words("і в не на що це як з по але для так все або мені якщо вже треба потрібно щоб є та й"),
}
_SCRIPTS: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("Japanese", re.compile(r"[\u3040-\u30ff]")),
    ("Korean", re.compile(r"[\uac00-\ud7af]")),
    ("Chinese", re.compile(r"[\u4e00-\u9fff]")),
    ("Greek", re.compile(r"[\u0370-\u03ff]")),
    ("Hebrew", re.compile(r"[\u0590-\u05ff]")),
    ("Thai", re.compile(r"[\u0e00-\u0e7f]")),
)
"""Scripts that one language is written in, in the order in which they tell it."""
_WORD = re.compile(r"[^\W\d_]+")
_SAMPLE = 20_000
_FEWEST_WORDS = 4
_FEWEST_LETTERS = 6
_CLEARLY = 1.4
"""How many times the common words of the runner-up a language must have."""


def language_of(texts: Iterable[str]) -> str:
    """Tell the language that most of some texts are in.

    Args:
        texts: What a person wrote. Code and names between the words do no harm; the newest 20,000 characters
            are looked at.

    Returns:
        Its English name, for example ``German``; empty when it cannot be told.
    """
    sample = "\n".join(texts)[-_SAMPLE:].casefold()
    letters = sum(map(str.isalpha, sample))
    for name, script in _SCRIPTS:
        # One such letter says as much as several Latin ones, and code stands between them.
        if (found := len(script.findall(sample))) >= _FEWEST_LETTERS and found * 5 >= letters:
            return name
    found_words = _WORD.findall(sample)
    hits = sorted(((sum(word in common for word in found_words), name) for name, common in _COMMON.items()))
    (second, _), (best, name) = hits[-2:]
    return name if best >= _FEWEST_WORDS and best >= second * _CLEARLY else ""
