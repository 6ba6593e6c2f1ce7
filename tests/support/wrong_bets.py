"""Bets that are wrong, for tests that must find that out."""

from dataclasses import replace

import numpy as np

from replical.learners.settled.bets import Charges, Purses


class NoZeros(Charges):
    """Items that were not asked are forgotten: those asked are the ones on which candidates differ."""

    def reject(self, o, among, block):
        return super().reject(o, among, replace(block, scanned=len(block.wrong)))


def by_estimate(most):
    """Purses that suffice as soon as an excess looks like `most` or less."""

    class ByEstimate(Purses):
        def _about(self, m, rivals):
            zeros, plus, minus = self._counts[m][:, rivals]
            return np.where((plus - minus) <= most * (zeros + plus + minus), np.inf, -np.inf)

        def _suffices(self, m, g):
            return True

    return ByEstimate
