"""The benchmarks run as they are."""

import importlib
import json
import math
import os
import shutil
import subprocess
import sys
from fractions import Fraction

import numpy as np
import pytest

from support.figures import faults, recorded
from support.paths import ROOT

BENCHMARKS = ROOT / "benchmarks"
FEWER = """
import dataclasses, sys
sys.path.insert(0, sys.argv.pop(1))
import cost_of_replicability as benchmark
benchmark.QUICK = [dataclasses.replace(case, pairs=4) for case in benchmark.QUICK]
benchmark.main()
"""


@pytest.fixture
def script(tmp_path):
    """Run a benchmark as it is; what it said."""

    def run(name, *words):
        words = [sys.executable, *(name if isinstance(name, list) else [BENCHMARKS / f"{name}.py"]), *words]
        environment = os.environ | {"MPLCONFIGDIR": str(tmp_path)}
        done = subprocess.run(
            words, capture_output=True, text=True, timeout=400, check=False, cwd=ROOT, env=environment
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done

    return run


@pytest.fixture
def module(monkeypatch):
    """A benchmark to import."""
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    return importlib.import_module


def read(path):
    return json.loads(path.read_text(encoding="utf-8"))


def drawn(folder, name, *suffixes, least=500):
    return all((folder / f"{name}.{suffix}").stat().st_size > least for suffix in suffixes)


def quick(script, name, folder):
    """Run the quick form of a benchmark that writes tables and a figure: what it printed, and its figures."""
    done = script(name, "--quick", "--out", folder)
    assert done.stdout == (folder / f"{name}.md").read_text() + "\n"
    assert drawn(folder, name, "svg", "png")
    return done, read(folder / f"{name}.json")


@pytest.mark.slow
def test_the_benchmark_of_a_card_runs_on_the_processor(script, tmp_path):
    pytest.importorskip("torch", reason="PyTorch is not installed")
    script("gpu", "--quick", "--device", "cpu", "--json", tmp_path / "found.json")
    assert len(rows := read(tmp_path / "found.json")["rows"]) == 7
    assert all(row["equal"] for row in rows)


@pytest.mark.slow
def test_the_benchmark_of_a_cluster_measures_computes_and_compares(script, tmp_path):
    pytest.importorskip("distributed", reason="Dask is not installed")
    script("cluster", "--quick", "--out", tmp_path)
    found = read(tmp_path / "cluster.json")
    assert [row["workers"] for row in found["checks"]] == [1, 1, 2, 2]
    assert all(size < 10_000 for size in found["sizes"].values())
    assert drawn(tmp_path, "cluster", "svg")


@pytest.mark.slow
def test_what_100_workers_would_do_is_computed_from_what_was_measured(script, tmp_path):
    pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    published = ROOT / "docs" / "explanation" / "figures" / "cluster.json"
    script("cluster", "--measured", published, "--out", tmp_path)
    assert read(tmp_path / "cluster.json") == read(published)


@pytest.mark.slow
def test_the_benchmark_of_structured_classes_finds_what_the_matrix_finds(script, tmp_path):
    script("structured", "--quick", "--json", tmp_path / "found.json")
    ours, packed = read(tmp_path / "found.json")["against"]
    assert (ours["form"], packed["form"]) == ("structured", "packed matrix")
    assert (ours["labels"], ours["answer"]) == (packed["labels"], packed["answer"])


@pytest.mark.slow
def test_the_benchmark_of_pairs_finds_one_answer_on_every_back_end(script, tmp_path):
    script("pairs", "--quick", "--json", tmp_path / "pairs.json")
    rows = read(tmp_path / "pairs.json")["rows"]
    assert {row["operation"].split()[0] for row in rows} == {"all", "theta,", "packing"}
    assert all(row["seconds"] > 0 for row in rows)


@pytest.mark.slow
@pytest.mark.parametrize("name", [["-c", FEWER, BENCHMARKS], "cost_of_replicability"], ids=["fewer pairs", "as it is"])
def test_the_cost_benchmark_runs(script, name, tmp_path):
    """The quick form, with fewer pairs or as it is; it draws its figure too."""
    script(name, "--quick", "--out", tmp_path)
    found = read(tmp_path / "cost-of-replicability.json")
    assert len(found["worlds"]) == 3
    for world in found["worlds"]:
        assert world["disagreement"]["certified"] == 0 < world["certified"]  # figures repeat: no chance in it
    assert drawn(tmp_path, "cost-of-replicability", "svg", "png", "md")


NAMES = ("choosing", "cluster", "cost-of-replicability", "which-handicaps", "active-against-passive",
         "bills-epsilon", "bills-rho", "bills-class", "bills-noise")  # fmt: skip


@pytest.mark.parametrize("name", [*NAMES[:4], *(pytest.param(name, marks=pytest.mark.slow) for name in NAMES[4:])])
def test_no_legend_of_a_published_figure_lies_on_a_curve_and_no_word_on_another(name, module, monkeypatch, tmp_path):
    """Each is drawn from what is stored, or computed again; nothing is cut off either."""
    pytest.importorskip("matplotlib")
    redrawn, seen = module("figures"), recorded(monkeypatch)
    if name in redrawn.STORED:
        shutil.copy(redrawn.HERE / f"{name}.json", tmp_path)
    redrawn.draw(name, tmp_path)
    assert [faults(figure) for figure in seen] == [[]]


def test_every_published_figure_can_be_drawn_again(module):
    redrawn = module("figures")
    assert {path.stem for path in redrawn.HERE.glob("*.svg")} == set(NAMES)
    assert set(NAMES) == {
        *redrawn.STORED,
        *redrawn.RECORDED,
        "active-against-passive",
        *(f"bills-{each}" for each in redrawn.BILLS),
    }


@pytest.mark.slow
def test_a_public_order_saves_labels(module):
    """Fewer labels and less error on the same strings; figures repeat, so there is no false alarm."""
    measure = module("public_order").measure
    random, public = measure(1000, 4, 0), measure(1000, 4, 100)
    assert public[0] < random[0]
    assert public[4] < random[4]


def toy_labs(benchmark, items=500):
    """Three models that err on 5%, 1% and 50% of 100 rows."""
    truth = np.arange(100, dtype=np.uint8) % 2
    wrong = np.arange(100)[:, None] < [5, 1, 50]
    return benchmark.Labs(benchmark.ModelSet("toy", "", ("fair", "good", "bad"), truth[:, None] ^ wrong, truth), items)


def test_the_benchmark_of_choosing_knows_the_ideal_answer(module):
    """The smallest error plus handicap: fair is 4% worse than good, which a handicap allows or not."""
    pytest.importorskip("sklearn")
    benchmark = module("choosing")
    from replical import Handicaps, SharedRandomness, plan

    labs, string = toy_labs(benchmark), SharedRandomness("toy")
    C = labs.population.C
    for c, ideal in (([0, 0.039, 0], 1), ([0, 0.041, 0], 0), ([0, 0, 0], 1)):
        made = plan("handicap", C, pool="finite", handicaps=Handicaps.of(C, c), **benchmark.NUMBERS)
        assert labs.ideal(made, string) == ideal
    runs = labs(0)
    certified = [run for run in runs if run.method == "handicap" and run.certified]
    assert len(certified) > 0
    assert all(run.ideal and run.common_ideal for run in certified)
    assert {(run.method, run.order) for run in runs} == {each.key for each in benchmark.WAYS if not each.noiseless}
    found = {(each["method"], each["order"]): each for each in benchmark.summary(runs)}
    assert all(each["pairs"] == 1 for each in found.values())
    for source in ("public", "elsewhere"):
        assert found["usual", source]["labels_mean"] == found["handicap", source]["labels_mean"]
        assert found["public-first", source]["labels_mean"] == 0


def test_model_picker_is_what_its_paper_defines(module):
    """Against the definition, item by item and label by label: the same items asked, the same losses."""
    pick = module("model_picker").pick
    rng = np.random.default_rng(2021)
    for labels, models, budget in ((2, 3, 10**9), (4, 7, 10**9), (4, 7, 20), (3, 1, 10**9)):
        truth = rng.integers(labels, size=300).astype(np.uint8)
        says = np.where(rng.random((300, models)) < 0.7, truth[:, None], rng.integers(labels, size=(300, models)))
        coins, losses, asked = rng.random(300), [0.0] * models, 0
        for t, (row, y, coin) in enumerate(zip(says.tolist(), truth.tolist(), coins.tolist(), strict=True), 1):
            eta = math.sqrt(math.log(models) / (2 * t))
            weights = [math.exp(-eta * loss) for loss in losses]
            lost = [sum(w for w, c in zip(weights, row, strict=True) if c != k) / sum(weights) for k in range(labels)]
            q = min(1.0, max(eta, *(each * (1 - each) for each in lost))) if len(set(row)) > 1 else 0.0
            if coin < q and asked < budget:
                losses, asked = [loss + (c != y) / q for loss, c in zip(losses, row, strict=True)], asked + 1
        found, took = pick(says.astype(np.uint8), truth, coins, budget)
        assert took == asked
        assert found == pytest.approx(losses, rel=1e-9)
        assert asked > 0 or models == 1


@pytest.mark.slow
def test_the_benchmark_of_choosing_runs(script, tmp_path):
    """The quick form: tables, figure, and no certificate that is wrong."""
    pytest.importorskip("sklearn")
    done, found = quick(script, "choosing", tmp_path)
    assert [each["name"] for each in found["sets"]] == ["iris-10", "wine-24"]
    (pool,) = found["pools"]
    for total in pool["totals"]:  # strings are fixed: no chance in it
        assert total["wrong_certificates"] == total["certified_and_different"] == 0
        assert total["certified"] > 0 or (total["method"], total["order"]) != ("handicap", "public")
        assert total["agreement_low"] <= total["agreements"] / total["pairs"] <= total["agreement_high"]
        assert all(each["none_common"] == each["wrong"] == 0 for each in total["together"])
    assert "wine-24, 500 items .." in done.stderr
    assert not (tmp_path / "choosing-parts").exists()


@pytest.mark.slow
def test_pools_that_grow_are_measured(script, tmp_path):
    """The quick form: the more items, the more labs are certified, and a kept order costs fewer labels than new ones."""
    pytest.importorskip("sklearn")
    script("choosing", "--growth", "--quick", "--out", tmp_path)
    rows = read(tmp_path / "choosing-growth.json")["growth"]
    assert len(rows) == 6
    assert all(row["certified"] == sorted(row["certified"]) and row["labs"] == 8 for row in rows)
    assert all(old["labels_mean"] < new["labels_mean"] for old, new in zip(rows[:4:2], rows[1:4:2], strict=True))


ORDERS = ("random", "active", "active, shortlist 20", "active, shortlist 8", "vote")


@pytest.mark.slow
def test_public_orders_are_measured(script, tmp_path):
    """Three orders and two shortlists, two sizes; a hundred public labels at most, none for the vote."""
    pytest.importorskip("sklearn")
    script("choosing", "--orders", "--quick", "--out", tmp_path)
    rows = read(tmp_path / "choosing-orders.json")["orders"]
    assert [(row["items"], row["order"]) for row in rows] == [
        (items, order) for items in (500, 2000, 20_000) for order in ORDERS
    ]
    assert all((row["labs"], row["sets"]) == (8, 2) for row in rows)
    assert all(row["excess_list_mean"] <= row["excess_mean"] + 1e-12 for row in rows)
    whole = [row for row in rows if "shortlist" not in row["order"]]
    assert [row["excess_list_mean"] for row in whole] == pytest.approx([row["excess_mean"] for row in whole])
    assert {row["public_labels"] for row in rows if row["order"] == "vote"} == {0}
    assert all(0 < row["public_labels"] <= 100 for row in rows if row["order"] != "vote")


@pytest.mark.slow
def test_tolerances_are_measured(script, tmp_path):
    """One lab and three together; more items never make the quick form worse, and the page holds the recorded table."""
    pytest.importorskip("sklearn")
    script("tolerance", "--quick", "--sets", "digits-12", "--out", tmp_path)
    rows = {row["end"]: row for row in read(tmp_path / "tolerance.json")["tolerance"]}
    few, many = rows["all of 500 items"], rows["all of 2,000 items"]
    assert [row["alone"]["runs"] for row in rows.values()] == [2] * 4
    assert few["three"]["median"] <= few["alone"]["median"] >= many["alone"]["median"]
    assert many["alone"]["labels_median"] > rows["proven at .05, 2,000 items"]["alone"]["labels_median"]
    assert not (tmp_path / "tolerance-parts").exists()


@pytest.mark.slow
def test_advice_is_followed(script, tmp_path):
    """The quick form: every group adds up, and nobody has a proof with fewer items than it had."""
    pytest.importorskip("sklearn")
    script("advice", "--quick", "--sets", "iris-10", "--strings", "1", "--out", tmp_path)
    found = read(tmp_path / "advice.json")
    *groups, every = found["rows"]  # one set has no others
    assert [row["runs"] for row in groups] == [2] * 4
    assert every["uncertified"] == sum(row["uncertified"] for row in groups) > 0
    for row in found["rows"]:
        assert row["reached"] <= row["could"] <= row["uncertified"] <= row["runs"]
        assert max(row["items_covered"], row["labels_covered"]) <= row["uncertified"]
        assert row["forecast_covered"] <= row["forecasts"]
        assert max(row["wider_same"], row["wider_others"]) <= row["wider"]
    covered = list(found["covered_by_spread"].values())
    assert covered == sorted(covered)
    assert not (tmp_path / "advice-parts").exists()


def test_a_range_covers_what_comes_or_says_that_more_may(module):
    pytest.importorskip("sklearn")
    told = module("advice").Told
    for came, covers, near in ((9, 0, 0), (10, 1, 0), (24, 1, 0), (25, 1, 1), (100, 1, 1), (101, 0, 0), (None, 0, 0)):
        assert told(10, 50, 100, 3, came, 0.5).covers() == bool(covers)
        assert told(10, 50, 100, 3, came, 0.5).within_two == bool(near)
    for came, covers in ((9, 0), (10, 1), (1000, 1), (None, 1)):  # its end is all that was looked at
        assert told(10, 100, 100, 1, came, 0.5).covers() == bool(covers)
    assert told(10, 100, 100, 1, None, 0.5).within_two
    assert told(13, 50, 100, 3, 12, 0.5).covers(1.5)


@pytest.mark.parametrize("name", ["advice", "tolerance"])
def test_a_table_of_the_page_is_the_recorded_one(module, name):
    pytest.importorskip("sklearn")
    benchmark, found = module(name), read(BENCHMARKS / "history" / "choosing" / f"{name}.json")
    shown = benchmark.PAGE.read_text(encoding="utf-8").split(benchmark.MARKS[0])[1].split(benchmark.MARKS[1])[0]
    assert shown == f"\n{benchmark.table(found.get(name, found))}\n"


def test_what_a_board_says_is_compared_with_the_truth(script, module, tmp_path):
    """The quick form; and the page holds the recorded table, in which every statement holds as often as it has to."""
    pytest.importorskip("sklearn")
    script("board", "--draws", "2", "--items", "600", "--out", tmp_path)
    benchmark, found = module("board"), read(BENCHMARKS / "history" / "board" / "0001.json")
    assert [list(each) for each in (read(tmp_path / "board.json")["worlds"], found["worlds"])] == [
        ["spread", "crowded", "ties"]
    ] * 2
    shown = benchmark.PAGE.read_text(encoding="utf-8").split(benchmark.MARKS[0])[1].split(benchmark.MARKS[1])[0]
    assert shown == f"\n{benchmark.table(found['worlds'])}\n"
    for figures in found["worlds"].values():
        assert (
            min(figures[each] for each in ("best in the set", "low holds, worst model", "high holds, worst model"))
            > 0.95
        )


def test_an_interrupted_benchmark_of_choosing_goes_on(module, monkeypatch, tmp_path):
    """What a part holds is read, not computed again, unless the setting is another one."""
    pytest.importorskip("sklearn")
    benchmark = module("choosing")
    path, truth = tmp_path / "kept" / "toy-60.json", np.arange(100, dtype=np.uint8) % 2
    says = truth[:, None] ^ (np.arange(100)[:, None] < [5, 50])
    toy = benchmark.ModelSet("toy", "", ("good", "bad"), says, truth)
    monkeypatch.setattr(benchmark, "models_of", lambda name: toy)
    first = benchmark.part(path, "toy", 60, 1, 1)
    monkeypatch.setattr(benchmark, "models_of", None)
    assert benchmark.part(path, "toy", 60, 1, 1) == first
    with pytest.raises(TypeError):
        benchmark.part(path, "toy", 60, 2, 1)


@pytest.mark.slow
def test_the_comparison_with_peers_runs(script, tmp_path):
    """The quick form: every way for two pairs of labs; who is not installed is left out and named."""
    pytest.importorskip("sklearn")
    pytest.importorskip("matplotlib")
    done, found = quick(script, "peers", tmp_path)
    known = {(each["method"], each["order"]): each for each in found["totals"]}
    for budget in (20, 40):
        assert known[f"argmax, {budget}", "public"]["labels_mean"] == budget
        for package, method in (("scikit-activeml", "scikit-activeml, committee"), ("vowpalwabbit", "Vowpal Wabbit")):
            assert ((f"{method}, {budget}", "public") in known) == (package not in found["left_out"])
    assert all(package in done.stdout for package in [*found["versions"], *found["left_out"]])
    for each in known.values():
        assert each["pairs"] == 2
        assert each["agreement_low"] <= each["agreements"] / each["pairs"] <= each["agreement_high"]
        assert each["agreements"] < 2 or each["alike_mean"] == 1
        assert all(one["never"] <= two["never"] for one, two in [each["reached"]])  # .01 is nearer than ε
    assert known["public-first", "public"]["agreements"] == 2


def test_the_page_of_choosing_shows_the_recorded_figures(module):
    """Everybody's tables, and those of other libraries."""
    pytest.importorskip("matplotlib")
    pytest.importorskip("sklearn")
    page = (ROOT / "docs" / "explanation" / "choosing.md").read_text("utf-8")
    tables = module("choosing_tables").page(module("choosing").recorded())
    peers = read(BENCHMARKS / "history" / "peers" / "0001.json")
    assert peers["left_out"] == []
    for table in (*tables, module("peer_tables").together(peers)):
        assert table in page
        assert table.count("\n") > 5


def test_the_page_of_handicaps_shows_the_last_record(module):
    pytest.importorskip("matplotlib")
    which = module("which_handicaps")
    table = which.table(which.recorded())
    assert table in (ROOT / "docs" / "explanation" / "which-handicaps.md").read_text("utf-8")
    assert table.count("\n") == 28


def test_pages_show_the_last_record_of_losses(module):
    pytest.importorskip("sklearn")
    losses = module("losses")
    pages = [
        (ROOT / "docs/how-to" / name).read_text("utf-8") for name in ("compare-outputs.md", "publish-a-protocol.md")
    ]
    for table, page in zip(losses.tables(losses.recorded()), pages, strict=True):
        assert table in page


@pytest.mark.slow
def test_losses_and_groups_are_measured(script, tmp_path):
    pytest.importorskip("sklearn")
    script("losses", "--quick", "--out", tmp_path)
    found = read(tmp_path / "losses.json")
    assert not sum(each["wrong_certificates"] + each["certified_and_different"] for each in found["sets"])
    assert all(each["certified"] == each["right"] for each in found["groups"][:2])


def test_labels_to_reach_a_target_are_those_after_which_it_stays(module):
    """Targets are .05 and .01: at .05 exactly it is reached, and what comes after a relapse counts."""
    pytest.importorskip("sklearn")
    within = module("peer_labs").within
    assert within(np.array([0.3, 0.05, 0.06, 0.02, 0.005]), [0, 10, 20, 30, 40]) == (30, 40)
    assert within(np.array([0.0, 0.01, 0.0]), [0, 1, 2]) == (0, 0)
    assert within(np.array([0.0, 0.06]), [0, 10]) == (None, None)


@pytest.mark.slow
def test_three_labs_agree_by_the_commands(script):
    pytest.importorskip("sklearn")
    public, random = script("three_labs", "--strings", "1").stdout.splitlines()
    assert public.startswith("public order: ")
    assert random.startswith("random order: ")
    assert "of 3 labs certified" in public


def test_a_good_answer_takes_few_labels_and_a_bad_one_too(module):
    """Confirmed, refuted, and open at the margin; figures repeat, so there is no false alarm."""
    check = module("confirm").check
    good, near, bad = (check("digits", excess, 0.05, 1, budget=200) for excess in (0.0, 0.05, 0.2))
    assert [each.outcomes[0] for each in (good, near, bad)] == ["confirmed", "undecided", "refuted"]
    assert max(good.labels[0], bad.labels[0]) < 150


@pytest.mark.slow
def test_which_handicaps_writes_its_tables(script, tmp_path):
    pytest.importorskip("matplotlib")
    script("which_handicaps", "--quick", "--out", tmp_path)
    found = read(tmp_path / "which-handicaps.json")
    assert len(found["cells"]) == 6
    assert all(cell["certified_differ"] == 0 for cell in found["cells"])
    assert all(len(cell["commit"].rstrip("+")) == 40 for cell in found["cells"])
    assert drawn(tmp_path, "which-handicaps", "svg", "png", "md", least=150)


@pytest.mark.slow
def test_active_against_passive_as_the_page_says(tmp_path, module):
    """The table of docs/explanation/bills.md, and the crossings named there and in docs/paper.md."""
    pytest.importorskip("matplotlib")
    benchmark = module("active_against_passive")
    assert round(benchmark.ratio("replica2", "paper", 0.01)) == 147
    assert 9e-5 < benchmark.crossing("replica2", "paper").epsilon < 1e-4
    assert benchmark.crossing("replica2", "tight").epsilon == pytest.approx(1 / 16, rel=0.01)
    assert benchmark.table() in (ROOT / "docs" / "explanation" / "bills.md").read_text(encoding="utf-8")
    benchmark.draw(tmp_path)
    assert drawn(tmp_path, "active-against-passive", "svg", "png")


def test_the_law_of_a_release_is_that_of_the_exact_twin(module):
    from support.release import formula

    release = module("release")
    exact = formula((3, 1, 0, 1), Fraction(math.exp(-0.5)))
    found = release.law(np.array([3.0, 1.0, 0.0, 1.0]), 0.5).tolist()
    assert found == pytest.approx([float(exact[h]) for h in range(4)])


@pytest.mark.slow
def test_consortia_release_the_same_model_more_often_if_labs_share_a_string(module, monkeypatch):
    """One string, fewer labs and items; figures repeat, so there is no false alarm."""
    release = module("release")
    monkeypatch.setattr(release, "LABS", 10)
    monkeypatch.setattr(release, "SIZES", (10,))
    labs = release.Labs(release.make(release.SET), 1000)
    found = {each["way"]: each["same"] for each in release.consortia(labs, 0, np.zeros(240))}
    assert set(found) == set(release.WAYS)
    assert found["handicap"] > found["argmax"]
    assert all(0 <= same <= 1 + 1e-9 for same in found.values())


@pytest.mark.slow
def test_the_kernel_benchmark_runs(script, tmp_path):
    """Small sizes: every kernel and every run on every back end, and runs that took the same course."""
    script("kernels", "--quick", "--json", tmp_path / "kernels.json")
    told = read(tmp_path / "kernels.json")
    assert told["limits"]["read_1"] > 0
    assert all(row["numpy"] > 0 for row in told["kernels"])
    for learner in {run["learner"] for run in told["runs"]}:
        assert len({(run["labels"], run["survivors"]) for run in told["runs"] if run["learner"] == learner}) == 1


def test_the_page_of_speed_shows_the_last_record(module):
    """Every figure of the page is in the record, and none is missing."""
    speed = module("speed")
    page = (ROOT / "docs" / "explanation" / "performance.md").read_text("utf-8")
    shown = page.split("<!-- benchmarks/speed.py --page -->")[1].split("<!-- end -->")[0]
    assert shown.strip() == speed.page(speed.latest()).strip()
    assert shown.count("|") > 200


def test_a_missed_goal_is_called_missed(module):
    figure = module("speed").Figure
    assert figure("share", 0.54, "%", goal=0.55).cells == ["share", "54%", "≥ 55%", "no"]
    assert figure("time", 0.15, "s", goal=0.15, most=True).cells == ["time", "0.15 s", "≤ 0.15 s", "yes"]
    assert figure("power", 1.26, "").cells == ["power", "1.26", "", ""]


@pytest.mark.slow
def test_handicap_and_confirm_are_measured_at_their_largest(script):
    """The quick form: both kinds of labels on a line, and a table."""
    rows = [line.split(" | ") for line in script("scale", "--largest", "--quick").stdout.splitlines()[2:]]
    assert [row[0].strip("| ") for row in rows] == [
        *(f"{what}, noise {noise}" for noise in ("0", "0.05") for what in ("run", "confirm")),
        "run, a table",
    ]
    assert all(float(row[4].split()[0]) >= 0 < int(row[-1].strip("| ")) for row in rows)


@pytest.mark.slow
def test_the_benchmark_of_long_runs_runs(script):
    """It stops by itself if the certificate is not valid."""
    done = script("resume", "--quick")
    rows = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    assert [row["labels"] for row in rows] == [3000, 4000]
    assert all(row["certificate_megabytes"] < row["one_by_one_megabytes"] for row in rows)
