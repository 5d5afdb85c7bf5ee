"""The telling words of a text, for comparing sentences across inflections and scripts."""

import re

from tui_app.context.user_text import words

_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?")
_UNSPACED = re.compile(r"[\u0e00-\u0eff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]+")
"""Runs of scripts in which no space parts the words, or words carry their particles."""
_TELLING = re.compile(r"([\u0e00-\u0eff\u3400-\u9fff\uac00-\ud7af]+)|[\u30a1-\u30ff]{2,}")
"""Of them what tells something: hiragana joins and inflects; a word in katakana stands for itself."""
_ENDING = re.compile(r"(?<=...)(?:ings?|edly|ed|ies|es|en|er|em|s|e|n)$")
_STEM = 6
"""Characters by which two forms of one word are known as such."""
_COMMON = words(
    "the and for that this with from have has had will would been were was are not but they them their "
    "there then than into onto when which while what where who whom whose should could must shall may "
    "might can also only just very more most some such each every other another after before about above "
    "below over under again still now here how its his her him she our your you mine does did doing done "
    "being because don didn isn und der die das den dem des ein eine einen einem einer ist sind war waren "
    "wird wurde werden hat haben hatte nicht auch aber oder wenn dann noch nach vor bei mit von für auf "
    "aus als wie sich soll sollen muss kann dass les des une est sont était pas que qui dans pour avec "
    "sur par plus mais donc leur ses son cette los las uno del con por para como más pero está fue hay "
    "debe sus este esta gli che non per una sono della это что как для при все его она они был была были "
    "быть или если тоже уже только чтобы нужно على إلى من في عن مع هذا هذه التي الذي أن إن كل"
)


def stems_of(text: str) -> frozenset[str]:
    """The telling words of a text, each in a form that its inflections share.

    Where no space parts the words, each pair of signs stands for one.
    """
    found: set[str] = set()
    folded = text.casefold()
    for match in _TELLING.finditer(folded):
        if run := match[1]:
            found |= {run[place : place + 2] for place in range(max(1, len(run) - 1))}
        else:
            found.add(match[0][:_STEM])
    for word in _WORD.findall(_UNSPACED.sub(" ", folded)):
        bare = word.replace("’", "'").partition("'")[0]
        if len(bare) >= 3 and bare not in _COMMON:
            short = _ENDING.sub("", bare)
            short = short[:-1] if len(short) > 3 and short[-1] == short[-2] else short
            found.add(short[:_STEM])
    return frozenset(found)
