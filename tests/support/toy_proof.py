"""A toy learner that proves something, in one file: what "add a proof" asks for. It asks k items, and certifies a clear lead."""

from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from msgspec import Struct, to_builtins

from replical.core.exact import fraction
from replical.learners.catalogue import Record
from replical.learners.plan import Condition, Number, SamplePlan
from replical.learners.proof import Belief, Family, Step, same
from replical.learners.result import Result, Verdict

CLEAR = "the lead is clear"


@dataclass(frozen=True, kw_only=True)
class LeadPlan(SamplePlan):
    """One sample, and a lead that is enough."""

    def own_conditions(self, report):
        return (condition(int(report.value(CLEAR)), self),)


def lead_plan(task):
    numbers = (
        Number(name="k_final", value=task.k_final or 20, source="a toy's"),
        Number(name="enough", value=Fraction(2), source="a toy's"),
    )
    return LeadPlan(learner="lead", name="tight", n=task.n, epsilon=fraction(task.epsilon), numbers=numbers)


def condition(lead, plan):
    return Condition(name=CLEAR, value=float(lead), bound=float(plan["enough"]), held=lead >= plan["enough"])


@dataclass(frozen=True, kw_only=True)
class LeadProof:
    """By how many errors the answer leads."""

    lead: int
    certified: bool
    rho_proven = 0.25
    outcome = scanned = answer_error = None

    @property
    def verdict(self):
        return Verdict(certified=True) if self.certified else Verdict(certified=False, why="it is close", helps="luck")


class Lead:
    """Passive, and proud of its lead."""

    def __init__(self, plan):
        self.plan = plan

    def run(self, pool, shared):
        V = pool.version_space()
        errors = V.errors((yield pool.scan().anywhere(V, self.plan.k))).astype(int)
        left = V.keep(errors == errors.min())
        lead = int(sorted(errors.tolist())[1] - errors.min())
        h = left.first(shared, self.plan.prior)
        proof = LeadProof(lead=lead, certified=lead >= self.plan["enough"])
        conditions = (*self.plan.conditions, condition(lead, self.plan))
        return Result(hypothesis=h, unrounded=h, V=left, conditions=conditions, proof=proof)


class Part(Struct, forbid_unknown_fields=True):
    """What is published."""

    family: Literal["lead"]
    lead: int


class LeadFamily(Family):
    """What certificates say of it."""

    Part = Part

    def part_of(self, result, recipe):
        return to_builtins(Part(family="lead", lead=result.proof.lead))

    def steps(self, claim, usual):
        yield from usual
        yield Step("the lead is told alike everywhere", lambda: self._lead(claim))

    def _lead(self, claim):
        lead, body = claim.part["lead"], claim.body
        told = (body["certified"], body["rho_proven"], claim.report.value(CLEAR))
        return same(told, (lead >= claim.plan["enough"], 0.25, float(lead)))

    def beliefs(self, claim):
        yield Belief("the labels give this lead", "proof.lead", "certified", "rho_proven", "verdict", "answer_error")

    def facts(self, claim):
        return {"lead": f"{claim.part['lead']} errors"}

    def proof_words(self, result, protocol):
        return f"Certified: a lead of {result.proof.lead}." if result.proof.certified else "Not certified: it is close."


LEARNER = Record(
    id="lead", learner="support.toy_proof:Lead", setting="agnostic", replicable=True, active=False, certifies=True,
    paper=None, tight="support.toy_proof:lead_plan", needs=frozenset({"rho"}), options=frozenset({"k_final"}),
    family="support.toy_proof:FAMILY", parent="erm", colour="#123456", marker="1",
)  # fmt: skip
FAMILY = LeadFamily()
