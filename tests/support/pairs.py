"""Many pairs of labs, with or without a mutant, for the guarantee tests."""

from replical import Population, PrivateRandomness, SharedRandomness
from replical.core.binomial import detects, rejects_at
from replical.worlds.audit import pair_string, run_lab
from support.mutants import PrivateFor


def failures(learner, C, pool_size, pairs, seed, mutant=None, noise=0.0):
    """Pairs that differ, labs above ε, mean survivors."""
    differ = above = survivors = 0
    predictions = Population(C, target=0).predictions
    for number in range(pairs):
        target = int(PrivateRandomness.simulated(seed, number, "world").generator().integers(len(C)))
        world, string = Population(C, target=target, noise=noise, predictions=predictions), pair_string(seed, number)
        labs = []
        for lab in "AB":
            shared = PrivateFor(string, f"{string} {lab}", mutant) if mutant else SharedRandomness(string)
            labs.append(run_lab(learner, world, pool_size, shared, (seed, number, lab)))
        differ += labs[0].result.hypothesis != labs[1].result.hypothesis
        above += sum(lab.excess_error > learner.plan.epsilon for lab in labs)
        survivors += sum(lab.result.V.size for lab in labs)
    return differ, above, survivors / (2 * pairs)


def assert_promise(learner, C, task, pairs, alarm, seed, record_property, noise=0.0):
    """Exact tests of ρ and δ at half the alarm each, on a world that leaves at least 20 survivors."""
    differ, above, survivors = failures(learner, C, "exact", pairs, seed, noise=noise)
    power = detects(pairs, task["rho"], alarm / 2)
    record_property("power", f"{differ} of {pairs} pairs differ; would find a failure probability of {power:.3f}")
    assert power <= 2 * task["rho"]
    assert survivors >= 20
    assert differ < rejects_at(pairs, task["rho"], alarm / 2)
    assert above < rejects_at(2 * pairs, task["delta"], alarm / 2)
