"""A reference one can read: docstrings say what goes in, what comes out, what is refused, and show a number.

Sections are numpydoc's. A method may name its parameters in backticks in one sentence instead of listing them.
"""

import ast
import dataclasses
import doctest
import functools
import inspect
import re
import textwrap

import pytest

pytest.importorskip("sklearn")

import replical
import replical.bounds.complexity
import replical.bounds.subroutines
import replical.sklearn
from replical import errors
from replical.bounds.ranks import AgreementBound
from replical.lab.journal.journal import Event, Journal
from replical.lab.pool import LabPool
from replical.lab.run import Run
from replical.learners.handicap.confirm import Confirmation
from replical.learners.paper.boosting import Boosting
from replical.learners.plan import Condition, Number, Plan
from replical.learners.result import Round
from replical.pools.pool import ExactPool
from replical.pools.query import Answers, Query
from replical.worlds.audit import Pair
from replical.worlds.labs import Lab
from replical.worlds.theta import Curve, DisagreementCoefficient, ThetaBound
from replical.worlds.world import PopulationLabels

pytestmark = pytest.mark.nightly

# Not in `replical.__all__`, but public names return them or take them.
RETURNED = (
    AgreementBound, Answers, Boosting, Condition, Confirmation, Curve, DisagreementCoefficient, Event, ExactPool, Journal,
    Lab, LabPool, Number, Pair, Plan, PopulationLabels, Query, Round, Run,
    ThetaBound,
)  # fmt: skip


def public():
    """Every public name with what it stands for."""
    named = {f"replical.{name}": getattr(replical, name) for name in replical.__all__}
    for module in (replical.bounds.complexity, replical.bounds.subroutines):
        named |= {
            f"{module.__name__}.{name}": each
            for name, each in inspect.getmembers(module, lambda each: inspect.isfunction(each) or inspect.isclass(each))
            if each.__module__ == module.__name__ and not name.startswith("_") and name != "needs"
        }
    estimators = inspect.getmembers(replical.sklearn, inspect.isclass)
    named |= {
        f"replical.sklearn.{name}": each
        for name, each in estimators
        if each.__module__.startswith("replical.sklearn.") and not name.startswith("_")
    }
    named |= {f"{each.__module__}.{each.__name__}": each for each in RETURNED}
    return named


PUBLIC = public()
CLASSES = {name: each for name, each in PUBLIC.items() if inspect.isclass(each)}
FUNCTIONS = {name: each for name, each in PUBLIC.items() if not inspect.isclass(each)}
RECORDS = {
    name: each
    for name, each in CLASSES.items()
    if hasattr(each, "_fields") or (dataclasses.is_dataclass(each) and each.__dataclass_params__.frozen)
}
LEARNERS = {
    name: each
    for name, each in CLASSES.items()
    if hasattr(each, "run") and "plan" in getattr(each, "__annotations__", {})
}
HYPOTHESES = {name: each for name, each in CLASSES.items() if hasattr(each, "codes") and hasattr(each, "describe")}


def members(cls):
    """Public methods and properties that a class defines itself, as plain functions."""
    found = {}
    for name, each in vars(cls).items():
        if name.startswith("_"):
            continue
        if isinstance(each, property):
            found[name] = each.fget
        elif isinstance(each, functools.cached_property):
            found[name] = each.func
        elif isinstance(each, classmethod | staticmethod):
            found[name] = each.__func__
        elif inspect.isfunction(each):
            found[name] = each
    return found


METHODS = {f"{name}.{member}": function for name, cls in CLASSES.items() for member, function in members(cls).items()}


def sections(doc):
    """The sections of a docstring, each as a mapping from its entries to what is said of them."""
    parts = re.split(r"^(\w[\w ]*)\n-{3,}$", inspect.cleandoc(doc or ""), flags=re.MULTILINE)
    found = {}
    for title, body in zip(parts[1::2], parts[2::2], strict=True):
        entries, names = {}, []
        for line in body.strip("\n").splitlines():
            if line and not line.startswith(" "):
                names = [each.strip().lstrip("*") for each in line.split(",")]
                entries |= dict.fromkeys(names, "")
            else:
                entries |= {each: entries[each] + line.strip() for each in names}
        found[title] = entries
    return found


def parameters(function):
    return [name for name in inspect.signature(function).parameters if name not in ("self", "cls")]


def undocumented(names, doc, *titles):
    """Names without an entry of their own, or with an empty one."""
    listed = {}
    for title in titles:
        listed |= sections(doc).get(title, {})
    return [name for name in names if not listed.get(name)]


def raised(*functions):
    """Errors of the library that these functions raise themselves."""
    found = set()
    for function in functions:
        tree = ast.parse(textwrap.dedent(inspect.getsource(inspect.unwrap(function))))
        for node in ast.walk(tree):
            if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call) and isinstance(node.exc.func, ast.Name):
                found.add(node.exc.func.id)
    return sorted(found & {*vars(errors), "ValueError"})


def listing(names):
    return ", ".join(f"`{name}`" for name in names)


def shows_a_number(cls):
    examples = doctest.DocTestParser().get_examples(cls.__doc__ or "")
    return any(re.search(r"\d", example.want) for example in examples)


def named(mapping):
    return pytest.mark.parametrize(("name", "each"), mapping.items(), ids=list(mapping))


def test_the_lists_are_not_empty():
    assert len(LEARNERS) >= 9, f"these look like learners: {listing(LEARNERS)}"
    assert len(HYPOTHESES) >= 7, f"these look like classes of hypotheses: {listing(HYPOTHESES)}"
    assert len(RECORDS) >= 20, f"these look like records: {listing(RECORDS)}"
    assert len(FUNCTIONS) >= 20, f"these look like functions: {listing(FUNCTIONS)}"


@named(PUBLIC | METHODS)
def test_there_is_a_docstring(name, each):
    doc = vars(each).get("__doc__") if inspect.isclass(each) else each.__doc__
    assert doc, f"{name} has no docstring"
    # A dataclass without a docstring is given its signature.
    assert not doc.startswith(f"{each.__name__}("), f"{name} has no docstring"


@named(FUNCTIONS)
def test_a_function_says_what_it_takes(name, each):
    missing = undocumented(parameters(each), each.__doc__, "Parameters")
    assert not missing, f"{name} does not document {listing(missing)} under Parameters"


@named(FUNCTIONS)
def test_a_function_says_what_it_returns(name, each):
    said = "".join(sections(each.__doc__).get("Returns", {}).values())
    assert said, f"{name} has no section Returns"


@named({name: each for name, each in CLASSES.items() if name not in RECORDS and not issubclass(each, Warning)})
def test_a_class_says_what_it_is_made_from(name, each):
    missing = undocumented(parameters(each.__init__), each.__doc__, "Parameters")
    assert not missing, f"{name} does not document {listing(missing)} under Parameters"


@named(RECORDS)
def test_a_record_lists_every_field(name, each):
    listed = each._fields if hasattr(each, "_fields") else [field.name for field in dataclasses.fields(each)]
    fields = [field for field in listed if not field.startswith("_")]
    missing = undocumented(fields, each.__doc__, "Attributes", "Parameters")
    assert not missing, f"{name} does not list {listing(missing)} under Attributes or Parameters"


@named(METHODS)
def test_a_method_names_its_parameters(name, each):
    doc = each.__doc__ or ""
    listed = sections(doc).get("Parameters", {})
    missing = [parameter for parameter in parameters(each) if f"`{parameter}`" not in doc and not listed.get(parameter)]
    assert not missing, f"{name} does not say what {listing(missing)} is"
    returns = inspect.signature(each).return_annotation not in (None, "None")
    said = not listed or not returns or sections(doc).get("Returns")
    assert said, f"{name} lists its parameters and has no section Returns"


@named(FUNCTIONS | METHODS)
def test_a_function_says_what_it_refuses(name, each):
    missing = undocumented(raised(each), each.__doc__, "Raises")
    assert not missing, f"{name} raises {listing(missing)} and does not say so under Raises"


@named(CLASSES)
def test_a_class_says_what_it_refuses(name, each):
    made_by = [vars(each)[method] for method in ("__init__", "__post_init__") if method in vars(each)]
    written = [method for method in made_by if method.__qualname__.startswith(each.__name__)]
    if dataclasses.is_dataclass(each):  # its __init__ is generated: there is no source to read
        written = [method for method in written if method.__name__ == "__post_init__"]
    missing = undocumented(raised(*written), each.__doc__, "Raises")
    assert not missing, f"{name} raises {listing(missing)} when it is made and does not say so under Raises"


@named(LEARNERS)
def test_a_learner_shows_a_run_and_says_what_it_returns(name, each):
    assert shows_a_number(each), f"{name} has no doctest whose output holds a number"
    told = " ".join(sections(each.run.__doc__).get("Returns", {}).values())
    wanted = ["hypothesis", "unrounded", "V", "conditions"]
    if "base" in each.__annotations__:
        wanted.append({replical.Boosted: "boosting"}.get(each, "proof"))
    missing = [part for part in wanted if f"`{part}`" not in told]
    assert not missing, f"{name}.run does not say under Returns what {listing(missing)} of its result is"


@named(HYPOTHESES)
def test_a_class_of_hypotheses_shows_a_number_and_describes_a_hypothesis(name, each):
    assert shows_a_number(each), f"{name} has no doctest whose output holds a number"
    assert ".describe(" in each.__doc__, f"{name} has no doctest that describes a hypothesis"
