"""All laws, by name: those of a clearing, and those of the running market."""

from laws import Law
from laws.agreement import ENUMERATION, MISOCP
from laws.expectations import INTERIM, SAME_COST
from laws.incentives import CLOCK, TRUTHFUL
from service.faults.laws import SERVICE

CLEARING: dict[str, Law] = {law.name: law for law in (ENUMERATION, MISOCP, INTERIM, *TRUTHFUL, CLOCK, SAME_COST)}
LAWS: dict[str, Law] = CLEARING | {law.name: law for law in SERVICE}
