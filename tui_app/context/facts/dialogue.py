"""What was decided and replied, and what is still open between user and assistant."""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from tui_app.context.facts.observations import (
    Action,
    Reading,
    Said,
    clip,
    first_text,
    looks_pasted,
    make_fact,
    one_line,
    paragraphs,
    sentences,
    unmarked,
    worked,
)
from tui_app.context.facts.rules import asks, diagnoses, looks_ahead, prose, sounds_decided
from tui_app.context.tool_words import TASK_LIST_ARGUMENTS, TASK_WORDS
from tui_app.context.user_text import stems_of
from tui_app.events import Fact
from tui_app.records import frozen

MAX_DECISIONS = 60
"""Newest decisions that are kept; older ones have become work by then."""
ANSWERED = " · user replied: "
"""Between a question and what the user said next, which may be a no, or no answer at all."""
AWAITS_ANSWER = " · awaits an answer"
AWAITS_RESULT = " · had no result yet"

_QUESTION_LIMIT = 300
_ANSWER_LIMIT = 200
_DECISION_LIMIT = 320
_DIAGNOSIS = 0.6
"""Weight of what was found out, against what was decided."""


def decision_facts(reading: Reading, limit: int = MAX_DECISIONS) -> list[Fact]:
    """Facts for choices: answers the user gave to questions, and sentences that decide or give a reason.

    Args:
        reading: The history.
        limit: Facts after which no older message is read.
    """
    facts = list(_answers(reading))
    seen: set[str] = set()
    for said in reversed(reading.spoken):
        for sentence in (unmarked(each) for each in sentences(said.text) if not looks_pasted(each)):
            if _decides(sentence) and sentence not in seen:
                seen.add(sentence)
                factor = _DIAGNOSIS if diagnoses(sentence) else 1.0
                place = {"key": said.key, "index": said.index}
                facts.append(make_fact(reading, "decision", sentence, factor=factor, **place))
        if len(facts) >= limit:
            break
    return facts


def question_facts(reading: Reading) -> list[Fact]:
    """What awaits the user: the assistant's last question, and calls that nobody has answered yet."""
    facts: list[Fact] = []
    if question := open_question(reading):
        said, text = question
        facts.append(make_fact(reading, "question", text + AWAITS_ANSWER, key=said.key, index=said.index))
    for action in reading.actions[-8:]:
        if not action.outcome and action.index >= reading.length - 2:
            facts.append(
                make_fact(
                    reading,
                    "question",
                    f"call of {action.tool}{AWAITS_RESULT}",
                    key=action.key,
                    index=action.index,
                )
            )
    return facts


def open_question(reading: Reading) -> tuple[Said, str] | None:
    """The question the assistant's newest words end with, if the user has said nothing since."""
    if not reading.spoken:
        return None
    last = reading.spoken[-1]
    if reading.went_on(last.index) or (reading.typed and reading.typed[-1].index > last.index):
        return None
    if any(action.index > last.index for action in reading.all_actions() if action.outcome):
        return None
    question = last_question(last.text)
    return (last, question) if question else None


def last_question(text: str) -> str:
    """The last question among the last few sentences of a text, or an empty string."""
    found = [sentence for sentence in list(sentences(text))[-4:] if asks(sentence)]
    return clip(found[-1], _QUESTION_LIMIT) if found else ""


def _answers(reading: Reading) -> Iterator[Fact]:
    """Short user messages right after a question: the question gives them their meaning."""
    spoken = iter(reading.spoken)
    ahead = next(spoken, None)
    before: Said | None = None
    for said in reading.typed:
        while ahead is not None and ahead.index < said.index:
            before, ahead = ahead, next(spoken, None)
        if before is None or len(said.text) > _ANSWER_LIMIT or said.text.startswith("/"):
            continue
        if question := last_question(before.text):
            text = f"{question}{ANSWERED}{clip(said.text, _ANSWER_LIMIT)}"
            yield make_fact(reading, "decision", text, key=said.key, index=said.index, factor=1.3)


def _decides(sentence: str) -> bool:
    whole = 24 <= len(sentence) <= _DECISION_LIMIT and not sentence.endswith((":", "："))
    return whole and (sounds_decided(sentence) or diagnoses(sentence)) and not asks(sentence)


# The task list as it stands: what is done, what is being worked on, what waits.

TODO_LIMIT = 240

_STATE_NAMES = ("state", "status", "progress")
_DONE_NAMES = ("done", "completed", "complete", "checked", "finished")
_TEXTS = ("content", "step", "title", "text", "subject", "description", "task", "name")
_CHECKBOX = re.compile(r"(?m)^[ \t]{0,12}[-*+] \[([ xX~-])\] (.{1,400})$")
_TASK_ID = re.compile(r"(?i)task\s{0,2}#?(\d{1,6})")
_STATES = {
    "completed": "done", "complete": "done", "done": "done", "finished": "done", "closed": "done",
    "resolved": "done", "cancelled": "dropped", "canceled": "dropped", "deleted": "dropped",
    "skipped": "dropped", "abandoned": "dropped", "obsolete": "dropped",
    "in progress": "in progress", "active": "in progress", "doing": "in progress", "started": "in progress",
    "running": "in progress", "working": "in progress",
}  # fmt: skip
_BOXES = {"x": "done", "X": "done", "~": "in progress", "-": "dropped"}


@frozen
class Todo:
    """One task of the list."""

    text: str
    state: str
    """``open``, ``in progress``, ``done`` or ``dropped``."""
    key: int
    index: int


def current_todos(reading: Reading) -> list[Todo]:
    """The newest task list: from the newest list a tool was given, tasks made one by one, or a checklist.

    Args:
        reading: The history.

    Returns:
        Tasks in their order; empty when nobody kept a list.
    """
    tasks: dict[str, Todo] = {}
    whole: list[Todo] = []
    for action in reading.all_actions():
        if not worked(action):
            continue
        if listed := list(_listed(action)):
            whole = listed
        # Follow tools that make and update single tasks, as `TaskCreate` and `TaskUpdate` do
        name = action.tool.lower().replace("_", "")
        if name.endswith("taskcreate") or name.endswith("createtask"):
            match = _TASK_ID.search(action.result[:300])
            number = match[1] if match else str(len(tasks) + 1)
            if text := first_text(action.args, _TEXTS[2:]):
                tasks[number] = _todo(text, "open", action.key, action.index)
        elif name.endswith("taskupdate") or name.endswith("updatetask"):
            number = str(action.args.get("taskId", action.args.get("task_id", "")))
            if number in tasks and (state := _state(action.args)):
                tasks[number] = _todo(tasks[number].text, state, action.key, action.index)
    if not whole and not tasks:
        whole = _checklist(reading)
    return [*whole, *tasks.values()]


def todo_facts(reading: Reading) -> list[Fact]:
    """Facts ``task · state`` for the tasks that are not done."""
    return [
        make_fact(reading, "todo", f"{todo.text} · {todo.state}", key=todo.key, index=todo.index)
        for todo in current_todos(reading)
        if todo.state in {"open", "in progress"}
    ]


SINCE_THE_LIST = "The user has written since that list: "
_SINCE = 2
"""Sentences of the user that are told beside a plan or task list that is older than they are."""
_ENDS = stems_of(
    "forget drop cancel cancelled scrap shelve abandon instead stop done finished finish completed "
    "vergiss verwirf stattdessen fertig erledigt abgebrochen oublie annule abandonne plutôt terminé "
    "olvida cancela hecho terminado забудь отмени отменяем вместо готово закончен 取消 完成 放弃 不要 "
    "やめ 中止 終わり 완료 취소 그만 الغاء انس بدلا iptal vazgeç bitti esqueça cancele concluído"
)
"""They only rank: what the user wrote since stands there in any language."""


def written_since(said: Iterable[tuple[int, str]], key: int, about: str) -> list[tuple[int, str]]:
    """What the user has written since a plan or task list, and may have ended it with.

    Args:
        said: Number and text of what they typed.
        key: Number of the message with the plan.
        about: The plan: sentences that speak of it go first.

    Returns:
        Numbers and sentences, in their order.
    """
    stems = stems_of(f"plan list {about}")

    def nearness(entry: tuple[int, str]) -> int:
        spoken = stems_of(entry[1])
        return len(spoken & stems) + 2 * len(spoken & _ENDS)

    since = [(at, sentence) for at, text in said if at > key for sentence in prose(text)]
    nearest = sorted(since, key=nearness, reverse=True)[:_SINCE]
    return [entry for entry in since if entry in nearest]


def _listed(action: Action) -> Iterator[Todo]:
    name = action.tool.lower()
    if not any(word in name for word in TASK_WORDS):
        return
    for argument in TASK_LIST_ARGUMENTS:
        value = action.args.get(argument)
        if isinstance(value, list):
            for entry in value:
                if isinstance(entry, Mapping) and (todo := _entry(action, entry)):
                    yield todo
            return
        if isinstance(value, str) and (boxes := _CHECKBOX.findall(value)):
            for mark, text in boxes:
                yield _todo(text, _BOXES.get(mark, "open"), action.key, action.index)
            return


def _entry(action: Action, entry: Mapping[str, Any]) -> Todo | None:
    text = first_text(entry, _TEXTS)
    return _todo(text, _state(entry) or "open", action.key, action.index) if text else None


def _state(entry: Mapping[str, Any]) -> str:
    """The state that an entry names, in words or by a flag; empty where it names none."""
    if any(entry.get(name) is True for name in _DONE_NAMES):
        return "done"
    word = first_text(entry, _STATE_NAMES).casefold().replace("_", " ").replace("-", " ").strip()
    return _STATES.get(word, "open") if word else ""


def _checklist(reading: Reading) -> list[Todo]:
    for said in reversed(reading.spoken):
        if boxes := _CHECKBOX.findall(said.text):
            return [_todo(text, _BOXES.get(mark, "open"), said.key, said.index) for mark, text in boxes]
    return []


def _todo(text: str, state: str, key: int, index: int) -> Todo:
    return Todo(clip(one_line(text), TODO_LIMIT), state, key, index)


# How the work went, in the speakers' own sentences: what requests led to, and where things stand.

STATE_LIMIT = 700
_ASKED_LIMIT = 110
_NARRATIVE_ANSWER_LIMIT = 320
_STEP_LIMIT = 300
_MILESTONE_LIMIT = 240
_MAX_MILESTONES = 40

_ANNOUNCES = (":", "：")
"""Ends of sentences that only say what follows."""
_DONE = re.compile(
    r"(?i)\b(?:done|fixed|added|created|implemented|updated|removed|renamed|moved|merged|committed|pushed"
    r"|completed|finished|resolved|(?<!being )pass(?:es|ed)?"
    r"|works|working now|verified|refactored|replaced|behoben|erledigt|fertig|corrigé|terminé|hecho"
    r"|terminado)\b|完成|已|通过"
)


@frozen
class Told:
    """One line of the story."""

    text: str
    key: int
    index: int


def turns(reading: Reading, quoted: str = "", key: int = 0) -> Iterator[Told]:
    """Yield for every request but the newest what it led to: its first words and the answer's first words.

    Args:
        reading: The history.
        quoted: What the request of ``key`` is called; it is quoted elsewhere and not said again.
        key: Log number of that request.

    Yields:
        Lines ``asked (#key) → answered``, oldest first.
    """
    spoken = iter(reading.spoken)
    ahead = next(spoken, None)
    for number, said in enumerate(reading.typed):
        end = reading.typed[number + 1].index if number + 1 < len(reading.typed) else reading.length
        last: Said | None = None
        while ahead is not None and ahead.index < end:
            last = ahead if ahead.index > said.index else last
            ahead = next(spoken, None)
        answer = opening(last.text, _NARRATIVE_ANSWER_LIMIT) if last is not None else ""
        if last is not None and number + 1 < len(reading.typed) and not answer.endswith(_ANNOUNCES):
            asked = quoted if quoted and said.key == key else clip(one_line(said.text), _ASKED_LIMIT)
            yield Told(f"{asked} (#{said.key}) → {answer}", last.key, last.index)


def milestones(reading: Reading) -> Iterator[Told]:
    """Yield sentences in which the assistant says that something is finished, newest first."""
    given = 0
    for said in reversed(reading.spoken):
        for sentence in sentences(said.text):
            finished = _DONE.search(sentence) and not looks_ahead(sentence) and not asks(sentence)
            finished = finished and not sentence.endswith(_ANNOUNCES)
            if finished and 16 <= len(sentence) <= _MILESTONE_LIMIT and not looks_pasted(sentence):
                yield Told(unmarked(sentence), said.key, said.index)
                given += 1
                break
        if given >= _MAX_MILESTONES:
            return


def last_words(reading: Reading) -> Told | None:
    """The opening of the assistant's newest text: where things stand in its own words."""
    if not reading.spoken:
        return None
    said = reading.spoken[-1]
    text = opening(said.text, STATE_LIMIT)
    return Told(text, said.key, said.index) if text else None


def plans(reading: Reading) -> Iterator[Told]:
    """Yield sentences of the newest texts that say what comes next."""
    if reading.spoken and reading.went_on(reading.spoken[-1].index):
        return  # what came of them can be seen
    for said in reading.spoken[-2:]:
        for sentence in sentences(said.text):
            if looks_ahead(sentence) and not asks(sentence) and len(sentence) <= _STEP_LIMIT:
                yield Told(unmarked(sentence), said.key, said.index)


def opening(text: str, limit: int) -> str:
    """The first prose of a text on one line, clipped at a word with a mark."""
    taken: list[str] = []
    length = 0
    for paragraph in paragraphs(text):
        taken.append(paragraph)
        length += len(paragraph) + 1
        if length > limit:
            break
    return clip(unmarked(" ".join(taken)), limit)
