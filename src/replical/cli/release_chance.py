"""Whether a private release would be the ideal answer, before anybody votes: how likely that is, and in which words."""

from __future__ import annotations

from replical.bounds.release import ReleaseChance, Selection, release_chance
from replical.cli.question import Question
from replical.core.words import at_least, at_most, count
from replical.errors import BadUsage
from replical.lab.release.noise import check_epsilon, check_nobody
from replical.plans.catalogue import find


def released(
    question: Question, labs: int, private: bool, epsilon: float | None, nobody: int | None
) -> ReleaseChance | None:
    """How likely a private release is the ideal answer, if all labs vote and, where that is needed, are certified."""
    if not private:
        if epsilon is not None or nobody is not None:
            raise BadUsage("--release-epsilon and --nobody are about a private release: give --private too")
        return None
    epsilon = 1.0 if epsilon is None else epsilon
    check_epsilon(epsilon)
    check_nobody(nobody)
    setting, record = question.setting, find(question.learner)
    selection = Selection(n=setting.n, epsilon=epsilon, nobody=nobody or 0)
    if question.measured is not None:
        lost, string = float(question.measured["delta_A"]), float(question.measured.rho_string)
        return release_chance(selection, labs, beta=lost, string=string)
    if record.certifies and not record.rounds:
        return release_chance(selection, labs, beta=min(setting.delta, setting.rho / (question.together or labs)))
    if not record.replicable or record.boosts:
        raise BadUsage(
            f"{question.learner} promises nothing about a release: name a learner like settled, or a protocol of one"
        )
    return release_chance(selection, labs, rho=setting.rho)


def release_words(question: Question, found: ReleaseChance) -> str:
    """The same in sentences, and how many labs would do."""
    record = find(question.learner)
    voting = (
        f"run {question.learner}, are certified and vote" if record.certifies else f"run {question.learner} and vote"
    )
    alone = question.measured is not None or not record.rounds
    ideal = "the ideal answer" if record.certifies and alone else "the string's commonest answer"
    words = (
        f"A private release with epsilon {found.epsilon:g}, if {found.labs} labs {voting}: it is "
        f"{ideal} with probability at least {at_least(1 - found.misses)}."
    )
    target = at_least(1 - found.limit - found.tolerance)
    two = f" Two such groups with one string release different answers with probability at most {at_most(found.apart)}."
    if found.enough is None:
        return words + f" No number of labs makes that {target}: raise the release's epsilon, or lower rho." + two
    return words + f" For {target} it takes {count(found.enough, 'lab')}." + two
