"""Private and shared randomness: spellings, ties and what is refused."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from replical import PrivateRandomness, SharedRandomness
from replical.errors import ValueOutOfRange


def test_threads_do_not_disturb_each_other():
    shared = [SharedRandomness(f"thread {i}") for i in range(8)]
    alone = [each.words("order", count=20_000).tolist() for each in shared]
    with ThreadPoolExecutor(8) as threads:
        for _ in range(20):
            assert list(threads.map(lambda each: each.words("order", count=20_000).tolist(), shared)) == alone


def test_equal_ranks_are_broken_by_the_smaller_index():
    class Tied(SharedRandomness):
        def ranks(self, *name, indices):
            return np.zeros(len(indices), dtype=np.uint64)

    assert Tied("s").first("order", indices=np.array([7, 3, 9])) == 3


def test_composed_and_decomposed_seeds_are_one_seed():
    assert SharedRandomness("Zu\u0308rich").word("a") == SharedRandomness("Z\u00fcrich").word("a")


def test_text_and_number_names_differ():
    shared = SharedRandomness("s")
    assert len({shared.word("1"), shared.word(1), shared.word("1", 1), shared.word("1,1")}) == 4


@pytest.mark.claim("randomness")
def test_integers_are_uniform():
    """Chi-square with 9 degrees of freedom; 45 is exceeded with probability 1e-6."""
    shared = SharedRandomness("uniformity")
    counts = np.bincount([shared.integer("i", i, high=10) for i in range(5000)], minlength=10)
    assert ((counts - 500) ** 2 / 500).sum() < 45


@pytest.mark.claim("randomness")
def test_rejection_is_exact_just_above_half_the_words():
    """With 2**63 + 1 values nearly half the words are passed over; a biased modulus would map them to small values."""
    shared, size = SharedRandomness("rejection"), 2**63 + 1
    drawn = [shared.integer("i", i, high=size) for i in range(2000)]
    small = sum(value < size // 2 for value in drawn)
    assert abs(small - 1000) < 5 * 22.4  # five standard deviations; taking the modulus at once would give 1500


@pytest.mark.parametrize("call", [lambda s: s.word(1.5), lambda s: s.word(True), lambda s: s.word("a", index=-1),
                                  lambda s: s.integer("a", low=3, high=3), lambda s: s.integer("a", high=2.5), lambda s: s.uniform("a", low=1, high=0),
                                  lambda s: s.uniform("a", low=0, high=float("inf")),
                                  lambda s: s.ranks("a", indices=np.array([-1, 5]))])  # fmt: skip
def test_nonsense_is_refused(call):
    with pytest.raises(ValueOutOfRange):
        call(SharedRandomness("s"))


def test_private_randomness_repeats_itself_and_nobody_else():
    one, two = PrivateRandomness.simulated("lab", 1), PrivateRandomness.simulated("lab", 2)
    assert one.permutation(50).tolist() == PrivateRandomness.simulated("lab", 1).permutation(50).tolist()
    assert one.permutation(50).tolist() != two.permutation(50).tolist()
    assert sorted(one.permutation(50)) == list(range(50))
    assert one.generator("a").random() == one.generator("a").random() != one.generator("b").random()
    assert PrivateRandomness.fresh().permutation(50).tolist() != PrivateRandomness.fresh().permutation(50).tolist()


def test_two_spellings_of_a_seed_are_one_world():
    assert (
        PrivateRandomness.simulated("Zu\u0308rich", 1).permutation(9).tolist()
        == PrivateRandomness.simulated("Z\u00fcrich", 1).permutation(9).tolist()
    )
