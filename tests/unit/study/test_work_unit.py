"""Pieces of work: the same rows in any thread, whatever runs beside them."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from replical.bounds import gamma as proven
from replical.study.store import Piece, work
from replical.worlds.experiment import Experiment

TRIED = [
    Experiment(class_spec="thresholds:300", learner="rounded-cal", epsilon=0.1, pool_size=20_000),
    Experiment(class_spec="stumps:3,20", learner="rounded-cal", epsilon=0.2, pool_size=5000),
    Experiment(class_spec="thresholds:300", learner="a2", epsilon=0.1, pool_size=20_000, noise="0.05"),
]


@pytest.mark.slow
@pytest.mark.parametrize("kept", [2e6, 200e6])
def test_threads_do_not_disturb_each_other(kept, monkeypatch):
    """As the threads of a Dask worker; few looks at certificates are kept, or all."""
    monkeypatch.setattr(proven, "_CACHE_BYTES", kept)
    pieces = [
        Piece(cell="", experiment=tried, class_seed="threads", seed="threads", start=start, end=start + 2)
        for start in range(0, 12, 2)
        for tried in TRIED
    ]
    alone = [work(piece).rows for piece in pieces]
    proven._looks.clear()
    with ThreadPoolExecutor(6) as threads:
        assert [told.rows for told in threads.map(work, pieces)] == alone


def test_a_cell_with_a_slack_above_epsilon_is_refused_and_says_why():
    tried = Experiment(
        class_spec="stumps:3,20", learner="rounded-a2", epsilon=0.1, pool_size=500, options={"kappa": 0.2}
    )
    told = work(Piece(cell="", experiment=tried, class_seed="s", seed="s", start=0, end=1))
    assert (told.refused or "").startswith("kappa must be at most epsilon = 0.1, got 0.2")
