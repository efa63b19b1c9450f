"""kantor: a market for differentially-private data.

The names below are the public ones; the folders follow the theory, in its order (see the README's map).
"""

from kantor import errors, studies
from kantor.bids.bids import Bids
from kantor.bids.priors import EmpiricalPrior
from kantor.clearing import baselines
from kantor.clearing.audit import Audit, audit
from kantor.clearing.clear import clear
from kantor.clearing.mechanisms import Endogenous, Exogenous, Joint, Mechanism
from kantor.clearing.outcome import Clearing, Decision, Rules
from kantor.clearing.planner import Plan, plan
from kantor.clearing.reading import read_clearing
from kantor.clearing.takes import WhatItTakes, what_it_takes
from kantor.owners.aggregation import aggregate
from kantor.owners.balance import Balance
from kantor.owners.collection import Owners, as_owners
from kantor.owners.impossible import impossible_outputs
from kantor.owners.release import Release, release
from kantor.valuation import tasks
from kantor.valuation.coalitions import coalition_distances, coalitions
from kantor.valuation.coverage import Coverage, calibrated_confidence, coverage, needed_factors
from kantor.valuation.distances import METRICS, distances
from kantor.valuation.divergences import js, kl, ks, tv
from kantor.valuation.hoeffding import coalition_bounds, hoeffding_bound, mean_bounds, nearest_bounds
from kantor.valuation.lipschitz import check_lipschitz, diameter_bounds, slope_in_data
from kantor.valuation.noise import noise_distance, noisy_distance, noisy_distance_bound
from kantor.valuation.reference import ReferenceBudget, reference_budget
from kantor.valuation.shapley import Shapley, shapley, shapley_estimate
from kantor.valuation.wasserstein import sliced_wasserstein, wasserstein

__version__ = "0.1.0"
__all__ = [
    "METRICS",
    "Audit",
    "Balance",
    "Bids",
    "Clearing",
    "Coverage",
    "Decision",
    "EmpiricalPrior",
    "Endogenous",
    "Exogenous",
    "Joint",
    "Mechanism",
    "Owners",
    "Plan",
    "ReferenceBudget",
    "Release",
    "Rules",
    "Shapley",
    "WhatItTakes",
    "aggregate",
    "as_owners",
    "audit",
    "baselines",
    "calibrated_confidence",
    "check_lipschitz",
    "clear",
    "coalition_bounds",
    "coalition_distances",
    "coalitions",
    "coverage",
    "diameter_bounds",
    "distances",
    "errors",
    "hoeffding_bound",
    "impossible_outputs",
    "js",
    "kl",
    "ks",
    "mean_bounds",
    "nearest_bounds",
    "needed_factors",
    "noise_distance",
    "noisy_distance",
    "noisy_distance_bound",
    "plan",
    "read_clearing",
    "reference_budget",
    "release",
    "shapley",
    "shapley_estimate",
    "sliced_wasserstein",
    "slope_in_data",
    "studies",
    "tasks",
    "tv",
    "wasserstein",
    "what_it_takes",
]
