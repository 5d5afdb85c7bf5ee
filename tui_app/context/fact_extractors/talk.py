"""What was decided and replied, and what is still open between user and assistant."""

from collections.abc import Iterator

from tui_app.context.fact_extractors.cues import asks, diagnoses, sounds_decided
from tui_app.context.fact_extractors.language import clip, looks_pasted, sentences, unmarked
from tui_app.context.fact_extractors.ranking import make_fact
from tui_app.context.fact_extractors.reading import Reading, Said
from tui_app.events import Fact

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
        for sentence in _prose(said.text):
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


def _prose(text: str) -> Iterator[str]:
    for sentence in sentences(text):
        if not looks_pasted(sentence):
            yield unmarked(sentence)
