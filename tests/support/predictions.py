"""Small tables of predictions, for properties that must hold on every one of them."""

from fractions import Fraction

import numpy as np
from hypothesis import strategies as st

from replical import (
    Gold,
    KnownGold,
    KnownLabels,
    Losses,
    OutputTable,
    PredictionTable,
    Prior,
    SharedRandomness,
    learn,
    learner_for,
)
from replical.learners.handicap.handicaps import UNIT
from support import reference


@st.composite
def tables(draw):
    """Label set, codes of candidates (one of them perhaps a copy of another), truth, and the seed they follow from."""
    n, labels = draw(st.integers(1, 6)), draw(st.sampled_from([(0, 1), (0, 1, 2)]))
    seed, U = draw(st.integers(0, 2**32)), draw(st.integers(1, 400))
    generator = np.random.default_rng(seed)
    truth = generator.integers(len(labels), size=U)
    rates = draw(st.lists(st.sampled_from([0.0, 0.02, 0.1, 0.3, 0.6]), min_size=n, max_size=n))
    wrong = generator.random((n, U)) < np.array(rates)[:, None]
    codes = np.where(wrong, (truth + 1) % len(labels), truth)
    if n > 2:
        codes[2] = codes[0]
    return labels, codes, truth, seed


def losing_by(losing, labels, codes, truth):
    """Candidates that lose by errors, by weights of labels, or by how far a number is off: what a plan, a pool and a twin need."""
    names, top = [f"m{i}" for i in range(len(codes))], len(labels)
    if losing == "distances":
        C = OutputTable(names, loss=Gold.of("absolute", clip=3, grid=3))
        return (
            C,
            None,
            codes.T,
            lambda pool: KnownGold(pool, truth),
            lambda said, label: Fraction(min(abs(said - label), 3), 3),
        )
    C, weighed = PredictionTable(names, labels=labels), losing == "weights"
    losses = Losses.of(labels, weights=dict(zip(labels, range(1, top + 1), strict=True))) if weighed else None

    def cost(said, label):
        return (said != label) * (Fraction(1 + int(label), top) if weighed else 1)

    return C, losses, np.array(labels)[codes].T, lambda _: KnownLabels(C, np.array(labels)[truth]), cost


def preferring(C, ordered):
    """Nobody is preferred, or a public order has the last one first."""
    return Prior.order(C, list(range(len(C)))[::-1]) if ordered else Prior()


def run_beside_twin(made, pool, known, codes, truth, seed, twin=reference.handicap, until=None, **options):
    """The result of a run that ends as its `twin` does, and what the twin says besides."""
    made, shared = made if until is None else made.spending(until), SharedRandomness(f"twin {seed}")
    result = learn(learner_for(made), pool, known, shared)
    _, units, places = made.terms(shared)
    if twin is not reference.handicap_on_a_table:  # where items are asked one by one, and nobody is measured
        options |= {"batch": made.batch, "first": made.favourite}
    S, m, asked, scanned, *more = twin(
        codes, pool.order.tolist(), truth, [Fraction(int(c), UNIT) for c in units], places.tolist(), Fraction(1, 10),
        **options | ({} if until is None else {"until": until}),
    )  # fmt: skip
    assert result.survivors.indices.tolist() == S
    assert (result.hypothesis, result.labels, result.proof.scanned) == (m, asked, scanned)
    return result, *more
