"""kantor: a market for differentially-private data."""

from kantor.valuation.wasserstein import sliced_wasserstein, wasserstein

__version__ = "0.1.0"
__all__ = ["sliced_wasserstein", "wasserstein"]
