"""Questions from the model to the user, asked in turn with approvals."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from tui_app.conversation.answers import OpenQuestions
from tui_app.conversation.approvals import CallsAhead
from tui_app.events import Payload, QuestionAsked, QuestionClosed
from tui_app.records import frozen

ANSWERED = "The user answers: {}"

NO_ANSWER = (
    "The user gave no answer. Go on with what is most sensible and say what you assumed, or leave out what "
    "needs the answer."
)

NOBODY = (
    "There is no user to answer. Go on with what is most sensible and say what you assumed, or leave out "
    "what needs the answer."
)

LATER = (
    "The question is shown to the user, who answers with the next prompt. End your turn now: do nothing that "
    "needs the answer."
)

_ANSWER_CHARS = 10_000


@dataclass(slots=True)
class Questions:
    """The questions of one conversation. Not thread-safe: use it on one event loop."""

    report: Callable[[Payload], object]
    """Publishes an event."""
    ahead: CallsAhead
    """The order shared with approvals: one question at a time."""
    attended: bool = False
    """Whether a user sees the questions and can answer."""
    repeated: Callable[[str], str] = lambda _call: ""
    """Says, by call id, which answered question this one repeats; empty for none."""
    _answers: OpenQuestions[str] = field(default_factory=OpenQuestions)
    _count: int = 0

    async def ask(self, question: str, choices: Sequence[str], call: str) -> str:
        """Ask, and return the answer in the words the model reads."""
        self._count += 1
        id = f"{call}.question.{self._count}"
        given, attended, repeats = tuple(choices), self.attended, self.repeated(call)
        asked = QuestionAsked(
            id=id, tool_call_id=call, question=question, choices=given, attended=attended, repeats=repeats
        )
        if not self.attended:
            self.report(asked)
            return NOBODY
        async with self.ahead.turn(call):
            try:
                return await self._answers.ask(id, lambda: self.report(asked))
            finally:
                self.report(QuestionClosed(id=id))

    def reply(self, id: str, text: str) -> bool:
        """Answer a question. An empty text means no answer.

        Returns:
            Whether it was open; each question is answered once.
        """
        answer = text.strip()[:_ANSWER_CHARS]
        return self._answers.answer(id, ANSWERED.format(answer) if answer else NO_ANSWER)

    def postpone(self, id: str) -> bool:
        """Tell the model that the next prompt will answer. Returns whether the question was open."""
        return self._answers.answer(id, LATER)


@frozen
class AgentQuestions:
    """Questions of a subagent, asked in its name."""

    questions: Questions
    agent: str

    async def ask(self, question: str, choices: Sequence[str], call: str) -> str:
        answer = await self.questions.ask(f"{self.agent} asks: {question}", choices, call)
        if answer != NOBODY:
            return answer
        return "There is no user to answer. End with the question: whoever has sent you reads it."
