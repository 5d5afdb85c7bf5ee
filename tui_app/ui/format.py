"""Numbers as a person reads them; pure functions, the same wording on every screen."""

from datetime import datetime, tzinfo

from tui_app import plurals

count = plurals.count


def tokens(count: int) -> str:
    """Write a number of tokens: ``8``, ``0.2k``, ``91.5k``, ``128k``, ``1.1M``.

    Below 100 the number is exact; above, thousands or millions with one digit, which is left out when
    it is zero and the whole part has three digits or more.
    """
    if count < 0:
        return f"-{tokens(-count)}"
    if count < 100:
        return str(count)
    if count < 999_950:
        return _scaled(count / 1_000, "k")
    return _scaled(count / 1_000_000, "M")


def _scaled(value: float, unit: str) -> str:
    digits = f"{value:.1f}"
    if digits.endswith(".0") and value >= 99.95:
        digits = digits[:-2]
    return f"{digits}{unit}"


def duration(seconds: float) -> str:
    """Write a span of time: ``0.4 s``, ``6 s``, ``2 min 5 s``, ``1 h 3 min``."""
    seconds = max(0.0, seconds)
    if seconds < 0.95:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    minutes, rest = divmod(whole, 60)
    if minutes < 60:
        return f"{minutes} min {rest} s" if rest else f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if minutes else f"{hours} h"


def clock(epoch: float, tz: tzinfo | None = None) -> str:
    """Write a moment as hour and minute.

    Args:
        epoch: Seconds since the epoch.
        tz: Time zone to show it in; None for that of the machine.

    Returns:
        For example ``12:04``; empty when the platform cannot represent the moment.
    """
    try:
        return datetime.fromtimestamp(epoch, tz).strftime("%H:%M")
    except (OverflowError, OSError, ValueError):
        return ""


def percent(share: float) -> str:
    """Write a share (1.0 is all) as whole percent: ``71 %``; never a false ``0 %`` or ``100 %``."""
    value = round(share * 100)
    if share > 0 and value == 0:
        return "<1 %"
    if share < 1 and value == 100:
        return "99 %"
    return f"{value} %"


def cost(usd: float) -> str:
    """Write a price in US dollars: ``$0.42``, below ten cents ``$0.004``; never a false zero."""
    if usd <= 0:
        return "$0.00"
    if usd < 0.0005:
        return "<$0.001"
    return f"${usd:.3f}" if usd < 0.0995 else f"${usd:,.2f}"


def count_lines(text: str) -> int:
    """Count the lines of a text; a newline at its end does not begin another one."""
    if not text:
        return 0
    return text.count("\n") + (not text.endswith("\n"))


def file_size(count: int) -> str:
    """Bytes as ``812 B``, ``65.6 kB``, ``1.6 MB``."""
    if count < 1_000:
        return f"{count} B"
    return f"{count / 1e3:.1f} kB" if count < 1_000_000 else f"{count / 1e6:.1f} MB"
