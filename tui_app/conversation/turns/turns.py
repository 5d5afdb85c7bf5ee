"""Turns of a conversation: each runs a prompt to its end, with retries, fallbacks and stopping."""

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from time import monotonic, time
from typing import Any, TypeVar

from pydantic_ai.messages import ModelRequest, ModelResponse, ToolCallPart, UserContent, UserPromptPart
from pydantic_ai.models import Model

from tui_app.agent.error_sentences import only_thought, plain
from tui_app.agent.errors import describe_error, may_be_size
from tui_app.agent.model_shelf import why_unavailable
from tui_app.agent.retry_rules import RetryRules, pause_before
from tui_app.agent.turn import TurnResult, TurnRunner, open_calls
from tui_app.context.counting.attachments import PIPED, file_content, picture_content, piped_content
from tui_app.context.views.view import Item, to_messages
from tui_app.context.windows.window_limits import most
from tui_app.conversation.attachments import (
    CHECKED,
    GOAL,
    AttachedFile,
    Attachment,
    NamedPath,
    read_attachments,
)
from tui_app.conversation.budget import Budget, budget_of
from tui_app.conversation.compactions.compactions import Compactions
from tui_app.conversation.history.session_history import SessionHistory
from tui_app.conversation.hooks.hooks import Hooks
from tui_app.conversation.models.model_switch import ModelSwitch
from tui_app.conversation.models.retry_advice import too_large, with_retry_step, with_size
from tui_app.conversation.requests.open_request import Opening
from tui_app.conversation.session_extras import Extras
from tui_app.conversation.stoppable_step import StoppableStep, Stopped
from tui_app.conversation.turns.goals import Goals
from tui_app.conversation.turns.work_queue import WorkQueue
from tui_app.conversation.work import Prompt, Switch
from tui_app.events import (
    AgentOutput,
    Error,
    Notice,
    SessionEnd,
    SessionRewind,
    ToolResult,
    TurnEnd,
    TurnRetry,
    TurnStart,
    UserMessage,
    data_of,
)
from tui_app.session.figures.cache_forecast import ColdWarning, turn_cache
from tui_app.wires.answer_end import (
    ASKED_AGAIN,
    FILTERED,
    FULL,
    TOO_LONG,
    has_content,
    incomplete_reason,
    provider_end_text,
)

_log = logging.getLogger(__name__)
T = TypeVar("T")
HOOK = "said by a hook of the user"
GUARD = "said by a guard of the user"
"""Names of attachments that no user has written."""
NOT_TESTED = "Continue: run the tests of what you changed, then say what came of it."
"""The prompt after a turn that a guard does not let end."""
UNFINISHED = Prompt("")
"""Placeholder for the prompt of an unfinished turn that is being continued."""
MOST_GOING_ON = 3
"""Times in a row that hooks may make the model continue."""
UNANSWERED = Error(
    kind="internal",
    message="Interrupted: the program ended before this prompt was answered.",
    actions=("retry",),
)
FILTER_HINT = "The partial answer is kept. Rephrase the prompt, or leave it out."
CUT_HINT = "The partial answer is kept. Ask the model to continue, or send the prompt again."
_TO_ANSWER = frozenset({UserMessage.TYPE, ToolResult.TYPE})
"""Messages that a model has to answer."""
_OUT_OF_REACH = frozenset({"rate_limit", "network", "provider"})
"""Kinds of errors for which another model may help."""


@dataclass(slots=True, kw_only=True)
class Turns:
    """Runs the turns of one conversation, one at a time. Not thread-safe: use it on one event loop."""

    opening: Opening
    extras: Extras
    """Reads the MCP resources that prompts mention, and knows the rules for files."""
    queue: WorkQueue
    """Paused when a turn fails."""
    models: ModelSwitch
    compactions: Compactions
    runner: TurnRunner
    is_sent: bool = False
    """Whether these turns are a subagent's: its sender then manages cost, model and room."""
    history: SessionHistory = field(init=False)
    rules: RetryRules = field(init=False)
    """Number and pauses of retries for a failed request."""
    budget: Budget | None = field(default=None, init=False)
    """The session's budget; None for no limit."""
    cold: ColdWarning | None = field(default=None, init=False)
    """If no user can be asked, warns about the cost of a cold prompt cache."""
    untested: Callable[[int], str] = lambda _since: ""
    """The words of a guard that wants tests, if changes after a log number were not tested."""
    hooks: Hooks | None = None
    """Runs the user's hooks around prompts and turns."""
    _goes_on: int = 0
    """Times in a row that a hook has made the model continue."""
    goals: Goals | None = None
    """Makes the model continue until a goal is reached."""
    deliver: Callable[[], Awaitable[None]] | None = None
    """Inserts what earlier sessions have left before a first prompt."""
    prompt: Prompt | None = None
    """The prompt of the running turn."""
    leaving: bool = False
    """Whether the turn is to end at the next safe point and continue in another process."""
    is_left: bool = False
    """Whether the newest turn has ended that way."""
    keeps: Callable[[str], bool] = lambda _call: False
    """Whether a call, by id, has not started yet, so that a turn continued elsewhere runs it."""
    _is_stopped: bool = False
    _step: StoppableStep = field(default_factory=StoppableStep)
    """A wait of the turn that does not involve its model."""
    _pause: StoppableStep = field(default_factory=StoppableStep)
    """The pause before a retry."""
    _steered: bool = False

    def __post_init__(self) -> None:
        self.history = history = self.compactions.history
        settings, database = self.opening.settings, self.opening.database
        self.rules = RetryRules(retries=settings.retries)
        if not self.is_sent:
            self.budget = budget_of(settings.budget, database, history.session)
            cold = ColdWarning(database=database, session=history.session, settings=settings)
            self.cold = None if self.opening.attended else cold

    @property
    def is_answering(self) -> bool:
        return self.runner.running or self._pause.is_running

    async def run_turn(self, prompt: Prompt) -> None:
        """Run a turn. Every outcome is an event, and a failed turn pauses the queue.

        A prompt without any answer is removed from the view and returned with the event.
        """
        self.prompt = prompt
        before = self.history.view.last
        self.history.append(TurnStart(text=prompt.text))
        self._is_stopped = False
        try:
            end = await self._outcome(prompt)
        except Stopped:
            end = TurnEnd(outcome="cancelled", prompt=prompt.text)
        # Whoever cancelled a turn has paused the queue, and prompts sent since then are not held back.
        if end.outcome == "failed":
            self.queue.pause()
            self.queue.announce()
        self.compactions.follow_background()
        store, session, settings = self.history.store, self.history.session, self.opening.settings
        share, broken = (None, "") if self.is_sent else turn_cache(store, session, settings, before)
        share = None if share is None else round(share, 4)
        self._end(replace(end, cached_share=share, broken_by=broken))
        if end.outcome == "done":
            await self._may_stop(prompt, end, before)
            if not self.is_sent:
                await self.compactions.after_turn()

    async def _outcome(self, prompt: Prompt) -> TurnEnd:
        """Load the model and get its answer.

        Raises:
            Stopped: if the user stopped it before anything was sent.
        """
        try:
            model = await self.models.current()
        except Stopped:
            raise
        except Exception as error:  # an SDK may raise anything; the prompt returns to the editor
            report = why_unavailable(error, model=self.history.model)
            self.history.append(with_retry_step(report, handed_back=True))
            return TurnEnd(outcome="failed", prompt=prompt.text)
        try:
            return await (self._go_on(model) if prompt is UNFINISHED else self._send(prompt, model))
        finally:
            self.models.measure()

    async def go_on(self) -> None:
        """Continue an unfinished turn, or the check of the goal after a finished one."""
        if self.is_unanswered or self.goals is None or self.goals.active is None:
            await self.run_turn(UNFINISHED)
        else:
            await self._check_goal(self.goals)

    async def _check_goal(self, goals: Goals) -> None:
        following = await goals.next_prompt()
        if following is not None and not self.queue.paused:
            self.queue.enqueue(following)

    async def _may_stop(self, prompt: Prompt, end: TurnEnd, before: int) -> None:
        """After a turn, let hooks (a few times in a row), a guard or the goal make the model continue."""
        output = "" if self.hooks is None else await self.hooks.before_stop(end)
        if not output:
            self._goes_on = 0
            if prompt.text != NOT_TESTED and (words := self.untested(before)):
                self.queue.enqueue(Prompt(NOT_TESTED, brought=(AttachedFile(GUARD, words),)))
            # Prompts the user has sent meanwhile come first.
            elif self.goals is not None and not self.queue.prompts:
                await self._check_goal(self.goals)
        elif self._goes_on >= MOST_GOING_ON:
            self._goes_on = 0
            text = f"A stop hook made the model continue {MOST_GOING_ON} times, which is the limit."
            self.history.append(Notice(text=text))
        else:
            self._goes_on += 1
            going_on = "Continue: a stop hook says that this is not done."
            self.queue.enqueue(Prompt(going_on, brought=(AttachedFile(HOOK, output),)))

    def abort(self) -> None:
        """End the running turn, if any, as failed, after a failure that was reported otherwise."""
        if self.prompt is not None:
            self._end(TurnEnd(outcome="failed", prompt=self.prompt.text))

    def halt(self) -> None:
        """Stop the running turn with everything it waits for, or else the work that follows it."""
        if self.prompt is not None:
            self.compactions.cancel_awaited(with_request=True)
            self.leaving = False
            self._is_stopped = True
            self._step.interrupt()
            self.runner.cancel()
            self._pause.interrupt()
        elif self.goals is None or not self.goals.cancel():
            self.compactions.cancel_job()

    def steer(self) -> None:
        """End the turn after the current step, or now if it waits to retry."""
        self.runner.steps.stop_at_next_step()
        if self._pause.interrupt():
            self._steered = True

    async def may_spend(self, *, agreed: bool, handed_back: bool = False) -> bool:
        """Check the session's budget before sending something, and report the result.

        Args:
            agreed: Whether the user agreed to exceed it.
            handed_back: Whether a refused prompt returns to the editor.

        Returns:
            Whether it may be sent.
        """
        verdict = None if self.budget is None else await self.budget.verdict(agreed=agreed)
        if verdict is None:
            return True
        if self.hooks is not None:
            self.hooks.notify_waiting("budget", verdict)
        if isinstance(verdict, Error) and handed_back:
            verdict = with_retry_step(verdict, handed_back=True)
        self.history.append(verdict)
        return not isinstance(verdict, Error)

    def close_open_calls(self, error: Exception | None = None) -> None:
        """Answer the calls of the newest answer whose tools never finished.

        Args:
            error: What ended the turn, if the user did not.
        """
        self.runner.close_calls(open_calls(self.history.newest()), error)

    @property
    def is_unanswered(self) -> bool:
        """Whether the newest message needs an answer, or a call of the newest answer has not run."""
        visible = self.history.view.originals()
        return bool(visible) and (visible[-1].type in _TO_ANSWER or bool(open_calls(self.history.newest())))

    def mark_unanswered(self) -> None:
        """If the process ended before the newest prompt was answered, report that."""
        history = self.history
        visible = history.view.originals()
        # An interrupted call already reports that.
        if not visible or visible[-1].type not in _TO_ANSWER or visible[-1].state == "interrupted":
            return
        # A session that ended normally has logged that; other reasons for a stopped turn are logged too.
        later = {head.type for head in history.store.heads(history.session, visible[-1].seq)}
        if not later & {SessionEnd.TYPE, Error.TYPE, AgentOutput.TYPE}:
            history.append(UNANSWERED)

    def _end(self, end: TurnEnd) -> None:
        self.history.append(end)
        self.prompt = None

    async def _send(self, prompt: Prompt, model: Model) -> TurnEnd:
        """Log a prompt and have it answered.

        Raises:
            Stopped: if the user stopped it before it was logged.
        """
        started, history = monotonic(), self.history
        # Reset what is known of a failed request: it does not apply to the next one.
        history.take_distrust()
        files = await self._unless_stopped(self._prepare(prompt))
        if files is None:
            return TurnEnd(outcome="failed", prompt=prompt.text)
        pieces: list[UserContent] = [piped_content(prompt.piped)] if prompt.piped else []
        for file in files:
            if file.picture:
                pieces += picture_content(file.path, file.picture, file.media_type)
            else:
                pieces.append(file_content(file.path, file.text))
        request = ModelRequest(parts=[UserPromptPart([prompt.text, *pieces] if pieces else prompt.text)])
        usage = history.usage()
        needed = history.weigh(Item(0, request)).total
        needed += usage.parts.system + usage.parts.tools + usage.parts.memory
        # If tools fill the window, the request's own error names them.
        if needed > most(usage.window) > 2 * usage.parts.tools:
            history.append(with_retry_step(too_large(usage.window, needed), handed_back=True))
            return TurnEnd(outcome="failed", prompt=prompt.text)
        tokens = history.counter.message(request).nonzero()
        named = (file.path for file in files if file.path not in (HOOK, GUARD, GOAL, CHECKED))
        paths = (*([PIPED] if prompt.piped else []), *named)
        record = history.append(UserMessage(text=prompt.text, tokens=tokens, attachments=paths), request)
        return self._answered(await self._answer(model), started, record.seq, prompt.text)

    async def _go_on(self, model: Model) -> TurnEnd:
        """Finish an unfinished turn: run its waiting calls, then have the model continue."""
        started = monotonic()
        prompts = (head for head in reversed(self.history.view.originals()) if head.type == UserMessage.TYPE)
        seq = next((head.seq for head in prompts), 0)
        prompt = data_of(self.history.store.record(self.history.session, seq), UserMessage)
        result = await self._answer(model, open_calls(self.history.newest()))
        return self._answered(result, started, seq, prompt.text if prompt is not None else "")

    def _answered(self, result: TurnResult, started: float, seq: int, prompt: str) -> TurnEnd:
        """The end of a turn. Its unfinished calls are closed."""
        duration, calls = round(monotonic() - started, 3), open_calls(self.history.newest())
        if self.leaving and result.error is None and self.is_unanswered:
            self.is_left = True
            self.runner.close_calls([call for call in calls if not self.keeps(call.tool_call_id)])
            return TurnEnd(outcome="cancelled", duration_s=duration)
        self.close_open_calls(result.error)
        if result.error is not None:
            back = prompt if self._failed(result.error, seq) else ""
            return TurnEnd(outcome="failed", duration_s=duration, prompt=back)
        if not result.cancelled:
            self._report_bad_end()
        return TurnEnd(outcome="cancelled" if result.cancelled else "done", duration_s=duration)

    async def _prepare(self, prompt: Prompt) -> list[AttachedFile] | None:
        """Read what is sent with a prompt; None if the budget or a hook refuses it, which is reported."""
        if not await self.may_spend(agreed=prompt.above_budget, handed_back=True):
            return None
        if self.cold and (notice := await self.cold.notice(self.history.model, self.history.usage(), time())):
            self.history.append(notice)
        attached = [*prompt.brought, *await self._named(prompt.files)]
        if self.hooks is not None:
            output, refused = await self.hooks.before_prompt(prompt.text, prompt.files)
            if refused:
                self.history.append(with_retry_step(Error(kind="input", message=refused), handed_back=True))
                return None
            attached += [AttachedFile(HOOK, output)] if output else []
        if self.deliver is not None:
            await self.deliver()
        return attached

    async def _named(self, names: Sequence[str]) -> list[AttachedFile]:
        """The files and server resources a prompt mentions. What cannot be sent is reported."""
        found: dict[str, Attachment | None] = {}
        for name in names:
            found[name] = await self.extras.resource(name) if ":" in name else None
        if paths := [name for name, each in found.items() if each is None]:
            workspace, pasted = self.opening.workspace(), self.opening.paths.pictures_dir
            read = partial(read_attachments, workspace, paths, self.extras.project.may_read, pasted)
            found |= {each.path: each for each in await asyncio.to_thread(read)}
        for each in found.values():
            if isinstance(each, NamedPath) and each.is_telling:
                self.history.append(Notice(text=each.sentence))
        return [each for each in found.values() if isinstance(each, AttachedFile)]

    async def _answer(self, model: Model, calls: Sequence[ToolCallPart] = ()) -> TurnResult:
        """Get an answer to the end of the view, retrying transient failures.

        Each try continues from what is logged by then: tools that have run are not run again.
        """
        history, failed, tried, self._steered = self.history, 0, set[str](), False
        once_more = self.rules.retries > 0
        while True:
            if self.leaving:
                return TurnResult()
            before = max((item.key for item in history.items()), default=0)
            self.compactions.in_run = True
            try:
                result = await self.runner.run(to_messages(history.items()), model, calls)
            finally:
                self.compactions.in_run, calls = False, ()
            if once_more and not result.cancelled and self._take_back_cut(result.error):
                once_more = False
                continue
            if result.error is None:
                return result
            # If anything was answered since, the provider works again, and the count of failures restarts.
            later = (item.message for item in history.items() if item.key > before)
            answered = any(isinstance(each, ModelResponse) and each.state == "complete" for each in later)
            failed = 1 if answered else failed + 1
            told = describe_error(result.error, model=history.model)
            pause = pause_before(result.error, told, attempt=failed, rules=self.rules, jitter=random.random())
            if pause is None:
                try:
                    other = await self._unless_stopped(self._other_model(told, tried))
                except Stopped:
                    return TurnResult(cancelled=True)
                if other is None:
                    return result
                model, failed = other, 0
            # The next try replaces a partial answer; it stays in the log and the chat.
            newest = history.items()[-1]
            if isinstance(newest.message, ModelResponse) and newest.message.state != "complete":
                history.append(SessionRewind(to=newest.key, failed=True))
            if pause is not None and not await self._wait(told, failed, pause):
                return TurnResult(cancelled=not self._steered)

    def _take_back_cut(self, error: Exception | None) -> bool:
        """Remove an incomplete answer from the view if a retry may complete it.

        If the window was full, it is now known to be smaller, so the next request is smaller too.

        Args:
            error: What the run ended with.

        Returns:
            Whether there was one.
        """
        newest = self.history.items()[-1]
        if not isinstance(newest.message, ModelResponse):
            return False
        reason = incomplete_reason(newest.message)
        no_room = reason == FULL and not has_content(newest.message)
        if not no_room and (error is not None or reason not in ASKED_AGAIN):
            return False
        self.history.append(SessionRewind(to=newest.key, failed=True))
        reason = _sentence(provider_end_text(newest.message))
        self.history.append(TurnRetry(attempt=2, attempts=2, wait_s=0.0, reason=reason))
        return True

    async def _wait(self, report: Error, failed: int, pause: float) -> bool:
        """Wait before a retry. Returns False if the user interrupted it."""
        attempts = {"attempt": failed + 1, "attempts": self.rules.retries + 1}
        self.history.append(TurnRetry(**attempts, wait_s=round(pause, 3), reason=report.message))
        try:
            await self._pause.wait_for(asyncio.sleep(pause))
        except Stopped:
            return False
        return True

    async def _other_model(self, report: Error, tried: set[str]) -> Model | None:
        """Switch to the next fallback model that can take over. It stays until the user changes it.

        Args:
            report: Why the current one does not answer.
            tried: Models that have failed in this turn; the ones tried here are added.

        Returns:
            The model; None if none is left, or another one would not help.
        """
        passes = report.retryable or report.kind == "rate_limit"
        if self.is_sent or report.kind not in _OUT_OF_REACH or not passes:
            return None
        tried.add(self.history.model)
        for name in filter(None, map(str.strip, self.opening.settings.fallback_models.split(","))):
            if name in tried:
                continue
            tried.add(name)
            old = self.history.model
            if refusal := await self._refused(name):
                self.history.append(Notice(text=f"{name} cannot take over: {refusal}"))
                continue
            await self.models.switch(Switch(name))
            if self.history.model == name:
                text = f"{report.message} {name} answers now, in place of {old}."
                self.history.append(Notice(text=text, actions=("models",)))
                with suppress(Stopped):
                    return await self.models.current()
        return None

    async def _refused(self, name: str) -> str:
        """Why a model cannot take over, as a sentence; empty if it can."""
        try:
            forecast = await self.models.forecast(name)
        except Exception as error:  # an SDK may raise anything; the next one is tried
            return why_unavailable(error, model=name).message
        if forecast.fits:
            return ""
        return f"{forecast.tokens:,} tokens of conversation, {forecast.window.limit:,} of window."

    async def _unless_stopped(self, step: Coroutine[Any, Any, T]) -> T:
        """Wait for a step of the turn, unless the turn is stopped.

        Args:
            step: Must be safe to cancel at any await, leaving nothing half done.

        Raises:
            Stopped: if the turn was stopped before or during the step; the step is cancelled.
            Exception: whatever the step raises.
        """
        if self._is_stopped:
            step.close()
            raise Stopped
        done = await self._step.wait_for(step)
        if self._is_stopped:
            raise Stopped
        return done

    def _report_bad_end(self) -> None:
        """Report why the last answer of a finished turn is empty or incomplete."""
        messages = self.history.newest()
        last = messages[-1] if messages else None
        if not isinstance(last, ModelResponse):
            return
        reason = incomplete_reason(last)
        if reason == TOO_LONG and not has_content(last):
            error = only_thought(self.history.model, last.usage.output_tokens)
            self.history.append(Notice(text=f"{error.message} {error.hint}".strip(), actions=error.actions))
        elif reason:
            hint, way = (FILTER_HINT, "rewind") if reason == FILTERED else (CUT_HINT, "retry")
            self.history.append(Notice(text=f"{_sentence(provider_end_text(last))} {hint}", actions=(way,)))
        elif not has_content(last):
            self.history.append(Notice(text="The model gave no answer.", actions=("retry",)))

    def _failed(self, error: Exception, prompt: int) -> bool:
        """Report a failure. Returns whether the prompt returns to the editor, because nothing was answered.

        Args:
            error: What the turn failed with.
            prompt: Log number of its prompt.
        """
        last = self.history.items()[-1].message
        answer = last if isinstance(last, ModelResponse) else None
        report = describe_error(error, model=self.history.model, answer=answer)
        if may_be_size(error, report):
            answered = max((item.reported for item in self.history.items()), default=0)
            report = with_size(report, self.history.usage().total, answered)
        if report.kind == "internal":
            _log.error("the turn failed", exc_info=error)
        later = (item.message for item in self.history.items() if item.key > prompt)
        kept = any(isinstance(each, ModelResponse) and has_content(each) for each in later)
        self.history.append(with_retry_step(report, handed_back=not kept))
        if not kept:
            self.history.append(SessionRewind(to=prompt, failed=True))
        return not kept


def _sentence(reason: str) -> str:
    return f"{reason[0].upper()}{plain(reason[1:])}."
