"""Failures that the user says to have mended, where they name the failure so that it can be no other."""

import re
from collections.abc import Sequence

from tui_app.context.fact_extractors.language import sentences
from tui_app.context.fact_extractors.words import words

_FIXED = re.compile(
    r"(?i)^(?:(?:ok(?:ay)?|thanks|thank you|no worries|fyi|hi|alright|so|well|done)[,.:!]?\s{1,3}){0,2}"
    r"(?:I(?:['’]ve| have)?(?: just| already| now| myself| meanwhile){0,2}"
    r" (?:fixed|solved|resolved|repaired|corrected)\s{1,2}(?:up\s|all\s){0,1}"
    r"(?:that|the|this|your|it:?|those)\s{1,2}(?P<what>.{3,120}?)"
    r"|(?:ich habe|hab ich|ich hab) (?:den|die|das|diesen|dieses|diese)\s{1,2}(?P<german>.{3,120}?)"
    r"\s(?:schon |bereits |gerade |selbst |inzwischen ){0,3}(?:behoben|gelöst|repariert|korrigiert))"
    r"(?=[,.;:!]|\s(?:myself|already|by hand|on my (?:side|own|end)|now|and)\b|$)"
)
_DOUBT = re.compile(r"(?i)\?|\b(?:but|still|except|not|n['’]t|partly|try|almost|aber|nicht|noch|fast)\b")
_FAILURE = words(
    "error errors failure failures problem problems issue issues bug crash exception fehler problem absturz"
)
_KINDS = {
    "build": words("make cmake ninja gcc cc clang tsc cargo gradle gradlew mvn dotnet go javac docker build"),
    "compile": words("make cmake ninja gcc cc clang tsc cargo gradle mvn dotnet go javac compile"),
    "test": words("pytest tox nox jest vitest mocha rspec phpunit ctest unittest test tests"),
    "lint": words("eslint ruff flake8 biome pylint lint golangci-lint"),
    "type": words("mypy tsc pyright tsgo"),
    "install": words("pip pip3 npm pnpm yarn poetry uv install ci"),
}
"""What a kind of failure is called, and what shows that a command is of that kind."""
_SAME = {"builds": "build", "compiler": "compile", "tests": "test", "typing": "type", "linter": "lint"}
_EMPTY = words("that the this your a an of in with from for to and myself failing failed broken one last new")
_WORD = re.compile(r"[\w./-]{2,80}")


def fixed_failure(text: str, failures: Sequence[str]) -> int | None:
    """Which failure a message of the user says to be mended.

    Args:
        text: What the user typed.
        failures: Those that were open then, as the command and what it said.

    Returns:
        The place of the one that is meant; None where none is, or where it could be another.
    """
    for sentence in sentences(text):
        match = _FIXED.match(sentence.strip())
        if match and not _DOUBT.search(sentence):
            named = match["what"] or match["german"]
            found = [place for place, failure in enumerate(failures) if _means(named, failure)]
            if len(found) == 1:
                return found[0]
    return None


def _means(named: str, failure: str) -> bool:
    """Whether every telling word of a name fits a failure, and there is one."""
    telling = _words(named.casefold().replace("-fehler", "")) - _EMPTY - _FAILURE
    known = _words(failure.casefold())
    return bool(telling) and all(_fits(word, known, failure.casefold()) for word in telling)


def _words(text: str) -> set[str]:
    return {word.strip(".-/") for word in _WORD.findall(text)}


def _fits(word: str, known: set[str], failure: str) -> bool:
    kind = _KINDS.get(_SAME.get(word, word))
    return (kind is not None and bool(kind & known)) or word in known or (len(word) > 4 and word in failure)
