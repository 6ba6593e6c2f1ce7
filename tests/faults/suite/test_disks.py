"""Disks that lose power, are full, read-only or broken: nothing acknowledged is lost, and it ends as if nothing had happened."""

import random
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from replical.errors import ReplicalError
from replical.lab.journal.journal import Journal
from support.disk import Cut, environment, library, read_log
from support.faults import Counts, scaled
from support.kills import lasting, start
from support.miniature import DRIVER

pytestmark = pytest.mark.skipif(library()[0] is None, reason=f"no layer in front of the disk: {library()[1]}")

# Not waiting for the disk: what a database does that is told not to.
CARELESS = """
import sqlalchemy
def off(connection):
    connection.connection.driver_connection.execute("PRAGMA synchronous=LEVEL")
sqlalchemy.event.listen(sqlalchemy.Engine, "begin", off)
"""


class Powered:
    """A lab whose journal and certificate lie on a disk of their own, and the log of one whole run on it."""

    def __init__(self, lab, folder, *, driver=DRIVER):
        self.lab, self.disk, log = lab, folder / "disk", folder / "log"
        self.disk.mkdir()
        lab.again()
        self.words = lab.words_in(self.disk)
        self._journal, self._out = (self.disk / each.name for each in (lab.path, lab.out))
        shutil.copy(lab.path, self._journal)
        self.before = {self._journal: self._journal.read_bytes()}
        how = {"env": environment(self.disk, log=log)}
        labelling = start("-c", driver, lab.folder, self._journal, **how)
        for _ in range(10):
            labelling.stdout.readline()
        labelling.send_signal(signal.SIGKILL)  # a run that was killed goes on, so that what a kill leaves is there too
        labelling.communicate()
        ended = start("-m", "replical", *self.words, *lab.column, **how)
        out, _ = ended.communicate(timeout=120)
        assert ended.returncode == 0, out
        self.records = read_log(log)

    def cuts(self, count, chance):
        """The disk after power cuts at random places of the log, in order."""
        places = sorted(chance.choices(range(len(self.records) + 1), k=count))
        cut, heard = Cut(self.disk, self.before), 0
        for place in places:
            while heard < place:
                cut.hear(self.records[heard])
                heard += 1
            yield cut

    def check(self, cut, folder, chance, counts):
        """What was acknowledged before the cut must be there, and right."""
        cut.rebuild(folder, chance)
        said = cut.said.decode().splitlines()
        told = {line for line in said if line in self.lab.truth}
        counts.kills += 1
        counts.acknowledged += len(told)
        try:
            with Journal(folder / self._journal.name) as journal:
                rows = [(event.item, event.label) for event in journal.events() if event.kind == "answer"]
        except ReplicalError:
            rows = []
        counts.lost += len(told - {item for item, _ in rows})
        counts.changed += len(rows) - len(set(rows)) + len(set(rows) - set(self.lab.answers))
        if any(line.startswith("Written: ") for line in said):
            out = folder / self._out.name
            counts.lost += not out.exists()
            counts.changed += out.exists() and lasting(out) != lasting(self.lab.straight)

    def finish(self, folder, counts):
        """Gone on with to the end."""
        self.lab.finish(counts, folder)


def lose_power(powered, folder, cuts, chance, counts, *, every):
    """Many cuts; after some of them the run goes on to its end."""
    for number, cut in enumerate(powered.cuts(cuts, chance)):
        powered.check(cut, folder, chance, counts)
        if number % every == 0:
            powered.finish(folder, counts)


def test_a_few_power_cuts(lab_of, tmp_path):
    """A small part of the next."""
    counts, chance = Counts("few"), random.Random("few")
    lose_power(Powered(lab_of(), tmp_path), tmp_path / "after", 20, chance, counts, every=20)
    assert counts.faults == {}
    assert counts.acknowledged > 0


@pytest.mark.slow
def test_power_cuts(lab_of, tmp_path, counted):
    """At any moment, with any part of what was not synced on the disk."""
    counts, chance = counted("power cuts"), random.Random("power")
    lose_power(Powered(lab_of(), tmp_path), tmp_path / "after", scaled(3000), chance, counts, every=20)
    assert counts.faults == {}


@pytest.mark.slow
@pytest.mark.parametrize("level", ["OFF", "NORMAL"])
def test_a_database_that_does_not_wait_for_the_disk_is_found(lab_of, tmp_path, level):
    """The layer can fail. NORMAL loses labels, and keeps the journal whole; OFF keeps nothing for certain."""
    counts, chance = Counts(level), random.Random(level)
    powered = Powered(lab_of(), tmp_path, driver=CARELESS.replace("LEVEL", level) + DRIVER)
    for cut in powered.cuts(40, chance):
        powered.check(cut, tmp_path / "after", chance, counts)
    assert counts.lost
    assert level == "OFF" or not counts.changed


# ---- full, broken and read-only disks ----


def refused(lab, counts, **how):
    """One run on a disk that fails: the same sentence whatever happens, or an end as ever."""
    process = start("-m", "replical", *lab.words, *lab.column, env=environment(lab.folder, **how))
    try:
        said, _ = process.communicate(timeout=120)
    except subprocess.TimeoutExpired:
        process.kill()
        said, _ = process.communicate()
        counts.hangs += 1
    counts.kills += 1
    counts.tracebacks += "Traceback" in said
    counts.crashes += process.returncode < 0
    assert process.returncode in (0, 2), said
    if process.returncode == 2:
        told = " ".join(said.split())
        assert "cannot be used" in told or "cannot write" in told, said
    rows = lab.check(counts)
    lab.acknowledged |= {item for item, _ in rows}
    return process.returncode


def fail_again_and_again(lab, faults, counts):
    """Each fault meets a run that has begun; then it goes on on a good disk."""
    met = 0
    for how in faults:
        lab.again()
        met += refused(lab, counts, **how) == 2
        lab.finish(counts)
        counts.acknowledged += len(lab.acknowledged)
    return met


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["full", "broken"])
def test_disks_that_fail(lab_of, counted, kind):
    counts, chance = counted(f"disk: {kind}"), random.Random(kind)
    key, most = {"full": ("room", 150_000), "broken": ("bad_sync", 30)}[kind]
    wanted = scaled(40, 3)
    met = fail_again_and_again(lab_of(), [{key: chance.randint(1, most)} for _ in range(wanted)], counts)
    assert counts.faults == {}
    assert met >= wanted // 3


@pytest.mark.slow
def test_a_read_only_disk(lab_of, tmp_path, counted):
    """A run is refused; whoever only looks is served, also where a journal is kept that nobody may change."""
    counts, lab = counted("disk: read-only"), lab_of().again()
    before = lab.path.read_bytes()
    assert refused(lab, counts, read_only=1) == 2
    assert lab.path.read_bytes() == before
    lab.finish(counts)
    kept, wal = shutil.copy(lab.path, tmp_path), Path(tmp_path / f"{lab.path.name}-wal")
    looks = [["journal", "export", kept], ["verify", lab.out, "--pool", lab.folder / "pool.csv", "--journal", kept]]
    for words, log in [*((each, b"") for each in looks), *((each, b"labels") for each in looks)]:
        wal.write_bytes(log)  # of a run that was killed: without it labels would be missing
        done = subprocess.run([sys.executable, "-m", "replical", *map(str, words)], capture_output=True, text=True, check=False,
                              timeout=120, env=environment(tmp_path, read_only=1))  # fmt: skip
        counts.inputs += 1
        counts.tracebacks += "Traceback" in done.stderr
        assert done.returncode == (2 if log else 0), done.stderr
        assert not log or "copy both to a disk that can be written" in " ".join(done.stderr.split())
    assert counts.faults == {}
