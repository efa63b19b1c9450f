"""Money as whole minor units, and how people write it.

Every amount in a market is a whole number of the currency's smallest unit (cents, usually). Amounts are read and shown
in major units with the currency's digits; nothing in between is ever a float.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from kantor.errors import InputError

__all__ = ["Currency"]

_MOST = 10**15


@dataclass(frozen=True)
class Currency:
    """A currency's code, and how many digits its minor unit has.

    >>> euro = Currency("EUR", 2)
    >>> euro.parse("12.5"), euro.show(1250)
    (1250, 'EUR 12.50')
    """

    code: str
    digits: int = 2

    def __post_init__(self) -> None:
        if not re.fullmatch("[A-Z]{3}", self.code) or not 0 <= self.digits <= 6:
            raise InputError(
                f"the currency is {self.code!r} with {self.digits} digits",
                remedy='Give three capital letters and 0 to 6 digits, such as "EUR" and 2.',
                value=self.code,
            )

    def parse(self, text: str, *, argument: str = "amount") -> int:
        """A written amount in minor units."""
        found = re.fullmatch(r"(?:([A-Z]{3}) )?([0-9]{1,15})(?:\.([0-9]+))?", text.strip())
        if found is None or found[1] not in (None, self.code) or len(found[3] or "") > self.digits:
            example = f"12.{'5' + '0' * (self.digits - 1)}" if self.digits else "12"
            raise InputError(
                f"{text!r} is no amount in {self.code}",
                remedy=f"Write it as {example}: digits and at most {self.digits} after a point, no other signs.",
                value=text,
                argument=argument,
            )
        amount = int(found[2]) * 10**self.digits + int((found[3] or "").ljust(self.digits, "0") or 0)
        if amount > _MOST:
            raise InputError(f"{text!r} is more than a market can hold", remedy="Give less.", argument=argument)
        return amount

    def plain(self, amount: int) -> str:
        """An amount without the currency's code: 12.50."""
        whole, rest = divmod(abs(amount), 10**self.digits)
        return f"{'-' if amount < 0 else ''}{whole}" + (f".{rest:0{self.digits}}" if self.digits else "")

    def show(self, amount: int) -> str:
        """An amount with its code: EUR 12.50."""
        return f"{self.code} {self.plain(amount)}"
