"""Walking through earlier prompts without losing the draft that was being written."""


class PromptHistory:
    """Earlier prompts, oldest first, and where the person stands among them."""

    def __init__(self, prompts: list[str] | None = None) -> None:
        self.prompts: list[str] = list(prompts or [])
        self._at: int | None = None
        self._draft = ""

    def add(self, text: str) -> None:
        """Remember a prompt; a repetition of the newest one is not kept twice."""
        if text.strip() and (not self.prompts or self.prompts[-1] != text):
            self.prompts.append(text)
        self._at = None

    def back(self, draft: str) -> str | None:
        """The prompt before, or ``None`` at the oldest. The first step keeps ``draft`` for the way back."""
        if self._at is None:
            self._draft = draft
        at = len(self.prompts) if self._at is None else self._at
        if at == 0:
            return None
        self._at = at - 1
        return self.prompts[self._at]

    def forward(self) -> str | None:
        """The prompt after, at the end the draft itself; ``None`` when not among earlier prompts."""
        if self._at is None:
            return None
        self._at += 1
        if self._at < len(self.prompts):
            return self.prompts[self._at]
        self._at = None
        return self._draft

    def stop(self) -> None:
        """Forget the place: the person went on typing."""
        self._at = None
