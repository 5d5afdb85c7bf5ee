"""Going back to before a prompt: the conversation, and the files as well where a person wants that."""

from dataclasses import dataclass

from tui_app.conversation.compactions import Compactions
from tui_app.conversation.file_keeping import FileKeeper
from tui_app.conversation.work import RestoreFiles, Rewind


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
