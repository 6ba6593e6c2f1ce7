"""Brute-force versions, written from the definitions and sharing no code with the library."""

import hashlib
import json
import math
import unicodedata
from fractions import Fraction

import numpy as np

MASK = 2**64 - 1


def philox4x64(key, counter):
    """Philox4x64-10 in Python integers (Salmon et al. 2011)."""
    k0, k1, counter = *key, int(counter)
    x = [counter & MASK, counter >> 64 & MASK, counter >> 128 & MASK, counter >> 192 & MASK]
    for _ in range(10):
        a, b = 0xD2E7470EE14C6C93 * x[0], 0xCA5A826395121157 * x[2]
        x = [(b >> 64) ^ x[1] ^ k0, b & MASK, (a >> 64) ^ x[3] ^ k1, a & MASK]
        k0, k1 = (k0 + 0x9E3779B97F4A7C15) & MASK, (k1 + 0xBB67AE8584CAA73B) & MASK
    return x


def shared_word(seed, name, index):
    """Word `index` of a name: the frozen definition, step by step."""
    secret = hashlib.blake2b(unicodedata.normalize("NFC", seed).encode(), digest_size=32).digest()
    text = json.dumps(list(name), ensure_ascii=False, separators=(",", ":"))
    digest = hashlib.blake2b(text.encode(), digest_size=16, key=secret).digest()
    key = int.from_bytes(digest[:8], "little"), int.from_bytes(digest[8:], "little")
    return philox4x64(key, index // 4 + 1)[index % 4]  # the generator steps its counter before the first block


def dis(codes, alive):
    """DIS(V): columns on which two rows of `alive` differ."""
    return [len({int(codes[h][x]) for h in alive}) > 1 for x in range(len(codes[0]))]


def errors(codes, alive, items, counts):
    """Labels each hypothesis contradicts."""
    return [
        sum(int(c) for x, row in zip(items, counts, strict=True) for y, c in enumerate(row) if y != codes[h][x])
        for h in alive
    ]


def distance(codes, weights, g, h):
    return sum(int(w) for a, b, w in zip(codes[g], codes[h], weights, strict=True) if a != b)


def theta(codes, weights, centre, r0=Fraction(0)):
    """sup over attained radii (and r0) of Δ(B(centre, r))/r."""
    n, total = len(codes), sum(map(int, weights))
    d = [Fraction(distance(codes, weights, centre, h), total) for h in range(n)]
    best = Fraction(1)
    for r in {x for x in d if x > 0 and x >= r0} | ({r0} if r0 > 0 else set()):
        ball = [h for h in range(n) if d[h] <= r]
        mass = Fraction(sum(int(w) for w, disputed in zip(weights, dis(codes, ball), strict=True) if disputed), total)
        best = max(best, mass / r)
    return best


def first(shared_seed, alive):
    return min(alive, key=lambda h: (shared_word(shared_seed, ("order",), h), h))


def cal(codes, order, truth, epsilon, k, seed):
    """Algorithm 1 on a scanned pool: returns hypothesis, items asked."""
    alive, asked, at = list(range(len(codes))), [], 0
    while True:
        disputed = dis(codes, alive)
        if Fraction(sum(disputed[x] for x in order), len(order)) <= epsilon:
            return first(seed, alive), asked, alive
        batch = []
        while len(batch) < k:
            if disputed[order[at]]:
                batch.append(order[at])
            at += 1
        asked += batch
        alive = [h for h in alive if all(codes[h][x] == truth[x] for x in batch)]


def erm(codes, order, truth, k, seed):
    """Passive: label the first k items of the order."""
    wrong = [sum(codes[h][x] != truth[x] for x in order[:k]) for h in range(len(codes))]
    alive = [h for h in range(len(codes)) if wrong[h] == min(wrong)]
    return first(seed, alive), list(order[:k]), alive


def replical_paper(codes, order, truth, epsilon, k_loop, k_final, m, v_max, rounds_most, seed):
    """Algorithm 3 on a scanned pool."""
    i = shared_word(seed, ("threshold",), 0) % m  # rejection has probability m/2**64
    v = v_max * Fraction(2 * i + 1, 2 * m)
    alive, asked, at, rounds = list(range(len(codes))), [], 0, 0

    def draw(disputed, k):
        nonlocal at
        batch = []
        while len(batch) < k:
            if disputed[order[at]]:
                batch.append(order[at])
            at += 1
        return batch

    def mass(disputed):
        return Fraction(sum(disputed[x] for x in order), len(order))

    disputed = dis(codes, alive)
    while mass(disputed) >= epsilon and rounds < rounds_most:
        batch = draw(disputed, k_loop)
        asked += batch
        alive = [h for h in alive if Fraction(sum(codes[h][x] != truth[x] for x in batch), k_loop) <= v]
        disputed, rounds = dis(codes, alive), rounds + 1
    if mass(disputed) > 0 and epsilon * v / mass(disputed) < 1:
        batch = draw(disputed, k_final)
        asked += batch
        limit = epsilon * v / mass(disputed)
        alive = [h for h in alive if Fraction(sum(codes[h][x] != truth[x] for x in batch), k_final) <= limit]
    return first(seed, alive), asked, alive


def replical_tight(codes, order, truth, epsilon, k_loop, M, measuring, v_loop, G, rounds_most, seed):
    """The tight variant on a scanned pool whose last `measuring` items measure Δ."""
    g = G * Fraction((shared_word(seed, ("threshold",), 0) >> 11) * 2.0**-53)
    scanned, measured = order[: len(order) - measuring], order[len(order) - measuring :]
    alive, asked, at, rounds = list(range(len(codes))), [], 0, 0
    disputed = dis(codes, alive)
    while Fraction(sum(disputed[x] for x in measured), measuring) >= epsilon and rounds < rounds_most:
        batch = []
        while len(batch) < k_loop:
            if disputed[scanned[at]]:
                batch.append(scanned[at])
            at += 1
        asked += batch
        alive = [h for h in alive if sum(codes[h][x] != truth[x] for x in batch) <= math.floor(k_loop * v_loop)]
        disputed, rounds = dis(codes, alive), rounds + 1
    batch = [x for x in scanned[at : at + M] if disputed[x]]
    if len(batch) > math.floor(M * g):
        asked += batch
        alive = [h for h in alive if Fraction(sum(codes[h][x] != truth[x] for x in batch), M) <= g]
    return first(seed, alive), asked, alive


def binomial_upper(count, trials, p):
    p = Fraction(p)
    return sum(math.comb(trials, i) * p**i * (1 - p) ** (trials - i) for i in range(count, trials + 1))


def all_codes(C, items):
    return C.codes(items, np.arange(len(C))).tolist()
