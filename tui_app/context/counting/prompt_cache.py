"""Prompt cache forecasts for the next request: rules of providers, tokens read, and their cost."""

import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from tui_app.context.counting.prices import LEAST_CACHED, provider_of, request_price
from tui_app.providers import ANTHROPIC, DEEPSEEK, GATEWAY, GOOGLE, GROQ, OPENAI
from tui_app.records import frozen

HOUR_S, MINUTES_S = 3_600.0, 300.0
# The vendors' pages with these numbers are listed in docs/models.md.
BEDROCK, OPENROUTER = "bedrock", "openrouter"
_BY_ITSELF = {OPENAI: MINUTES_S, GOOGLE: MINUTES_S, DEEPSEEK: HOUR_S, GROQ: 2 * HOUR_S}
"""Minimum seconds for which providers cache automatically."""
_MINIMUM = (
    ("claude-(opus|fable|mythos)-5", 512), ("claude-opus-4-[5-7]", 4_096), ("claude-haiku-4-5", 4_096),
    ("claude-(haiku-3|3-haiku|3-5-haiku)", 2_048), ("gemini-2-5", 2_048), ("gemini", 4_096),
    ("deepseek", 64),
)  # fmt: skip
"""Minimum tokens that are cached, by a pattern in a model's name; ``LEAST_CACHED`` for all others."""
_BEDROCK_LEAST = 1_024
"""Bedrock's minimum for models with a lower one at Anthropic."""
_GPT = re.compile(r"gpt-(\d+)(?:-(\d+))?")
_GPT_KEPT, _GPT_KEPT_S = (5, 6), 1_800.0
"""From this version on OpenAI charges for cache writes and documents their lifetime."""
_HOUR_PREMIUM = 4
"""Cache writes for an hour cost twice the input; those for minutes, which price lists have, 1.25 times."""
_HOUR_SURCHARGE, _HOUR_LOSS = 0.75, 1.15
"""Extra cost of writing for an hour, and of writing again instead of reading, as multiples of the input."""
_HOUR_CHANCE = 0.02
"""Assumed share of requests followed by a pause that only an hour's cache survives."""
_SAMPLE = 10_000
"""Tokens whose price gives the rates: above any minimum, below surcharges for long requests."""
_SHORTFALL = 0.5
"""Share of the predicted tokens below which a cache read counts as a miss."""


@frozen
class CacheRule:
    """Rules of one model's prompt cache."""

    lifetime_s: float
    """Seconds since the last request until it expires; 0 if nothing is cached."""
    least: int = LEAST_CACHED
    """Minimum tokens that are cached."""
    premium: int = 1
    """Multiplier of the surcharge for cache writes in price lists."""
    chooses: bool = False
    """Whether the lifetime of an hour can be chosen per request."""

    def hour_pays(self, new: int, total: int) -> bool:
        """Whether to cache a request for an hour: the surcharge is small compared with losing its prefix.

        Args:
            new: Tokens of it that are written.
            total: All its tokens.
        """
        return self.chooses and _HOUR_SURCHARGE * new < _HOUR_CHANCE * _HOUR_LOSS * total

    def with_hour_share(self, hour: float) -> "CacheRule":
        """Return the rule after a request of which that share is cached for an hour."""
        return replace(self, lifetime_s=HOUR_S) if self.chooses and hour >= _SHORTFALL else self

    def writing(self, hour: float) -> "CacheRule":
        """Return the rule for writing a request of which that share is cached for an hour."""
        return replace(self, premium=_HOUR_PREMIUM) if self.chooses and hour >= 1.0 else self


NO_CACHE = CacheRule(0.0, premium=0)


@frozen
class CacheRates:
    """Current prices of the conversation's tokens, as shares of the plain input price."""

    kept: float
    """For tokens after the same prefix as in the previous request."""
    changed: float
    """For tokens after a change."""

    def pays(self, freed: int, uncached: int, requests: int) -> bool:
        """Whether rewriting sent messages costs less than it saves.

        Args:
            freed: Tokens that are removed.
            uncached: Tokens from the first change on, which are no longer cached.
            requests: Number of further requests.
        """
        return freed * self.kept * requests > (self.changed - self.kept) * uncached


def cache_rates(model: str, rule: CacheRule | None, idle_s: float) -> CacheRates | None:
    """Return the prices of tokens with and without a change before them; None if rule or price is unknown.

    Args:
        model: Name of the model.
        rule: Rule of that model's cache, if known.
        idle_s: Seconds since its last request.
    """
    if rule is None:
        return None
    plain, warm = (cached_price(model, rule, _SAMPLE, read, 0, 0) for read in (0, _SAMPLE))
    fresh = cached_price(model, rule, _SAMPLE, 0, 0)
    if not plain or warm is None or fresh is None:
        return None
    # After the cache has expired, everything is read again whether or not it changed.
    return CacheRates((warm if idle_s < rule.lifetime_s else fresh) / plain, fresh / plain)


@frozen
class CacheContents:
    """Cache state after a request."""

    tokens: int = 0
    hour: int = 0
    """Tokens at its beginning that are cached for an hour."""
    asked: float = 0.0
    """Time of the request, in seconds."""

    @property
    def share(self) -> float:
        """Share that is cached for an hour."""
        return self.hour / self.tokens if self.tokens else 0.0

    def read(self, rule: CacheRule, shared: int, at: float) -> int:
        """Return the tokens the next request reads, of those it begins with as this one did."""
        pause = at - self.asked
        # The mark is at the end of a request: one with a change before it does not find it.
        hour = self.hour if rule.chooses and pause < HOUR_S and shared >= self.hour else 0
        left = self.tokens if pause < rule.lifetime_s else hour
        read = min(shared, left)
        return read if read >= rule.least else 0

    def next(self, rule: CacheRule, shared: int, total: int, at: float) -> "CacheContents":
        """Return the cache state after the next request, which has so many tokens."""
        read = self.read(rule, shared, at)
        before = self.hour if read >= self.hour else 0
        return CacheContents(total, total if rule.hour_pays(total - read, total) else before, at)


@dataclass(slots=True)
class CacheLife:
    """Cache state from one request of a conversation to the next."""

    rule: CacheRule | None
    """Rule of the cache; if unknown, everything that two requests share counts as cached."""
    held: CacheContents = field(default_factory=CacheContents)

    def read(self, shared: int, total: int, at: float) -> int:
        """Return the tokens of a request that are read from the cache.

        Args:
            shared: Tokens at its beginning that are those of the previous request.
            total: All its tokens.
            at: Time of the request, in seconds.
        """
        if self.rule is None:
            return shared if shared >= LEAST_CACHED else 0
        before, self.held = self.held, self.held.next(self.rule, shared, total, at)
        return before.read(self.rule, shared, at)


def cache_rule(model: str, retention: str = "auto", protocol: str = "") -> CacheRule | None:
    """Return the cache rule of a model's provider; None if unknown.

    Args:
        model: Its name after the provider (``anthropic:claude-sonnet-4-5``).
        retention: Setting for providers that cache on request: ``auto``, ``1h`` or ``off``.
        protocol: Protocol of a user's own endpoint, used instead of its name.
    """
    provider, colon, name = model.removeprefix(f"{GATEWAY}/").partition(":")
    if not colon:
        # Transcripts of other programs have only the model's name.
        provider, name = provider_of(model), model
    if protocol:
        # A user's own server may cache without being asked, or not.
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
    """One answer, with what the log has about its request and about later changes."""

    model: str
    asked: float
    """Time of its request, in seconds since the epoch."""
    input_tokens: int
    """Input tokens as the provider counted them, including cached ones."""
    output_tokens: int = 0
    read_tokens: int = 0
    """Tokens read from the cache."""
    figures: bool = False
    """Whether its provider has ever reported cached tokens."""
    kept: float | None = None
    """Share of the previous request that this one began with; None if not measured."""
    hour: float = 0.0
    """Share of its request that is cached for an hour, if the lifetime was chosen for it."""
    changes: tuple[str, ...] = ()
    """Changes to the beginning of requests since this answer, in words; empty for none."""

    @property
    def contents(self) -> CacheContents:
        hour = 0 if self.changes else round(self.hour * self.input_tokens)
        return CacheContents(self.input_tokens, hour, self.asked)


@frozen(kw_only=True)
class CacheOutlook:
    """Forecast for the next request, and accuracy of the previous forecast."""

    warm_until: float | None = None
    """Expiry of the last request, in seconds since the epoch; None if nothing is cached."""
    warm_usd: float | None = None
    """Price of the next request while the cache is warm; None if price or rule is unknown."""
    cold_usd: float | None = None
    """Price if nothing can be read from the cache."""
    cold_from: float | None = None
    """When nothing of the last request can be read any more; None before the first, or without a cache."""
    predicted_tokens: int | None = None
    """Tokens it would read now; None if the provider's rule is unknown."""
    last_predicted: int | None = None
    """Predicted cache read of the last request, in tokens."""
    last_read: int | None = None
    """Its actual cache read as reported; None before the first answer."""
    broken_by: str = ""
    """Why it read far less than the previous request had left in the cache, in words; empty if it did not."""

    def is_warm(self, now: float) -> bool:
        return self.warm_until is not None and now < self.warm_until

    def costs_cold(self, now: float, limit: float) -> float | None:
        """Return the cost of the next request if the cache is cold then and the cost exceeds a limit.

        Args:
            now: Seconds since the epoch.
            limit: US dollars; 0 for none.
        """
        is_cold = self.cold_from is not None and now >= self.cold_from
        return self.cold_usd if is_cold and limit and (self.cold_usd or 0.0) > limit else None

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def cache_outlook(
    model: str, rule: CacheRule | None, answers: Sequence[CachedAnswer], *, total: int, front: int, now: float
) -> CacheOutlook:
    """Forecast the cache read and the cost of the next request.

    Args:
        model: Name of the model.
        rule: Rule of that model's cache, if known.
        answers: The last two, older one first; fewer if there are not so many.
        total: Tokens of the request.
        front: Tokens before the messages, which a rewrite of the history does not change.
        now: Seconds since the epoch.
    """
    last = answers[-1] if answers else None
    kept, until, cold_from = 0, None, None
    if rule is not None and last is not None and rule.lifetime_s:
        applied = rule.with_hour_share(last.contents.share)
        cold_from = last.asked + (applied.lifetime_s if last.model == model else 0.0)
    if cold_from is not None and last is not None and rule is not None and last.model == model:
        # After some minutes only what is cached for an hour is left; without cached tokens there is no warm
        # price.
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
    """Return the predicted cache read of an answer's request, in tokens; None if it cannot be predicted."""
    if rule is None:
        return None
    if before.model != last.model or not before.contents.read(rule, before.input_tokens, last.asked):
        return 0
    if last.kept is None and before.changes:
        return None
    shared = round(before.input_tokens * (1.0 if last.kept is None else last.kept))
    return before.contents.read(rule, shared, last.asked)


def broken_by(rule: CacheRule | None, before: CachedAnswer, last: CachedAnswer) -> str:
    """Return why a request read far less than it could, in words; empty if it did not.

    Args:
        rule: Rule of its model's cache; empty result if unknown.
        before: The previous answer.
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
    """Return the price of a request in US dollars by its provider's cache rule; None if unknown.

    Args:
        model: Name of the model.
        rule: Rule of its cache, if known; otherwise only price lists count.
        total: Tokens of the request.
        read: Tokens of it that are read from the cache.
        answered: Tokens of the answer.
        written: Tokens written to the cache; None for all that are not read.
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
    # Lists have the price of writing for minutes: multiply the difference it makes.
    return plain + rule.premium * (listed - plain)
