"""What a prompt cache makes of the next request: rules of providers, what is read, what that costs."""

import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from tui_app.context.counting.prices import LEAST_CACHED, provider_of, request_price
from tui_app.providers import ANTHROPIC, DEEPSEEK, GATEWAY, GOOGLE, GROQ, OPENAI
from tui_app.records import frozen

HOUR_S, MINUTES_S = 3_600.0, 300.0
# The vendors' pages that these numbers were read from are named in docs/models.md.
BEDROCK, OPENROUTER = "bedrock", "openrouter"
_BY_ITSELF = {OPENAI: MINUTES_S, GOOGLE: MINUTES_S, DEEPSEEK: HOUR_S, GROQ: 2 * HOUR_S}
"""Seconds for which providers keep what they have read without being asked, at the least."""
_MINIMUM = (
    ("claude-(opus|fable|mythos)-5", 512), ("claude-opus-4-[5-7]", 4_096), ("claude-haiku-4-5", 4_096),
    ("claude-(haiku-3|3-haiku|3-5-haiku)", 2_048), ("gemini-2-5", 2_048), ("gemini", 4_096),
    ("deepseek", 64),
)  # fmt: skip
"""Tokens below which nothing is kept, by a pattern in a model's name; all others: ``LEAST_CACHED``."""
_BEDROCK_LEAST = 1_024
"""Bedrock keeps nothing shorter of models that Anthropic itself keeps less of."""
_GPT = re.compile(r"gpt-(\d+)(?:-(\d+))?")
_GPT_KEPT, _GPT_KEPT_S = (5, 6), 1_800.0
"""From this version on OpenAI charges for writing and says how long it keeps what was written."""
_HOUR_PREMIUM = 4
"""Writing for an hour costs twice the input; writing for minutes, which price lists know, 1.25 times."""
_HOUR_SURCHARGE, _HOUR_LOSS = 0.75, 1.15
"""What writing for an hour costs more, and writing anew more than reading, as multiples of the input."""
_HOUR_CHANCE = 0.02
"""Share of requests that are taken to precede a pause which only an hour outlives."""
_SAMPLE = 10_000
"""Tokens by whose price the shares are found: more than any minimum, less than what is dearer when long."""
_SHORTFALL = 0.5
"""Share of the predicted tokens below which a reading fell short of it."""


@frozen
class CacheRule:
    """How one model's prompt cache works."""

    lifetime_s: float
    """Seconds since the last request until it is gone; 0 where nothing is kept."""
    least: int = LEAST_CACHED
    """Tokens below which nothing is kept."""
    premium: int = 1
    """What writing costs beyond the input, as a multiple of what price lists say of it."""
    chooses: bool = False
    """Whether it is decided for each request if what it sends is kept for an hour."""

    def hour_pays(self, new: int, total: int) -> bool:
        """Whether a request is kept for an hour: that costs little against losing what it begins with.

        Args:
            new: Tokens of it that are written.
            total: All of them.
        """
        return self.chooses and _HOUR_SURCHARGE * new < _HOUR_CHANCE * _HOUR_LOSS * total

    def with_hour_share(self, hour: float) -> "CacheRule":
        """The rule behind a request of which that share is kept for an hour."""
        return replace(self, lifetime_s=HOUR_S) if self.chooses and hour >= _SHORTFALL else self

    def writing(self, hour: float) -> "CacheRule":
        """The rule of what a request writes of which that share is kept for an hour."""
        return replace(self, premium=_HOUR_PREMIUM) if self.chooses and hour >= 1.0 else self


NO_CACHE = CacheRule(0.0, premium=0)


@frozen
class CacheRates:
    """What a request of the conversation as it is now pays for its tokens, as shares of the plain price."""

    kept: float
    """For one that begins as the request before did."""
    changed: float
    """For one behind a change."""

    def pays(self, freed: int, behind: int, requests: int) -> bool:
        """Whether a rewrite of what was sent costs less than it saves.

        Args:
            freed: Tokens that are gone.
            behind: Tokens from the first change on, which have to be read anew.
            requests: How many more there will be.
        """
        return freed * self.kept * requests > (self.changed - self.kept) * behind


def cache_rates(model: str, rule: CacheRule | None, idle_s: float) -> CacheRates | None:
    """What tokens cost within a request and behind a change of it; None where rule or price is not known.

    Args:
        model: Whom it goes to.
        rule: How that model's cache works, if that is known.
        idle_s: Seconds since its last request.
    """
    if rule is None:
        return None
    plain, warm = (cached_price(model, rule, _SAMPLE, read, 0, 0) for read in (0, _SAMPLE))
    fresh = cached_price(model, rule, _SAMPLE, 0, 0)
    if not plain or warm is None or fresh is None:
        return None
    # Once it has forgotten everything, all is read anew whatever is changed.
    return CacheRates((warm if idle_s < rule.lifetime_s else fresh) / plain, fresh / plain)


@frozen
class CacheContents:
    """What a cache was left with by a request."""

    tokens: int = 0
    hour: int = 0
    """Those at its beginning that are kept for an hour."""
    asked: float = 0.0
    """When it was sent, in seconds."""

    @property
    def share(self) -> float:
        """The share that is kept for an hour."""
        return self.hour / self.tokens if self.tokens else 0.0

    def read(self, rule: CacheRule, shared: int, at: float) -> int:
        """Tokens that the next request reads, of those that it begins with as this one did."""
        pause = at - self.asked
        # The mark stands at the end of a request: one that begins otherwise in front of it does not find it.
        hour = self.hour if rule.chooses and pause < HOUR_S and shared >= self.hour else 0
        left = self.tokens if pause < rule.lifetime_s else hour
        read = min(shared, left)
        return read if read >= rule.least else 0

    def next(self, rule: CacheRule, shared: int, total: int, at: float) -> "CacheContents":
        """What the next request leaves it with, of so many tokens."""
        read = self.read(rule, shared, at)
        before = self.hour if read >= self.hour else 0
        return CacheContents(total, total if rule.hour_pays(total - read, total) else before, at)


@dataclass(slots=True)
class CacheLife:
    """Follows what a cache still holds from one request of a conversation to the next."""

    rule: CacheRule | None
    """How it works; where that is not known, all that two requests share is taken for kept."""
    held: CacheContents = field(default_factory=CacheContents)

    def read(self, shared: int, total: int, at: float) -> int:
        """Tokens of a request that are read.

        Args:
            shared: How many of them are those of the request before.
            total: All of them.
            at: When it is sent, in seconds.
        """
        if self.rule is None:
            return shared if shared >= LEAST_CACHED else 0
        before, self.held = self.held, self.held.next(self.rule, shared, total, at)
        return before.read(self.rule, shared, at)


def cache_rule(model: str, retention: str = "auto", protocol: str = "") -> CacheRule | None:
    """The rule of a model's provider; None where it is not known.

    Args:
        model: Its name with the provider in front (``anthropic:claude-sonnet-4-5``).
        retention: What is asked of providers that want to be asked: ``auto``, ``1h`` or ``off``.
        protocol: What an endpoint of the user's own speaks, in place of its name.
    """
    provider, colon, name = model.removeprefix(f"{GATEWAY}/").partition(":")
    if not colon:
        # Transcripts of other programs name the model alone.
        provider, name = provider_of(model), model
    if protocol:
        # A server of the user's own that is not asked to keep anything may do so or not.
        provider = protocol if protocol == ANTHROPIC else ""
    routed = provider == OPENROUTER
    if routed:
        provider, _, name = name.partition("/")
        provider = provider.removeprefix("~").removesuffix("-ai")
    if provider == BEDROCK and "claude" not in name:
        return None
    plain = name.lower().replace(".", "-")
    least = next((tokens for part, tokens in _MINIMUM if re.search(part, plain)), LEAST_CACHED)
    if provider == BEDROCK:
        least = max(least, _BEDROCK_LEAST)
    if provider in (ANTHROPIC, BEDROCK):
        if retention == "off":
            return NO_CACHE
        if retention == "1h":
            return CacheRule(HOUR_S, least, _HOUR_PREMIUM)
        return CacheRule(MINUTES_S, least, chooses=provider == ANTHROPIC and not routed)
    if (lifetime := _BY_ITSELF.get(provider.partition("-")[0])) is None:
        return None
    version = _GPT.search(plain)
    says = version is not None and (int(version[1]), int(version[2] or 0)) >= _GPT_KEPT
    return CacheRule(_GPT_KEPT_S if says else lifetime, least)


@frozen(kw_only=True)
class CachedAnswer:
    """One answer, with what the log says of its request and of what happened since."""

    model: str
    asked: float
    """When its request was sent, in seconds since the epoch."""
    input_tokens: int
    """Of the request as the provider counted them, cached ones included."""
    output_tokens: int = 0
    read_tokens: int = 0
    """Read from the cache."""
    figures: bool = False
    """Whether its provider has ever said what of a request was cached."""
    kept: float | None = None
    """Share of the request before that this one began with; None where that was not measured."""
    hour: float = 0.0
    """Share of its request that is kept for an hour, where that was decided for it."""
    changes: tuple[str, ...] = ()
    """What has changed the beginning of requests since this answer, in words; empty for nothing."""

    @property
    def contents(self) -> CacheContents:
        hour = 0 if self.changes else round(self.hour * self.input_tokens)
        return CacheContents(self.input_tokens, hour, self.asked)


@frozen(kw_only=True)
class CacheOutlook:
    """What the next request costs, and how good the last forecast was."""

    warm_until: float | None = None
    """When what was sent last is forgotten, in seconds since the epoch; None where nothing is kept."""
    warm_usd: float | None = None
    """Price of the next request while the cache is warm; None where no price or no rule is known."""
    cold_usd: float | None = None
    """Its price where nothing can be read from the cache."""
    cold_from: float | None = None
    """When nothing of the last request can be read any more; None before the first, or where none is kept."""
    predicted_tokens: int | None = None
    """Tokens that it would read now; None where the provider's rule is not known."""
    last_predicted: int | None = None
    """Tokens that the last request was to read."""
    last_read: int | None = None
    """Tokens that it did read, as its provider says; None before the first answer."""
    broken_by: str = ""
    """Why it read far less than the request before had left there, in words; empty where it did not."""

    def is_warm(self, now: float) -> bool:
        return self.warm_until is not None and now < self.warm_until

    def costs_cold(self, now: float, limit: float) -> float | None:
        """What the next request costs where it finds the cache cold, and that is more than a limit.

        Args:
            now: Seconds since the epoch.
            limit: US dollars; 0 is for none.
        """
        is_cold = self.cold_from is not None and now >= self.cold_from
        return self.cold_usd if is_cold and limit and (self.cold_usd or 0.0) > limit else None

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def cache_outlook(
    model: str, rule: CacheRule | None, answers: Sequence[CachedAnswer], *, total: int, front: int, now: float
) -> CacheOutlook:
    """Say what the next request reads and costs.

    Args:
        model: Whom it goes to.
        rule: How that model's cache works, if that is known.
        answers: The last two, the older one first; fewer where there are not so many.
        total: Tokens of the request.
        front: Those of them that stand in front of the messages: what a rewrite of the history leaves alone.
        now: Seconds since the epoch.
    """
    last = answers[-1] if answers else None
    kept, until, cold_from = 0, None, None
    if rule is not None and last is not None and rule.lifetime_s:
        cold_from = last.asked + (
            rule.with_hour_share(last.contents.share).lifetime_s if last.model == model else 0.0
        )
    if cold_from is not None and last is not None and rule is not None and last.model == model:
        # Behind the minutes, what an hour keeps is left; the price while it is warm is not said of nothing.
        at = now if now < cold_from else last.asked
        kept = last.contents.read(rule, min(total, front if last.changes else last.input_tokens), at)
        until = cold_from if kept else None
    written = last.output_tokens if last is not None else 0
    warm = until is not None and now < until
    return CacheOutlook(
        warm_until=until,
        cold_from=cold_from,
        warm_usd=cached_price(model, rule, total, kept, written) if kept else None,
        cold_usd=cached_price(model, rule, total, 0, written),
        predicted_tokens=None if rule is None else kept if warm else 0,
        last_predicted=None if len(answers) < 2 else predicted_read(rule, *answers[-2:]),
        last_read=last.read_tokens if last is not None else None,
        broken_by=broken_by(rule, *answers[-2:]) if len(answers) > 1 else "",
    )


def predicted_read(rule: CacheRule | None, before: CachedAnswer, last: CachedAnswer) -> int | None:
    """Tokens that an answer's request was to read of the one before; None where that cannot be said."""
    if rule is None:
        return None
    if before.model != last.model or not before.contents.read(rule, before.input_tokens, last.asked):
        return 0
    if last.kept is None and before.changes:
        return None
    shared = round(before.input_tokens * (1.0 if last.kept is None else last.kept))
    return before.contents.read(rule, shared, last.asked)


def broken_by(rule: CacheRule | None, before: CachedAnswer, last: CachedAnswer) -> str:
    """Why a request read far less than it could have of the one before, in words; empty where it did not.

    Args:
        rule: How the cache of its model works; nothing is said where that is not known.
        before: The answer before.
        last: The answer to the request.
    """
    could = min(before.input_tokens, last.input_tokens)
    if rule is None or could < rule.least or not rule.lifetime_s or not last.figures:
        return ""
    if last.read_tokens >= _SHORTFALL * could:
        return ""
    if before.model != last.model:
        return "another model"
    if before.changes:
        return ", ".join(before.changes)
    if last.asked - before.asked >= rule.with_hour_share(before.contents.share).lifetime_s:
        return "the cache had expired"
    if last.kept is not None and last.kept < _SHORTFALL:
        return "other instructions or tools"
    return "not known: the provider did not keep it"


def cached_price(
    model: str, rule: CacheRule | None, total: int, read: int, answered: int, written: int | None = None
) -> float | None:
    """What a request costs by the rule of its provider's cache, in US dollars; None where no price is known.

    Args:
        model: Name of the model.
        rule: How its cache works, if that is known; price lists alone say what is paid otherwise.
        total: Tokens of the request.
        read: Those of them that are read from the cache.
        answered: Tokens of the answer.
        written: Those that are written into it; None is all that is not read.
    """
    rule = rule or CacheRule(0.0)
    read = read if read >= rule.least else 0
    written = total - read if written is None else written
    written = written if total >= rule.least else 0

    def price(writes: int) -> float | None:
        return request_price(
            model, input_tokens=total, cached_tokens=read, output_tokens=answered, written_tokens=writes
        )

    plain, listed = price(0), price(written)
    if plain is None or listed is None:
        return None
    # Lists know the price of writing for minutes: the difference it makes is taken that often.
    return plain + rule.premium * (listed - plain)
