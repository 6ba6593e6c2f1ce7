"""Losses of tables, block by block."""

import numpy as np
import pytest

pytest.importorskip("pyarrow")

from replical.evals.tables import read_losses
from replical.lab import columns


@pytest.mark.parametrize("scores", [None, "0:1"])
def test_blocks_hold_so_many_cells_however_wide_a_table_is(tmp_path, monkeypatch, scores):
    import pyarrow as pa
    from pyarrow import parquet

    said = np.random.default_rng(1).integers(2, size=(50, 20))
    names = [f"m{h}" for h in range(20)]
    parquet.write_table(
        pa.table({name: said[:, h] for h, name in enumerate(names)} | {"gold": [0] * 50}), tmp_path / "t.parquet"
    )
    monkeypatch.setattr(columns, "_CELLS", 210)
    rows = []
    found = read_losses(
        tmp_path / "t.parquet",
        labels="gold",
        scores=scores,
        models=names,
        without=[],
        progress=lambda done, _: rows.append(done),
    )
    assert found[0] == names
    assert (found[1] == (said if scores is None else 1 - said)).all()
    assert rows == [10, 20, 30, 40, 50]
