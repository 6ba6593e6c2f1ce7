"""Fixtures that tests of several folders share, and the false alarms of all statistical tests, added up and shown.

What the fixtures are made of is in `support`, and is imported where it is used: tests of the core need no extra.
"""

import importlib
import json
import os
import time
import uuid
from dataclasses import asdict
from pathlib import Path

import hypothesis
import pytest

# Any machine, any load: laws are about values, never about time.
# "few" is for other versions with the same laws, "many" for the slow suite.
for name, examples in (("default", 50), ("few", 20), ("many", 200)):
    hypothesis.settings.register_profile(name, deadline=None, print_blob=True, max_examples=examples)
hypothesis.settings.load_profile("default")

ALARM = 1e-6  # probability that a correct library fails one statistical test


def pytest_configure(config):
    config.addinivalue_line("markers", "claim(*pages): checks what docs/claims/<page>.md promises, and is named there")
    config.addinivalue_line("markers", "mutant: also runs something broken, and fails unless that is noticed")


# ---- statistical tests ----


@pytest.fixture
def alarm(request):
    """Use up one false-alarm probability and account for it."""
    request.node.user_properties.append(("alarm", ALARM))
    return ALARM


def pytest_terminal_summary(terminalreporter):
    powers, spent = [], 0.0
    for reports in terminalreporter.stats.values():
        for report in reports:
            if getattr(report, "when", None) == "call":
                found = dict(report.user_properties)
                spent += found.get("alarm", 0.0)
                if "power" in found:
                    powers.append(f"  {report.nodeid.split('::')[-1]}: {found['power']}")
    if spent:
        terminalreporter.write_sep("-", "statistical tests")
        for line in sorted(powers):
            terminalreporter.write_line(line)
        terminalreporter.write_line(f"  probability of a false alarm among them, at most: {spent:.0e}")
    _show_faults(terminalreporter)
    from support.skips import lines

    skipped = [str(each.longrepr[2]).removeprefix("Skipped: ") for each in terminalreporter.stats.get("skipped", ())]
    if left := lines(skipped, terminalreporter.config.option.markexpr):
        terminalreporter.write_sep("-", "what did not run, and what would run it")
        terminalreporter.write_line("\n".join(left))


# ---- the fault suite: one table of counts ----


@pytest.fixture
def counted(request):
    """Counts of one part of the suite; the table at the end shows them, also if the test fails."""
    from support.faults import Counts

    made = []

    def count(part):
        made.append((Counts(part), time.monotonic()))
        return made[-1][0]

    yield count
    for counts, begun in made:
        counts.seconds = round(time.monotonic() - begun, 1)
        request.node.user_properties.append(("faults", json.dumps(asdict(counts))))


def _show_faults(terminalreporter):
    from support.faults import OUT, Counts, table, write

    reports = [each for reports in terminalreporter.stats.values() for each in reports]
    told = [each.user_properties for each in reports if getattr(each, "when", None) == "teardown"]
    rows = [Counts(**json.loads(value)) for properties in told for key, value in properties if key == "faults"]
    if rows:
        rows.sort(key=lambda row: row.part)
        terminalreporter.write_sep("-", "faults")
        for line in table(rows):
            terminalreporter.write_line(line)
        if OUT in os.environ:
            write(rows, os.environ[OUT])


# ---- kernels ----


@pytest.fixture(scope="module", params=["numpy", "numba", "torch"])
def kernels(request):
    """Everything in a module once on each back end; ``pytestmark = pytest.mark.usefixtures("kernels")`` asks for it."""
    from replical.core.kernels import backend

    if request.param == "numba" and (why := backend.trouble()) is not None:
        pytest.skip(f"numba cannot be used, {why}")
    if request.param == "torch" and (why := backend.torch_trouble()) is not None:
        pytest.skip(f"PyTorch's kernels cannot be used, {why}")
    with backend.using(request.param):
        yield request.param


# ---- commands and processes ----


@pytest.fixture
def command(capsys):
    """Run one command in this process: its exit code, standard output and standard error."""
    from replical.cli import main

    def call(*words):
        capsys.readouterr()
        code = main([*map(str, words)])
        return code, *capsys.readouterr()

    return call


@pytest.fixture
def processes():
    """Start other processes."""
    from support.miniature import Processes

    made = Processes()
    yield made
    made.end()


@pytest.fixture
def start():
    """Start commands in groups of their own; nothing outlives the test."""
    from support.processes import groups

    with groups() as begin:
        yield lambda *words, python=("-m", "replical"), **options: begin(*python, *words, **options)


@pytest.fixture
def until():
    """Wait for something, a minute at most."""

    def wait(condition, seconds=60.0):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if found := condition():
                return found
            time.sleep(0.02)
        raise AssertionError("it did not happen")

    return wait


# ---- PostgreSQL ----


@pytest.fixture(scope="session")
def server():
    """The URL of a database of a server in which others can be created; all tests share it which do it no harm."""
    pytest.importorskip("psycopg", reason="no PostgreSQL driver: pip install 'psycopg[binary]'")
    from support.postgres import URL, NoServer, cluster

    if URL in os.environ:
        yield os.environ[URL]
        return
    try:
        with cluster() as made:
            yield made.url
    except NoServer as error:
        pytest.skip(f"no PostgreSQL: install a server, or set {URL} to the URL of one ({error})")


@pytest.fixture
def database(server):
    """The URL of an empty database, gone after the test."""
    from support.postgres import empty_database

    with empty_database(server) as url:
        yield url


# ---- labs: protocols, pools and labels small enough to answer hundreds of times ----


@pytest.fixture(scope="session")
def make_world():
    """Make worlds; the same arguments make the same world."""
    from support.miniature import world

    return world


@pytest.fixture(scope="session")
def lasting():
    """All of a certificate that is the same whenever it is written."""
    from replical.lab.certificate.file import read

    def read_lasting(path):
        certificate = read(path)
        for key in ("created", "seal", "journal_events", "journal_head"):  # events have times too
            certificate["provenance"].pop(key, None)
        return json.dumps(certificate, sort_keys=True)

    return read_lasting


@pytest.fixture(scope="session")
def runs(tmp_path_factory):
    """A finished run of every kind, each with a skipped and a corrected item, made when first asked for."""
    from support.lab import finished

    made = {}

    def run(kind):
        if kind not in made:
            made[kind] = finished(tmp_path_factory.mktemp("runs"), kind, seed=2, skips=1, corrects=1)
        return made[kind]

    yield run
    for each in made.values():
        each.journal.close()


@pytest.fixture(scope="session")
def file(runs, tmp_path_factory):
    """The certificate of a finished run, as a file."""
    from replical.lab.certificate.file import write

    path = tmp_path_factory.mktemp("file") / "certificate.json"
    write(runs("cal").certificate, path)
    return path


# ---- studies small enough to be run many times, and what a run leaves on the disk ----


@pytest.fixture
def sweep(tmp_path, monkeypatch):
    """Run cells into a folder of their own, in this process unless told otherwise; every piece is told."""
    from replical.core.parallel import local
    from replical.study.results import row
    from replical.study.scheduler import Sweep
    from replical.study.spec import Study
    from replical.study.store import Store
    from support.studies import BASE, Ran

    number = [0]
    monkeypatch.setattr("replical.study.scheduler._QUIET", 0)

    def run(content=BASE, *, folder=None, workers=None, quick=False, progress=lambda _: None):
        number[0] += 1
        folder = folder or tmp_path / f"run {number[0]}"
        cells, told = Study.of(content).cells(quick=quick), []

        def hear(far):
            told.append(far)
            progress(far)

        if workers is None:
            with local(1) as busy:
                kept = Sweep(cells, Store(folder), busy, hear).run()
        else:
            kept = Sweep(cells, Store(folder), workers, hear).run()
        rows = sorted((row(cell, kept[cell.id]) for cell in cells), key=lambda each: each["cell"])
        return Ran(rows=rows, tables={name: (it.rows, it.facts) for name, it in kept.items()}, progress=told)

    return run


@pytest.fixture(scope="session")
def usual(tmp_path_factory):
    """What one process finds without trouble, by number of pairs."""
    from replical.core.parallel import local
    from replical.study.scheduler import Sweep
    from replical.study.spec import Study
    from replical.study.store import Store
    from support.studies import of_pairs

    found = {}

    def run(pairs=30):
        if pairs not in found:
            with local(1) as busy:
                cells = Study.of(of_pairs(pairs)).cells()
                kept = Sweep(cells, Store(tmp_path_factory.mktemp("usual")), busy).run()
            found[pairs] = {name: (each.rows, each.facts) for name, each in kept.items()}
        return found[pairs]

    return run


@pytest.fixture
def in_any_order(monkeypatch):
    """Whatever waits for several pieces hears of one of them, any one."""

    def use(chance):
        def one_of(futures, **_):
            return {chance.random.choice(list(futures))}, set()

        monkeypatch.setattr("replical.core.parallel.wait", one_of)
        return chance

    return use


@pytest.fixture
def one_cell(sweep, tmp_path):
    """A folder with one cell of 30 pairs."""
    from support.studies import GRID, based

    content = based(grid=[{**GRID, "class": "thresholds:50", "learner": "cal"}])
    folder = tmp_path / "one"
    tables = sweep(content, folder=folder).tables
    (found,) = folder.glob("cells/*.parquet")
    return content, folder, found, tables


@pytest.fixture
def study_file(tmp_path):
    """Write a study, the base with some changes, as a file."""
    from support.studies import BASE, text_of

    def write(**changes):
        path = tmp_path / f"study {len(list(tmp_path.iterdir()))}.toml"
        path.write_text(text_of({**BASE, **changes}), encoding="utf-8")
        return path

    return write


@pytest.fixture
def cells_of():
    """The complete cell files of a folder, with their contents."""

    def read(folder):
        return {file.name: file.read_bytes() for file in Path(folder).glob("cells/*.parquet") if file.name[0] != "."}

    return read


@pytest.fixture
def tasks(tmp_path, monkeypatch):
    """Write tasks that worker processes can import, and use one instead of the usual work."""

    def use(source):
        (tmp_path / "modules").mkdir(exist_ok=True)
        name = f"tasks_{uuid.uuid4().hex}"
        head = "import os, signal, time\nfrom pathlib import Path\nfrom replical.study.store import work\n"
        (tmp_path / "modules" / f"{name}.py").write_text(head + source, encoding="utf-8")
        monkeypatch.syspath_prepend(tmp_path / "modules")
        monkeypatch.setattr("replical.study.scheduler.work", importlib.import_module(name).task)

    return use
