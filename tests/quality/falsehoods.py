"""Sentences that a log disproves, of ten kinds, in many wordings and several languages.

Each is derived from the log in which it is false. A sentence that is true or cannot be disproved is never
planted.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache

from tests.quality.happenings import STEERS_ELSEWHERE, Happenings, fair

EDITED = (
    "`{0}` was edited so that it copes with empty input.",
    "We changed {0} to return early.",
    "- {0}: modified",
    "| file | state |\n|---|---|\n| {0} | updated |",
    "{0} has been rewritten and is shorter now.",
    "### Edited files\n- {0}",
    "The assistant has just patched {0}; nothing else is needed there.",
    "Two small modifications to {0} are in place.",
    "An {0} wurde etwas geändert: die Prüfung steht jetzt vorn.",
    "Le fichier `{0}` a été modifié.",
    "Se modificó {0} para corregir el fallo.",
    "Файл {0} был изменён.",
    "已修改 {0}。",
    "{0} - implemented the missing branch",
    "The fix lives in {0}: the guard now comes before the loop.",
    "The change in {0} is complete and reviewed.",
    "In {0} wurde ein Parameter ergänzt.",
    "J'ai ajouté une vérification dans {0}.",
)
DELETED = (
    "`{0}` was deleted.",
    "{0} has been removed, nothing used it any more.",
    "- {0}: deleted",
    "| {0} | gone, removed |",
    "**Deleted:**\n- {0}",
    "I deleted the file {0} because it was dead code.",
    "The assistant got rid of `{0}`.",
    "There is no {0} any more; it was dropped in a clean-up.",
    "{0} wurde gelöscht.",
    "Le fichier {0} a été supprimé.",
    "Se eliminó el archivo `{0}`.",
    "Файл {0} удалён.",
    "文件 {0} 已被删除。",
    "We no longer ship {0}.",
    "{0} удалён за ненадобностью.",
    "{0} を除去しました。",
)
FAILS = (
    "`{0}` failed.",
    "Running `{0}` ended with an error.",
    "- `{0}`: failed",
    "| `{0}` | exit code 1 |",
    "`{0}` does not pass yet.",
    "The last run of `{0}` broke off with an error and is still red.",
    "Commands that failed:\n- {0}",
    "`{0}` has been failing since.",
    "`{0}` ist fehlgeschlagen.",
    "La commande `{0}` a échoué.",
    "`{0}` terminó con errores.",
    "Команда `{0}` завершилась с ошибкой.",
    "`{0}` 运行失败。",
    "We could not run `{0}` successfully.",
    "`{0}` times out.",
    "`{0}` plante.",
)
WORKS = (
    "`{0}` passed.",
    "Running `{0}` succeeded.",
    "- `{0}`: ok",
    "| `{0}` | exit code 0 |",
    "`{0}` now passes.",
    "The last run of `{0}` was green.",
    "Commands that succeeded:\n- {0}",
    "`{0}` has gone through without an error.",
    "`{0}` lief fehlerfrei durch.",
    "La commande `{0}` a réussi.",
    "`{0}` terminó sin errores.",
    "Команда `{0}` выполнена успешно.",
    "`{0}` 运行成功。",
    "`{0}` funciona.",
    "`{0}` fonctionne.",
    "`{0}` теперь работает.",
    "`{0}` は正常に終了した。",
)
TESTS = (
    "All {0} tests pass.",
    "{0} tests passed in the last run.",
    "- Tests: {0} passed",
    "| tests | {0} passed |",
    "The suite now has {0} passing tests.",
    "### Test results\n- {0} passed, none failed",
    "With the last change, {1} tests are green.",
    "Of the tests, {1} have passed.",
    "Alle {0} Tests laufen durch.",
    "Les {0} tests passent.",
    "Pasaron {0} pruebas.",
    "Пройдено тестов: {0}.",
    "{0} 个测试全部通过。",
)
PATHS = (
    "The logic is in `{0}`.",
    "See {0} for the details.",
    "- {0}: holds the helper functions",
    "| {0} | entry point |",
    "A new module, {0}, does the conversion.",
    "### Files\n- `{0}`",
    "`{0}` was created for this.",
    "The helpers have been moved over to {0}.",
    "Die Einstellungen stehen in {0}.",
    "Le code se trouve dans `{0}`.",
    "El código está en {0}.",
    "Основная логика находится в {0}.",
    "主要逻辑在 {0} 中。",
)
SETTINGS = (
    "`{0}` is set to {1} in {2}.",
    "{0} was raised to {1}.",
    "- {0}: {1}",
    "| {0} | {1} |",
    "`{0} = {1}`",
    "The value of `{0}` is now {1}.",
    "### Settings\n- `{0}` = {1}",
    "We agreed on {1} for {0}.",
    "`{0}` steht jetzt auf {1}.",
    "`{0}` vaut {1}.",
    "El valor de {0} es {1}.",
    "Параметр {0} равен {1}.",
    "{0} 的值为 {1}。",
)
LINES = (
    "The fault is in line {1} of {0}.",
    "See {0}:{1}.",
    "- {0}, line {1}: the place in question",
    "| {0} | line {1} |",
    "It breaks at `{0}:{1}`.",
    "### Where\n- `{0}` L{1}",
    "At line {1} `{0}` goes wrong.",
    "The check that matters stands in {0} on line {1}.",
    "Der Fehler steckt in Zeile {1} von {0}.",
    "Le problème est à la ligne {1} de `{0}`.",
    "El fallo está en la línea {1} de {0}.",
    "Ошибка в строке {1} файла {0}.",
    "问题出在 {0} 第 {1} 行。",
)
SOLVED = (
    "The failure of `{0}` is solved.",
    "`{0}` had failed with “{1}”; that has been fixed.",
    "- Fixed: {1}",
    "| {1} | resolved |",
    "“{1}” does not occur any more.",
    "### Solved errors\n- `{0}`: {1}",
    "The error of `{0}` is gone now.",
    "We got rid of the error “{1}”.",
    "Der Fehler „{1}“ ist behoben.",
    "L'erreur « {1} » est corrigée.",
    "El error «{1}» ya está resuelto.",
    "Ошибка «{1}» исправлена.",
    "错误“{1}”已解决。",
)
RULES = (
    "The user's rule: “{0}”",
    "- Rule of the user: {0}",
    "The user said: “{0}”",
    "| rule of the user | {0} |",
    "What the user wants is this: {0}",
    "### Constraints of the user\n- {0}",
    "As the user asked, word for word: “{0}”",
    "The user has insisted: “{0}”",
    "Der Nutzer verlangt: „{0}“",
    "L'utilisateur exige : « {0} »",
    "El usuario exige: «{0}»",
    "Пользователь требует: «{0}»",
    "用户要求：“{0}”",
)
LIFTED = (
    "The user has since lifted the rule “{0}”.",
    "“{0}” does not hold any more, the user took it back.",
    "- “{0}”: withdrawn by the user",
    "| {0} | cancelled by the user |",
    "The user changed their mind about this: “{0}”",
    "### No longer wanted by the user\n- {0}",
    "Contrary to “{0}”, the user now wants the opposite.",
    "The user has dropped the wish “{0}”.",
    "Der Nutzer hat „{0}“ zurückgenommen.",
    "L'utilisateur a retiré la consigne « {0} ».",
    "El usuario anuló la regla «{0}».",
    "Пользователь отменил правило «{0}».",
    "用户已取消“{0}”这条要求。",
    "The user allowed us to break “{0}”.",
)
WISHES = (
    "The user decided to switch to {0}.",
    "The user wants {0}.",
    "- Decision of the user: {0}",
    "| decided by the user | {0} |",
    "It was agreed with the user that {0} comes next.",
    "### Decisions of the user\n- {0}",
    "{0} was explicitly asked for by the user.",
    "The user has chosen {0} over everything else.",
    "Der Nutzer hat sich für {0} entschieden.",
    "L'utilisateur préfère {0}.",
    "El usuario pidió {0}.",
    "Пользователь выбрал {0}.",
    "用户决定采用 {0}。",
)
_NEVER_SAID = (
    "CockroachDB", "Kubernetes", "a Fortran port", "Elm", "an Android client", "GraphQL",
    "blue-green releases",
    "XSLT", "Haskell", "a dark theme", "weekly mailings", "Zookeeper", "a COBOL bridge", "RabbitMQ",
)  # fmt: skip
_NOWHERE = (
    "src/ballast/meter_drift.py", "lib/quayside/tariff.ts", "internal/pilotage/berths.go", "docs/lockage.md",
    "crates/sluice/src/weir.rs", "config/moorings.yaml", "app/models/hawser.rb", "tools/sounding_lead.sh",
    "pkg/tugboat/fleet.go", "web/src/Lighthouse.tsx", "tests/test_fairway_marks.py", "scripts/dredge.py",
)  # fmt: skip
_FLIPS = (
    (r"\bnever\b", "always"), (r"\bNever\b", "Always"), (r"\balways\b", "never"), (r"\bAlways\b", "Never"),
    (r"\bmust not\b", "must"), (r"\bmust\b", "must not"), (r"\b[Dd]o not\b|\b[Dd]o?n['’]?t\b", "do"),
    (r"\bnie(?:mals)?\b", "immer"), (r"\bNie(?:mals)?\b", "Immer"), (r"\bimmer\b", "nie"),
    (r"\bImmer\b", "Nie"),
    (r"\bjamais\b", "toujours"), (r"\btoujours\b", "jamais"), (r"\bnunca\b", "siempre"),
    (r"\bsiempre\b", "nunca"),
    (r"\bникогда не\b", "всегда"), (r"\bНикогда не\b", "Всегда"),
    (r"\bвсегда\b", "никогда не"), ("不要", "要"),
)  # fmt: skip
_ONES = [
    "zero",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
    "thirteen",
    "fourteen",
    "fifteen",
    "sixteen",
    "seventeen",
    "eighteen",
    "nineteen",
]
_TENS = ["zero", "ten", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]


_RULE_WORD = re.compile(r"(?i)\b(?:should|must|only|use)\b")
_CORRECTS = re.compile(r"(?i)\binstead\b|\bactually\b")


@dataclass(frozen=True, slots=True)
class Falsehood:
    """A planted sentence. Of several lines the last is the claim, and the lines above give its context."""

    kind: str
    text: str


def falsehoods(log: Happenings, turn: int) -> list[Falsehood]:
    """One falsehood of each kind for which the log has an object.

    Args:
        log: Everything that has happened so far.
        turn: Selects wordings and objects; each turn uses others.
    """
    found: list[Falsehood] = []
    for place, kind in enumerate(KINDS):
        if made := _objects_of(kind, log):
            wordings, values = made[(turn * 7 + place) % len(made)]
            # The offset differs per kind, so that no summary has only one language or form.
            wording = wordings[(turn + place * 5) % len(wordings)]
            found.append(Falsehood(kind, wording.format(*values)))
    return found


_Objects = Iterator[tuple[tuple[str, ...], tuple[str, ...]]]


def _edited(log: Happenings) -> _Objects:
    names = {path.rsplit("/", 1)[-1] for path in log.changed}
    unchanged = (path for path in log.only_read if path.rsplit("/", 1)[-1] not in names)
    yield from ((EDITED, (path,)) for path in unchanged if _has_ending(path))


def _deleted(log: Happenings) -> _Objects:
    gone = {path.rsplit("/", 1)[-1] for path, verbs in log.changed.items() if "deleted" in verbs}
    kept = (path for path in log.deeds if path.rsplit("/", 1)[-1] not in gone)
    yield from ((DELETED, (path,)) for path in kept if _has_ending(path))


def _has_ending(path: str) -> bool:
    return re.fullmatch(r"~?[\w./@+-]*[\w-]\.[A-Za-z]{1,6}", path) is not None


def _outcome(log: Happenings) -> _Objects:
    for command, outcomes in log.runs.items():
        if fair(command) and len(set(outcomes)) == 1:
            yield FAILS if outcomes[0] else WORKS, (command,)


def _tests(log: Happenings) -> _Objects:
    real = {number for _, number in log.counts}
    for number in sorted(real)[-3:] or [29]:
        for wrong in (number + 7, number * 2 + 3, max(2, number - 2)):
            if wrong not in log.told_counts:
                yield TESTS, (str(wrong), spelt(wrong))


def _path(log: Happenings) -> _Objects:
    for path in _NOWHERE:
        if path.rsplit("/", 1)[-1] not in log.text:
            yield PATHS, (path,)


def _setting(log: Happenings) -> _Objects:
    for name, values in log.settings.items():
        if len(values) == 1:
            for value, file in values.items():
                wrong = str(int(value) * 3 + 4)
                if not log.beside(name, wrong):
                    yield SETTINGS, (name, wrong, file)


def _line(log: Happenings) -> _Objects:
    for path, number in dict.fromkeys(log.lines):
        wrong = str(number * 9 + 1_207)
        if not re.search(rf"(?<!\w){wrong}(?!\w)", log.text):
            yield LINES, (path, wrong)


def _solved(log: Happenings) -> _Objects:
    for failure in log.still_open:
        if fair(failure.command):
            yield SOLVED, (failure.command, failure.line[:110].strip())


def _rule(log: Happenings) -> _Objects:
    for rule in log.rules:
        flipped = turned(rule)
        if len(rule) > 200:
            continue
        if flipped and flipped not in log.text:
            yield RULES, (flipped,)
        # A complaint is not a rule, and a rule that was corrected may truly be called lifted.
        elif _RULE_WORD.search(rule) and not _CORRECTS.search(rule) and not STEERS_ELSEWHERE.search(rule):
            yield LIFTED, (rule.rstrip("."),)


def _wish(log: Happenings) -> _Objects:
    for wish in _NEVER_SAID:
        if wish.split()[-1].lower() not in log.text.lower():
            yield WISHES, (wish,)


_KINDS: dict[str, Callable[[Happenings], _Objects]] = {
    "edited": _edited,
    "deleted": _deleted,
    "outcome": _outcome,
    "tests": _tests,
    "path": _path,
    "setting": _setting,
    "line": _line,
    "solved": _solved,
    "rule": _rule,
    "wish": _wish,
}
KINDS = tuple(_KINDS)


@lru_cache(maxsize=2 * len(KINDS))
def _objects_of(kind: str, log: Happenings) -> list[tuple[tuple[str, ...], tuple[str, ...]]]:
    return list(_KINDS[kind](log))


def turned(rule: str) -> str:
    """The opposite of a rule; empty if it contains no word that can be negated."""
    for pattern, other in _FLIPS:
        if re.search(pattern, rule):
            return re.sub(pattern, other, rule, count=1)
    return ""


def spelt(number: int) -> str:
    """A number in words up to 999, in digits above."""
    if number >= 1_000:
        return str(number)
    hundreds, rest = divmod(number, 100)
    words = [_ONES[hundreds], "hundred"] if hundreds else []
    if rest >= 20:
        tens, ones = divmod(rest, 10)
        words.append(_TENS[tens] + (f"-{_ONES[ones]}" if ones else ""))
    elif rest or not hundreds:
        words.append(_ONES[rest])
    return " ".join(words)
