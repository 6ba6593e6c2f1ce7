"""Settled: the first of a shared order that is good enough."""
