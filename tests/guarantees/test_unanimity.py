"""All labs of a list agree and the next differs: never more often than it says, exactly (docs/claims/unanimity.md)."""

from fractions import Fraction
from itertools import pairwise, product

import pytest

from replical.bounds.ranks import unanimity

ROW, M = 12, 3  # labs that run, labs on the list


def laws():
    """Chances of the answers, given the string: the worst case, and some others."""
    yield [Fraction(M - 1, M), Fraction(1, M)]
    for p in range(1, 20):
        yield [Fraction(p, 20), Fraction(20 - p, 20)]
        yield [Fraction(p, 20)] + [Fraction(20 - p, 60)] * 3


def listed(row):
    """The first labs are the list, and it is used if they agree."""
    return M if len(set(row[:M])) == 1 else None


def found_afterwards(row):
    """The first labs in a row that agree, wherever they are."""
    return next((end for end in range(M, len(row)) if len(set(row[end - M : end])) == 1), None)


def until_they_agree(row):
    """Labs are added until enough of them agree, whichever they are."""
    return next((end for end in range(M, len(row)) if max(map(row[:end].count, row[:end])) == M), None)


def split(rule, law, length):
    """Exactly: how often the rule finds labs that agree, and the next one has another answer than the last of them."""
    total = Fraction(0)
    for row in product(range(len(law)), repeat=length):
        end = rule(row)
        if end is not None and row[end] != max(set(row[:end]), key=row[:end].count):
            weight = Fraction(1)
            for answer in row:
                weight *= law[answer]
            total += weight
    return total


@pytest.mark.claim("unanimity")
@pytest.mark.parametrize("m", [2, 3, 5, 10, 30])
def test_the_next_lab_rarely_differs(m):
    """Both statements, for laws with two to five answers, and the first is attained."""
    found = unanimity(m)
    for law in [*laws(), [Fraction(m - 1, m), Fraction(1, m)], [Fraction(m - 1, m)] + [Fraction(1, 4 * m)] * 4]:
        assert sum(p**m * (1 - p) for p in law) <= Fraction(found.split) + Fraction(1, 10**15)
        misled = sum((p**m for p in law if 1 - p >= Fraction(found.differs)), Fraction(0))
        assert misled <= Fraction(found.level) + Fraction(1, 10**15)
    assert float(Fraction(m - 1, m) ** m * Fraction(1, m)) > 0.9 * found.split * (m - 1) / m
    splits = [unanimity(each).split for each in range(2, m + 1)]
    assert all(before > after for before, after in pairwise(splits))


@pytest.mark.claim("unanimity")
@pytest.mark.mutant
def test_labs_found_afterwards_are_noticed():
    """Rows of labs, counted out: the list keeps the bound, labs that were looked for break it."""
    bound = unanimity(M).split
    assert max(split(listed, law, M + 1) for law in laws() if len(law) == 2) <= bound
    even = [Fraction(1, 2), Fraction(1, 2)]
    assert split(found_afterwards, even, ROW) > Fraction(bound)
    assert split(until_they_agree, even, ROW) > Fraction(bound)
