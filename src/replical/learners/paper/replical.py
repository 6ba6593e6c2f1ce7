"""RepliCAL, realizable: CAL with a shared random threshold on the error and a shared order of the class.

Claim: if some hypothesis makes no error, then with the sizes of its plan two labs that share one random string return
the same hypothesis with probability at least 1-ρ, and its error is at most ε with probability at least 1-δ.
Reference: Algorithm 3, Theorem 1 (plan "paper"); docs/claims/replical.md (both plans, line by line).
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from math import ceil as ceil_of
from math import floor

from replical.bounds.ranks import crossing
from replical.core.exact import ceil, decimal, fraction, ln
from replical.core.randomness import SharedRandomness
from replical.learners.base import Conversation, check_plan, stop_condition
from replical.learners.plan import Cost, Number, RoundsPlan, Setting, Task, grid_position, intervals, rounds_cost
from replical.learners.result import Result
from replical.pools.pool import AnyPool
from replical.pools.query import Query
from replical.pools.scan import Scan
from replical.pools.version_space import VersionSpace


@dataclass(frozen=True)
class RepliCAL:
    """The paper's replicable CAL.

    Parameters
    ----------
    plan
        ``plan("replical", C, epsilon=.., delta=.., rho=.., theta=..)``.

    Raises
    ------
    PlanMismatch
        If the plan was made for another learner.

    Examples
    --------
    >>> from replical import Population, PrivateRandomness, RepliCAL, SharedRandomness, Thresholds, learn, plan
    >>> C = Thresholds(1000)
    >>> world, lab = Population(C, target=314), PrivateRandomness.simulated("doctest")
    >>> pool = world.pool("exact", lab)
    >>> learner = RepliCAL(plan("replical", C, epsilon=.05, delta=.05, rho=.1, theta=2))
    >>> result = learn(learner, pool, world.labels(pool, lab), SharedRandomness("published"))
    >>> result.labels, result.hypothesis, result.unrounded, result.V.size
    (1386334, 312, 291, 7)
    """

    plan: RepliCALPlan

    def __post_init__(self) -> None:
        check_plan(self.plan, RepliCALPlan, "RepliCAL")

    def run(self, pool: AnyPool, shared: SharedRandomness) -> Conversation:
        """Rounds on `pool` while Δ(V) ≥ ε, then a last filter; threshold and order come from `shared`.

        Returns
        -------
        conversation
            It ends with a `Result`. `V`: everyone below the shared threshold in the last filter. `hypothesis`: the
            first of them in the shared order. `unrounded`: the first of those who had survived the loop. `conditions`:
            those of the plan, and whether the loop ended because Δ(V) was small.

        Raises
        ------
        EmptyVersionSpace
            If everyone made too many errors: no hypothesis fits the labels.
        PoolExhausted
            If a finite pool runs out of the items a round needs.
        """
        plan, rounds = self.plan, 0
        pool = pool.reserve(plan.measuring)
        V, scan = pool.version_space(), pool.scan()
        v = plan.threshold(shared)
        while V.mass >= plan.stop_mass and rounds < plan.rounds_most:
            S = yield scan.draw(V, plan.k)
            V = V.keep(V.errors(S) <= plan.loop_most(v))
            rounds += 1
        before = V
        most = plan.final_most(V.mass, v)
        query = plan.final_query(scan, V, most)
        if query.total > most:  # otherwise nobody can make more than `most` errors: keep everyone, ask nothing
            S = yield query
            V = V.keep(V.errors(S) <= most)
        return Result(
            hypothesis=V.first(shared, plan.prior),
            unrounded=before.first(shared, plan.prior),
            V=V,
            conditions=(*plan.conditions, stop_condition(before, plan, held=before.mass < plan.stop_mass)),
        )


@dataclass(frozen=True, kw_only=True)
class RepliCALPlan(RoundsPlan):
    """Algorithm 3 as printed: one threshold on the conditional error, in the loop and, rescaled, at the end."""

    @property
    def labels_most(self) -> int:
        """The most labels a run can ask for."""
        return self.k * self.rounds_most + self.integer("k_final")

    def cost(self, setting: Setting) -> Cost:
        """The rounds and the final filter."""
        rounds = self.rounds_most
        last = self.labels_most - rounds * self.k
        looked_at = Fraction(self.integer("k_final")) / (1 if self.final_scans else self.stop_mass)
        return rounds_cost(rounds, self.k, self.stop_mass, last=last, looked_at=looked_at)

    def threshold(self, shared: SharedRandomness) -> Fraction:
        """The middle of one of m equal intervals of [0, T/Θ], the interval shared."""
        return self["v_max"] * grid_position(shared, self.integer("m"))

    def loop_most(self, v: Fraction) -> int:
        """err ≤ v, in whole errors."""
        return floor(self.k * v)

    def final_query(self, scan: Scan, V: VersionSpace, most: int) -> Query:
        """The last labels, if `most` errors are allowed: k points from DIS(V); none where v' ≥ 1 or nothing is disputed."""
        k = self.integer("k_final")
        return scan.draw(V, k if k > most else 0)

    def final_most(self, mass: Fraction, v: Fraction) -> int:
        """err ≤ v' = εv/Δ(V), in whole errors; with nothing disputed everything is kept."""
        k = self.integer("k_final")
        return floor(k * self.epsilon * v / mass) if mass else k


@dataclass(frozen=True, kw_only=True)
class TightRepliCALPlan(RepliCALPlan):
    """Ours: the loop cuts at a fixed place, only the final filter looks at the shared threshold, in global error."""

    @property
    def final_scans(self) -> bool:
        """On items outside DIS(V) every survivor is right, so they need no label."""
        return True

    @property
    def measuring(self) -> int:
        """Items of a finite pool set aside to measure Δ."""
        return self.integer("measuring")

    @property
    def labels_most(self) -> int:
        """N rounds, and of the M items of the final stage about the fraction at which the loop ends."""
        return self.k * self.rounds_most + ceil_of(self.integer("k_final") * self.stop_mass)

    def threshold(self, shared: SharedRandomness) -> Fraction:
        """g uniform on [0, G]."""
        return self["G"] * Fraction(shared.uniform("threshold"))

    def loop_most(self, v: Fraction) -> int:
        """err ≤ 3/(8Θ) whatever the shared threshold is."""
        return floor(self.k * self["v_loop"])

    def final_query(self, scan: Scan, V: VersionSpace, most: int) -> Query:
        """Those of M fresh items that lie in DIS(V); on all others every survivor is right."""
        return scan.among(V, self.integer("k_final"))

    def final_most(self, mass: Fraction, v: Fraction) -> int:
        """errors / M ≤ g, in whole errors."""
        return floor(self.integer("k_final") * v)


def paper(task: Task) -> RepliCALPlan:
    """Algorithm 3 with the sizes its Lemmas 1 and 2 need."""
    N, theta, T = task.rounds, task.theta, task.T
    rho = task.rho / N  # the paper's ρ' = ρ/N
    m = intervals(task.spread, rho)
    failure = min(task.delta, task.rho / 8)  # a loop that hits its cap is inaccurate and may split the labs
    accurate = 4 * theta * ln(task.n * N / failure) / (1 - 2 * T) ** 2
    replicable = 8 * theta * m**2 / T * max(1 + ln(2000 / rho**2), ln(1920 * (N + 1) / rho**2))
    needed = ceil(max(accurate, replicable))
    k_loop, loop_conditions = task.size(
        "k_loop", needed, "the larger of Lemma 1 (accuracy) and Lemma 2 (replicability)"
    )
    k_final, final_conditions = task.size("k_final", needed, "as in the loop")
    refusal = (
        f"the paper's plan needs the mass of DIS(V) to relative accuracy 1/(4m) = {1 / (4 * m):.1g}, which no finite pool "
        "can measure: use an exact population (pool size 'exact'), the plan 'tight', or sizes of your own"
    )
    numbers = (
        Number(name="N", value=N, source="⌊log2(1/ε)⌋+1 halvings"),
        Number(
            name="T", value=fraction(T), source="Algorithm 3 has 1/8, the proof of Lemma 1 has 3/8; any 0 < T < 1/2"
        ),
        Number(name="v_max", value=fraction(T) / fraction(theta), source="T/Θ, the threshold range of Algorithm 3"),
        Number(
            name="m", value=m, source="(8/ρ')(1 + ln n / ln(1+ρ'/30)), ρ'=ρ/N: at most ρ'/8 of the intervals are bad"
        ),
        Number(name="tau", value=fraction(T) / fraction(theta) / Fraction(m), source="T/(Θm)"),
        k_loop,
        k_final,
    )
    return RepliCALPlan(
        learner="replical",
        name="paper",
        n=task.n,
        epsilon=fraction(task.epsilon),
        numbers=numbers,
        conditions=loop_conditions + final_conditions,
        exact_only="" if task.k_loop and task.k_final else refusal,
    )


def tight(task: Task) -> TightRepliCALPlan:
    """RepliCAL by Lemma R: the loop is plain, the final filter decides, and nothing is divided by Δ."""
    N, theta, n = task.measured_rounds, task.theta, task.n
    failure = min(task.delta, task.rho / 16)
    G = fraction(task.epsilon) / (4 * fraction(theta)) * (1 if task.exact else Fraction(8, 9))
    k_loop, loop_conditions = task.size(
        "k_loop",
        ceil(64 * theta * ln(2 * N * n / failure)),
        "64Θ ln(2Nn/min(δ, ρ/16)): Chernoff at 3/(8Θ) on both sides",
    )
    replicable = (crossing(2) * ln(task.spread) / (Decimal("0.9") * task.rho)) ** 2
    far = 4 * ln(200 * n / task.rho)
    accurate = 2 * task.epsilon * ln(n / task.delta) / (task.epsilon - decimal(G)) ** 2
    k_final, final_conditions = task.size(
        "k_final",
        ceil(max(replicable / decimal(G), far / decimal(G), accurate)),
        "M = (5.52 ln n/(.9ρ))²/G, at least 4 ln(200n/ρ)/G: Lemma R; unlabelled items, asked in DIS(V)",
    )
    measuring = 0 if task.exact else ceil(162 * ln(16 * N / failure) / task.epsilon)
    numbers = (
        Number(name="N", value=N, source="⌊log2(1/ε)⌋+1 halvings"),
        Number(name="v_loop", value=Fraction(3, 8) / fraction(theta), source="3/(8Θ), between 1/(4Θ) and 1/(2Θ)"),
        Number(name="G", value=G, source="Tε/Θ with T=1/4; 8/9 of it where Δ is measured"),
        Number(name="measuring", value=measuring, source="162 ln(16N/min(δ, ρ/16))/ε: Δ to relative accuracy 1/8"),
        k_loop,
        k_final,
    )
    return TightRepliCALPlan(
        learner="replical",
        name="tight",
        n=n,
        epsilon=fraction(task.epsilon),
        numbers=numbers,
        conditions=loop_conditions + final_conditions,
        exact_only="this plan takes Δ as known: make it with pool='finite'" if task.exact else "",
    )
