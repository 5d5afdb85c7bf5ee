"""Sizes above which a model has refused requests, and how that belief wears off again."""

from dataclasses import dataclass

_FLOOR = 0.5
"""Share of the announced size below which no ceiling outlasts an answer."""
_RECOVERY = 0.05
"""Share of the announced size by which every further answer raises a ceiling."""
_NEAR = 0.95
"""Share of a ceiling at which an answered request shows that the ceiling is too low."""
SMALLEST_WINDOW = 512
"""Window, in tokens, that no model is served without: nothing smaller is believed, whoever names it."""
_SMALLEST = SMALLEST_WINDOW // 2
"""Request, in tokens, that fits even there: no ceiling is lower."""


@dataclass(frozen=True, slots=True)
class Ceiling:
    """What a refusal has taught. All sizes are input tokens of our estimate."""

    tokens: int
    """Size the next request may have."""
    lasting: int = 0
    """Size that stays once the retry is answered; 0 where the refusal named the limit itself."""
    retrying: bool = True
    """Whether no request has been answered since the refusal."""

    @classmethod
    def refused(cls, target: int, announced: int, *, named: bool) -> "Ceiling":
        """The ceiling after a refusal.

        The retry must be smaller than what was refused, however small that was. What is believed afterwards
        never falls below half of the announced size, or a few refusals would cost a model its window.

        Args:
            target: Size worth sending next.
            announced: Size that whoever knows the model says it takes.
            named: Whether the refusal named the limit, which then is known without any ceiling.
        """
        lasting = 0 if named else max(_SMALLEST, target, round(announced * _FLOOR))
        return cls(max(_SMALLEST, target), lasting)

    def answered(self, size: int, announced: int) -> "Ceiling | None":
        """The ceiling after an answer; None when there is none any longer.

        The first answer after a refusal proves no more than that the retry fits. Every further one raises
        the ceiling a step, and one to a request about as large as the ceiling, or larger, ends it.

        Args:
            size: Tokens of the answered request.
            announced: Size that whoever knows the model says it takes.
        """
        if not self.lasting or size > self.lasting:
            return None
        if self.retrying:
            return Ceiling(self.lasting, self.lasting, retrying=False)
        raised = self.lasting + max(1, round(announced * _RECOVERY))
        if size >= self.lasting * _NEAR or raised >= announced:
            return None
        return Ceiling(raised, raised, retrying=False)
