"""Shared and private randomness: two types that cannot be swapped.

Shared randomness is *addressed*, never consumed: two labs make different numbers of draws, so a word is found by
its name and index alone. The bits are frozen for decades: the key of a name is BLAKE2b-128 of the canonical name,
keyed by BLAKE2b-256 of the seed text (UTF-8, NFC), and word i is raw word i of Philox4x64-10 under that key. Only
raw words of NumPy's bit generator are used, because its distributions may change between versions (NEP 19).

Private randomness is a lab's own: the order in which it scans its pool, and in simulations its sample. No shared
name ever decides which items a lab draws.
"""

from __future__ import annotations

import hashlib
import math
import secrets
import threading
import unicodedata
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from replical.core.canonical import canonical
from replical.errors import ValueOutOfRange

Words = NDArray[np.uint64]
Indices = NDArray[np.int64]

_WORDS_PER_COUNTER = 4  # Philox4x64 makes four words from one counter value
# Wanted words closer than this are generated in one piece: a seek costs as much as about a thousand words
# (measured: 6 microseconds a seek, 6 nanoseconds a word).
_SEEK_WORTH = 1024
_BLOCK = 2**20  # hypotheses whose words are held at a time while the first one is looked for


# (seed, name, index) -> word; computed once, independently confirmed by the reference in tests/golden.
GOLDEN: dict[tuple[str, tuple[str | int, ...], int], int] = {
    ("replical", ("order",), 0): 9684725063889002671,
    ("replical", ("order",), 12): 13438428956706015059,
    ("replical", ("order",), 1000000000): 467820595157492640,
    ("", ("threshold",), 0): 6653272879068679612,
    ("Zürich 1", ("centre", 3), 7): 13427286049742941640,
    ("7 / pair 0", ("order",), 99999): 14188488953685935199,
}


class SharedRandomness:
    """The published random string, as words addressed by name.

    Parameters
    ----------
    seed
        Any published text. It is used as it is, after Unicode normalisation (NFC).

    Raises
    ------
    ValueOutOfRange
        If the seed is no text, or no valid Unicode.

    Examples
    --------
    >>> shared = SharedRandomness("replical")
    >>> shared.word("order", index=12)
    13438428956706015059
    >>> shared.integer("threshold", low=0, high=100)
    50
    """

    def __init__(self, seed: str) -> None:
        if not isinstance(seed, str):
            raise ValueOutOfRange(f"a shared seed must be text, got {type(seed).__name__}")
        self.seed = seed
        self._secret = hashlib.blake2b(_utf8(unicodedata.normalize("NFC", seed)), digest_size=32).digest()

    def derived(self, *name: str | int) -> SharedRandomness:
        """Another string, made from this one and a `name` of texts and integers: as good as one published apart.

        Examples
        --------
        >>> SharedRandomness("replical").derived("string", 0).integer("threshold", high=100)
        55
        """
        other = SharedRandomness(self.seed)
        other._secret = _child_secret(self._secret, name)
        return other

    def words(self, *name: str | int, start: int = 0, count: int) -> Words:
        """The `count` words of a `name` from word `start` on, as an array of 64-bit integers."""
        return _words(self._secret, name, start, count)

    def word(self, *name: str | int, index: int = 0) -> int:
        """The 64-bit word of a `name` at any `index`, in constant time."""
        return int(self.words(*name, start=index, count=1)[0])

    def uniform(self, *name: str | int, low: float = 0.0, high: float = 1.0) -> float:
        """A number in [`low`, `high`) with 53 random bits, from the first word of a `name`.

        Raises
        ------
        ValueOutOfRange
            If the range is empty or infinite.
        """
        if not (math.isfinite(high - low) and low < high):
            raise ValueOutOfRange(f"a uniform range must be finite with low < high, got [{low:g}, {high:g})")
        value = low + (high - low) * ((self.word(*name) >> 11) * 2.0**-53)
        return min(value, math.nextafter(high, low))

    def integer(self, *name: str | int, low: int = 0, high: int) -> int:
        """An integer in [`low`, `high`) from the words of a `name`, exactly uniform.

        Words that would favour small values are passed over.

        Raises
        ------
        ValueOutOfRange
            If the ends are not whole numbers, or the range does not hold 1 to 2⁶⁴ values.
        """
        if any(isinstance(end, bool) or not isinstance(end, int) for end in (low, high)):
            raise ValueOutOfRange(f"an integer range has whole ends, got [{low}, {high})")
        size = high - low
        if not 0 < size <= 2**64:
            raise ValueOutOfRange(f"an integer range must hold 1 to 2**64 values, got [{low}, {high})")
        limit = 2**64 - 2**64 % size
        index = 0
        while (word := self.word(*name, index=index)) >= limit:
            index += 1
        return low + word % size

    def ranks(self, *name: str | int, indices: Indices) -> Words:
        """Rank words of many hypotheses: word h of the `name` for each h in `indices`, in any order."""
        wanted = np.asarray(indices, dtype=np.int64)
        if wanted.size and wanted[-1] - wanted[0] == wanted.size - 1 and (np.diff(wanted) == 1).all():
            return self.words(*name, start=int(wanted[0]), count=wanted.size)
        if (np.diff(wanted) > 0).all():
            return _words_at(self._secret, name, wanted)
        ascending, places = np.unique(wanted, return_inverse=True)
        return _words_at(self._secret, name, ascending)[places]

    def first(self, *name: str | int, indices: Indices) -> int:
        """The hypothesis among `indices` with the lowest word of the `name`; of equal words the smaller index.

        Raises
        ------
        ValueOutOfRange
            If there are none.
        """
        if len(indices) == 0:
            raise ValueOutOfRange("there is no first of no hypotheses")
        blocks = [indices[start : start + _BLOCK] for start in range(0, len(indices), _BLOCK)]
        return min(self._lowest(name, block) for block in blocks)[1]

    def lowest(self, *name: str | int, n: int, count: int) -> Indices:
        """The `count` hypotheses of `n` with the lowest words of the `name`, ascending; of equal words the smaller indices.

        Examples
        --------
        >>> SharedRandomness("replical").lowest("summary", n=1000, count=3).tolist()
        [342, 479, 561]
        """
        ranks, chosen = np.zeros(0, dtype=np.uint64), np.zeros(0, dtype=np.int64)
        for start in range(0, n, _BLOCK):
            words = self.words(*name, start=start, count=min(_BLOCK, n - start))
            few = np.flatnonzero(words <= np.partition(words, min(count, len(words)) - 1)[min(count, len(words)) - 1])
            ranks, chosen = np.concatenate((ranks, words[few])), np.concatenate((chosen, start + few))
            best = np.lexsort((chosen, ranks))[:count]
            ranks, chosen = ranks[best], chosen[best]
        return np.sort(chosen)

    def _lowest(self, name: tuple[str | int, ...], indices: Indices) -> tuple[int, int]:
        """The lowest word among some hypotheses, and whose it is."""
        ranks = self.ranks(*name, indices=indices)
        return int(ranks.min()), int(indices[ranks == ranks.min()].min())


class PrivateRandomness:
    """One lab's own randomness, never published.

    Parameters
    ----------
    secret
        Bytes that only this lab knows; `PrivateRandomness.fresh()` draws them from the operating system.

    Raises
    ------
    ValueOutOfRange
        If the secret is not at least 16 bytes.

    Examples
    --------
    >>> lab = PrivateRandomness.simulated("doctest, lab A")
    >>> lab.permutation(5).tolist()
    [0, 4, 3, 1, 2]
    """

    def __init__(self, secret: bytes) -> None:
        if not isinstance(secret, bytes) or len(secret) < 16:
            raise ValueOutOfRange("a private secret must be at least 16 bytes; PrivateRandomness.fresh() makes one")
        self._secret = hashlib.blake2b(secret, digest_size=32, person=b"private").digest()

    @classmethod
    def fresh(cls) -> PrivateRandomness:
        """Secret bytes from the operating system."""
        return cls(secrets.token_bytes(32))

    @classmethod
    def simulated(cls, *name: str | int) -> PrivateRandomness:
        """A simulated lab, reproducible from its `name`. Everybody can know it, so it is for audits only."""
        plain = [unicodedata.normalize("NFC", part) if isinstance(part, str) else part for part in name]
        return cls(hashlib.blake2b(_utf8(canonical(plain)), digest_size=32, person=b"simulated").digest())

    def derived(self, *name: str | int) -> PrivateRandomness:
        """A lab within the lab: its own randomness under a `name`."""
        other = PrivateRandomness.__new__(PrivateRandomness)
        other._secret = _child_secret(self._secret, name)
        return other

    def permutation(self, count: int, *, after: int = 0) -> Indices:
        """A uniform order of `count` items, from raw words alone, so that a journal replays on any version.

        Items that come `after` others have words of their own.
        """
        return np.argsort(_words(self._secret, ("permutation",), after, count), kind="stable").astype(np.int64)

    def generator(self, *name: str | int) -> np.random.Generator:
        """A NumPy generator for simulations under a `name`, started afresh at every call."""
        return np.random.Generator(np.random.Philox(key=_key(self._secret, name)))


def wrong_words() -> list[str]:
    """Golden words that this machine gets wrong: does it produce the bits that were published?"""
    return [
        f"{seed!r} {name!r} [{index}]"
        for (seed, name, index), word in GOLDEN.items()
        if SharedRandomness(seed).word(*name, index=index) != word
    ]


def below(words: Words, k: int) -> Indices:
    """Whole numbers from 0 to `k` - 1, one a word; for k up to 2³² chances differ by k parts in 2³² at most.

    >>> below(np.array([0, 2**63, 2**64 - 1], dtype=np.uint64), 10).tolist()
    [0, 5, 9]
    """
    return ((words >> np.uint64(32)) * np.uint64(k) >> np.uint64(32)).astype(np.int64)


def _utf8(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise ValueOutOfRange(f"a seed or name must be valid Unicode text, got {text!r}") from error


def _digest(secret: bytes, name: tuple[str | int, ...], size: int) -> bytes:
    if any(isinstance(part, bool) or not isinstance(part, str | int) for part in name):
        raise ValueOutOfRange(f"a name is made of texts and integers, got {name!r}")
    return hashlib.blake2b(_name_bytes(name), digest_size=size, key=secret).digest()


@lru_cache(maxsize=64)  # a few names are asked for again and again
def _name_bytes(name: tuple[str | int, ...]) -> bytes:
    return _utf8(canonical(list(name)))


def _child_secret(secret: bytes, name: tuple[str | int, ...]) -> bytes:
    return _digest(secret, name, 32)


def _key(secret: bytes, name: tuple[str | int, ...]) -> Words:
    return np.frombuffer(_digest(secret, name, 16), dtype="<u8").astype(np.uint64)


class _Philox(threading.local):
    """One generator a thread, set to another key and counter for every use: making a new one takes ten times as long."""

    def __init__(self) -> None:
        self._bits = np.random.Philox(key=0)
        self._state = self._bits.state

    def at(self, key: Words, counter: int) -> np.random.Philox:
        limbs = np.frombuffer((counter % 2**256).to_bytes(32, "little"), dtype="<u8").astype(np.uint64)
        self._bits.state = self._state | {"state": {"key": key, "counter": limbs}}
        return self._bits


_philox = _Philox()


def _words(secret: bytes, name: tuple[str | int, ...], start: int, count: int) -> Words:
    if start < 0 or count < 0:
        raise ValueOutOfRange(f"words are addressed from 0 on, got start {start} and count {count}")
    counter, skip = divmod(start, _WORDS_PER_COUNTER)
    words: Words = _philox.at(_key(secret, name), counter).random_raw(skip + count)
    return words[skip:]


def _words_at(secret: bytes, name: tuple[str | int, ...], ascending: Indices) -> Words:
    """Words at ascending indices, far apart or near, from one pass of the generator."""
    if ascending.size == 0:
        return np.empty(0, dtype=np.uint64)
    if ascending[0] < 0:
        raise ValueOutOfRange(f"words are addressed from 0 on, got index {ascending[0]}")
    bits, reached = _philox.at(_key(secret, name), 0), 0
    words = np.empty(len(ascending), dtype=np.uint64)
    ends = [*(np.flatnonzero(np.diff(ascending) > _SEEK_WORTH) + 1).tolist(), len(ascending)]
    begin = 0
    for end in ends:
        run = ascending[begin:end]
        counter = int(run[0]) // _WORDS_PER_COUNTER
        count = int(run[-1]) - counter * _WORDS_PER_COUNTER + 1
        bits.advance(counter - reached)
        words[begin:end] = bits.random_raw(count)[run - counter * _WORDS_PER_COUNTER]
        reached = counter + -(-count // _WORDS_PER_COUNTER)
        begin = end
    return words
