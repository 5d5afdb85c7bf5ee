"""Five compactions of one history with one writer, each judged by independent code."""

import re
import tempfile
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from statistics import mean
from typing import Literal, get_args

from pydantic_ai.messages import ModelMessage

from tests.quality.chains import portions
from tests.quality.governed import written_in
from tests.quality.happenings import Happenings, fair, happenings_of
from tests.quality.playing import Play
from tests.quality.scores import spelt_out
from tests.quality.text import flat, places_of, right_verb, text_of
from tests.quality.writers import ACCEPTED, REFUSED, ScriptedWriter
from tui_app.context.compaction.compactor import CompactionRefused, PlainHost
from tui_app.context.counting.encodings import TextCounter
from tui_app.context.policy import PLIMSOLL, Policy
from tui_app.context.summaries.extractive import ExtractiveSummariser
from tui_app.context.views.view import to_messages
from tui_app.events import CompactionComplete

TIMES = 5
PORTION = 0.6
"""Maximum growth of a history between two compactions, as a share of the window; longer ones are left out."""
_FORM = re.compile(r"\s*\((not in the log|unchecked|#-?\d[^()\n]*(?:\([^()\n]*\)[^()\n]*)*)\)")
"""The mark after a statement: not in the log, unchecked, or its source messages."""
_GOOD = re.compile(
    r"(?i)\b(?:pass\w*|succe\w+|ok|fine|green|worked|exit code 0)\b|✓|成功|réuss|erfolgreich|éxito|успешн"
)
_BAD = re.compile(
    r"(?i)\b(?:fail\w*|error\w*|broke\w*|red|exit(?:ed)?(?: with)?(?: code)? [1-9])\b|✗|Error"
    r"|失败|échou|fehlgeschlagen|falló|ошибк"
)
_MADE = r"angelegt|erstellt|geschrieben|créé|écrit|creó|creado|escribió|[Сс]оздан|записан|创建|写入"
_CHANGED = r"bearbeitet|geändert|modifié|[Mm]odific|изменён|修改"
_ELSEWHERE = {
    "created": re.compile(_MADE),
    "edited": re.compile(_CHANGED),
    "written": re.compile(f"{_MADE}|{_CHANGED}"),
    "deleted": re.compile(r"gelöscht|supprimé|eliminó|удалён|删除"),
}
_RAW_CALL = re.compile(r"^\w+ (?:command|cmd): ")
Standing = Literal["absent", "silent", "stated", "unchecked", "not in the log"]
"""State of a sentence in a text, from the least to the most doubted."""
_STRENGTH: Sequence[Standing] = get_args(Standing)


@dataclass(slots=True)
class Chain:
    """Results of one history with one writer."""

    writer: str
    compactions: int = 0
    planted: Counter[str] = field(default_factory=Counter)
    unmarked: Counter[str] = field(default_factory=Counter)
    said: int = 0
    """True sentences that the summary contains."""
    alarms: int = 0
    """True sentences that are marked as not in the log."""
    unchecked: int = 0
    wanted: int = 0
    """True sentences that were written."""
    refused: int = 0
    complaints: list[str] = field(default_factory=list)
    """Wrong judgements, verbatim. Print them only on the terminal: reports that are committed must not quote
    sessions.
    """
    files: float | None = None
    """Share of the files changed in the first stretch that the last summary names with the right verb."""
    rules: float | None = None
    prose: float | None = None
    """Share of the sentences of short prompts, rules included."""
    open_errors: float | None = None
    told: float | None = None
    true: float | None = None
    size: float = 0.0

    @property
    def too_high(self) -> float | None:
        """Reported minus true share of kept facts."""
        return None if self.told is None or self.true is None else self.told - self.true


def standing(sentence: str, text: str) -> Standing:
    """The state of a sentence in a text, from the marks after it.

    A sentence of several lines must match consecutive lines; the most doubted of their states counts. If the
    sentence occurs more than once, the least doubted occurrence counts.
    """
    wanted = [flat(line) for line in sentence.splitlines() if line.strip()]
    lines = [line for line in text.splitlines() if line.strip()]
    found: list[Standing] = []
    for index in range(len(lines) - len(wanted) + 1):
        each = [_in_line(one, lines[index + step]) for step, one in enumerate(wanted)]
        if "absent" not in each:
            found.append(max(each, key=_STRENGTH.index))
    return min(found, key=_STRENGTH.index, default="absent")


def _in_line(sentence: str, line: str) -> Standing:
    bare, forms = _without_forms(line)
    start = bare.find(sentence)
    if start < 0 and sentence[-1:] in ".。":
        start = bare.find(sentence[:-1])
    if start < 0:
        return "absent"
    end = start + len(sentence.rstrip(" |.。"))  # in a table the mark precedes the last bar
    form = next((form for place, form in forms if place >= end), "")
    if form in ("unchecked", "not in the log"):
        return "unchecked" if form == "unchecked" else "not in the log"
    return "stated" if ": " in form else "silent"


@lru_cache(10_000)
def _without_forms(line: str) -> tuple[str, Sequence[tuple[int, str]]]:
    """A line without marks, and the position of each mark; cached, as each sentence is searched in it."""
    bare, forms, end = "", list[tuple[int, str]](), 0
    for match in _FORM.finditer(line):
        bare = flat(f"{bare} {line[end : match.start()]}")
        forms.append((len(bare), match[1]))
        end = match.end()
    return flat(f"{bare} {line[end:]}"), forms


async def judged_chain(
    messages: Sequence[ModelMessage],
    writer: str,
    text: TextCounter,
    *,
    window: int = 32_000,
    times: int = TIMES,
    policy: Policy = PLIMSOLL,
    seed: int = 0,
) -> Chain:
    """Play a history in ``TIMES`` portions, compact after each, and judge the result."""
    chain = Chain(writer)
    with tempfile.TemporaryDirectory() as folder:
        play = Play(Path(folder), policy, window, text)
        try:
            scripted = ScriptedWriter(writer, [], seed)
            extract = ExtractiveSummariser(text.count)
            play.compactor.host = PlainHost((scripted,), fallback=extract)
            kept = _as_far_as_it_fits(messages, play, int(window * PORTION) * times)
            first: Happenings | None = None
            for portion in portions(kept, times, lambda some: _size(play, some)):
                scripted.log += portion
                done, written = len(_applied(play)), len(scripted.told)
                play.say(portion)
                await play.send()
                if len(_applied(play)) == done:
                    with suppress(CompactionRefused):
                        play.compactor.start("headless")
                    await play.compactor.finish()
                if len(_applied(play)) > done and len(scripted.told) > written:
                    first = first or scripted.told[written].stretch
                    _judge_one(chain, scripted, play)
            _judge_end(chain, happenings_of(kept), first, play, _size(play, kept))
        finally:
            play.close()
    return chain


def _as_far_as_it_fits(messages: Sequence[ModelMessage], play: Play, most: int) -> list[ModelMessage]:
    kept, total = list[ModelMessage](), 0
    for message in messages:
        total += _size(play, [message])
        if total > most:
            break
        kept.append(message)
    return kept


def _size(play: Play, messages: Sequence[ModelMessage]) -> int:
    return sum(play.history.counter.message(message).total for message in messages)


def _applied(play: Play) -> list[CompactionComplete]:
    done = [record.data for record in play.stored(CompactionComplete)]
    return [event for event in done if isinstance(event, CompactionComplete) and event.outcome == "success"]


def _judge_one(chain: Chain, scripted: ScriptedWriter, play: Play) -> None:
    """Judge the state after one compaction."""
    event, told = _applied(play)[-1], scripted.told[-1]
    chain.compactions += 1
    if event.performed_by != "model":
        chain.refused += 1
        if chain.writer in ACCEPTED:
            chain.complaints.append(f"refused: {event.reason}")
    elif chain.writer in REFUSED:
        chain.complaints.append(f"not refused: {event.summary[:120]!r}")
    written = written_in(to_messages(play.history.items()))
    for falsehood in told.false:
        chain.planted[falsehood.kind] += 1
        if standing(falsehood.text, written) == "silent":
            chain.unmarked[falsehood.kind] += 1
            chain.complaints.append(f"silent {falsehood.kind}: {falsehood.text}")
    if chain.writer in ACCEPTED:
        for sentence in told.true:
            chain.wanted += 1
            found = standing(sentence, written)
            chain.said += found != "absent"
            chain.alarms += found == "not in the log"
            chain.unchecked += found == "unchecked"
            if found in ("absent", "not in the log"):
                chain.complaints.append(f"{found}, though true: {sentence}")


def _judge_end(chain: Chain, log: Happenings, first: Happenings | None, play: Play, size: int) -> None:
    view = to_messages(play.history.items())
    text = spelt_out(text_of(view))
    bare = flat(text)
    chain.size = _size(play, view) / max(1, size)
    if first is not None:
        stretch = {path: log.changed[path] for path in first.changed if path in log.changed}
        chain.files = _with_verbs(stretch, log, text)
    chain.open_errors = _verbatim([flat(failure.line[:200]) for failure in log.still_open], bare)
    chain.rules, chain.prose = _verbatim(log.rules, bare), _verbatim(log.prose, bare)
    events = _applied(play)
    chain.told = events[-1].retention if events else None
    chain.true = true_share(log, text)


def true_share(log: Happenings, text: str) -> float | None:
    """The true share of kept facts: the mean of four shares, without those that have no objects in the log.

    They are: changed files with the right verb, rules verbatim, first lines of open errors, and commands with
    an effect together with their last result.
    """
    bare = flat(text)
    ends = {command: outcomes[-1] for command, outcomes in log.runs.items() if fair(command)}
    lines = [(line, flat(line)) for line in text.splitlines()]
    told = [any(_tells(line, one, command, ok) for line, one in lines) for command, ok in ends.items()]
    shares = [
        _with_verbs(log.changed, log, text),
        _verbatim(log.rules, bare),
        _verbatim([flat(failure.line[:200]) for failure in log.still_open], bare),
        sum(told) / len(told) if told else None,
    ]
    known = [share for share in shares if share is not None]
    return mean(known) if known else None


def _with_verbs(files: dict[str, list[str]], log: Happenings, text: str) -> float | None:
    if not files:
        return None
    right = [
        right_verb(places, verbs)
        or any(_says_elsewhere(place.before + place.after, verbs) for place in places)
        for path, verbs in files.items()
        for places in [places_of(path, text, log.deeds)]
    ]
    return sum(right) / len(right)


def _says_elsewhere(line: str, verbs: Sequence[str]) -> bool:
    """Whether a line names the file's deeds in another language; the deletion, if that was the last."""
    wanted = {"deleted"} if verbs[-1] == "deleted" else set(verbs)
    return any(_ELSEWHERE[verb].search(line) for verb in wanted if verb in _ELSEWHERE)


def _tells(line: str, flat_line: str, command: str, ok: bool) -> bool:
    if command not in flat_line:
        return False
    rest = flat_line.replace(command, " ")
    return bool(_RAW_CALL.match(line) or (_GOOD if ok else _BAD).search(rest))


def _verbatim(wanted: Sequence[str], bare: str) -> float | None:
    return sum(flat(each) in bare for each in wanted) / len(wanted) if wanted else None
