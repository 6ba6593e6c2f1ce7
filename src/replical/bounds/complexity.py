"""The label-complexity bounds of the paper, as functions.

Each returns the expression inside the paper's O(·), times `constant`. It is a shape: right for how labels grow with a
parameter, silent about how many they are. Numbers of labels come from `replical.plan`.

Arguments have one meaning throughout: `n` hypotheses; error at most `epsilon` (agnostic: above the best) except with
probability `delta`; two labs differ with probability at most `rho`; `theta` the disagreement coefficient; `nu` the error
of the best hypothesis.

Where the paper prints an O(·) and an Õ(·), the function is the O(·): a form that hides factors has no constant. Logarithms
are natural. Each logarithm the paper writes, and each logarithm of a logarithm, is at least 1 here, so that formulas
stay positive outside the domain they were derived for: log(1/(Θν)) is 1 from Θν = 1/e on. Where the paper divides by ν or
takes its logarithm, ν is ν̄ = max(ν, ε).

Table, reading and what the paper leaves open: docs/claims/complexity.md.
"""

from __future__ import annotations

import functools
import inspect
import math
import numbers
from collections.abc import Callable
from typing import Any, TypeVar, cast

from replical.core.exact import check_at_least, check_between
from replical.errors import ValueOutOfRange

Formula = TypeVar("Formula", bound=Callable[..., float])
BOUNDS: dict[str, Callable[..., float]] = {}  # by name


def needs(name: str) -> tuple[str, ...]:
    """The arguments of a bound, without `constant`.

    Examples
    --------
    >>> needs("cal"), round(BOUNDS["cal"](1000, epsilon=.01, delta=.05, theta=2))
    (('n', 'epsilon', 'delta', 'theta'), 105)
    """
    return tuple(name for name in inspect.signature(BOUNDS[name]).parameters if name != "constant")


def _bound(formula: Formula) -> Formula:
    """List a formula in `BOUNDS`, check its arguments, and refuse those whose bound no float holds."""
    signature = inspect.signature(formula)

    @functools.wraps(formula)
    def labels(*args: Any, **kwargs: Any) -> float:
        arguments = signature.bind(*args, **kwargs).arguments
        read = {name: _read(name, value) for name, value in arguments.items()}
        try:
            shape = formula(**read)
        except (ArithmeticError, ValueError):
            shape = math.inf
        if not shape < math.inf:
            listing = ", ".join(f"{name} {value:g}" for name, value in read.items() if name != "n")
            raise ValueOutOfRange(f"these numbers are too extreme for the bound of {formula.__name__}: {listing}")
        return shape

    BOUNDS[formula.__name__] = labels
    return cast(Formula, labels)


def _read(name: str, value: float) -> float:
    """Check an argument by its name."""
    if name == "n":
        if isinstance(value, bool) or not isinstance(value, numbers.Integral) or value < 1:
            raise ValueOutOfRange(f"n must be a whole number of at least 1, got {value!r}")
        return int(value)
    if name == "nu":
        if check_at_least("nu", value, 0) >= 0.5:
            raise ValueOutOfRange(f"nu must be in [0, 0.5), got {float(value):g}")
        return float(value)
    if name == "theta":
        return float(check_at_least("theta", value, 1))
    return float(check_between(name, value, 0, math.inf if name == "constant" else 1))


def _log(top: float, *bottom: float) -> float:
    """log(top / (bottom · ..)), but at least 1."""
    return max(1.0, math.log(top) - sum(map(math.log, bottom)))


@_bound
def passive(n: int, epsilon: float, delta: float, *, constant: float = 1.0) -> float:
    """Passive learning, realizable: (1/ε) log(|C|/δ).

    Shape only: the paper does not state the constant. Paper: the display after eq. cal-default.

    Parameters
    ----------
    n, epsilon, delta
        Hypotheses; error; how often it may be missed.
    constant
        What the shape is multiplied by.

    Returns
    -------
    labels
        The expression above, times `constant`.

    Raises
    ------
    ValueOutOfRange
        If an argument is outside its range, or the bound is too large for a float.

    Examples
    --------
    >>> round(passive(1000, epsilon=.01, delta=.05))
    990
    """
    return constant * _log(n, delta) / epsilon


@_bound
def cal(n: int, epsilon: float, delta: float, theta: float, *, constant: float = 1.0) -> float:
    """CAL: log(1/ε) · Θ log(|C| log(1/ε) / δ).

    Shape only: the paper does not state the constant. Paper: eq. cal-default.

    Parameters
    ----------
    n, epsilon, delta, theta
        Hypotheses; error; how often it may be missed; the disagreement coefficient.
    constant
        What the shape is multiplied by.

    Returns
    -------
    labels
        The expression above, times `constant`.

    Raises
    ------
    ValueOutOfRange
        If an argument is outside its range, or the bound is too large for a float.

    Examples
    --------
    >>> round(cal(1000, epsilon=.01, delta=.05, theta=2))
    105
    """
    rounds = _log(1, epsilon)
    return constant * rounds * theta * _log(n * rounds, delta)


@_bound
def passive_agnostic(n: int, epsilon: float, delta: float, *, constant: float = 1.0) -> float:
    """Passive learning, agnostic: (1/ε²)(log|C| + log(1/δ)).

    Shape only: the paper does not state the constant. Paper: eq. agnostic_passive.

    Parameters
    ----------
    n, epsilon, delta
        Hypotheses; error above the best; how often it may be missed.
    constant
        What the shape is multiplied by.

    Returns
    -------
    labels
        The expression above, times `constant`.

    Raises
    ------
    ValueOutOfRange
        If an argument is outside its range, or the bound is too large for a float.

    Examples
    --------
    >>> round(passive_agnostic(1000, epsilon=.01, delta=.05))
    99035
    """
    return constant * (_log(n) + _log(1, delta)) / epsilon**2


@_bound
def a2(n: int, epsilon: float, delta: float, theta: float, nu: float, *, constant: float = 1.0) -> float:
    """A²: Θ² log(1/(Θν)) (ν²/ε² + 1)(log|C| + log(1/δ)).

    Shape only: the paper does not state the constant. Paper: eq. a2-default.

    Parameters
    ----------
    n, epsilon, delta, theta, nu
        Hypotheses; error above the best; how often it may be missed; the disagreement coefficient; error of the best
        hypothesis.
    constant
        What the shape is multiplied by.

    Returns
    -------
    labels
        The expression above, times `constant`.

    Raises
    ------
    ValueOutOfRange
        If an argument is outside its range, or the bound is too large for a float.

    Examples
    --------
    >>> round(a2(1000, epsilon=.01, delta=.05, theta=2, nu=.02))
    638
    """
    rounds = _log(1, theta, max(nu, epsilon))
    return constant * theta**2 * rounds * ((nu / epsilon) ** 2 + 1) * (_log(n) + _log(1, delta))


@_bound
def replicable_passive(n: int, epsilon: float, delta: float, rho: float, *, constant: float = 1.0) -> float:
    """The passive replicable learner, realizable: (log²|C| log(1/ρ) + ρ⁴ log(1/δ)) / (ερ⁴).

    Shape only: the paper does not state the constant. Paper: eq. repl_complexity.

    Parameters
    ----------
    n, epsilon, delta, rho
        Hypotheses; error; how often it may be missed; how often two labs may differ.
    constant
        What the shape is multiplied by.

    Returns
    -------
    labels
        The expression above, times `constant`.

    Raises
    ------
    ValueOutOfRange
        If an argument is outside its range, or the bound is too large for a float.

    Examples
    --------
    >>> f"{replicable_passive(1000, epsilon=.01, delta=.05, rho=.1):.3g}"
    '1.1e+08'
    """
    return constant * (_log(n) ** 2 * _log(1, rho) + rho**4 * _log(1, delta)) / (epsilon * rho**4)


@_bound
def replicable_passive_boosted(n: int, epsilon: float, delta: float, rho: float, *, constant: float = 1.0) -> float:
    """The passive replicable learner, realizable, boosted: log³(1/ρ)(log²|C| + log(1/(ρβ))) / (ερ²), with δ for β.

    Shape only: the paper does not state the constant. Paper: the display after eq. repl_complexity.

    Parameters
    ----------
    n, epsilon, delta, rho
        Hypotheses; error; how often it may be missed; how often two labs may differ.
    constant
        What the shape is multiplied by.

    Returns
    -------
    labels
        The expression above, times `constant`.

    Raises
    ------
    ValueOutOfRange
        If an argument is outside its range, or the bound is too large for a float.

    Examples
    --------
    >>> f"{replicable_passive_boosted(1000, epsilon=.01, delta=.05, rho=.1):.3g}"
    '6.47e+06'
    """
    return constant * _log(1, rho) ** 3 * (_log(n) ** 2 + _log(1, rho, delta)) / (epsilon * rho**2)


@_bound
def replical(n: int, epsilon: float, delta: float, rho: float, theta: float, *, constant: float = 1.0) -> float:
    """RepliCAL: Θ log(1/ε) · (log²|C| log(log(1/ε)/ρ) log⁴(1/ε) + ρ⁴ log(|C| log(1/ε)/δ)) / ρ⁴.

    Shape only: the paper does not state the constant. Paper: Theorem 1; eq. replical is the same without the
    logarithms of log(1/ε)/ρ and of log(1/ε).

    Parameters
    ----------
    n, epsilon, delta, rho, theta
        Hypotheses; error; how often it may be missed; how often two labs may differ; the disagreement coefficient.
    constant
        What the shape is multiplied by.

    Returns
    -------
    labels
        The expression above, times `constant`.

    Raises
    ------
    ValueOutOfRange
        If an argument is outside its range, or the bound is too large for a float.

    Examples
    --------
    >>> f"{replical(1000, epsilon=.01, delta=.05, rho=.1, theta=2):.3g}"
    '7.57e+09'
    """
    rounds = _log(1, epsilon)
    replicable = _log(n) ** 2 * _log(rounds, rho) * rounds**4
    return constant * theta * rounds * (replicable + rho**4 * _log(n * rounds, delta)) / rho**4


@_bound
def replical_boosted(n: int, epsilon: float, delta: float, rho: float, theta: float, *, constant: float = 1.0) -> float:
    """RepliCAL, boosted: Θ log(1/ε) log³(1/ρ)(log²|C| log log(1/ε) log⁴(1/ε) + log(|C| log(1/ε)/(δρ))) / ρ².

    Shape only: the paper does not state the constant. Paper: §Boosting; eq. replicalboosted is the same without the
    logarithms of log(1/ε).

    Parameters
    ----------
    n, epsilon, delta, rho, theta
        Hypotheses; error; how often it may be missed; how often two labs may differ; the disagreement coefficient.
    constant
        What the shape is multiplied by.

    Returns
    -------
    labels
        The expression above, times `constant`.

    Raises
    ------
    ValueOutOfRange
        If an argument is outside its range, or the bound is too large for a float.

    Examples
    --------
    >>> f"{replical_boosted(1000, epsilon=.01, delta=.05, rho=.1, theta=2):.3g}"
    '3.69e+08'
    """
    rounds = _log(1, epsilon)
    replicable = _log(n) ** 2 * _log(rounds) * rounds**4
    return constant * theta * rounds * _log(1, rho) ** 3 * (replicable + _log(n * rounds, delta, rho)) / rho**2


@_bound
def replicable_passive_agnostic(n: int, epsilon: float, delta: float, rho: float, *, constant: float = 1.0) -> float:
    """The passive replicable learner, agnostic [derived]: (log²|C| log(|C|/ρ) + ρ⁴ log(|C|/δ)) / (ε²ρ⁴).

    Shape only: the paper does not state the constant, nor this bound, to which its comparison of agnostic learners
    alludes. Derivation: intervals of width τ = ερ²/log|C|; to place every hypothesis and the smallest error among them
    takes uniform convergence to τ, log(|C|/ρ)/τ² labels; accuracy takes log(|C|/δ)/ε².

    Parameters
    ----------
    n, epsilon, delta, rho
        Hypotheses; error above the best; how often it may be missed; how often two labs may differ.
    constant
        What the shape is multiplied by.

    Returns
    -------
    labels
        The expression above, times `constant`.

    Raises
    ------
    ValueOutOfRange
        If an argument is outside its range, or the bound is too large for a float.

    Examples
    --------
    >>> f"{replicable_passive_agnostic(1000, epsilon=.01, delta=.05, rho=.1):.3g}"
    '4.39e+10'
    """
    return constant * (_log(n) ** 2 * _log(n, rho) + rho**4 * _log(n, delta)) / (epsilon**2 * rho**4)


@_bound
def replica2(
    n: int, epsilon: float, delta: float, rho: float, theta: float, nu: float, *, constant: float = 1.0
) -> float:
    """ReplicA²: the sum that follows, with B = log(1/(Θν)).

    Θ² ((B + ν²/ε²) log²|C| log(B/ρ) B⁴ / ρ⁴ + B log(|C|B/δ) + (ν²/ε²) log(|C|/δ)).

    Shape only: the paper does not state the constant. Paper: the last O(·) of the proof of Theorem 2; Theorem 2 is the
    same without the logarithms of B.

    Parameters
    ----------
    n, epsilon, delta, rho, theta, nu
        Hypotheses; error above the best; how often it may be missed; how often two labs may differ; the disagreement
        coefficient; error of the best hypothesis.
    constant
        What the shape is multiplied by.

    Returns
    -------
    labels
        The expression above, times `constant`.

    Raises
    ------
    ValueOutOfRange
        If an argument is outside its range, or the bound is too large for a float.

    Examples
    --------
    >>> f"{replica2(1000, epsilon=.01, delta=.05, rho=.1, theta=2, nu=.02):.3g}"
    '5.14e+09'
    """
    rounds, last = _log(1, theta, max(nu, epsilon)), (nu / epsilon) ** 2
    replicable = (rounds + last) * _log(n) ** 2 * _log(rounds, rho) * rounds**4 / rho**4
    accurate = rounds * _log(n * rounds, delta) + last * _log(n, delta)
    return constant * theta**2 * (replicable + accurate)


@_bound
def replica2_boosted(
    n: int, epsilon: float, delta: float, rho: float, theta: float, nu: float, *, constant: float = 1.0
) -> float:
    """ReplicA², boosted: the product that follows, with B = log(1/(Θν)).

    (Θ² log³(1/ρ) / ρ²) · ((B + ν²/ε²) log²|C| log(B) B⁴ + B log(|C|B/(ρδ)) + (ν²/ε²) log(|C|/(ρδ))).

    Shape only: the paper does not state the constant. Paper: the O(·) after Theorem 2; its Õ(·) form leaves out the
    logarithms of B and of 1/ρ.

    Parameters
    ----------
    n, epsilon, delta, rho, theta, nu
        Hypotheses; error above the best; how often it may be missed; how often two labs may differ; the disagreement
        coefficient; error of the best hypothesis.
    constant
        What the shape is multiplied by.

    Returns
    -------
    labels
        The expression above, times `constant`.

    Raises
    ------
    ValueOutOfRange
        If an argument is outside its range, or the bound is too large for a float.

    Examples
    --------
    >>> f"{replica2_boosted(1000, epsilon=.01, delta=.05, rho=.1, theta=2, nu=.02):.3g}"
    '2.12e+08'
    """
    rounds, last = _log(1, theta, max(nu, epsilon)), (nu / epsilon) ** 2
    replicable = (rounds + last) * _log(n) ** 2 * _log(rounds) * rounds**4
    accurate = rounds * _log(n * rounds, rho, delta) + last * _log(n, rho, delta)
    return constant * theta**2 * _log(1, rho) ** 3 / rho**2 * (replicable + accurate)


@_bound
def replicable_passive_tight(n: int, epsilon: float, delta: float, rho: float, *, constant: float = 1.0) -> float:
    """The passive replicable learner, realizable, by the rank lemma [ours]: (log²|C|/ρ² + log(|C|/δ)) / ε.

    Shape only: its constants are in the plan ``"tight"``. Not in the paper; beside eq. repl_complexity.

    Parameters
    ----------
    n, epsilon, delta, rho
        Hypotheses; error; how often it may be missed; how often two labs may differ.
    constant
        What the shape is multiplied by.

    Returns
    -------
    labels
        The expression above, times `constant`.

    Raises
    ------
    ValueOutOfRange
        If an argument is outside its range, or the bound is too large for a float.

    Examples
    --------
    >>> f"{replicable_passive_tight(1000, epsilon=.01, delta=.05, rho=.1):.3g}"
    '4.78e+05'
    """
    return constant * (_log(n) ** 2 / rho**2 + _log(n, delta)) / epsilon


@_bound
def replical_tight(n: int, epsilon: float, delta: float, rho: float, theta: float, *, constant: float = 1.0) -> float:
    """RepliCAL by the rank lemma [ours]: Θ log(1/ε) log(|C| log(1/ε)/min(δ, ρ)) + Θ log²|C|/ρ².

    Shape only: its constants are in the plan ``"tight"``. Not in the paper; beside Theorem 1. The first term is the loop;
    the second, free of ε, is the part of the last sample that lies in DIS(V).

    Parameters
    ----------
    n, epsilon, delta, rho, theta
        Hypotheses; error; how often it may be missed; how often two labs may differ; the disagreement coefficient.
    constant
        What the shape is multiplied by.

    Returns
    -------
    labels
        The expression above, times `constant`.

    Raises
    ------
    ValueOutOfRange
        If an argument is outside its range, or the bound is too large for a float.

    Examples
    --------
    >>> f"{replical_tight(1000, epsilon=.01, delta=.05, rho=.1, theta=2):.3g}"
    '9.65e+03'
    """
    rounds = _log(1, epsilon)
    return constant * theta * (rounds * _log(n * rounds, min(delta, rho)) + _log(n) ** 2 / rho**2)


@_bound
def replicable_passive_agnostic_tight(
    n: int, epsilon: float, delta: float, rho: float, nu: float, *, constant: float = 1.0
) -> float:
    """The passive replicable learner, agnostic, by the rank lemma [ours]: ν̄(log²|C|/ρ² + log(|C|/δ)) / ε².

    Shape only: its constants are in the plan ``"tight"``. Not in the paper; beside eq. agnostic_passive.

    Parameters
    ----------
    n, epsilon, delta, rho, nu
        Hypotheses; error above the best; how often it may be missed; how often two labs may differ; error of the best
        hypothesis.
    constant
        What the shape is multiplied by.

    Returns
    -------
    labels
        The expression above, times `constant`.

    Raises
    ------
    ValueOutOfRange
        If an argument is outside its range, or the bound is too large for a float.

    Examples
    --------
    >>> f"{replicable_passive_agnostic_tight(1000, epsilon=.01, delta=.05, rho=.1, nu=.02):.3g}"
    '9.56e+05'
    """
    return constant * max(nu, epsilon) * (_log(n) ** 2 / rho**2 + _log(n, delta)) / epsilon**2


@_bound
def replica2_tight(
    n: int, epsilon: float, delta: float, rho: float, theta: float, nu: float, *, constant: float = 1.0
) -> float:
    """ReplicA² by the rank lemma [ours]: the sum that follows, with B = log(1/(Θν)) and Δ = min(1, 8Θν̄).

    Θ B log(|C|B/min(δ, ρ)) + (Δν̄/ε²) (log²|C|/ρ² + log(|C|/δ)).

    Shape only: its constants are in the plan ``"tight"``. Not in the paper; beside Theorem 2. Δ is the mass at which the
    loop ends; from Δ = 1 on the loop never runs, and the first term only keeps this an upper bound.

    Parameters
    ----------
    n, epsilon, delta, rho, theta, nu
        Hypotheses; error above the best; how often it may be missed; how often two labs may differ; the disagreement
        coefficient; error of the best hypothesis.
    constant
        What the shape is multiplied by.

    Returns
    -------
    labels
        The expression above, times `constant`.

    Raises
    ------
    ValueOutOfRange
        If an argument is outside its range, or the bound is too large for a float.

    Examples
    --------
    >>> f"{replica2_tight(1000, epsilon=.01, delta=.05, rho=.1, theta=2, nu=.02):.3g}"
    '3.06e+05'
    """
    nu_bar = max(nu, epsilon)
    rounds, mass = _log(1, theta, nu_bar), min(1.0, 8 * theta * nu_bar)
    loop = theta * rounds * _log(n * rounds, min(delta, rho))
    return constant * (loop + mass * nu_bar / epsilon**2 * (_log(n) ** 2 / rho**2 + _log(n, delta)))
