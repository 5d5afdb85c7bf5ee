"""Review of a summary: its progress while it is written, then its figures, and its text to edit.

It may appear while the user is typing. So no key decides anything before a pause in typing, and what is still
typed goes back to the prompt.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

from rich.cells import cell_len
from textual import events, getters, on
from textual.app import ComposeResult
from textual.content import Content
from textual.widget import Widget
from textual.widgets import OptionList, Static

from tui_app.events import (
    NOT_IN_LOG,
    CompactionProgress,
    CompactionProposed,
    Fact,
    FactState,
    answers_text,
    fact_counts,
    lines_text,
)
from tui_app.records import frozen
from tui_app.ui.chat.session import ChatSession
from tui_app.ui.context.sent_page import Replacement
from tui_app.ui.dialogs.details import DetailsScreen
from tui_app.ui.dialogs.dialog import Dialog
from tui_app.ui.dialogs.options import MarkedList
from tui_app.ui.dialogs.parts import INSETS
from tui_app.ui.dialogs.questions import ConfirmDialog, EditDialog
from tui_app.ui.dialogs.sent import Reader, SentView
from tui_app.ui.dialogs.summary_area import SummaryArea
from tui_app.ui.keyboard.keys import Hint, place_hints
from tui_app.ui.panels.gauge import ContextGauge, marks
from tui_app.ui.words.compaction_words import SIGNS, STATES, figures, ranked, tone_of, unmarked
from tui_app.ui.words.glyphs import UNICODE
from tui_app.ui.words.load import Load
from tui_app.ui.words.text import clean, cost, count, one_line, percent, tokens
from tui_app.usage import ContextUsage

if TYPE_CHECKING:
    from tui_app.ui.host import Host


CANNOT = "It cannot be applied like this"


def progress_line(progress: CompactionProgress) -> str:
    """Word the progress: ``part 1 of 2, 840 tokens so far · claude-sonnet-5``."""
    of = f"part {progress.part} of {progress.parts}, " if progress.parts > 1 else ""
    by = f" · {progress.model}" if progress.model else ""
    return clean(f"{of}{count(progress.tokens_written, 'token')} so far{by}")


def numbers(proposed: CompactionProposed) -> tuple[str, str]:
    """Return ``203 messages removed, 9 kept``, and ``91.5k → about 6.2k tokens · $0.004``."""
    parts = [f"{count(proposed.messages_leave, 'message')} removed, {proposed.messages_stay:,} kept"]
    if proposed.in_files:
        where = "is in a file" if proposed.in_files == 1 else "are in files"
        parts.append(f"{proposed.in_files} of their results {where}")
    size = f"{tokens(proposed.tokens_before)} → about {tokens(proposed.tokens_after)} tokens"
    price = cost(proposed.cost_usd) if proposed.cost_usd is not None else ""
    return " · ".join(parts), " · ".join(filter(None, (size, one_line(proposed.model, 40), price)))


def head_rows(title: str, what: str, price: str, width: int) -> tuple[Content, Content]:
    """Return the first row, ``⊖ Proposal  203 messages removed …  91.5k → 6.2k``, and what does not fit."""
    below = ""
    if cell_len(f"@ {title}  {what}  {price}") > width:
        what, below = "", what
    if cell_len(f"@ {title}  {price}") > width:
        price, below = "", " · ".join(filter(None, (below, price)))
    gap = " " * (width - cell_len(f"@ {title}  {what}{price}"))
    head = Content.assemble(
        (f"{UNICODE.load_line} ", "$text-accent"), (title, "bold"), (f"  {what}{gap}", "not bold"),
        figures(price).stylize_before("not bold"),
    )  # fmt: skip
    return head, Content(below)


def facts_line(proposed: CompactionProposed) -> Content:
    """Word the facts, such as ``8 facts at risk · 2 details left``; empty if there are none."""
    facts = [fact for fact in proposed.facts if fact.kind != "detail"]
    missing, added = at_risk(proposed.facts), fact_counts(facts)["put_back"]
    risks = sum(fact.kind != "detail" for fact in missing)
    details = len(missing) - risks
    lines = lines_text(proposed.lines, proposed.lines_sourced, proposed.claims_marked)
    parts = (
        (f"{count(risks, 'fact')} at risk" if risks else "", "$text-warning"),
        ("" if proposed.retention is None or risks else "All facts are kept", ""),
        (f"{count(details, 'detail')} left" if details else "", ""),
        *((text, "") for text in answers_text(proposed.questions, proposed.unanswered, proposed.misread)),
        *((text, "$text-warning" if text.endswith("log") else "") for text in lines),
        (f"{count(added, 'fact')} added by Plimsoll" if added else "", ""),
    )
    return Content(" · ").join(Content.styled(text, tone) for text, tone in parts if text)


def at_risk(facts: Iterable[Fact]) -> list[Fact]:
    """List the facts missing from the summary: lost ones first, then by weight, details last."""
    return [fact for fact in ranked(facts) if fact.state != "kept"]


def risk_row(fact: Fact, *, kept: bool) -> Content:
    """Return the row of a fact at risk, or of one that has been added to the text."""
    state: FactState = "kept" if kept else fact.state
    return Content.assemble(
        (f"{SIGNS[state]} {STATES[state]:<8}", tone_of(fact, state)),
        (f"{fact.kind:<9} ", "$text-muted"),
        one_line(unmarked(fact.text), 300),
        (f"  {one_line(fact.source, 30)}".rstrip(), "$text-muted"),
    )


def verbatim(fact: Fact) -> str:
    """Return the summary line with a fact word for word and its source."""
    return f"- {fact.text} ({fact.source})" if fact.source else f"- {fact.text}"


@frozen
class ReviewTexts:
    """Texts of a review."""

    writing: str
    ready: str
    apply: str
    """What enter does once the text is complete."""
    focus: tuple[str, str] | None
    """Title and question of the dialog that asks for a rewrite's focus; None if there is none."""
    rewrites: str = "rewrite with a focus"
    """Name of the rewrite key in the bottom row."""
    leaves: str = "stop"
    """What esc does while the text is being written."""
    unchanged: str = ""
    """Shown when it is discarded."""


SUMMARY = ReviewTexts(
    "Writing the summary …",
    "Proposal",
    "apply",
    ("Focus on", "What matters most? The summary is rewritten; nothing has changed yet."),
    leaves="back to the chat, returns when done",
)


@frozen
class Reviewed:
    """The user's decision."""

    summary: str | None
    """The summary to apply; None if it is discarded or nothing is decided."""
    focus: str | None = None
    """The focus for a rewrite; None if none is wanted."""
    attempt: bool = False
    """Whether to let the model that will read the summary try it first."""
    later: bool = False
    """Whether nothing is decided: the review appears again, or has become obsolete."""


class ReviewScreen(Dialog[Reviewed], place="review", style="review", size="-full"):
    """Dismisses with the user's decision."""

    ASKED = ".dialog-title, SentView, #review-text"
    AUTO_FOCUS = ""
    VERTICAL_BREAKPOINTS = [(0, "-short"), (20, "-low"), (30, "-high")]  # noqa: RUF012 - Textual's own type
    _ASIDE: ClassVar[tuple[Hint, ...]] = (
        Hint("tab", "next part", 1, "screen.other"),
        Hint("esc", "back", 0, "screen.close"),
    )
    _sent = getters.query_one(SentView)
    _facts = getters.query_one("#review-facts", OptionList)
    figures: Sequence[str] = ()
    """Shown at the right of the head, instead of what a compaction changes."""
    trouble = original = ""
    """A problem to show, and the initial text if it can be restored."""

    def __init__(
        self,
        proposed: CompactionProposed | None,
        *,
        job: str = "",
        fill: "Fill | None" = None,
        read: Reader | None = None,
        words: ReviewTexts = SUMMARY,
    ) -> None:
        """Ask about a summary.

        Args:
            proposed: What would be applied; None while it is being written.
            job: Id of the compaction, if nothing is proposed yet.
            fill: The current context usage; None if it is not shown.
            read: Reads the messages that its lines come from.
            words: Texts of the review.
        """
        super().__init__(words.writing)
        self.words = words
        self._proposed, self._fill, self._read = proposed, fill, read
        self.job = proposed.job if proposed else job
        """Id of the compaction."""
        self._heard: CompactionProgress | None = None
        self._built = False
        self._replacement, self._sent_notes = Replacement(), ""
        """What would be sent as shown, and the notes in it."""
        self.area = SummaryArea(id="review-text")
        self._risks: list[Fact] = []
        self._is_read = False
        """Whether the user has looked at what is flagged in it."""
        self._dropped: CompactionProposed | None = None
        """The proposal before lines were dropped from it."""

    @property
    def writing(self) -> bool:
        """Whether the summary is still being written: there is nothing to decide yet."""
        return self._proposed is None

    def body(self) -> ComposeResult:
        yield Static(classes="dialog-note", id="review-numbers", markup=False)
        yield ContextGauge(id="review-gauge")
        yield Static(id="review-problem", markup=False)
        yield SentView(Replacement(), self._read, id="review-sent")
        yield self.area
        yield Static(id="review-facts-line", markup=False)
        yield MarkedList(id="review-facts", compact=True, markup=False)

    def on_mount(self) -> None:
        self._built = True
        self.set_focus(self.area)
        self._show()

    # Called from outside; possibly before the screen is built, or while another one is above it

    def hear(self, progress: CompactionProgress) -> None:
        """Show new progress."""
        self._heard = progress
        self.area.hear(progress)
        self._show()

    def propose(self, proposed: CompactionProposed) -> None:
        """Show what would be applied: enter applies it, unless something in it is flagged."""
        self._proposed = proposed
        self._show()

    def abandon(self) -> None:
        """Close without a decision, together with any question above this."""
        while self.app.screen is not self:
            self.app.screen.dismiss(None)
        self.dismiss(Reviewed(None, later=True))

    def _show(self) -> None:
        if not self._built:
            return  # shown once everything is built
        if (proposed := self._proposed) is not None:
            self._show_head(proposed)
            problem = f"{CANNOT}: {one_line(proposed.problem, 200)}." if proposed.problem else ""
            self._say("#review-problem", Content(self.trouble or problem))
            self._say("#review-facts-line", facts_line(proposed))
            self.area.complete(proposed.summary)
            self._show_sent(Replacement(proposed.passages, proposed.model))
            gauge = self.query_one("#review-gauge", ContextGauge)
            gauge.display = self._fill is not None
            if self._fill is not None:
                usage, marked = self._fill
                frees = proposed.tokens_before - proposed.tokens_after
                shares = (part / usage.window.stated for part in (usage.total, max(0, usage.total - frees)))
                now, after = map(percent, shares)
                gauge.load = Load(usage, *marked, leaving=frees)
                gauge.caption = f"{now} now · {after} after"
            self._risks = at_risk(proposed.facts)
            self._facts.display = bool(self._risks)
            self._facts.set_options(risk_row(fact, kept=False) for fact in self._risks)
            self._facts.highlighted = 0 if self._risks else None
            self.set_focus(None)
            self._show_text()
            self._name_keys()
        elif self._heard is not None:
            self._say("#review-numbers", Content(progress_line(self._heard)))

    def _show_sent(self, sent: Replacement) -> None:
        self._replacement, self._sent_notes = sent, self.area.text
        self._sent.text.show_sent(sent)

    def _show_head(self, proposed: CompactionProposed) -> None:
        width = self.app.size.width - INSETS
        pair = ("", " · ".join(self.figures)) if self.figures else numbers(proposed)
        head, below = head_rows(self.words.ready, *pair, width)
        self.write_head(head)
        self._say("#review-numbers", below)

    def on_resize(self) -> None:
        """Write the head for the new width."""
        if self._built and self._proposed is not None:
            self._show_head(self._proposed)

    def _show_text(self) -> None:
        """Show what would be sent while it is unedited, and the summary's text otherwise."""
        edits = self.writing or self.focused is self.area or self.area.text != self._sent_notes
        self.area.display = edits or self._proposed is None or not self._proposed.passages
        self._sent.display = not self.area.display

    def on_descendant_focus(self) -> None:
        """Show the text that has the focus, and its keys."""
        self._show_text()
        self._name_keys()

    on_descendant_blur = on_descendant_focus

    @property
    def _former(self) -> str:
        """The text to restore, if it has been changed."""
        former = clean(self.original or (self._proposed.summary if self._proposed is not None else ""))
        return former if former != self.area.text else ""

    @property
    def _is_flagged(self) -> bool:
        """Whether enter first leads to a flagged part."""
        flaw = self._proposed is not None and (self._proposed.claims_marked or self._proposed.problem)
        return bool(flaw) and not (self._is_read or self.area.edited)

    @on(SentView.Changed)
    def _name_keys(self) -> None:
        if self.writing:
            self.key_row.hints = (Hint("esc", self.words.leaves, 0, "screen.close"),)
        elif self._facts.has_focus:
            keeps = Hint("enter", "keep it word for word")
            self.key_row.hints = (keeps, *self._hints("e", "f"), *self._ASIDE)
        elif self.focused is not None:
            checks = self._hints("n", *(["d"] if self._sent.text.marked else []))
            self._sent.hints(self.key_row, (*checks, *self._ASIDE), "in full")
        else:
            acts = {"a": self._risks, "f": self.words.focus, "o": self._former}
            keys = (key for key in ("enter", "a", "e", "o", "f", "n", "tab", "esc") if acts.get(key, True))
            self._sent.hints(self.key_row, self._hints(*keys), "in full")

    def _hints(self, *labels: str) -> Sequence[Hint]:
        leads = "check" if self._sent.text.progress else "edit"
        named = {"enter": leads if self._is_flagged else self.words.apply, "f": self.words.rewrites}
        return [key._replace(text=named.get(key.label, key.text)) for key in place_hints("review", *labels)]

    def _say(self, name: str, text: Content) -> None:
        row = self.query_one(name, Static)
        row.update(text)
        row.display = bool(text)

    def on_key(self, event: events.Key) -> None:
        """Pass only keys that are meant for the review; a user who has moved in it is not typing a prompt."""
        if self.area.editing:
            if event.character is not None and event.is_printable:
                # It was already queued for this screen when the text area got the focus.
                event.stop()
                self.area.insert(event.character)
            return
        letters = {*"adefnt", *("o" if self._former else "")} if not self.writing else set[str]()
        guards = self.GUARDS and not (self._is_read and self.stray.is_over)
        # Bindings run only after this.
        if guards and self.stray.catch(event, letters):
            event.stop()
        elif event.key == "e":
            # Immediately: what is typed next belongs to the text.
            event.stop()
            self.action_edit()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Leave the keys of a text field to it while it is edited."""
        own = action not in ("apply", "read") or self.focused is None
        return own and super().check_action(action, parameters)

    def action_apply(self) -> None:
        """Apply the summary; if a part of it is flagged, go there first."""
        if self._is_flagged:
            self.action_check() if self._sent.text.progress else self.action_edit()
        elif not self.writing:
            self.dismiss(Reviewed(self.area.summary))

    def action_read(self, step: int) -> None:
        """Move through the lines that would be sent, or scroll the summary's text."""
        self._is_read = True
        if self._sent.display:
            self.set_focus(self._sent.text)
            self._sent.text.action_line(step)
        else:
            self.area.scroll_relative(y=step, animate=False)

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        self._add(event.option_index)

    def _add(self, at: int) -> None:
        self.area.add_line(clean(verbatim(self._risks[at])))
        self._show_text()
        row = risk_row(self._risks[at], kept=True)
        self._facts.replace_option_prompt_at_index(at, row)

    def action_add(self) -> None:
        """Add the marked fact at risk to the text, and mark the next one."""
        at = self._facts.highlighted
        if at is not None and not self.writing:
            self._add(at)
            self._facts.highlighted = min(at + 1, len(self._risks) - 1)

    def action_other(self) -> None:
        if not self.writing:
            texts: list[Widget] = [self._sent.text if self._sent.display else self.area]
            round_ = [*texts, *([self._facts] if self._facts.display else [])]
            at = round_.index(self.focused) + 1 if self.focused in round_ else 0
            self._is_read = True
            # Immediately: the next key may be queued already.
            self.set_focus([*round_, None][at])

    def action_check(self) -> None:
        """Go to the next flagged line of what would be sent."""
        if self._sent.display and self._sent.text.progress:
            self._is_read = True
            self.set_focus(self._sent.text)
            self._sent.text.action_check()

    def action_drop(self) -> None:
        """Drop the marked line from what would be sent, and mark the next flagged one."""
        line, sent = self._sent.text.marked, self._replacement
        proposed, notes = self._proposed, self.area.text
        if line is None or not self._sent.display or proposed is None:
            return
        self.area.text = line.dropped_from(notes)
        if self.area.text != notes:
            self._dropped = self._dropped or proposed
            self._proposed = replace(
                proposed,
                lines=(proposed.lines or 1) - 1,
                lines_sourced=proposed.lines_sourced - (not line.mark),
                claims_marked=(proposed.claims_marked or 0) - (line.mark == NOT_IN_LOG),
            )
            self._say("#review-facts-line", facts_line(self._proposed))
        passages = [
            (origin, line.dropped_from(text) if origin == "model" else text) for origin, text in sent.passages
        ]
        self._show_sent(replace(sent, passages=passages))

    def on_sent_view_wanted(self, event: SentView.Wanted) -> None:
        self.app.push_screen(DetailsScreen(f"#{event.entry.message}  {event.entry.title}", event.text))

    def action_edit(self) -> None:
        self.area.display = self._is_read = True
        self.set_focus(self.area)

    def action_focus_on(self) -> None:
        """Ask for the focus of a rewrite."""
        if self.words.focus is not None:
            dialog = EditDialog(*self.words.focus, "", verb="rewrite")
            self.ask(dialog, lambda focus: Reviewed(None, focus=focus))

    def action_original(self) -> None:
        """Restore the initial text, as an edit that can be undone."""
        if former := self._former:
            self.area.replace(former, (0, 0), self.area.document.end)
            self.key_row.said = "ctrl+z brings your words back"
            if not self.original and (proposed := self._dropped or self._proposed) is not None:
                self._proposed, self._dropped = proposed, None
                self._show_sent(Replacement(proposed.passages, proposed.model))
                self._say("#review-facts-line", facts_line(proposed))
            self._show_text()
            self._name_keys()

    def action_attempt(self) -> None:
        """Let the model that will read the summary try it; only for an unedited one."""
        if self.words is SUMMARY and not (self.writing or self.area.edited):
            self.dismiss(Reviewed(None, attempt=True))

    def action_close(self) -> None:
        """Go one step back: out of the text, then discard.

        While it is being written, only close the screen.
        """
        if self.writing:
            self.abandon()
        elif self._sent.close():
            pass
        elif self.focused is not None:
            self.set_focus(None)
        elif self.area.edited:
            self.ask(ConfirmDialog("Discard what you have edited?", verb="Discard"), lambda _: Reviewed(None))
        else:
            self.dismiss(Reviewed(None))


Fill = tuple[ContextUsage, tuple[float, float]]
"""Context usage with a known window, and the positions of the gauge's marks as shares of it."""


def fill_of(app: "Host", session: ChatSession) -> Fill | None:
    """Return the current context usage; None while nothing is measured."""
    usage = session.state.usage
    if usage is None or usage.window.stated <= 0:
        return None
    return usage, marks(app.launch.settings, usage, session.state.policy)
