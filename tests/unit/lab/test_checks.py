"""What a failed check says: only what differs, and where."""

from replical.lab.certificate.checks import same


def test_what_is_the_same_says_nothing():
    assert same({"a": [1, 2]}, {"a": (1, 2)}) is None


def test_only_what_differs_is_told_and_where():
    claim = [{"name": "enough", "bound": 14.0, "held": True}, {"name": "stopped", "bound": 1.0, "held": True}]
    result = [{"name": "enough", "bound": 1.0, "held": False}, {"name": "stopped", "bound": 1.0, "held": True}]
    assert same(claim, result) == (
        "'enough', bound: the certificate says 14.0, recomputed 1.0; "
        "'enough', held: the certificate says yes, recomputed no"
    )
    assert same([1, 2, 3], [1, 2]) == "the certificate says [1, 2, 3], recomputed [1, 2]"
    assert same((True, None), (True, 0.5)) == "number 2: the certificate says nothing, recomputed 0.5"


def test_long_lists_of_differences_are_cut():
    told = same(dict.fromkeys("abcdef", 1), dict.fromkeys("abcdef", 2))
    assert told is not None
    assert told.count("recomputed") == 3
    assert told.endswith("; and 3 more")


def test_a_part_that_is_missing_is_never_taken_for_the_same():
    assert same({"a": None}, {}) == "the certificate says {'a': None}, recomputed {}"
    assert same({"a": "nothing"}, {"a": None})
    assert same({"a": 1}, {"a": 1.0})
    assert same({"a": True}, {"a": 1})
