"""Broken files, full disks and what the killed left behind: made again, or one sentence."""

import os
import random
import resource
import subprocess
import sys
import textwrap
import time

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from replical.errors import BadStudy
from replical.study.spec import Study
from replical.study.store import Store
from support.studies import GRID, based


def test_broken_files_are_made_again(one_cell, sweep):
    content, folder, file, tables = one_cell
    good = file.read_bytes()
    other = pa.table({"pair": [0]})
    cases = [
        b"", b"PAR1", b"PAR1PAR1", good[:100], good[:-1], good[:-8], good[8:], good + b"x", b"\0" * len(good),
        os.urandom(999),
    ]  # fmt: skip
    for case in cases:
        file.write_bytes(case)
        assert sweep(content, folder=folder).tables == tables
        assert file.read_bytes()[:4] == b"PAR1"
    for strange in (
        other,
        other.replace_schema_metadata({"replical": "{}"}),
        other.replace_schema_metadata({"replical": "nonsense"}),
        other.replace_schema_metadata({"replical": '{"seed": "small 1", "cell": {}, "facts": 5, "seconds": "x"}'}),
        pq.read_table(pa.BufferReader(good)).drop_columns(["agree"]),
        pq.read_table(pa.BufferReader(good)).slice(1),
        pq.read_table(pa.BufferReader(good)).replace_schema_metadata({}),
    ):
        pq.write_table(strange, file)
        assert sweep(content, folder=folder).tables == tables


def test_no_flipped_bit_is_believed(one_cell, sweep):
    """Any byte of the file, changed: the same rows, or none and they are made again."""
    content, folder, file, tables = one_cell
    good, (cell,) = file.read_bytes(), Study.of(content).cells()
    chance = random.Random(7)
    for place in sorted(chance.sample(range(len(good)), 250)):
        file.write_bytes(good[:place] + bytes([good[place] ^ (1 << chance.randrange(8))]) + good[place + 1 :])
        found = Store(folder).read(cell)
        assert found.pairs == 0 or found.rows == tables[cell.id][0], place


def test_a_cell_of_another_name_is_not_believed(sweep, tmp_path, usual):
    folder = tmp_path / "swapped"
    sweep(folder=folder)
    files = sorted(folder.glob("cells/*.parquet"))
    contents = [file.read_bytes() for file in files]
    for file, content in zip(files, contents[1:] + contents[:1], strict=True):
        file.write_bytes(content)
    assert sweep(folder=folder).tables == usual()


def test_a_broken_file_does_not_hide_the_seed(sweep, tmp_path):
    folder = tmp_path / "other"
    sweep(folder=folder)
    for file in sorted(folder.glob("cells/*.parquet"))[:3]:
        file.write_bytes(b"PAR1")
    with pytest.raises(BadStudy, match="choose another folder"):
        sweep(based(seed="small 2"), folder=folder)


def test_what_the_killed_left_behind_is_ignored_and_goes_in_time(one_cell, sweep):
    content, folder, file, tables = one_cell
    fresh, stale = folder / "cells" / ".part-new.parquet", folder / "cells" / ".part-old.parquet"
    for part in (fresh, stale):
        part.write_bytes(file.read_bytes()[:50])
    os.utime(stale, (time.time() - 7200,) * 2)
    assert sweep(content, folder=folder).tables == tables
    assert fresh.exists()  # somebody may be writing it
    assert not stale.exists()


def test_a_folder_that_cannot_be_written_is_named_before_any_work(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    for folder in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(BadStudy, match="cannot write to the folder"):
            Store(folder)
    (tmp_path / "closed" / "cells").mkdir(parents=True)

    def closed(*_, **__):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("tempfile.TemporaryFile", closed)
    with pytest.raises(BadStudy, match="cannot write to the folder .*closed: Permission denied"):
        Store(tmp_path / "closed")


@pytest.mark.skipif(not hasattr(resource, "RLIMIT_FSIZE"), reason="needs limits on files")
def test_a_full_disk_is_one_sentence_and_leaves_no_half_file(tmp_path, sweep, cells_of):
    """The second cell does not fit; with room again the run continues."""
    content = based(
        grid=[
            {**GRID, "learner": "cal", "class": "thresholds:50", "epsilon": [0.1, 0.2], "quick": False},
            {**GRID, "epsilon": 0.3, "learner": "cal", "class": "thresholds:1000", "stop": {"pairs": 300}},
            {**GRID, "class": "star:5", "learner": "cal"},
        ]
    )
    script = f"""
    import resource
    from pathlib import Path
    from replical.errors import BadStudy
    from replical.study.spec import Study
    from replical.study.store import Store
    from replical.study.scheduler import Sweep
    from replical.core.parallel import local
    resource.setrlimit(resource.RLIMIT_FSIZE, (14_000, 14_000))
    try:
        with local(1) as busy:
            Sweep(Study.of({content!r}).cells(), Store(Path({str(tmp_path / "full")!r})), busy).run()
    except BadStudy as error:
        print(error)
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(script)], capture_output=True, text=True, check=True)
    assert "cannot write" in done.stdout
    assert done.stdout.count("\n") == 1
    kept = cells_of(tmp_path / "full")
    assert len(kept) == 2
    assert len(list((tmp_path / "full" / "cells").iterdir())) == 2
    again = sweep(content, folder=tmp_path / "full")
    assert again.tables == sweep(content).tables
    assert cells_of(tmp_path / "full").items() >= kept.items()
