"""Simulated worlds, where the truth is known: populations, label noise, pairs of labs.

`audit` runs pairs of labs and counts how often they agree, `forecast` does so with a lab's own items, `theta` measures a
class, `experiment` makes learner and world from words, `datasets` has two worlds of real data.
"""
