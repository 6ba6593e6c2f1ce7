"""The mathematics behind the promises, free of plans and learners: bounds and estimates of how often labs differ.

The rank lemma, the bound gamma that one lab computes from its own pool, the estimate beside it, and the paper's
subroutines and sample sizes, one function each. Each bound has a proof in docs/claims.
"""
