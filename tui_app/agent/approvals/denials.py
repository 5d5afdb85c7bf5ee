"""Matches of asking and denying rules in a command line, in every reading that some shell may have.

What is only known when the line runs, such as a variable, may be anything. A word after an option may be its
value or not: if that is unknown, both readings count, and a match in only one of them is "perhaps".
"""

import posixpath
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Literal

from tui_app.agent.approvals.programs import (
    Program,
    inner_at,
    long_options,
    longest_named,
    only_looks,
    program_named,
    program_of,
    same_programs,
)
from tui_app.agent.instructions.path_patterns import expand_braces
from tui_app.context.shell_line import ANY_WORD, ANYTHING, GAP, Word, read_line, without_signs
from tui_app.records import frozen

Found = Literal["no", "perhaps", "surely"]
"""Whether there is a match. The alphabetical order is that of increasing certainty."""
_State = tuple[int, Found]
"""Number of matched words, and whether the next one is the value of an option."""
_MOST_CHARS = 200_000
"""Maximum characters read of one line; nested text counts again."""
_MOST_WORDS = 2_000
"""Maximum words examined of one command; with more of them it may be anything."""
_MOST_OPTIONS = 60
"""Maximum words after a program in which those of a rule are searched."""
_LONGEST_UNKNOWN = 4_000
"""Maximum characters of one command in which unknown pieces are resolved."""
_UNKNOWN = re.compile(f"[{ANYTHING}{ANY_WORD}]")
_SIGNS = re.compile(r"[|&;<>()\n\r`{}]|\$\(")
_MEANS_MORE = re.compile(r"[\s;|&<>()$`\\\"']")
_QUOTING = re.compile(r"[\"'\\]")
_CODE = re.compile(r"[\"'`,\[\](){}\\]+")
"""Separators between words in a program of another language."""
_RANGE = re.compile(r"\{.*(?:\.\.|,).*\}")
_VALUE_OF = re.compile(r"-\w|--[\w-]+=|\+|\w+=")
_OTHERWISE = (("\\\n", ""), ("\r", "\n"), ("$'", "'"))
_OPENING = re.compile(r"[/=]")
_BANG = re.compile(r":?!")
"""An editor's prefix for a shell command."""
_ASSIGNMENT = re.compile(r"\w+\+?=.*", re.DOTALL)
_CLUSTER = re.compile(r"-([a-z]+)")
_SHORT = re.compile(r"-[a-z]{1,3}")
_PATH = re.compile(r"[./~]")
_PUTTING = frozenset({"xargs", "parallel"})
_BEFORE_PROGRAM = re.compile(r"\w+\+?=.*|if|then|else|elif|do|while|until|time|!|\{", re.DOTALL)
_INPUT = re.compile(r"-|/dev/stdin|/(?:dev|proc/(?:self|thread-self|\d+))/fd/\d+")
_VERSION = re.compile(r"(?<=[a-z])-?\d[\d.]*$")
_ALIAS = re.compile(r"(?:^|=)(?:alias|include(?:if)?)\.|^git_config\w*=")
"""Settings on a command line that can make a word an alias of any other."""


@frozen
class Part:
    """The words of one command in a line, in lower case and without redirections."""

    words: tuple[str, ...]
    runs: bool
    """Whether it certainly is a command, rather than quoted text that may be one."""
    places: range
    """Where its program may be, including those run by another program."""
    is_open: bool = False
    """Whether one word may become several, as after a program that reads text as a command."""


@frozen
class Reading:
    """Everything in a line that may be a command."""

    parts: tuple[Part, ...]
    is_unseen: bool
    """Whether it runs a program that is only known at run time."""
    is_whole: bool
    """Whether all of it was read."""
    aliases: Mapping[str, tuple[str, ...]]


def find_in(command: str, pattern: str) -> Found:
    """Whether some part of a command line begins with the words of a pattern.

    Ignores quotes, redirections, escaped line ends, paths of programs, case, and options between the words.
    """
    terms = _bare(pattern)
    if not terms:
        return "surely"
    found: Found = "no"
    if looking := _looking(command):
        # Their arguments are text that nothing runs.
        first = terms[0].rsplit("/", 1)[-1]
        begin = [words[1:] for words in looking if words[0].rsplit("/", 1)[-1] == first]
        return max((_match_operands(first, words, terms[1:]) for words in begin), default=found)
    # Unknown parts of a line are matched only with the rule's own words, not with equivalent programs.
    plain = _QUOTING.sub("", command).casefold()
    others = (each for each in _same_as(terms) if all(word in plain for word in each))
    for each in (terms, *others):
        found = max(found, _match_words(command, each))
        if found == "surely":
            break
    return found


@lru_cache(maxsize=8)  # every rule asks about the same line
def _looking(command: str) -> Sequence[tuple[str, ...]]:
    """The commands of a line, in lower case, if all shells read it alike and each is read-only."""
    line = read_line(command)
    alone = all(only_looks(each.words) and not program_of(each.words).begins for each in line.commands)
    lower = [tuple(word.casefold() for word in each.words) for each in line.commands]
    return lower if line.is_plain and alone else ()


def _same_as(terms: Sequence[str]) -> Iterator[list[str]]:
    """Commands equivalent to the words of a rule."""
    for first, others in same_programs().items():
        begins = first.split()
        if list(terms[: len(begins)]) == begins:
            yield from ([*other.split(), *terms[len(begins) :]] for other in others)


def _match_words(command: str, terms: Sequence[str]) -> Found:
    if any(_begins_somewhere(_bare(part), terms) for part in _SIGNS.split(command)):
        return "surely"
    reading = read(command)
    found: Found = "perhaps" if reading.is_unseen or _may_hide(command, terms, reading) else "no"
    for part in reading.parts:
        if _begins_somewhere(part.words, terms):
            return "surely"
        if part.runs and (renamed := reading.aliases.get(part.words[0])):
            longer = (*renamed, *part.words[1:])
            found = max(found, min(_find_spread(longer, terms, range(1)), "perhaps"))
        found = max(found, _find_spread(part.words, terms, part.places))
        if found == "surely":
            return found
        if found == "no" and _may_begin(part, terms):
            found = "perhaps"
    return found


def _may_hide(command: str, terms: Sequence[str], reading: Reading) -> bool:
    """Whether the unread part of a line may contain the match."""
    if reading.is_whole:
        return False
    bare = _QUOTING.sub("", command).casefold()
    return len(command) > _MOST_CHARS // 10 or terms[0] in bare or any(sign in bare for sign in "$`*?[")


@lru_cache(maxsize=8)  # every rule asks about the same line
def read(command: str) -> Reading:
    """Read a line, with everything nested in it."""
    parts: dict[Part, None] = {}
    aliases: dict[str, tuple[str, ...]] = {}
    waiting = [(command, True, False)]
    seen: set[tuple[str, bool, bool]] = set()
    left = _MOST_CHARS
    is_unseen, is_whole = False, True
    while waiting:
        if (each := waiting.pop()) in seen:
            continue
        seen.add(each)
        text, runs, is_fed = each
        left -= len(text)
        if left < 0:
            is_whole = False
            break
        # Continued lines, and syntax that only some shells read as a string.
        waiting += [(text.replace(*each), runs, is_fed) for each in _OTHERWISE if each[0] in text]
        line = read_line(text)
        is_whole = is_whole and (line.is_whole or not runs)
        runs_texts = False
        for found in line.commands:
            own = tuple(_words(found.parts))
            # A file given as input is an operand too.
            if not (words := (*own, *(name for name in found.reads if not name.startswith("/dev/")))):
                continue
            start = _program_at(words)
            end, is_open = (0, False) if start is None else _programs_end(words, start)
            is_unseen = is_unseen or runs_unseen(own, is_fed=found.fed or is_fed)
            places = range(start, end) if runs and start is not None else range(0)
            parts[Part(tuple(word.casefold() for word in words), runs, places, is_open)] = None
            rows = [row for word in words if (row := program_named(_name_of(word))) is not None]
            # A shell may follow an option of any program: `find -exec sh -c '…'`.
            is_read = is_open or any(row.runs is not None and (row.code or row.program) for row in rows)
            shells = [row for row in rows if row.program and (row.runs is not None or not row.code)]
            runs_texts = runs_texts or bool(shells)
            waiting += [(nested, is_read, found.fed or is_fed) for nested in _nested(words)]
            if words[0] == "alias":
                named = (word.casefold().partition("=") for word in words[1:] if "=" in word)
                aliases |= {name: tuple(value.split()) for name, _, value in named}
            waiting += [(_CODE.sub(" ", text), False, False)] * any(row.code for row in rows)
        # The text of a here-document, if a shell reads it.
        waiting += [(nested, runs_texts, False) for nested in line.texts]
    return Reading(tuple(parts), is_unseen, is_whole, aliases)


def _programs_end(words: Sequence[str], start: int) -> tuple[int, bool]:
    """Where the programs run by a command end, and whether a word may become several there."""
    at = start
    while at < len(words):
        row = program_named(_name_of(words[at]))
        if row is None or row.runs is None:
            return at + 1, False
        at, is_sure = inner_at(row, words, at + 1)
        if row.code or row.program or not is_sure:
            break
    return len(words), True


def _words(parts: Sequence[Word]) -> Iterator[str]:
    for part in parts:
        for piece in part.known.split(GAP):
            # A range in braces, or a list that is too long, is unknown.
            lists = (
                (_RANGE.sub(ANYTHING, each) for each in expand_braces(piece)) if "{" in piece else (piece,)
            )
            yield from filter(None, map(without_signs, lists))


def _nested(words: Sequence[str]) -> Iterator[str]:
    """Words that may themselves be command lines, including values attached to an option."""
    for word in words:
        if _MEANS_MORE.search(word):
            plain = _UNKNOWN.sub("${x}", word)
            yield from dict.fromkeys((plain, _VALUE_OF.sub("", plain, count=1)))


def _find_spread(words: Sequence[str], terms: Sequence[str], places: range) -> Found:
    """Find a rule's words in the words of a command, all in lower case.

    Args:
        words: The command's, without redirections.
        terms: The rule's, at least one. Options among them may be anywhere after the first word.
        places: Where the program may be. A match elsewhere may be a mere argument: "perhaps". Empty if the
            words may be mere text.
    """
    first = terms[0].rsplit("/", 1)[-1]
    best: Found = "perhaps" if len(words) > _MOST_WORDS else "no"
    renamed = any(map(_ALIAS.search, words))
    # What is substituted between quotes stays one word.
    read = words if places else [word.replace(ANYTHING, ANY_WORD) for word in words]
    for at, word in enumerate(read[:_MOST_WORDS]):
        name = _OPENING.split(word)[-1].removesuffix(".exe")
        if name == first:
            found = _match_operands(first, _operands(read, at), terms[1:])
        elif (bang := _BANG.match(name)) and name[bang.end() :] == first:
            found = min(_match_operands(first, _operands(read, at), terms[1:]), "perhaps")
        elif at in places and name == "-".join((first, *terms[1:2])):
            found = _match_operands(first, _operands(read, at), terms[2:])
        elif at in places and _UNKNOWN.search(name) and _may_be(name, first):
            found = min(_match_operands("", _operands(read, at), terms[1:]), "perhaps")
        else:
            continue
        if found == "no" and renamed:
            found = "perhaps"
        best = max(best, found if at in places else min(found, "perhaps"))
    return best


def _operands(words: Sequence[str], at: int) -> Sequence[str]:
    """The words after a program. What ``xargs`` and ``parallel`` insert is unknown."""
    rest = words[at + 1 :]
    if _PUTTING.isdisjoint(words[:at]):
        return rest
    # ``parallel`` takes the inserted words after colons in the same line.
    return [*(word for word in rest if not word.startswith(":::")), ANYTHING]


def _match_operands(program: str, words: Sequence[str], terms: Sequence[str]) -> Found:
    """Whether the words after a program match those after it in a rule."""
    options = [word for word in terms if _is_option(word)]
    paths = [word for word in terms if not _is_option(word) and _PATH.search(word)]
    names = [word for word in terms if not _is_option(word) and not _PATH.search(word)]
    # Hardly any rule has options, and a line may name its program two thousand times.
    split = words
    if options:
        # Split options of the rule from values attached to them.
        pairs = (word.split("=", 1) if word.partition("=")[0] in options else [word] for word in words)
        split = [piece for pair in pairs for piece in pair]
    found = _in_order(program, split, names)
    for option in options:
        found = min(found, _has(option, split))
    for path in paths:
        # Anywhere among the operands, in any spelling.
        if posixpath.normpath(path) not in map(posixpath.normpath, words):
            found = min(found, "perhaps" if any(_may_be(word, path) for word in words) else "no")
    return found


def _in_order(program: str, words: Sequence[str], names: Sequence[str]) -> Found:
    """Whether words follow each other in a command, with nothing but options between them."""
    best: Found = "no" if names else "surely"
    states: dict[_State, Found] = {(0, "no"): "surely"} if names else {}
    for word in words[:_MOST_OPTIONS]:
        after: dict[_State, Found] = {}
        for (at, value), how in states.items():
            if ANYTHING in word:
                best = max(best, "perhaps")
            for state, sure in _read(program, word, names, at, value):
                reached = min(how, sure)
                if state[0] == len(names):
                    best = max(best, reached)
                else:
                    after[state] = max(after.get(state, "no"), reached)
        states = after
    return max(best, "perhaps") if states and len(words) > _MOST_OPTIONS else best


def _read(
    program: str, word: str, names: Sequence[str], at: int, value: Found
) -> Iterator[tuple[_State, Found]]:
    """Every reading of one word: as the previous option's value, as the next name, as an option."""
    if value != "no":
        yield (at, "no"), value
    if value == "surely":
        return
    if word == names[at]:
        yield (at + 1, "no"), "surely"
    elif _may_be(word, names[at]):
        yield (at + 1, "no"), "perhaps"
    if _is_option(word) or _ASSIGNMENT.fullmatch(word):
        takes: Found = "perhaps"
        row = program_named(program)
        if "=" in word or word == "--" or not word.startswith("-"):
            takes = "no"
        elif not at and row is not None and (known := row.between.get(word)) is not None:
            takes = "no" if known.takes == "nothing" else "surely"
        yield (at, takes), "surely"
    elif word[:1] in (ANYTHING, ANY_WORD):
        yield (at, "perhaps"), "perhaps"


def _has(option: str, words: Sequence[str]) -> Found:
    """Whether an option is among words: alone, in a cluster, short or long, or abbreviated."""
    if _SHORT.fullmatch(option):
        each = (_has_one(f"-{letter}", long_options().get(letter, ""), words) for letter in option[1:])
        return min(each)
    letter = next((f"-{short}" for short, long in long_options().items() if long == option), "")
    return _has_one(letter or option[1:3] * option.startswith("--"), option, words, is_known=bool(letter))


def _has_one(letter: str, long: str, words: Sequence[str], *, is_known: bool = True) -> Found:
    """Find an option by its letter and its long name; either may be empty.

    Args:
        letter: With its dash.
        long: With its dashes.
        words: Of a command.
        is_known: Whether the letter certainly means the same, rather than only starting the long name.
    """
    best: Found = "no"
    for word in words:
        name = word if "=" in long else word.partition("=")[0]
        if name == long:
            return "surely"
        found = _CLUSTER.match(name)
        if letter and found and letter[1:] in found[1]:
            if is_known:
                return "surely"
            best = "perhaps"
        # An abbreviated long option, or one of which only the first letter is known.
        is_cut = len(name) > len("--") and name.startswith("--") and (long.startswith(name) or not long)
        may_be = is_cut and (bool(long) or name.startswith(f"-{letter}"))
        unknown = word.startswith("-") and (_may_be(word, long) or _may_be(word, letter))
        if may_be or unknown or ANYTHING in word:
            best = "perhaps"
    return best


def _is_option(word: str) -> bool:
    return len(word) > 1 and word.startswith(("-", "+"))


def _may_be(word: str, name: str) -> bool:
    """Whether the unknown parts of a word can make it equal to a name."""
    pieces = _UNKNOWN.split(word)
    if len(pieces) == 1:
        return False
    ends = name.startswith(pieces[0]) and name.endswith(pieces[-1])
    return ends and all(piece in name for piece in pieces)


def _bare(text: str) -> list[str]:
    return _QUOTING.sub("", text).casefold().split()


def _begins_somewhere(words: Sequence[str], terms: Sequence[str]) -> bool:
    """The first word may have a path, or follow an equals sign."""
    first, rest = terms[0].rsplit("/", 1)[-1], list(terms[1:])
    return any(
        _OPENING.split(word)[-1].removesuffix(".exe") == first
        and list(words[at + 1 : at + len(terms)]) == rest
        for at, word in enumerate(words)
    )


def _may_begin(part: Part, terms: Sequence[str]) -> bool:
    """Whether a command's unknown parts can make it begin with the words of a rule."""
    words, start = part.words, _program_at(part.words)
    text, free = " ".join(words), range(0)
    if start is not None:
        name = words[start].rsplit("/", 1)[-1]
        if name == "xargs":
            text += f" {ANYTHING}"
        if part.is_open:
            text = text.replace(ANY_WORD, ANYTHING)
        begins = 0 if part.is_open else len(" ".join(words[: start + 1])) - len(name)
        ends = len(words) if part.is_open else part.places.stop
        free = range(begins, len(text) if part.is_open else len(" ".join(words[:ends])))
    if not _UNKNOWN.search(text):
        return False
    if len(text) > _LONGEST_UNKNOWN:
        return True
    first = terms[0].rsplit("/", 1)[-1]
    return _reaches(text, " ".join((first, *terms[1:])), free if part.runs else range(0))


def _reaches(text: str, target: str, free: range) -> bool:
    """Try every way to match wanted words with a text that has unknown pieces.

    A match counts only if it begins in ``free``, where the program is, or includes a known letter. Otherwise
    every variable could be everything.
    """
    states = {
        (at, at in free)
        for at, sign in enumerate(text)
        if sign == ANYTHING or not at or text[at - 1] in (" ", "/", "=")
    }
    for letter in target:
        after: set[tuple[int, bool]] = set()
        for at, met in _passed(text, states):
            sign = text[at : at + 1]
            if sign == ANYTHING or (sign == ANY_WORD and letter != " "):
                after.add((at, met))
            elif sign == letter:
                after.add((at + 1, met or letter != " "))
        states = after
    return any(met and text[at : at + 1] in ("", " ", ANYTHING) for at, met in _passed(text, states))


def _passed(text: str, states: set[tuple[int, bool]]) -> set[tuple[int, bool]]:
    """The states, plus those after unknown pieces that may be empty."""
    found, waiting = set(states), list(states)
    while waiting:
        at, met = waiting.pop()
        sign = text[at : at + 1]
        empty = sign in (ANYTHING, ANY_WORD) or (sign == " " and text[at - 1 : at] == ANYTHING)
        if empty and (at + 1, met) not in found:
            found.add((at + 1, met))
            waiting.append((at + 1, met))
    return found


def _program_at(words: Sequence[str]) -> int | None:
    """Index of the program in a command."""
    return next((at for at, word in enumerate(words) if not _BEFORE_PROGRAM.fullmatch(word)), None)


def _name_of(word: str) -> str:
    """A program's name in the table: without its folder, and without a version that is not in the table."""
    name = word.rsplit("/", 1)[-1].casefold()
    return name if program_named(name) is not None else _VERSION.sub("", name)


def runs_unseen(words: Sequence[str], *, is_fed: bool) -> bool:
    """Whether a command runs text that is not in the line, as a shell without a file does.

    Args:
        words: With marks for unknown parts.
        is_fed: Whether it reads the output of another command.
    """
    start = _program_at(words)
    if start is None:
        return False
    names = [_name_of(word) for word in words]
    for at in range(start, _programs_end(words, start)[0]):
        found = longest_named([names[at], *words[at + 1 :]], 0)
        if found is not None and _reads(found[0], words[at + found[1] :], is_fed=is_fed):
            return True
    return False


def _reads(program: Program, words: Sequence[str], *, is_fed: bool) -> bool:
    operands: list[str] = []
    has_code = takes_input = False
    before = ""
    for word in words:
        is_option = len(word) > 1 and word.startswith(("-", "+"))
        code, file = _value(program.code, before, word), _value(program.files, before, word)
        has_code = has_code or code is not None
        takes_input = takes_input or (is_option and any(_has_letter(each, word) for each in program.input))
        if code is not None and (_UNKNOWN.search(code) or (is_fed and _INPUT.fullmatch(code))):
            return True
        if file is not None and _is_unseen(file, is_fed=is_fed):
            return True
        is_value = any(_has_letter(each, before, at_end=True) for each in program.values)
        if not is_option and code is None and file is None and not is_value:
            operands.append(word)
        before = word if is_option else ""
    if has_code or (is_fed and takes_input):
        return is_fed and takes_input
    if "operand" in program.program and operands:
        return _is_unseen(operands[0], is_fed=is_fed)
    return is_fed and bool(
        ({"input", "words"} & program.program and not operands)
        or "always" in program.program
        or ("second" in program.program and len(operands) == 1)
    )


def _is_unseen(file: str, *, is_fed: bool) -> bool:
    """Whether the content of a file is only known at run time; a process substitution is one unknown word."""
    return file == ANY_WORD or (is_fed and _INPUT.fullmatch(file) is not None)


def _value(options: frozenset[str], before: str, word: str) -> str | None:
    """The value of one of some options: the next word, or text attached to it."""
    for option in options:
        if before == option or _has_letter(option, before):
            return word
        if option.startswith("--") and word.startswith(f"{option}="):
            return word.partition("=")[2]
        if len(option) == len("-x") and word.startswith(option) and word != option:
            return word[len(option) :]
    return None


def _has_letter(option: str, word: str, *, at_end: bool = False) -> bool:
    """Whether a word is an option of one letter, alone or in a cluster."""
    is_bundle = len(option) == len("-x") and word[:1] == option[0] and word[1:2] not in ("", "-")
    return is_bundle and (word.endswith(option[1]) if at_end else option[1] in word[1:])
