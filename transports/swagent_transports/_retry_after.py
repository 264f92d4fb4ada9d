"""For how long a collector asks to be left alone with a `Retry-After` header, in either of its forms."""

from __future__ import annotations

import re
from datetime import timezone
from email.utils import parsedate_to_datetime

LONGEST = 60.0
_SECONDS = re.compile("[0-9]+")


def read_retry_after(text: str, now: float) -> float | None:
    """Seconds to wait, from 0 to `LONGEST`; None for what is neither seconds nor a date. Never raises.

    :param text: the header's value
    :param now: the wall clock, in seconds since 1970
    """
    text = text.strip()
    if _SECONDS.fullmatch(text):
        # not by int() alone: it refuses a number with thousands of digits
        digits = text.lstrip("0")
        return min(float(digits or 0), LONGEST) if len(digits) < 9 else LONGEST
    try:
        moment = parsedate_to_datetime(text)
        # a date without a zone is in UTC: HTTP knows no other
        until = moment.timestamp() if moment.tzinfo else moment.replace(tzinfo=timezone.utc).timestamp()
    except (ArithmeticError, LookupError, TypeError, ValueError):
        # email's parser is lenient, and not total
        return None
    return min(max(until - now, 0.0), LONGEST)
