"""One record makes a learner a learner, a parameter a parameter, a class a class: nothing else has to be told of it."""

import dataclasses
import inspect
import json
from importlib import import_module

import pytest

from replical import Protocol, Session, audit, learner_for, plan, read_pool
from replical.bounds.complexity import BOUNDS
from replical.classes import catalogue as classes_catalogue
from replical.classes.base import is_listed, size_of
from replical.classes.catalogue import KINDS, recipe
from replical.cli import audit as audit_cli
from replical.cli import init as init_cli
from replical.cli import main
from replical.core.parallel import local
from replical.errors import BadSpec
from replical.learners.bills import bills
from replical.learners.catalogue import LEARNERS, find, of_lists
from replical.learners.parameters import OPTIONS, PARAMETERS
from replical.learners.plan import Setting, Task
from replical.study.run import run_study
from replical.study.spec import Study
from replical.worlds.experiment import Experiment, prepare
from support import toys
from support.worlds import SIZES, classes

PAPERLESS = ("cal", "a2", "handicap")
OF_LISTS = [record.id for record in of_lists()]
LISTED = {kind.kind: kind for kind in classes_catalogue.of_lists()}


# --- learners -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("learner", OF_LISTS)
def test_a_record_is_complete(learner):
    record = LEARNERS[learner]
    assert record.id == learner, f"{record.id} stands under another id, {learner}"
    module, _, name = record.learner.partition(":")
    assert hasattr(import_module(module), name), f"{learner}: there is no {record.learner}"
    assert record.plans, f"{learner} has no plan"
    unknown = (record.needs | record.options | record.paper_options) - set(PARAMETERS)
    assert not unknown, f"{learner} names parameters that do not exist: {sorted(unknown)}"
    assert record.parent is None or record.parent in LEARNERS, f"{learner} has a parent nobody knows, {record.parent}"
    assert record.replicable == ("rho" in record.needs), f"{learner}: rho is what a replicable learner promises"
    for bound in (*record.bounds.paper, *record.bounds.ours):
        assert bound is None or bound in BOUNDS, f"{learner} names a bound that does not exist, {bound}"


def test_ids_and_markers_are_not_shared():
    source = inspect.getsource(import_module("replical.learners.catalogue"))
    assert source.count("\nLEARNERS: ") == 1
    listed = import_module("replical.learners.catalogue")._ALL
    for field in ("id", "marker"):
        values = [getattr(record, field) for record in listed]
        twice = {value for value in values if values.count(value) > 1}
        assert not twice, f"two learners share a {field}: {sorted(twice)}"


def test_whoever_is_taken_instead_promises_as_much_and_is_suggested():
    for record in LEARNERS.values():
        if record.instead is not None:
            better = find(record.instead)
            assert better.instead is None
            assert better.replicable >= record.replicable
            assert better.setting in (record.setting, "either")


def test_every_learner_lives_in_a_world():
    known = {learner for learner, _ in SIZES.values()}
    missing = [each for each in OF_LISTS if each not in known and not find(each).boosts]
    assert not missing, f"learners without a world in tests/support/worlds.py: {missing}"


@pytest.mark.parametrize("learner", PAPERLESS)
def test_the_paper_s_sizes_are_refused_where_the_paper_has_none(learner):
    assert [each for each in OF_LISTS if find(each).paper is None] == list(PAPERLESS)
    with pytest.raises(BadSpec, match=f"^{learner} is not a learner of the paper.*take the plan tight$"):
        plan(learner, 100, epsilon=0.1, delta=0.1, rho=0.3, name="paper")


@pytest.fixture
def toy(monkeypatch):
    monkeypatch.setitem(LEARNERS, "toy", toys.LEARNER)
    return "toy"


def test_a_toy_learner_works_everywhere_by_its_record_plan_and_file(toy, tmp_path, capsys):
    made = plan(toy, 50, epsilon=0.1, delta=0.1, rho=0.3)
    assert isinstance(learner_for(made), toys.Toy)
    tried = Experiment(class_spec="thresholds:50", learner=toy, epsilon=0.1, pool_size=400)
    ready = prepare(tried, seed="s")
    assert audit(ready.learner, ready.world, seed="s", pairs=3).labels_mean == ready.learner.plan.k
    setting = Setting(n=50, epsilon=0.1, delta=0.1, rho=0.3, theta=2.0)
    (bill,) = bills(setting, toy)
    assert (bill.labels, bill.kind, bill.applies, bill.replicable) == (made.k, "most", True, True)
    assert main(["paper", "bill", "--class", "thresholds:50", "--epsilon", ".1", "--learner", toy, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["bills"][0]["learner"] == toy
    protocol = Protocol.of(
        {
            "schema": "replical.protocol/1",
            "seed": "s",
            "class": {"kind": "thresholds", "features": ["x"], "count": 50},
            "labels": {"values": ["no", "yes"]},
            "learner": {"name": toy, "epsilon": 0.1, "delta": 0.1, "rho": 0.3, "k_final": 7},
        }
    )
    assert protocol.plan.k == 7


def test_a_toy_learner_works_in_a_study_with_its_pictures(toy, tmp_path):
    study = Study.of(
        {
            "schema": "replical.study/1",
            "name": "toys",
            "seed": "s",
            "stop": {"pairs": 3},
            "grid": [
                {"class": "thresholds:50", "learner": ["erm", toy], "epsilon": [0.2, 0.1, 0.05], "pool_size": 300}
            ],
        }
    )
    with local(1) as workers:
        done = run_study(study, tmp_path, quick=False, workers=workers)
    assert {row["learner"] for row in done.rows if row["status"] == "done"} == {"erm", toy}
    drawn = {path.stem for path in (tmp_path / "figures").iterdir()}
    assert "labels-epsilon" in drawn
    assert toy in (tmp_path / "report.html").read_text(encoding="utf-8")


# --- parameters ---------------------------------------------------------------------------------------------------------


def test_every_parameter_is_one_of_plan_and_of_a_task():
    given = set(inspect.signature(plan).parameters) - {
        "learner", "C", "name", "pool", "prior", "losses", "groups", "table", "handicaps",
    }  # fmt: skip
    assert given == set(PARAMETERS)
    assert {field.name for field in dataclasses.fields(Task)} == (
        given | {"C", "n", "exact", "noiseless", "spread"}
    ) - {"max_labels"}
    assert all(parameter.help and parameter.name == name for name, parameter in PARAMETERS.items())


def test_every_parameter_has_a_flag():
    """Or is taken by --set."""
    for command, rare in ((audit_cli.audit_command, audit_cli._RARE), (init_cli.init_command, init_cli._RARE)):
        flags = set(inspect.signature(command).parameters)
        assert set(PARAMETERS) <= flags | set(rare), command.__name__
        assert not flags & set(rare), command.__name__


def test_every_option_is_known_to_somebody():
    for option in OPTIONS:
        assert any(record.uses(option, "paper") for record in LEARNERS.values()), f"no learner knows {option}"


def test_a_parameter_means_the_same_wherever_it_is_given():
    for name, parameter in PARAMETERS.items():
        right, wrong = {
            "share": (0.01, 1.5), "number": (1.0 if name == "theta" else 0.1, -1.0), "count": (3, 0),
            "word": (parameter.words[-1:] and parameter.words[-1], "nonsense"),
        }[parameter.kind]  # fmt: skip
        assert parameter.check(right) == right
        with pytest.raises(ValueError, match=name):
            parameter.check(wrong)


# --- classes ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", LISTED)
def test_a_kind_is_complete(kind):
    record = KINDS[kind]
    assert record.kind == kind
    assert record.spec.startswith(f"{kind}:")
    assert record.example.startswith(f"{kind}:")
    assert bool(record.sizes) == (record.make is not None) == (record.section is not None)
    assert any(name.startswith(kind) for name, *_ in classes()), f"{kind} has no world in tests/support/worlds.py"


@pytest.mark.parametrize("kind", [kind for kind, record in LISTED.items() if record.sizes])
def test_a_spec_and_its_section_are_one_class(kind):
    """Half-spaces and bins say where their features lie, so a section may rescale what a spec takes as it is."""
    from replical.classes.catalogue import numbers, recipe

    record, sizes = numbers(KINDS[kind].example)
    made, again = record.make(sizes, "seed"), recipe(record.section(sizes), (0, 1), "seed").C
    assert len(made) == len(again)
    if kind != "stumps":  # whose cuts are listed in a section and counted in a spec
        assert made.fingerprint == again.fingerprint


def test_what_is_no_list_stands_apart_and_is_refused_where_a_list_is_needed():
    assert set(LEARNERS) - set(OF_LISTS) == {"lattice"}
    assert set(KINDS) - set(LISTED) == {"linear"}
    for learner in set(LEARNERS) - set(OF_LISTS):
        record = find(learner)
        assert (record.id, record.lists) == (learner, False)
        module, _, name = record.learner.partition(":")
        assert hasattr(import_module(module), name)
        assert record.marker not in {each.marker for each in of_lists()}
        with pytest.raises(BadSpec, match="got a list of hypotheses"):
            plan(learner, 100, epsilon=0.1, delta=0.1, rho=0.3)
    for record in (kind for kind in KINDS.values() if not kind.lists):
        section = record.section([3]) | {"step": 0.1}
        C = recipe(section, (0, 1), "seed").C
        assert not is_listed(C)
        assert size_of(C) > 100
        with pytest.raises(BadSpec, match="are no list"):
            len(C)
        for learner in OF_LISTS:
            with pytest.raises(BadSpec, match="chooses from a list of hypotheses"):
                plan(learner, C, epsilon=0.1, delta=0.1, rho=0.3, theta=2.0, nu=0.0)
        assert plan("lattice", C, epsilon=0.1, delta=0.1, rho=0.3).learner == "lattice"


def test_a_toy_class_works_everywhere_by_its_record_and_file(monkeypatch, tmp_path):
    monkeypatch.setitem(KINDS, "odd", toys.CLASS)
    ready = prepare(Experiment(class_spec="odd:8", learner="handicap", epsilon=0.3, pool_size=500), seed="s")
    assert audit(ready.learner, ready.world, seed="s", pairs=3).pairs == 3
    study = Study.of(
        {
            "schema": "replical.study/1",
            "name": "toys",
            "seed": "s",
            "stop": {"pairs": 2},
            "grid": [{"class": "odd:8", "learner": "cal", "epsilon": 0.3, "pool_size": 200}],
        }
    )
    with local(1) as workers:
        done = run_study(study, tmp_path, quick=False, workers=workers)
    assert [row["status"] for row in done.rows] == ["done"]
    out = tmp_path / "odd.toml"
    flags = ["--class", "odd:8", "--label-values", "no,yes", "--learner", "cal", "--seed", "s"]
    assert main(["init", "--out", str(out), *flags, "--epsilon", ".2", "--delta", ".1", "--rho", ".1"]) == 0
    protocol = Protocol.read(out)
    pool = read_pool({"id": list(range(80)), "x": [i % 8 for i in range(80)]}, protocol.recipe)
    from replical import Journal

    with Journal(tmp_path / "odd.db") as journal:
        session = Session(protocol, pool, journal)
        while session.open:
            session.answer_all({item: "yes" if int(item) % 8 == 5 else "no" for item in session.open})
        assert protocol.recipe.describe(session.result.hypothesis) == "yes on cell 5"


def test_a_class_nobody_knows_is_named_with_those_there_are():
    with pytest.raises(BadSpec, match=r"unknown learner 'nobody'; the learners are erm, cal"):
        find("nobody")


# --- public names -------------------------------------------------------------------------------------------------------

PUBLIC = (
    "replical", "replical.errors", "replical.sklearn", "replical.bounds.complexity", "replical.bounds.subroutines", "replical.cli",
    "replical.__main__",
)  # fmt: skip
