"""What time it is: the server's clock decides, and never goes back.

A machine's clock may be set back while a market runs. Every moment that is written down is therefore the later of the
clock and the last moment written, market by market (see `Held.now`); here is only the clock.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from kantor.service.terms import instant

__all__ = ["Clock"]


class Clock:
    """The system's clock; `ahead` lets a test or a rehearsal move on without waiting."""

    def __init__(self) -> None:
        self.ahead = timedelta(0)

    def moment(self) -> datetime:
        """Now, in UTC."""
        return datetime.now(UTC) + self.ahead

    def now(self) -> str:
        """Now, as it is written down."""
        return instant(self.moment())

    def later(self, seconds: float) -> str:
        """So many seconds from now."""
        return instant(self.moment() + timedelta(seconds=seconds))
