"""All laws, by name."""

from laws import Law
from laws.agreement import ENUMERATION, MISOCP
from laws.expectations import INTERIM, SAME_COST
from laws.incentives import CLOCK, TRUTHFUL
from service.faults.laws import SERVICE

LAWS: dict[str, Law] = {law.name: law for law in (ENUMERATION, MISOCP, INTERIM, *TRUTHFUL, CLOCK, SAME_COST, *SERVICE)}
