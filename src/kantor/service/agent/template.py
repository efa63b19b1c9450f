"""A terms file to begin with: every term that a buyer has to think about, with what it means beside it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Literal, TypeAlias

__all__ = ["Way", "template"]

Way: TypeAlias = Literal["private", "public", "declared"]

_VALUATION = {
    "private": """[valuation]
way = "private"               # three parties compute the distances; nobody sees the target or anybody's data
method = { method = "histogram", low = 0, high = 40, bins = 100 }
# histogram: any data, against all owners' values together. For series of one length, against their mean:
# method = { method = "aligned", low = 0, high = 40, length = 365, bits = 12 }""",
    "public": """[valuation]
way = "public"                # everybody sees the target, and owners compute their own distance
target_file = "target.csv"    # one column of numbers, beside this file""",
    "declared": """[valuation]
way = "declared"              # owners state their distance themselves, and nobody can check it""",
}

_TEXT = """# Terms of a market. When it opens they are frozen and published: everybody sees them and signs their digest.
# Write your own over what is here, then:  kantor buyer create terms.toml

title = "A year of daily household loads"
purpose = "What the data are for, in a few words that owners will read."
currency = "EUR"
least_owners = 20             # with fewer, the market is called off and you get your money back
most_owners = 1000

[rule]
mechanism = "exogenous"       # exogenous: the best data for a budget. endogenous: data that beat a reference loss.
                              # joint: the least sum of loss and payments.
limit = "EUR 500.00"          # the budget (or the reference loss); or in the smallest unit: 50000
payments = "clock"            # clock: honest prices are best for owners, and never over budget: the deposit is the
                              # budget. threshold: honest, cheaper, and the deposit has to cover the worst case.
                              # virtual: as the paper prints it; owners gain by asking for more.
prior = "uniform:0:500"       # what you believe of owners' prices, in the smallest unit: here 0.00 to 5.00.
                              # No price outside can be bid.
confidence = 0.95             # of the bound on the distance of what you buy

{valuation}

[data]
what = "kWh a day, from 1 January to 31 December 2026, one value for each day"
records = 365                 # how many values each owner's series has
low = 0                       # no value is below this, or above that: limits that hold whatever the data are,
high = 40                     # since the noise is as large as they are wide

[privacy]
noise = "laplace"             # or gaussian, with a delta such as 1e-6
unit = "record"               # the noise hides any one value; "series" hides all of them; a number, that many
epsilon_low = 0.5             # owners choose their epsilon between these: more means less noise
epsilon_high = 10

[trustees]
threshold = 2                 # so many of them open the bids together, after bidding has ended and never before

[[trustees.members]]          # as `kantor trustee init` prints it, once for each trustee
name = "Consumers' association"
signing = "PASTE THE TRUSTEE'S KEY"
receiving = "PASTE THE TRUSTEE'S OTHER KEY"

[[trustees.members]]
name = "University"
signing = "PASTE THE TRUSTEE'S KEY"
receiving = "PASTE THE TRUSTEE'S OTHER KEY"

[schedule]                    # by the server's clock; write times with their zone (Z is UTC)
enrol_until = {enrol}
bid_until = {bid}
deliver_within = 604800       # seconds after the clearing: a week
dispute_within = 259200       # seconds after the deliveries in which you may object to one: three days
early = false                 # true: a stage ends as soon as there is nobody left to wait for

[delivery]
aggregate = "mixture"         # what you get: mixture (all values together), euclidean (the mean of the series),
                              # barycenter (the values averaged by rank)
individual = false            # true: each winner's own noised series as well
"""


def template(way: Way, now: datetime | None = None) -> str:
    """The file, with times from a week and two weeks ahead."""
    noon = (now or datetime.now(UTC)).astimezone(UTC).replace(hour=12, minute=0, second=0, microsecond=0)
    enrol, bid = (f"{noon + timedelta(days=days):%Y-%m-%dT%H:%M:%SZ}" for days in (7, 14))
    return _TEXT.format(valuation=_VALUATION[way], enrol=enrol, bid=bid)
