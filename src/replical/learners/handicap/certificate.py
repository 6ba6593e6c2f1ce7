"""What the certificate of a run of Handicap says beside what all say: its part, what follows from it, what is believed.

The level follows from labels that a file does not hold; what no labels can have led to is found out here. With a public
order the counts are published from which the tolerance follows, and it is computed again. A test returns nothing if all is
well, and a sentence if not. The sentences for people stand here too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from itertools import chain, islice
from math import exp, inf, log, log1p
from typing import Annotated, Any, Literal, cast

import numpy as np
from msgspec import Meta, Struct, to_builtins

from replical.bounds.betting import share_interval
from replical.classes.recipe import Recipe
from replical.core.exact import decimal, decimals, round_up_to
from replical.core.text import about, at_most, confidence, count, listing, plural, two_figures, two_of
from replical.learners.handicap import proof as proofs
from replical.learners.handicap.bets import Accounts
from replical.learners.handicap.handicaps import UNIT
from replical.learners.handicap.plan import HandicapPlan
from replical.learners.plan import Condition, Plan
from replical.learners.proof import (
    Belief,
    Claim,
    Family,
    Published,
    Step,
    error_facts,
    is_count,
    is_share,
    ranges_of,
    same,
)
from replical.learners.result import Result
from replical.pools.groups import SINGLE

Count = Annotated[int, Meta(ge=0)]
Share = Annotated[float, Meta(ge=0, le=1)]
_STEP = 1 / proofs.DIGITS
_ROOM = 1e-5  # by which wealth in doubles and in logarithms may differ


class Part(Struct, forbid_unknown_fields=True, omit_defaults=True):
    """What a run of Handicap knows.

    ``excess`` is an estimate; ``excess_upper`` a bound, null where the answer is not certified; ``tolerance`` and the
    ``counts`` it follows from are null without a public order. Where outputs are compared, ``differences`` says which
    values are counted.
    """

    family: Literal["handicap"]
    beta: float
    doubt: float
    asked: Count
    scanned: Count
    skipped: Count
    excess: Share
    excess_upper: Share | None
    tolerance: Share | None
    counts: list[list[Count]] | None
    differences: list[int] | None = None


class HandicapFamily(Family):
    """Survivors that are proven to contain the answer, the level reached, and how good answer and public favourite are."""

    Part = Part
    contains_answer = True
    verdict_names = (proofs.PROVEN,)

    def part_of(self, result: Result, recipe: Recipe) -> Mapping[str, Any]:
        """What a run knows, as it is written."""
        proof = result.proof
        assert isinstance(proof, proofs.HandicapProof), "that of such a run"
        counts = None if proof.counts is None else [list(row) for row in proof.counts]
        listed: dict[str, Any] = {"counts": counts, "differences": proof.differences and list(proof.differences)}
        others = {name: getattr(proof, name) for name in Part.__struct_fields__ if name not in ("family", *listed)}
        return cast(dict[str, Any], to_builtins(Part(family="handicap", **others, **listed)))

    def steps(self, claim: Claim, usual: Iterator[Step]) -> Iterator[Step]:
        """What the file alone shows."""
        yield from usual
        yield Step("what is proven is what is certified", lambda: _levels(claim))
        yield Step("labels and items looked at add up", lambda: _counts(claim))
        yield Step("so many items and labels can have proven it", lambda: _reach(claim))
        yield Step("the tolerance follows from the counts", lambda: _tolerance(claim))
        yield Step("error and excess are possible", lambda: _bounds(claim))

    def conditions(self, claim: Claim) -> tuple[Condition, ...]:
        """The level reached, and items that nobody could label."""
        part, beta = claim.part, float(claim.plan["beta"])
        proven = Condition(name=proofs.PROVEN, value=part["doubt"], bound=beta, held=claim.body["certified"])
        return proven, proofs.labelled(part["asked"], part["skipped"])

    def beliefs(self, claim: Claim) -> Iterator[Belief]:
        """What only labels show."""
        keys = (key for key in Part.__struct_fields__ if key in claim.part)
        part = [f"proof.{key}" for key in keys if key not in ("family", "beta", "excess")]
        yield Belief("the labels prove it", "certified", "rho_proven", *part, "conditions[].value")
        error = claim.body["answer_error"]
        bounds = [] if error is None else [f"answer_error.{key}" for key in ("estimate", "low", "high")]
        yield Belief("estimates and the words of the verdict", "proof.excess", "verdict.why", "verdict.helps", *bounds)

    def joint_tolerance(self, plan: Plan, parts: Sequence[Mapping[str, Any]]) -> tuple[float, int] | None:
        """The tolerance of their counts added up; None where there is no order, or one of them tells none."""
        assert isinstance(plan, HandicapPlan), "asked of such runs only"
        f = plan.favourite
        if f is None or any(part["counts"] is None or part["skipped"] > part["asked"] for part in parts):
            return None
        return proofs.up(proofs.tolerance_of(plan, _accounts(plan, parts), f)), f

    def items_alike(self, plan: Plan, parts: Sequence[Mapping[str, Any]], members: Sequence[int]) -> int | None:
        """Of the first of an order and one other it is told."""
        assert isinstance(plan, HandicapPlan), "asked of such runs only"
        if len(members) != 2 or plan.favourite not in members or any(part["counts"] is None for part in parts):
            return None
        if plan.groups.largest > 1:  # differences in a group may cancel out
            return None
        other = members[1] if members[0] == plan.favourite else members[0]
        rows = [part["counts"][int(np.searchsorted(plan.candidates, other))] for part in parts]
        return None if any(any(row[1:]) for row in rows) else sum(row[0] for row in rows)

    def facts(self, claim: Claim) -> dict[str, str]:
        """Among whom and in which order it chose, who is left, at which level, and how good the answer is."""
        part, recipe, among, plan = claim.part, claim.protocol.recipe, claim.plan.among, _plan(claim)
        errs, beta, total = recipe.errs, plan["beta"], claim.body["survivors"]["count"]
        left = chain(*(range(low, high + 1) for low, high in ranges_of(claim.body["survivors"], plan.n)))
        some = [recipe.describe(h) for h in islice(left, _NAMED)]
        facts = {
            "candidates": f"{recipe.count(plan.n)}{f', the answer is one{among}' if among else ''}",
            **({"public order": _order_words(plan, recipe)} if plan.source == "order" else {}),
            "ideal answer": f"the {recipe.member}{among} with the smallest error plus public handicap",
            "survivors": f"{recipe.count(total)}, proven to contain the ideal answer: {listing(some, total)}",
            "level": f"asked for {beta}, proven {beta if part['doubt'] == float(beta) else round_up_to(part['doubt'], 6)}",
            "items looked at": f"{part['scanned']:,}, of which {count(part['asked'], 'was', 'were')} asked",
        }
        if plan.groups != SINGLE:
            facts["groups"] = f"up to {plan.groups.largest} items; every {plan.groups.weights} counts alike"
        if part["tolerance"] is not None and part["tolerance"] < 1:
            facts["tolerance"] = (
                f"the first of the public order {errs} at most {at_most(part['tolerance'], 4)} more than the "
                f"best{among}, at level {beta}"
            )
        if part["excess_upper"] is not None:
            plain = recipe.losses is None
            facts["excess error" if plain else "excess loss, in costliest errors"] = (
                f"at most {at_most(part['excess_upper'], 4)} more than the best{among}, at level {2 * beta}"
            )
        return facts | error_facts(claim.body["answer_error"])

    def error_words(self, result: Result, protocol: Published) -> str:
        """How much more often it errs than the best: a bound where it is certified, an estimate elsewhere."""
        proof, plan, recipe = result.proof, protocol.plan, protocol.recipe
        if result.measured is not None or not isinstance(proof, proofs.HandicapProof):
            return super().error_words(result, protocol)
        most, level = proof.excess_upper, min(1.0, 2 * proof.beta)
        if _tells_answer(result, protocol):
            most, level = proof.tolerance, proof.beta
        what = "Error" if recipe.losses is None else "Loss (1 is the costliest error)"
        hint = "; --measure-error 100 measures it" if plan.measurable else ""
        than = f"more than the best {recipe.member}{plan.among}"
        if most is None:
            known = f"about {about(proof.excess)} {than}" if proof.excess > 0 else "the smallest"
            known += " on these labels, an estimate without a bound"
        else:
            noiseless = f", if some {recipe.member} makes no error" if plan.infers else ""
            known = f"at most {at_most(most, 4)} {than}, with confidence {confidence(level)}{noiseless}"
        return f"{what}: {known}{hint}."

    def proof_words(self, result: Result, protocol: Published) -> str:
        """Certified or not: what that means, or why not, what would help, and what is proven all the same."""
        proof, plan = result.proof, protocol.plan
        assert isinstance(proof, proofs.HandicapProof), "that of such a run"
        proven = _tolerance_words(result, protocol)
        if not proof.certified:
            why, several = proof.verdict.why, f"it is one of {proof.survivors:,}"
            who = f" ({_survivors(result, protocol)})" if why.endswith(several) else ""
            return f"Not certified: {why}{who}.{proven} {' '.join(_advice(result, protocol))}"
        whose = protocol.recipe.member
        noiseless = f", if some {whose} makes no error" if plan.infers else ""
        return (
            f"Certified: this is proven to be the {whose}{plan.among} with the smallest error plus public handicap. The "
            f"chance that {two_of(proof.labs)} are both certified and differ is at most {at_most(proof.rho_proven)}"
            f"{noiseless}.{proven}"
        )

    def detail_words(self, result: Result, protocol: Published) -> Iterator[str]:
        """Who is left, and how many items were looked at."""
        proof, left = result.proof, result.survivors.indices
        assert isinstance(proof, proofs.HandicapProof), "that of such a run"
        which = "It" if len(left) == 1 else "One of them"
        yield (
            f"{count(len(left), 'survivor')}: {_survivors(result, protocol)}. {which} has the smallest error plus public "
            f"handicap{protocol.plan.among}, except with probability {at_most(proof.beta)}."
        )
        yield (
            f"{count(proof.scanned, 'item')} {plural(proof.scanned, 'was', 'were')} looked at, labels were asked for "
            f"{100 * proof.asked / max(proof.scanned, 1):.0f}% of them."
        )
        if not proof.certified:
            doubt = "nothing is" if proof.doubt >= 1 else f"only level {at_most(proof.doubt)} is"
            yield f"The level asked for is {proof.beta:.3g}, and {doubt} proven."

    def left_words(self, survivors: int, recipe: Recipe) -> str:
        """Where one is left, what more labels are for."""
        return (
            super().left_words(survivors, recipe) if survivors > 1 else "; one is left, and its tolerance gets sharper"
        )

    def remarks(self, protocol: Published) -> Iterator[str]:
        """Who is no candidate."""
        plan = _plan(protocol)
        if plan.members is not None and plan.source == "cover":
            yield (
                f"The candidates are a cover of the class, {len(plan.members):,} of it: every other hypothesis differs from "
                "one of them on few public items. All have the handicap 0, so two that never differ in a lab are both left."
            )
        elif plan.members is not None:
            errs = protocol.recipe.errs
            yield (
                f"A shortlist: only the first {len(plan.members):,} of the public order are candidates. The answer {errs} "
                f"at most {float(plan.epsilon):g} more than the best of these; the best of all {plan.n:,} may be better."
            )


FAMILY = HandicapFamily()
_FEW, _NAMED = 3, 12  # survivors that are named in a line, and on the page


def _order_words(plan: HandicapPlan, recipe: Recipe) -> str:
    """The first names of a public order."""
    assert plan.prior.places is not None, "a strict order has places"
    return listing([recipe.describe(h) for h in np.argsort(plan.prior.places)[:_NAMED].tolist()], plan.n)


def _survivors(result: Result, protocol: Published) -> str:
    """Who is left, the first of them by name."""
    left = result.survivors.indices
    return listing([protocol.recipe.describe(h) for h in left[:_FEW].tolist()], len(left))


def _tolerance_words(result: Result, protocol: Published) -> str:
    """What is proven of the first of a public order; nothing where there is none."""
    proof, plan = result.proof, _plan(protocol)
    assert isinstance(proof, proofs.HandicapProof), "that of such a run"
    if plan.favourite is None or proof.tolerance is None:
        return ""
    first = f"{protocol.recipe.describe(plan.favourite)}, the first of the public order,"
    level = f"confidence {confidence(proof.beta)}"
    best = f"the best {protocol.recipe.member}{plan.among}"
    most = f"{protocol.recipe.errs} at most {at_most(proof.tolerance, 4)} more than {best} ({level})."
    behind = ""
    if _is_behind(result, plan):
        behind = f" {first} is clearly behind: the others decide by the plain rule."
        first = protocol.recipe.describe(plan.favourite)
    if proof.certified and result.hypothesis == plan.favourite:
        return "" if _tells_answer(result, protocol) else f" It {most}"
    if proof.tolerance >= 1:
        return behind or f" Of {first} nothing is proven yet."
    return f"{behind} Proven{' too' if proof.certified else ' all the same'}: {first} {most}"


def _tells_answer(result: Result, protocol: Published) -> bool:
    """Is the tolerance the only bound on the answer, so that the line about its error says it?"""
    proof, favourite = result.proof, _plan(protocol).favourite
    assert isinstance(proof, proofs.HandicapProof), "that of such a run"
    return (
        proof.certified and result.hypothesis == favourite and proof.tolerance is not None and result.measured is None
    )


def _is_behind(result: Result, plan: HandicapPlan) -> bool:
    """Is there a public order whose first has left the survivors?"""
    return plan.favourite is not None and plan.favourite not in result.survivors.indices


def _advice(result: Result, protocol: Published) -> Iterator[str]:
    """What would help, about how much of it, and what to type."""
    proof, plan = result.proof, _plan(protocol)
    assert isinstance(proof, proofs.HandicapProof), "that of such a run"
    verdict, first = proof.verdict, proof.verdict.helps.partition(",")[0]
    if proof.ahead is None or first not in ("more items", "more labels"):
        yield f"What helps: {verdict.helps}."
        return
    yield f"To a proof it takes {proof.more}, if they are like those so far: {_way(proof, plan)}."
    others = verdict.helps.removeprefix(first).lstrip(", ").removeprefix("or ")
    wider = None if proof.tolerance is None else plan.wider(proof.tolerance)
    better = "a larger epsilon"
    if _is_behind(result, plan):
        better = f"a public order in which {result.describe(protocol.recipe.C)} is the first"
    elif wider is not None:
        better = f"--epsilon {wider:g}, with which these labels would have been a proof"
    yield f"Or a next protocol, for other items: {others.replace('a larger epsilon', better)}."


def _way(proof: proofs.HandicapProof, plan: HandicapPlan) -> str:
    """What to type for more items or labels."""
    assert proof.ahead is not None, "several are left"
    items, labels = (proof.ahead.play().span(what) for what in ("items", "labels"))
    few = items.high > proof.left  # items for what the range may take
    rows = f"{two_figures(items.high - proof.left):,} rows" if items.known == 3 and few else "rows"
    grow = f"add {rows} at the end of the pool's table and" if few else ""
    most = two_figures(proof.asked + labels.high)
    enough = proof.budget is None or (not proof.spent and most <= proof.budget)
    if enough:
        return f"{grow} type the same command again"
    if proof.budget != plan.max_labels:
        return f"{grow} type the same command with --until-budget {min(most, plan.max_labels or most)}".lstrip()
    if not proof.spent:
        return f"{grow} type the same command again; more than {proof.budget} labels the protocol does not allow"
    return f"the budget is part of the protocol, so it takes a new one (init --set max_labels={most}) and other items"


def _plan(asked: Claim | Published) -> HandicapPlan:
    assert isinstance(asked.plan, HandicapPlan), "asked of such runs only"
    return asked.plan


def _levels(claim: Claim) -> str | None:
    """One survivor is certified, where labels and not their absence left it; ρ follows from the level."""
    plan, part, body = _plan(claim), claim.part, claim.body
    beta, doubt, alone = float(plan["beta"]), part["doubt"], body["survivors"]["count"] == 1
    certified = alone and part["skipped"] <= part["asked"]
    least, most = (beta, beta) if certified else (min(1.0, beta + _STEP), 1.0)
    if part["skipped"] > part["asked"]:
        least = 1.0
    if wrong := same(part["beta"], beta):
        return wrong
    if not isinstance(doubt, float) or not least <= doubt <= most:
        return f"with {body['survivors']['count']} survivors the level reached lies between {least:g} and {most:g}"
    if doubt not in (beta, min(1.0, beta + _STEP)) and round(doubt * proofs.DIGITS) / proofs.DIGITS != doubt:
        return "the level reached has more than six digits"
    if plan.members is not None and not np.isin(claim.survivors, plan.members).all():
        return f"a survivor is none{plan.among}"
    claims = (body["certified"], body["rho_proven"])
    return same(claims, (certified, min(1.0, plan.integer("labs") * doubt)))


def _counts(claim: Claim) -> str | None:
    """Labels, skips and items looked at add up, and a run does not end before it must."""
    plan, part, body = _plan(claim), claim.part, claim.body
    error, items = body["answer_error"] or {"labels": 0, "skipped": 0}, body["pool"]["items"]
    if wrong := check_scan(claim, part["skipped"], more=error["labels"], unlabelled=error["skipped"]):
        return wrong
    if body["labels"].get("budget") is not None:
        plan = plan.spending(body["labels"].get("budget"))
    shown = part["skipped"] <= part["asked"]
    alone, several = plan.sharpens and claim.survivors.tolist() == [plan.favourite], body["survivors"]["count"] > 1
    if not alone and not plan.infers and any(each["survivors"] == 1 for each in claim.rounds):
        return "items are asked although one is left"
    goes_on = several or (alone and shown and part["tolerance"] > proofs.up(proofs.FINEST))
    batch = plan.batch + plan.groups.largest - 1  # or the groups in which it ends
    judged, dearest = body["labels"].get("judgements"), batch * len(plan.candidates)
    spent = part["asked"] + batch - plan.batch if judged is None else judged - error["labels"] + dearest - 1
    opens = plan.opens(spent)
    if goes_on and opens > 0 and part["scanned"] < items:
        left = "several survive" if several else "there is more to prove"
        return f"{left}, and yet the run ended before pool and budget were used up"
    return None


def check_scan(claim: Claim, skipped: int, *, more: int = 0, unlabelled: int = 0) -> str | None:
    """Do items asked, `skipped` and looked at add up, with `more` labels and `unlabelled` items after the answer?"""
    part, labels = claim.part, claim.body["labels"]
    looked_at = part["scanned"] + more + unlabelled
    if part["asked"] != sum(each["drawn"] for each in claim.rounds) or part["asked"] + skipped > part["scanned"]:
        return "the labels asked do not add up"
    if looked_at > claim.body["pool"]["items"] or sum(each["scanned"] for each in claim.rounds) > part["scanned"]:
        return "more items were looked at than there are"
    if skipped + unlabelled > labels["skipped"]:
        return "more items could not be labelled than were skipped"
    if labels["answered"] + labels["skipped"] > looked_at:
        return "more items were answered and skipped than were looked at"
    return None


def _reach(claim: Claim) -> str | None:
    """Could so many items and labels have driven out all who left, had every one of them spoken against these?"""
    plan, part = _plan(claim), claim.part
    members, c, _ = plan.terms(claim.shared)
    if len(members) == 1 or plan.table:  # near the end of a table a few labels prove much
        return None
    survives = np.isin(members, claim.survivors)
    lowest = np.partition(c, 1)[:2]
    leads = (c - np.where(c == lowest[0], lowest[1], lowest[0])) / UNIT  # θ against whom its bet gains most
    if not survives.all() and _most(plan, part, float(leads[~survives].min())) < log(1 / part["beta"]) - _ROOM:
        return "so few items and labels drive nobody out"
    others = survives & (members != claim.body["hypothesis"]["index"])
    if others.any() and _most(plan, part, float(leads[others].min())) < log(1 / part["doubt"]) - _ROOM:
        return f"so few items and labels prove no level of {part['doubt']:g}"
    return None


def _most(plan: HandicapPlan, part: Mapping[str, Any], theta: float) -> float:
    """ln of the most that a bet on a difference of `theta` can have come to, had every label spoken for it.

    Quiet items that cost may have come when it was over.
    """
    spoke = part["scanned"] if plan.noiseless else part["asked"]  # labels may be inferred
    quiet = part["scanned"] - spoke
    stakes = [stake / (1 - theta) if theta < 0 else stake for stake in plan.stakes]
    logs: list[float] = [
        spoke * log1p(stake * (theta + 1)) + quiet * log1p(stake * max(theta, 0.0)) for stake in stakes
    ]
    most = max(logs)
    return most + log(sum(exp(each - most) for each in logs) / len(logs))


def _tolerance(claim: Claim) -> str | None:
    """Are the counts possible, and is the tolerance theirs?"""
    plan, part = _plan(claim), claim.part
    f, counts = plan.favourite, part["counts"]
    if f is None:
        return same((part["tolerance"], counts), (None, None))
    if len(plan.candidates) > proofs.MOST_COUNTED:
        return None if counts is None and is_share(part["tolerance"]) else "of so many candidates no counts are told"
    if wrong := _check_rows(claim, plan, counts, f):
        return wrong
    shown = part["skipped"] <= part["asked"]
    return same(part["tolerance"], proofs.up(proofs.tolerance_of(plan, _accounts(plan, [part]), f)) if shown else 1.0)


def _accounts(plan: HandicapPlan, parts: Sequence[Mapping[str, Any]]) -> Accounts:
    """The counts of these added up; of a fine grid only the differences that came are told."""
    accounts = Accounts(len(plan.candidates), plan)
    for part in parts:
        accounts.counts[_outcome_numbers(plan, part)] += np.array(part["counts"], dtype=np.int64).T
    return accounts


def _outcome_numbers(plan: HandicapPlan, part: Mapping[str, Any]) -> list[int]:
    """Which of the outcomes are counted."""
    published = part["differences"] if plan.fine else None
    return (
        list(range(len(plan.outcomes))) if published is None else [plan.differences.index(each) for each in published]
    )


def _check_rows(claim: Claim, plan: HandicapPlan, counts: Any, f: int) -> str | None:
    part = claim.part
    if ("differences" in part) != plan.fine:
        return "differences are told where outputs are compared, and nowhere else"
    if plan.fine and list(part["differences"]) != [
        each for each in plan.differences if each in set(part["differences"])
    ]:
        return "the differences that are counted are some of the grid, in its order"
    width = len(_outcome_numbers(plan, part))
    rows = counts if isinstance(counts, list) else []
    survives, first = np.isin(plan.candidates, claim.survivors), int(np.searchsorted(plan.candidates, f))
    if len(rows) != len(survives) or any(len(row) != width or not all(map(is_count, row)) for row in rows):
        return f"there are {len(survives)} candidates, with {width} counts each"
    table = np.zeros((len(rows), len(plan.outcomes)), dtype=np.int64)
    table[:, _outcome_numbers(plan, part)] = rows
    compared, quiet = (
        plan.items_counted(table.T),
        [number for number, (_, apart) in enumerate(plan.outcomes) if not apart],
    )
    spoke = np.delete(table, quiet, axis=1).sum(axis=1)
    if compared.max() > part["scanned"] or spoke.max() > (part["scanned"] if plan.noiseless else part["asked"]):
        return "more items are counted than were looked at or labelled"
    if plan.fine and (part["differences"][:1] != [0] or not np.array(rows)[:, 1:].any(axis=0).all()):
        return "differences that are counted are 0 and those that came"
    if spoke[first]:
        return "nobody differs from itself"
    if f in claim.survivors and (compared[survives] != part["scanned"]).any():
        return "survivors were compared on every item"
    return (
        "somebody was compared on more items than the first of the order"
        if (compared > compared[first]).any()
        else None
    )


def _bounds(claim: Claim) -> str | None:
    """A bound on the excess is told if and only if the answer is certified, and no better one than labels can give."""
    body, part, upper = claim.body, claim.part, claim.part["excess_upper"]
    if not all(isinstance(body["verdict"][key], str) for key in ("why", "helps")):
        return "a verdict says in words why and what helps"
    silent = [body["verdict"][key] == "" for key in ("why", "helps")]
    if body["verdict"]["certified"] is not body["certified"] or silent != [body["certified"]] * 2:
        return "the verdict is not what is certified"
    if not is_share(part["excess"]):
        return "the estimate of the excess is a number from 0 to 1 with six digits"
    if body["certified"] != (upper is not None) or not (upper is None or is_share(upper)):
        return "the excess bound is a number, told for certified answers"
    if upper is not None and (wrong := _check_excess(claim, upper)):
        return wrong
    return _check_error(claim)


def _check_excess(claim: Claim, upper: float) -> str | None:
    """Is it one of the grid, and one that so many items and labels can give?"""
    plan, part = _plan(claim), claim.part
    with decimals():
        grid = [decimal(plan.epsilon * k / proofs.STEPS) for k in range(proofs.STEPS + 1)]
        x = next((each for each in grid if proofs.up(each) == upper), None)
    if x is None:
        return f"the excess bound is a multiple of epsilon/{proofs.STEPS}, rounded up"
    members, c, _ = plan.terms(claim.shared)
    gaps = c - c[members == claim.body["hypothesis"]["index"]]
    far = bool((gaps > int(x * Decimal(UNIT))).any())
    enough = _most(plan, part, float(x)) if far else inf
    return None if enough >= log(1 / part["beta"]) - _ROOM else f"so few items and labels prove no excess below {upper}"


def _check_error(claim: Claim) -> str | None:
    """An error that was measured has the interval of its count; one that was not is the excess, where that is proven."""
    plan, part, error = _plan(claim), claim.part, claim.body["answer_error"]
    upper = part["excess_upper"]
    if error is None:
        return None if upper is None else "the answer is certified, and its excess error is not told"
    if not is_share(error["estimate"]):
        return "the estimate of the error is a number from 0 to 1 with six digits"
    if error["of"] == "excess":
        level = min(1.0, 2 * part["beta"])
        expected = {"estimate": part["excess"], "low": 0.0, "high": upper, "level": level, "labels": 0, "skipped": 0}
        return same({key: error[key] for key in expected}, expected)
    if not plan.measurable:
        return f"{plan.learner} measures no error where errors are not all alike"
    what = "error" if plan.losses is None else "loss"
    if error["of"] != what or error["level"] != float(plan["delta"]) or error["labels"] < 1:
        return f"an {what} is measured at the level delta, on at least one label"
    if what == "loss":  # the interval follows from all losses, which a file does not tell
        inside = (
            is_share(error["low"]) and is_share(error["high"]) and error["low"] <= error["estimate"] <= error["high"]
        )
        return None if inside else "the interval of a loss holds its estimate"
    errors = round(error["estimate"] * error["labels"])
    low, high = share_interval(errors, error["labels"], error["level"])
    return same([error["estimate"], error["low"], error["high"]], [round(errors / error["labels"], 6), low, high])
