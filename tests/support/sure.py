"""Labs that are sure of their answer: how often one of them is wrong, and how often two differ."""

from itertools import count

from replical import PrivateRandomness, SharedRandomness


def wrongly_sure(results, ideal, promise):
    """Hear labs until it is known how often one is certified and its answer not `ideal`; the share that is certified."""
    certified = 0
    for result in results:
        if not promise.open:
            return certified / promise.trials
        certified += result.settling.certified
        promise.hear(result.settling.certified and result.hypothesis != ideal)
    raise AssertionError("runs never end")


def surely_different(run, name, promise, *, private):
    """Hear pairs of labs with one string, or with a string each, until it is known how often certified ones differ.

    `run` makes a result from a private seed and a shared string. How many pairs were certified.
    """
    both = 0
    for pair in count():
        if not promise.open:
            return both
        results = [
            run(
                PrivateRandomness.simulated(name, pair, lab),
                SharedRandomness(f"{pair} {lab if private else ''}"),
            )
            for lab in "AB"
        ]
        sure = all(result.settling.certified for result in results)
        both += sure
        promise.hear(sure and results[0].hypothesis != results[1].hypothesis)
    raise AssertionError("pairs never end")
