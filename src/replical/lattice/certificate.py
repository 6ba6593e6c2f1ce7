"""What the certificate of a lattice says: does it fit together, as far as that is seen without the journal?

Which cell it is, labels decide that nobody publishes. What follows from the bounds that are told of the directions left, is
recomputed; what no labels can have led to is found out. A check returns nothing if all is well, and a sentence if not.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, Literal, cast

import numpy as np
from msgspec import Meta, Struct, to_builtins
from numpy.typing import NDArray

from replical.classes.base import Items, size_of
from replical.classes.recipe import Recipe
from replical.core.text import about, at_most, confidence, count, plural, two_of
from replical.lab.certificate.checks import check_hypothesis, index_of
from replical.lab.certificate.file import condition_part
from replical.lattice.cones import cells_of, crossings_of
from replical.lattice.learner import ACCURATE, CONTRADICTED, ENCLOSED, SEPARABLE, LatticeProof, own_conditions
from replical.lattice.linear import Linear, dependent_columns
from replical.lattice.plan import LatticePlan
from replical.learners.plan import Cost
from replical.learners.proof import Belief, Claim, Family, Published, Step, is_count, is_number, same
from replical.learners.result import Result

Count = Annotated[int, Meta(ge=0)]
_FEW = 3  # columns that are named
_ROOM = 1e-3  # by which doubles and the lattice's axes may be off


class Part(Struct, forbid_unknown_fields=True):
    """What a run of Lattice knows: its cell and the direction in the middle of it, and what is left, in cells an axis.

    ``axes``, ``wrong`` and ``open`` are null where labels may be wrong; ``axes`` also where nothing bounds what is left.
    """

    family: Literal["lattice"]
    enclosed: bool
    cell: list[int]
    direction: list[float]
    axes: list[list[float]] | None
    wrong: Count | None
    open: Count | None
    rho_predicted: float


class LatticeFamily(Family):
    """The cell of a lattice, and how far the directions reach that contradict no label."""

    Part = Part
    lists = False
    verdict_names = (ENCLOSED, ACCURATE, SEPARABLE)

    def part_of(self, result: Result, recipe: Recipe) -> Mapping[str, Any]:
        """What a run knows, as it is written; an estimate in six digits, as the last bits are those of a machine."""
        return _part(recipe, _proof_of(result))

    def survivors_of(self, result: Result, recipe: Recipe) -> Mapping[str, Any]:
        """How many cells are left."""
        assert result.hypothesis is not None, "Lattice always has an answer"
        return cells_left(recipe, result.hypothesis, _proof_of(result).axes)

    def steps(self, claim: Claim, usual: Iterator[Step]) -> Iterator[Step]:
        """What the file alone shows; there is no list, so nothing is as usual."""
        body, protocol = claim.body, claim.protocol
        yield Step("the hypothesis is a cell of the lattice", lambda: check_hypothesis(body, protocol), needed=True)
        yield Step("cell and direction are those of the hypothesis", lambda: _cell(body, protocol), needed=True)
        yield Step("the bounds along the axes are bounds", lambda: _axes(body, protocol), needed=True)
        yield Step("cells that are left follow from the bounds", lambda: _survivors(body, protocol))
        yield Step("the rounds follow the plan and are possible", lambda: _rounds(body, protocol))
        yield Step("every condition is recomputed", lambda: _conditions(body, protocol))
        yield Step("what is proven is what is certified", lambda: _levels(body, protocol))
        yield Step("the error is that of the items told", lambda: _error(body, protocol))

    def beliefs(self, claim: Claim) -> Iterator[Belief]:
        """What only labels show."""
        yield Belief(
            "the labels leave directions within these bounds",
            *(f"proof.{key}" for key in ("enclosed", "cell", "direction", "axes", "wrong", "open")),
            "hypothesis",
            "certified",
            "rho_proven",
            "answer_error",
            "verdict",
            "conditions",
        )
        if not claim.part["enclosed"]:
            yield Belief("the prediction of rho", "proof.rho_predicted")

    def facts(self, claim: Claim) -> dict[str, str]:
        """The cell of a lattice, its direction, and what is proven or predicted of agreement."""
        part, error, rho = claim.part, claim.body["answer_error"], claim.body["rho_proven"]
        left = claim.body["survivors"]["count"]
        cells = f"about 10^{len(str(left)) - 1} cells" if left > 10**6 else count(left, "cell")
        differ = "nothing" if rho >= 1 else f"labs differ with probability at most {at_most(rho, 4)}"
        facts = {
            "cell of the lattice": " ".join(map(str, part["cell"])),
            "direction": " ".join(f"{each:.6f}" for each in part["direction"]),
            "left by the labels": cells,
            "proven": "all labs that are certified in this way have this cell" if part["enclosed"] else differ,
        }
        if not part["enclosed"]:
            predicted = about(part["rho_predicted"], 4)
            facts["predicted"] = f"labs differ with probability {predicted}: an estimate, no proof"
        if claim.body["certified"] and error is not None:
            facts["error"] = f"at most {at_most(error['high'], 4)}, at level {error['level']:g}"
        return facts

    def promise(self, claim: Claim) -> str:
        """Surely, where all that is left lies in one cell."""
        return f"{_ENCLOSED}, {_SUPPOSED}" if claim.part["enclosed"] else super().promise(claim)

    def error_words(self, result: Result, protocol: Published) -> str:
        """How often the answer errs, as far as it is proven: where not all is in one cell the lab may have another rule."""
        found, error = _proof_of(result), result.answer_error
        level = 1.0 if error is None else error.level + found.rho_proven / _lattice(protocol)[1].labs
        if error is None or found.rho_proven >= 1 or level >= 1:
            return "Error: no bound is proven."
        return f"Error: at most {at_most(error.high, 4)} {_SUPPOSED}, with confidence {confidence(level)}."

    def proof_words(self, result: Result, protocol: Published) -> str:
        """Certified or not: what that means, or why not, what would help, and what is predicted."""
        found, verdict = _proof_of(result), _proof_of(result).verdict
        if verdict.certified and found.enclosed:
            return f"Certified: {_ENCLOSED}, {_SUPPOSED}."
        if verdict.certified:
            differ = f"{two_of(_lattice(protocol)[1].labs)} both prove this much and have different answers"
            return f"Certified: the chance that {differ} is at most {at_most(found.rho_proven)}, {_SUPPOSED}."
        sentence = f"Not certified: {verdict.why}. What helps: {verdict.helps}."
        if found.enclosed:
            return sentence
        return f"{sentence} Predicted, not proven: another lab differs with probability {about(found.rho_predicted)}."

    def detail_words(self, result: Result, protocol: Published) -> Iterator[str]:
        """The cell, and where nothing contradicts how far the directions reach that are left."""
        found = _proof_of(result)
        cell = f"The answer is cell {' '.join(map(str, found.cell))} of the lattice"
        if found.axes is None:
            yield f"{cell}; how far other directions reach is not known."
        else:
            yield f"{cell}; directions that contradict no label lie in {count(cells_of(found.axes), 'cell')}."

    def class_words(self, recipe: Recipe) -> str:
        """How many cells a lattice has."""
        size = size_of(recipe.C)
        return f"a lattice of {size:,} cells" if size < 10**6 else f"a lattice of about 10^{len(str(size)) - 1} cells"

    def answer_words(self, h: int, recipe: Recipe) -> str:
        """A half-space; the number of its cell says nothing to anybody."""
        return recipe.describe(h)

    def left_words(self, survivors: int, recipe: Recipe) -> str:
        """Cells that are left are not counted after every label."""
        return ""

    def cost(self, protocol: Published) -> Cost:
        """One figure: an estimate, or the labels that are planned for where they may be wrong."""
        C, plan = _lattice(protocol)
        return Cost(
            labels=plan.labels_about(C),
            kind="most" if plan.noisy else "estimate",
            note="an estimate for items that look alike from every side",
        )

    def remarks(self, protocol: Published) -> Iterator[str]:
        """What it takes, and what is supposed."""
        C, plan = _lattice(protocol)
        if plan.noisy:
            yield (
                f"Each lab asks for {count(plan.labels_about(C), 'label')}. Labels may be wrong (nu), so nothing will be "
                "proven: how often labs differ is predicted, and called so."
            )
            return
        yield (
            f"About {count(plan.labels_about(C), 'label')} per lab, if items look alike from every side and no wall of "
            "the lattice is in the way: an estimate, no bound. What is proven supposes that some half-space makes no error."
        )
        if plan.max_labels is not None and plan.max_labels - plan.checks < C.d:
            yield (
                f"Note: nothing can be proven with so few labels: {plan.checks} of {plan.max_labels} check the answer, and "
                f"{C.d} coordinates need at least as many others; raise max_labels."
            )

    def warnings(self, protocol: Published, items: Items) -> Iterator[str]:
        """Items that are too few, or do not tell all coordinates apart."""
        d, columns = _lattice(protocol)[0].d, (*protocol.recipe.columns, "the intercept")
        if len(items) < d:
            few = count(len(items), "item")
            yield f"{few} cannot tell {d} coordinates apart, so nothing can be proven: bring more items"
        elif found := dependent_columns(items):
            said = ", ".join(columns[j] for j in found[:_FEW]) + (" .." if len(found) > _FEW else "")
            follow = plural(len(found), "follows", "follow")
            yield (
                f"on these items {said} {follow} from the other features (constant, a copy, a sum), so no label can tell "
                "their weights and nothing can be proven: publish a protocol without them"
            )


FAMILY = LatticeFamily()
_SUPPOSED = "if some half-space makes no error"
_ENCLOSED = (
    "every half-space that contradicts no label lies in this cell of the lattice. All labs of which that is true return "
    "this very rule, surely"
)


def cells_left(recipe: Recipe, h: int, axes: Sequence[tuple[float, float]] | None) -> Mapping[str, Any]:
    """How many cells are left between such bounds, listed where that is the answer `h` alone."""
    left = size_of(recipe.C) if axes is None else cells_of(axes)
    return {"count": left, "ranges": [[h, h]] if left == 1 else []}


def _proof_of(result: Result) -> LatticeProof:
    assert isinstance(result.proof, LatticeProof), "every run of Lattice ends with it"
    return result.proof


def _part(recipe: Recipe, found: LatticeProof) -> dict[str, Any]:
    C = recipe.C
    assert isinstance(C, Linear), "whose cells they are"
    part = Part(
        family="lattice",
        enclosed=found.enclosed,
        cell=list(found.cell),
        direction=C.normal(C.number(found.cell)).tolist(),
        axes=None if found.axes is None else [list(each) for each in found.axes],
        wrong=found.wrong,
        open=found.open,
        rho_predicted=round(found.rho_predicted, 6),
    )
    return cast(dict[str, Any], to_builtins(part))


def _lattice(protocol: Published) -> tuple[Linear, LatticePlan]:
    """Its class and plan, which nobody else's are."""
    return cast(Linear, protocol.recipe.C), cast(LatticePlan, protocol.plan)


def _noisy(body: Mapping[str, Any]) -> bool:
    """Did labels contradict every half-space, or were they taken to?"""
    return any(each["name"] == SEPARABLE for each in body["conditions"])


def _recompute(body: Mapping[str, Any], protocol: Published) -> LatticeProof:
    """What the run knew, as far as it follows from the bounds, the counts and whether all is in one cell."""
    (_, plan), part = _lattice(protocol), body["proof"]
    axes = None if part["axes"] is None else tuple((low, high) for low, high in part["axes"])
    crossed = 1.0 if axes is None else crossings_of(axes)
    rho = 0.0 if part["enclosed"] else 1.0 if _noisy(body) else plan.rho_proven(crossed)
    accurate = not _noisy(body) and _most(body, plan) <= plan.epsilon
    return LatticeProof(
        enclosed=part["enclosed"],
        certified=rho <= plan.rho and accurate,
        rho_proven=rho,
        rho_predicted=part["rho_predicted"],
        crossings=crossed,
        cell=tuple(part["cell"]),
        axes=axes,
        wrong=part["wrong"],
        open=part["open"],
    )


def _most(body: Mapping[str, Any], plan: LatticePlan) -> float:
    """The bound on the answer's error that follows from the items told."""
    part = body["proof"]
    return plan.error_at_most(part["wrong"] + part["open"], body["pool"]["items"])


def _cell(body: Mapping[str, Any], protocol: Published) -> str | None:
    """Are cell and direction those of the answer's number, and does a half-space lie in the cell?"""
    C, _ = _lattice(protocol)
    part, cell = body["proof"], C.cell_of(index_of(body) or 0)
    if wrong := same(part["cell"], list(cell)):
        return wrong
    if not _holds_a_direction(C, np.add(cell, [[0.0], [1.0]])):
        return "no direction lies in this cell"
    return same(part["direction"], _part(protocol.recipe, _recompute(body, protocol))["direction"])


def _holds_a_direction(C: Linear, ends: NDArray[np.float64]) -> bool:
    """Does some unit vector lie between the lower and the upper `ends`, in cells along the axes?"""
    walls = (ends + C.shift) * C.step
    nearest = np.where(walls[0] * walls[1] <= 0, 0.0, np.abs(walls).min(axis=0))
    return math.hypot(*nearest) <= 1 + _ROOM and math.hypot(*np.abs(walls).max(axis=0)) >= 1 - _ROOM


def _axes(body: Mapping[str, Any], protocol: Published) -> str | None:
    """Are there bounds and counts of errors where nothing contradicts, in six digits, around the answer's cell?"""
    C, plan = _lattice(protocol)
    part = body["proof"]
    axes, wrong, unknown, items = part["axes"], part["wrong"], part["open"], body["pool"]["items"]
    if not isinstance(part["enclosed"], bool):
        return "everything lies in one cell or it does not"
    if _noisy(body) or plan.noisy:
        claims = (part["enclosed"], axes, wrong, unknown, _noisy(body))
        return same(claims, (False, None, None, None, True))
    if not (is_count(wrong) and is_count(unknown) and wrong + unknown <= items):
        return "items that the answer errs on, and those of which that is not known, are counts of the pool's items"
    if axes is None:
        if part["enclosed"]:
            return "nothing bounds what is left, and yet it lies in one cell"
        return None if (wrong, unknown) == (0, items) else "nothing bounds what is left, and yet labels follow from it"
    if len(axes) != C.d or not all(
        len(each) == 2 and all(map(_six_digits, each)) and each[0] <= each[1] for each in axes
    ):
        return f"there are {C.d} pairs of bounds in six digits, the smaller first"
    for cell, (low, high) in zip(part["cell"], axes, strict=True):
        if part["enclosed"] and not cell <= low <= high <= cell + 1:
            return f"everything that is left is said to lie in one cell, and reaches from {low} to {high} around {cell}"
        if not (low <= cell + 1 and cell <= high):
            return f"what is left lies between {low} and {high}, and the answer in cell {cell}"
    return None if _holds_a_direction(C, np.transpose(axes)) else "no direction lies between these bounds"


def _six_digits(value: Any) -> bool:
    """A number in six digits."""
    return is_number(value) and math.isfinite(value) and round(value, 6) == value


def _survivors(body: Mapping[str, Any], protocol: Published) -> str | None:
    """Survivors are the cells between the bounds."""
    return same(body["survivors"], cells_left(protocol.recipe, index_of(body) or 0, body["proof"]["axes"]))


def _rounds(body: Mapping[str, Any], protocol: Published) -> str | None:
    """Items one by one while nothing contradicts; at least one label for each coordinate before anything is bounded."""
    C, plan = _lattice(protocol)
    rounds, items, asked = body["rounds"], body["pool"]["items"], body["labels"]["asked"]
    single = not (_noisy(body) or plan.noisy)
    for each in rounds:
        if each["disagreement"][1:] != [items] or each["disagreement"][0] > items:
            return f"round {each['round']}: disagreement is measured on {items} items"
        if not 1 <= each["survivors"] <= C.size or each["drawn"] != each["scanned"] or each["drawn"] < 1:
            return f"round {each['round']}: other items are looked at than are asked, or no cell is left"
        if single and each["drawn"] != 1:
            return f"round {each['round']}: the plan asks for one label per round"
    if rounds and rounds[0]["survivors"] != C.size:
        return "the first round begins with another number of cells than the lattice has"
    if body["proof"]["axes"] is not None and asked < C.d - 1:
        return f"{asked} labels bound no direction with {C.d} coordinates"
    if body["proof"]["enclosed"] and asked < C.d:
        return f"{asked} labels put no direction with {C.d} coordinates into one cell"
    if single and body["proof"]["axes"] is not None:
        # At least so many labels follow from others; of these the plan checks some, beside d - 1 that bound anything.
        known = items - body["proof"]["open"] - body["labels"]["skipped"]
        checks = min(plan.checks, known - (C.d - 1))
        if asked - (C.d - 1) < checks:
            return f"{asked} labels are fewer than bound the directions and check the answer {checks} times"
    most = plan.noisy_labels(items)
    return (
        None if single or asked <= max(most, body["labels"]["answered"]) else f"the plan asks for {most} labels at most"
    )


def _conditions(body: Mapping[str, Any], protocol: Published) -> str | None:
    C, plan = _lattice(protocol)
    part = body["proof"]
    if _noisy(body):
        return same(body["conditions"], [condition_part(each) for each in (*plan.conditions, CONTRADICTED)])
    cells = C.size if part["axes"] is None else cells_of(part["axes"])
    own = own_conditions(plan, cells, _most(body, plan), enclosed=part["enclosed"])
    return same(body["conditions"], [condition_part(each) for each in (*plan.conditions, *own)])


def _levels(body: Mapping[str, Any], protocol: Published) -> str | None:
    """ρ follows from the bounds, what is certified from it and from the error; the verdict has words if it is not."""
    found, verdict = _recompute(body, protocol), body["verdict"]
    claim = (body["certified"], body["rho_proven"], verdict["certified"])
    if wrong := same(claim, (found.certified, found.rho_proven, found.certified)):
        return wrong
    words = [verdict["why"], verdict["helps"]]
    if not all(isinstance(each, str) and (each == "") == found.certified for each in words):
        return "a verdict says in words why and what helps, if something is missing"
    predicted = body["proof"]["rho_predicted"]
    if not (is_number(predicted) and round(predicted, 6) == predicted):
        return "the prediction of rho has six digits"
    return same(predicted, 0.0) if found.enclosed else None


def _error(body: Mapping[str, Any], protocol: Published) -> str | None:
    """Estimate and bound follow from the items that the answer errs on, surely or perhaps."""
    _, plan = _lattice(protocol)
    if _noisy(body):
        return same(body["answer_error"], None)
    part, items = body["proof"], body["pool"]["items"]
    return same(
        body["answer_error"],
        {
            "estimate": (part["wrong"] + part["open"] / 2) / items,
            "low": 0.0,
            "high": _most(body, plan),
            "level": float(plan["delta"]),
            "of": "error",
            "labels": 0,
            "skipped": 0,
        },
    )
