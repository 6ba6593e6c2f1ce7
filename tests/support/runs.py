"""Run after run of one learner, each on a pool and with a string of its own."""

from itertools import count

from replical import KnownLabels, PrivateRandomness, SharedRandomness, learn


def results(learner, world, seed):
    """Results on pools of a known distribution; there is always another one."""
    for number in count():
        private = PrivateRandomness.simulated(seed, number)
        pool = world.pool("exact", private)
        yield learn(learner, pool, world.labels(pool, private), SharedRandomness(f"{seed} {number}"))


class Overheard(KnownLabels):
    """Labels that remember what was asked."""

    def __init__(self, C, column):
        super().__init__(C, column)
        self.asked = []

    def answer(self, query):
        self.asked.append(query.items)
        return super().answer(query)
