"""Background commands of a conversation: what the model is told of them, and what became of them."""

from typing import Any

from pydantic_ai import RunContext
from pydantic_ai.messages import ModelRequest, UserPromptPart
from pydantic_ai.models import ModelRequestContext

from tui_app.agent.tools.tasks import BackgroundTasks
from tui_app.context.attempts import OutermostCapability
from tui_app.context.message_marks import tasks_text
from tui_app.conversation.session_history import SessionHistory
from tui_app.events import TaskEnded, TaskStarted, TaskTold, how_it_ended


class TaskNews(OutermostCapability):
    """Tells the model, behind the newest message, which background commands have ended.

    Args:
        tasks: The background commands.
        history: Where the line is written down.
    """

    def __init__(self, tasks: BackgroundTasks, history: SessionHistory) -> None:
        self._tasks, self._history = tasks, history

    async def before_model_request(
        self, ctx: RunContext[Any], request_context: ModelRequestContext
    ) -> ModelRequestContext:
        """Ask about what they made that programs obey, and write down what there is to tell."""
        await self._tasks.ask_about_made()
        if news := self._tasks.take_news():
            text = tasks_text(news)
            message = ModelRequest(parts=[UserPromptPart(text)])
            tokens = self._history.counter.message(message).nonzero()
            self._history.append(TaskTold(text=text, ids=tuple(id for id, _ in news), tokens=tokens), message)
        return request_context


def resume_tasks(tasks: BackgroundTasks, history: SessionHistory) -> None:
    """Report the tasks that a killed program took with it, list those that were kept, and what is untold."""
    store, session = history.store, history.session
    kinds = (TaskStarted.TYPE, TaskEnded.TYPE, TaskTold.TYPE)
    open_: dict[str, TaskStarted] = {}
    untold: dict[str, str] = {}
    kept: dict[str, TaskEnded] = {}
    last = 0
    for head in reversed(list(store.newest(session, kinds))):
        record = store.record(session, head.seq)
        match record.data if record is not None else None:
            case TaskStarted(id=id) as started:
                open_[id], last = started, max(last, int(id[1:]) if id[1:].isdecimal() else 0)
            case TaskEnded(id=id) as ended:
                open_.pop(id, None)
                kept.pop(id, None)
                if ended.outcome == "kept":
                    kept[id] = ended
                untold[id] = ended.how
            case TaskTold(ids=ids):
                for id in ids:
                    untold.pop(id, None)
    for id, started in open_.items():
        history.append(TaskEnded(id=id, command=started.command, outcome="lost"))
        untold[id] = how_it_ended("lost", None)
    tasks.resume(last, list(untold.items()), list(kept.values()))
