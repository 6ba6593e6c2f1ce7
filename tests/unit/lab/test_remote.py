"""A desk beside a run that somebody else drives."""

import threading
import time

import pytest

from replical.cli import main
from replical.lab.journal.journal import Journal
from replical.lab.protocol import Protocol
from replical.lab.sessions.labelling import Elsewhere
from support.lab import content, world


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    columns = world(seed=5, items=150)
    rows = zip(*columns.values(), strict=True)
    lines = [",".join(columns), *(",".join(row) for row in rows)]
    (tmp_path / "pool.csv").write_text("\n".join(lines) + "\n")
    (tmp_path / "p.toml").write_text(Protocol.of(content(batch=8)).toml())
    return tmp_path


RUN = ["run", "p.toml", "--pool", "pool.csv", "--journal", "a.db", "--out", "a.json", "--truths", "0"]


@pytest.mark.slow
def test_the_last_label_may_be_taken_back_beside_the_run(folder):
    """The run gives people a moment before it writes its certificate."""
    codes = []
    runner = threading.Thread(target=lambda: codes.append(main([*RUN, "--ask", "journal"])))
    runner.start()
    truth = dict(line.split(",")[:3:2] for line in (folder / "pool.csv").read_text().splitlines()[1:])
    while not (folder / "a.db").exists():
        time.sleep(0.05)
    time.sleep(0.5)
    taken_back, last = False, None
    with Journal("a.db", runner=False) as beside:
        run = Elsewhere(beside)
        while not run.ended and runner.is_alive():
            run.refresh()
            for item in run.open:
                run.answer(item, truth[item], annotator="ann")
                last = item
            time.sleep(0.3)
            run.refresh()
            if last is not None and not run.open and not taken_back:
                time.sleep(0.4)  # nothing more was asked for: it may have been the last one
                run.refresh()
                if not run.open:
                    run.undo(last, annotator="ann")
                    taken_back = True
    runner.join(60)
    assert codes == [0]
    assert taken_back
    assert main(["verify", "a.json", "--pool", "pool.csv", "--journal", "a.db"]) == 0
