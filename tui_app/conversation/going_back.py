"""Going back to before a prompt: the conversation, and the files as well where a person wants that."""

from dataclasses import dataclass, replace

from tui_app.conversation.again import last_prompt, prompt_at
from tui_app.conversation.compactions import Compactions
from tui_app.conversation.file_keeping import FileKeeper
from tui_app.conversation.work import Prompt, Restate, Restore, RestoreFiles, Rewind
from tui_app.events import Notice

NOTHING = "Nothing to try again: there is no earlier prompt."


@dataclass(slots=True)
class GoingBack:
    """Rewinds one conversation, and takes back what a rewind did to files."""

    compactions: Compactions
    files: FileKeeper

    async def do(self, work: Rewind | RestoreFiles) -> None:
        """Do what was asked for; what cannot be done is said."""
        match work:
            case Rewind(to, files):
                if self.compactions.rewind(to) and files != "keep":
                    await self.files.restore(to, overwrite=files == "overwrite")
            case RestoreFiles(seq):
                await self.files.undo(seq)

    async def forward(self, work: Restate | Restore) -> bool:
        """Take back the newest rewind or clear where that is what is asked for, with what it did to files.

        Returns:
            Whether it was asked for; a compaction or a rewrite is taken back otherwise.
        """
        history = self.compactions.history
        asked = (work.rewrite,) if isinstance(work, Restore) else history.view.reversible
        cut = next(iter(history.view.reversible), 0)
        named = isinstance(work, Restate) and (work.compaction or not work.undo)
        if not cut or named or cut not in asked:
            return False
        self.compactions.restore(cut)
        for restored in self.files.restored_since(cut):
            await self.files.undo(restored)
        return True

    async def again(self, work: Rewind) -> Prompt | None:
        """Take back what came of the last prompt; one that nobody answered has left the context by itself.

        Returns:
            What is to be sent now; None where there is no earlier prompt, which is said.
        """
        history = self.compactions.history
        seq = last_prompt(history)
        prompt = prompt_at(history, seq)
        if prompt is None:
            history.append(Notice(text=NOTHING, passing=True))
        elif history.view.can_rewind(seq):
            history.rewind(seq, again=True)
            if work.files != "keep":
                await self.files.restore(seq, overwrite=work.files == "overwrite")
        return None if prompt is None else replace(prompt, above_budget=work.above_budget)
