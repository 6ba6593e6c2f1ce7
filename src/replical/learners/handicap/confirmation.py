"""What the certificate of a confirmation says beside what all say: what was found of the answer, and how that is checked.

The outcome follows from labels that a file does not hold; whether so many items and labels can have decided it is found out
here. A test returns nothing if all is well, and a sentence if not.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, cast

from msgspec import Meta, Struct, to_builtins

from replical.classes.recipe import Recipe
from replical.core.text import confidence, count, plural
from replical.learners.handicap.certificate import check_scan
from replical.learners.handicap.confirm import Confirmation, ConfirmPlan, Outcome
from replical.learners.handicap.proof import labelled
from replical.learners.plan import Condition
from replical.learners.proof import Belief, Claim, Family, Published, Step, same
from replical.learners.result import Result

Count = Annotated[int, Meta(ge=0)]


class Part(Struct, tag_field="family", tag="confirm", forbid_unknown_fields=True):
    """What was found of the answer.

    ``against`` is the number of the candidate that it lost to, or of the best one that is not done; null if all are.
    """

    outcome: Outcome
    against: Count | None
    asked: Count
    scanned: Count
    unlabelled: Count


class ConfirmFamily(Family):
    """An answer that was there before, confirmed, refuted, or neither."""

    Part = Part
    confirms = True
    title = "Confirmation of a published answer"

    def part_of(self, result: Result, recipe: Recipe) -> Mapping[str, Any]:
        """What a run knows, as it is written."""
        found = result.proof
        assert isinstance(found, Confirmation), "that of such a run"
        return cast(
            dict[str, Any], to_builtins(Part(**{name: getattr(found, name) for name in Part.__struct_fields__}))
        )

    def steps(self, claim: Claim, usual: Iterator[Step]) -> Iterator[Step]:
        """What the file alone shows."""
        yield from usual
        yield Step("the answer was not computed on these items", lambda: _fresh(claim))
        yield Step("what was found is what is certified", lambda: _levels(claim))
        yield Step("the opponent is a rival of the answer", lambda: _opponent(claim))
        yield Step("labels and items looked at add up", lambda: check_scan(claim, claim.part["unlabelled"]))
        yield Step("so many items and labels can decide this", lambda: _possible(claim))

    def conditions(self, claim: Claim) -> tuple[Condition, ...]:
        """Items that nobody could label."""
        return (labelled(claim.part["asked"], claim.part["unlabelled"]),)

    def beliefs(self, claim: Claim) -> Iterator[Belief]:
        """What only labels show, and what no file shows."""
        part = [f"proof.{key}" for key in Part.__struct_fields__]
        yield Belief("the labels decide it", *part, "certified", "verdict", "conditions[]", "confirms.batch")
        named = ("hypothesis", "confirms.certificate", "confirms.pool_fingerprint")
        why = "the file names the certificate, and does not hold it"
        yield Belief("the answer is that of the certificate named", *named, why=why, needs="")
        yield Belief("the budget was this", "confirms.max_labels", why="it may be raised before an outcome", needs="")

    def facts(self, claim: Claim) -> dict[str, str]:
        """The question, and what it took."""
        part, confirms = claim.part, claim.body["confirms"]
        facts = {
            "confirms the answer of": confirms["certificate"],
            "margin": f"{confirms['margin']:g}",
            "level": f"{confirms['level']:g}",
            "items looked at": f"{part['scanned']:,}, of which {count(part['asked'], 'was', 'were')} asked",
        }
        if part["against"] is not None:
            facts["against"] = claim.protocol.recipe.describe(part["against"])
        return facts

    def heading(self, claim: Claim) -> str:
        """The outcome."""
        outcome: str = claim.part["outcome"]
        return outcome.capitalize()

    def verdict(self, claim: Claim) -> str:
        """What the outcome means."""
        part, confirms = claim.part, claim.body["confirms"]
        found = Confirmation(
            **{name: part[name] for name in Part.__struct_fields__},
            hypothesis=claim.body["hypothesis"]["index"],
            margin=confirms["margin"],
            level=confirms["level"],
            rivals=claim.body["survivors"]["count"] - 1,
        )
        return outcome_words(found, claim.protocol)


FAMILY = ConfirmFamily()


def outcome_words(found: Confirmation, protocol: Published) -> str:
    """The outcome, against whom, and what would help."""

    def name_of(h: int | None) -> str:
        assert h is not None, "somebody is not done"
        return protocol.recipe.name(h)

    name, errors = name_of(found.hypothesis), protocol.recipe.losses is None
    errs, margin, most = "errs" if errors else "loses", f"{found.margin:g}", protocol.plan.max_labels
    sure = f"the best {protocol.recipe.member} on items like this pool's, with confidence {confidence(found.level)}"
    if found.outcome == "confirmed":
        return f"Confirmed: {name} {errs} at most {margin} more than {sure}."
    if found.outcome == "refuted":
        return f"Refuted: {name} {errs} more than {margin} above {sure}. It lost to {name_of(found.against)}."
    if found.unlabelled > found.asked:
        return (
            f"Undecided: {count(found.unlabelled, 'item')} on which candidates differ could not be labelled, and only "
            f"{found.asked} {plural(found.asked, 'was', 'were')}. What helps: items that somebody can label."
        )
    end, helps = "the pool was used up", "a larger pool, with a journal of its own"
    if most is not None and found.spent:
        end, helps = f"the budget of {count(most, 'label')} was spent", "a larger budget, with the same journal"
    return (
        f"Undecided: {end}. {protocol.recipe.count(found.rivals, 'other ')} may still be better by more than {margin}; of "
        f"these {name_of(found.against)} has the {'fewest errors' if errors else 'least loss'}. What helps: {helps}; or a "
        "larger margin."
    )


def _plan(claim: Claim) -> ConfirmPlan:
    assert isinstance(claim.plan, ConfirmPlan), "asked of confirmations only"
    return claim.plan


def _fresh(claim: Claim) -> str | None:
    own = claim.body["pool"]["fingerprint"] == claim.body["confirms"]["pool_fingerprint"]
    return "the answer was computed on these items, so they cannot confirm it" if own else None


def _levels(claim: Claim) -> str | None:
    """Confirmed is certified; nothing is proven of other labs, nor of the error itself."""
    outcome = claim.part["outcome"]
    confirmed = outcome == "confirmed"
    verdict = {"certified": confirmed, "why": "" if confirmed else outcome, "helps": ""}
    claims = {key: claim.body[key] for key in ("certified", "rho_proven", "verdict", "answer_error")}
    return same(claims, {"certified": confirmed, "rho_proven": 1.0, "verdict": verdict, "answer_error": None})


def _opponent(claim: Claim) -> str | None:
    """Somebody else who is left, named unless all are done."""
    part, h, left = claim.part, claim.body["hypothesis"]["index"], claim.body["survivors"]["count"]
    against, outcome = part["against"], part["outcome"]
    if outcome == "confirmed":
        return None if against is None and left == 1 else "the answer is confirmed, and yet a rival is named"
    if against is None:
        few = part["unlabelled"] > part["asked"]
        done = outcome == "undecided" and few and left == 1
        return None if done else "the answer is not confirmed, and no rival is named"
    if against == h:
        return "the answer is no rival of itself"
    return None if against in claim.survivors else f"hypothesis {against} is not among the rivals that are left"


def _possible(claim: Claim) -> str | None:
    """Were every label as the outcome would have it, would the bets be won?"""
    plan, part = _plan(claim), claim.part
    asked, scanned = part["asked"], part["scanned"]
    quiet = scanned - asked
    if part["outcome"] == "confirmed":
        if part["unlabelled"] > asked:
            return "more items could not be labelled than were, so nothing is confirmed"
        enough = plan.n == 1 or plan.bets_for.wealth(quiet, 0, asked) >= plan.winning_wealth
        return None if enough else f"{scanned} items are too few to confirm anything"
    if part["outcome"] == "refuted":
        enough = plan.bets_against.wealth(quiet, asked, 0) >= plan.winning_wealth
        return None if enough else f"{asked} labels are too few to refute anything"
    judged, dearest = claim.body["labels"].get("judgements"), plan.batch * plan.n  # of a batch, judgements at most
    spent = plan.max_labels is not None and (asked if judged is None else judged + dearest - 1) >= plan.max_labels
    ended = spent or scanned == claim.body["pool"]["items"] or part["against"] is None
    return None if ended else "neither pool nor budget were used up, and yet nothing is decided"
