"""Many pairs of labs, with or without a mutant, for the guarantee tests."""

from statistics import mean
from types import SimpleNamespace

from replical import Population, PrivateRandomness, SharedRandomness
from replical.worlds.labs import pair_string, run_lab
from support.mutants import PrivateFor
from support.sequential import Promise


def strings(seed, number, mutant=None):
    """What labs A and B of a pair take for the shared string; the words of the name `mutant` are each lab's own."""
    string = pair_string(seed, number)
    return [PrivateFor(string, f"{string} {lab}", mutant) if mutant else SharedRandomness(string) for lab in "AB"]


def pairs(learner, C, pool_size, seed, mutant=None, noise=0.0, worlds=Population):
    """Pair after pair: do the labs differ, which are above ε, how many survive and how many exchanges, on average."""
    predictions, number = Population(C, target=0).predictions, 0
    while True:
        target = int(PrivateRandomness.simulated(seed, number, "world").generator().integers(len(C)))
        world = worlds(C, target=target, noise=noise, predictions=predictions)
        labs = [
            run_lab(learner, world, pool_size, shared, (seed, number, lab))
            for lab, shared in zip("AB", strings(seed, number, mutant), strict=True)
        ]
        yield SimpleNamespace(
            differ=labs[0].result.hypothesis != labs[1].result.hypothesis,
            above=[lab.excess_error > learner.plan.epsilon for lab in labs],
            survivors=sum(lab.result.V.size for lab in labs) / 2,
            exchanges=sum(len(lab.result.rounds) for lab in labs) / 2,
        )
        number += 1


def judged(
    learner, C, task, trials, alarm, seed, *, mutant=None, noise=0.0, pool_size="exact", worlds=Population, exchanges=0
):
    """The promises of ρ and δ, tested at half the alarm each with the power of so many pairs, and the mean survivors.

    Pairs are run until both promises are decided, or one is broken. On average labs ask at least `exchanges` times.
    """
    differ, above = Promise(task["rho"], trials, alarm / 2), Promise(task["delta"], 2 * trials, alarm / 2)
    heard = []
    for pair in pairs(learner, C, pool_size, seed, mutant, noise, worlds):
        differ.hear(pair.differ)
        above.hear(*pair.above)
        heard.append(pair)
        if differ.broken or above.broken or not (differ.open or above.open):
            assert mean(pair.exchanges for pair in heard) >= exchanges
            return differ, above, mean(pair.survivors for pair in heard)
    raise AssertionError("pairs do not end")


def assert_promise(learner, C, task, trials, alarm, seed, record_property, noise=0.0, **how):
    """Labs agree and are accurate, as often as promised, on a world that leaves at least 20 survivors."""
    differ, above, survivors = judged(learner, C, task, trials, alarm, seed, noise=noise, **how)
    record_property("power", differ.told())
    assert survivors >= 20
    assert differ.broken is False
    assert above.broken is False


def assert_broken(learner, C, task, trials, alarm, seed, mutant, noise=0.0, **how):
    """The same test finds that labs with this mutant differ too often."""
    differ, _, survivors = judged(learner, C, task, trials, alarm, seed, mutant=mutant, noise=noise, **how)
    assert survivors >= 20
    assert differ.broken
