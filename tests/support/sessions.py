"""Learners small enough for a session, and what is compared of their results."""

# Every learner that a protocol can name, with sizes small enough for a pool of 120 items.
LEARNERS = {
    "erm": {"name": "erm", "k_final": 20},
    "cal": {"name": "cal"},
    "cal-rounds": {"name": "cal-rounds", "theta": 2.0, "k_loop": 4},
    "a2": {"name": "a2"},
    "a2-batch": {"name": "a2", "batch": 5},
    "a2-rounds": {"name": "a2-rounds", "theta": 1.0, "nu": 0.01, "k_loop": 6, "k_final": 8},
    "replicable-erm": {"name": "replicable-erm", "nu": 0.0, "k_final": 25},
    "replical": {"name": "replical", "plan": "paper", "theta": 2.0, "k_loop": 4, "k_final": 4},
    "replica2": {"name": "replica2", "plan": "paper", "theta": 1.0, "nu": 0.01, "k_loop": 6, "k_final": 8},
    "handicap": {"name": "handicap", "epsilon": 0.3},
    "handicap-batch": {"name": "handicap", "epsilon": 0.3, "batch": 4, "max_labels": 40},
    "handicap-noiseless": {"name": "handicap", "epsilon": 0.3, "nu": 0.0},
    "handicap-noiseless-batch": {"name": "handicap", "epsilon": 0.3, "nu": 0.0, "batch": 3},
    "boosted": {"name": "boosted-replicable-erm", "nu": 0.0, "k_final": 4, "strings": 2, "runs": 3},
    "boosted-heavy-hitters": {
        "name": "boosted-replica2",
        **{"plan": "paper", "theta": 1.0, "nu": 0.01, "k_loop": 3, "k_final": 4, "strings": 3, "runs": 3},
    },
}


def figures(result):
    """All of a result that a certificate tells."""
    told = (result.hypothesis, result.unrounded, result.V.indices.tolist(), result.conditions, result.labels)
    return (*told, result.rounds, result.proof)
