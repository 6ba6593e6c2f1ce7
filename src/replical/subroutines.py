"""rSTAT and rHeavyHitters on any sampler: the public name of `replical.bounds.subroutines`."""

from replical.bounds.subroutines import HeavyHitters, Sampler, Statistic, rheavyhitters, rstat

__all__ = ["HeavyHitters", "Sampler", "Statistic", "rheavyhitters", "rstat"]
