"""A lab's unlabelled items, the hypotheses still alive on them, and the questions asked about them.

A pool is scanned once, in private order; a known distribution takes its place where draws have no limit. `version_space`
keeps the survivors, `query` is what a learner says and hears, `labels` is who answers.
"""
