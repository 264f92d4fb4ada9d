"""Numbers and times in sentences, as the page writes them; pure."""

from __future__ import annotations


def duration(ms: float) -> str:
    """Milliseconds in words: `8 ms`, `3.17 s`, `2 min 05 s`."""
    whole = round(ms)
    if whole < 1000:
        return f"{whole} ms"
    if whole < 10_000:
        return f"{whole / 1000:.2f} s"
    if whole < 60_000:
        return f"{whole / 1000:.1f} s"
    minutes, rest = divmod(whole // 1000, 60)
    return f"{minutes:,} min {rest:02} s"


def percent(share: float) -> str:
    """A share in whole percents; a small one is not nothing, and nearly all is not all."""
    whole = round(share * 100)
    if whole == 0 and share > 0:
        return "<1 %"
    return "99 %" if whole == 100 and share < 0.995 else f"{whole} %"


def plural(count: int, noun: str) -> str:
    """A count and its noun: `1 call`, `4,841 calls`."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def times(count: int, what: str) -> str:
    """So often what: `41 x SELECT lines`, with the sign of a product."""
    return f"{count:,} \u00d7 {what}"


def short_path(path: str) -> str:
    """The last two parts of a file's path: enough to know the file in a sentence."""
    return "/".join(path.replace("\\", "/").split("/")[-2:])
