"""Brute-force versions, written from the definitions and sharing no code with the library."""

import hashlib
import json
import math
import unicodedata
from fractions import Fraction
from itertools import combinations

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
    return sum(int(w) for x, y, w in zip(codes[g], codes[h], weights, strict=True) if x != y)


def ball(codes, weights, centre, r):
    """Everyone at distance at most r of the whole weight."""
    most = r * sum(map(int, weights))
    return [h for h in range(len(codes)) if distance(codes, weights, centre, h) <= most]


def curve(codes, weights, centre):
    """(radius, disputed weight, members) of every closed ball, by weight."""
    found = []
    for radius in sorted({distance(codes, weights, centre, h) for h in range(len(codes))}):
        inside = [h for h in range(len(codes)) if distance(codes, weights, centre, h) <= radius]
        disputed = sum(int(w) for w, open_ in zip(weights, dis(codes, inside), strict=True) if open_)
        found.append((radius, disputed, len(inside)))
    return found


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


def peak(codes, weights, r0=Fraction(0)):
    """Where Θ is attained: the first centre, there r0 before any other radius, then the smallest; in units of weight."""
    smallest, found = r0 * sum(map(int, weights)), []
    for centre in range(len(codes)):
        balls = curve(codes, weights, centre)
        own = [(smallest, disputed) for radius, disputed, _ in balls if radius <= smallest][-1:] if smallest > 0 else []
        own = [(radius, disputed) for radius, disputed in own if disputed > radius]
        own += [(Fraction(radius), disputed) for radius, disputed, _ in balls if radius > smallest]
        own = [(disputed / radius, centre, radius, disputed) for radius, disputed in own]
        found.append(max(own, key=lambda ball: ball[0]) if own else (Fraction(1), centre, Fraction(0), 0))
    return max(found, key=lambda ball: ball[0])


def littlestone(rows):
    """Of a set of hypotheses, each the tuple of its labels: how deep a tree of items they shatter."""
    if len(rows) < 2:
        return 0
    depths = []
    for x in range(len(next(iter(rows)))):
        sides = [frozenset(row for row in rows if row[x] == label) for label in (0, 1)]
        if all(sides):
            depths.append(1 + min(map(littlestone, sides)))
    return max(depths)


def vc(rows):
    """The most items on which these hypotheses show every pattern of labels."""
    m = len(next(iter(rows)))
    return max(
        d
        for d in range(m + 1)
        for chosen in combinations(range(m), d)
        if len({tuple(row[x] for x in chosen) for row in rows}) == 2**d
    )


def first(shared_seed, alive):
    return min(alive, key=lambda h: (shared_word(shared_seed, ("order",), h), h))


class _Rounds:
    """Draws and masses of the learners that work in rounds, on a scanned pool; Δ is that of all items, or of `measured`."""

    def __init__(self, codes, order, truth, measured=None):
        self.codes, self.order, self.truth, self.at, self.asked = codes, order, truth, 0, []
        self.measured = order if measured is None else measured

    def mass(self, alive):
        disputed = dis(self.codes, alive)
        return Fraction(sum(disputed[x] for x in self.measured), len(self.measured))

    def errors(self, alive, k):
        """Errors of each survivor on the next k disputed items."""
        disputed, batch = dis(self.codes, alive), []
        while len(batch) < k:
            if disputed[self.order[self.at]]:
                batch.append(self.order[self.at])
            self.at += 1
        self.asked += batch
        return {h: sum(self.codes[h][x] != self.truth[x] for x in batch) for h in alive}


def cal(codes, order, truth, epsilon, k, seed):
    """Algorithm 1: returns hypothesis, items asked, survivors."""
    world, alive = _Rounds(codes, order, truth), list(range(len(codes)))
    while world.mass(alive) > epsilon:
        errors = world.errors(alive, k)
        alive = [h for h in alive if errors[h] == 0]
    return first(seed, alive), world.asked, alive


def erm(codes, order, truth, k, seed):
    """Passive: label the first k items of the order."""
    wrong = [sum(codes[h][x] != truth[x] for x in order[:k]) for h in range(len(codes))]
    alive = [h for h in range(len(codes)) if wrong[h] == min(wrong)]
    return first(seed, alive), list(order[:k]), alive


def replical_paper(codes, order, truth, epsilon, k_loop, k_final, m, v_max, rounds_most, seed):
    """Algorithm 3."""
    i = shared_word(seed, ("threshold",), 0) % m  # rejection has probability m/2**64
    v = v_max * Fraction(2 * i + 1, 2 * m)
    world, alive, rounds = _Rounds(codes, order, truth), list(range(len(codes))), 0
    while world.mass(alive) >= epsilon and rounds < rounds_most:
        errors = world.errors(alive, k_loop)
        alive = [h for h in alive if Fraction(errors[h], k_loop) <= v]
        rounds += 1
    if (mass := world.mass(alive)) > 0 and epsilon * v / mass < 1:
        errors = world.errors(alive, k_final)
        alive = [h for h in alive if Fraction(errors[h], k_final) <= epsilon * v / mass]
    return first(seed, alive), world.asked, alive


def replical_tight(codes, order, truth, epsilon, k_loop, M, measuring, v_loop, G, rounds_most, seed):
    """The tight variant; the last `measuring` items measure Δ."""
    g = G * Fraction((shared_word(seed, ("threshold",), 0) >> 11) * 2.0**-53)
    scanned, measured = order[: len(order) - measuring], order[len(order) - measuring :]
    world, alive, rounds = _Rounds(codes, scanned, truth, measured), list(range(len(codes))), 0
    while world.mass(alive) >= epsilon and rounds < rounds_most:
        errors = world.errors(alive, k_loop)
        alive = [h for h in alive if errors[h] <= math.floor(k_loop * v_loop)]
        rounds += 1
    disputed, asked = dis(codes, alive), world.asked
    batch = [x for x in scanned[world.at : world.at + M] if disputed[x]]
    if len(batch) > math.floor(M * g):
        asked = asked + batch
        alive = [h for h in alive if Fraction(sum(codes[h][x] != truth[x] for x in batch), M) <= g]
    return first(seed, alive), asked, alive


def binomial_upper(count, trials, p):
    p = Fraction(p)
    return sum(math.comb(trials, i) * p**i * (1 - p) ** (trials - i) for i in range(count, trials + 1))


def all_codes(C, items):
    return C.codes(items, np.arange(len(C))).tolist()


def nearest(codes, measured, h, among):
    """The member of `among` that differs from h on fewest measured items, the smallest index if several do."""
    return min(among, key=lambda b: (sum(codes[b][x] != codes[h][x] for x in measured), b))


def a2_betting(codes, order, truth, epsilon, delta, batch, seed):
    """A² by betting on a scanned pool; the last tenth of the order is never asked and measures nearness."""
    n, tail = len(codes), len(order) // 10
    scanned, measured = order[: len(order) - tail], order[len(order) - tail :]
    stakes = [Fraction(s) for s in ("19/20", "7/10", "9/20", "1/5")]
    alive, asked, at = list(range(n)), [], 0
    wealth = {h: [Fraction(s, 8) for s in (3, 2, 2, 1)] for h in alive}
    errors = dict.fromkeys(alive, 0)
    while True:
        disputed = dis(codes, alive)
        if Fraction(sum(disputed[x] for x in order), len(order)) <= epsilon:
            break
        items = []
        while len(items) < batch and at < len(scanned):
            if disputed[scanned[at]]:
                items.append(scanned[at])
            at += 1
        if not items:
            break
        beaten = set()
        for x in items:
            asked.append(x)
            best = [h for h in alive if errors[h] == min(errors[h] for h in alive)]
            rival = {h: h if h in best else nearest(codes, measured, h, best) for h in alive}
            for h in alive:
                h_right, b_right = codes[h][x] == truth[x], codes[rival[h]][x] == truth[x]
                if b_right and not h_right:
                    wealth[h] = [w * (1 + s) for w, s in zip(wealth[h], stakes, strict=True)]
                elif h_right and not b_right:
                    wealth[h] = [w * (1 - s) for w, s in zip(wealth[h], stakes, strict=True)]
                errors[h] += not h_right
            beaten |= {h for h in alive if sum(wealth[h]) >= 1 / delta}
        alive = [h for h in alive if h not in beaten]
    return first(seed, alive), asked, alive


def a2_rounds(codes, order, truth, stop, rounds_most, k, width, final, seed):
    """Algorithm 2."""
    world, alive, rounds = _Rounds(codes, order, truth), list(range(len(codes))), 0
    while world.mass(alive) >= stop and rounds < rounds_most:
        errors = world.errors(alive, k)
        upper = min(Fraction(e, k) + width for e in errors.values())
        alive = [h for h in alive if Fraction(errors[h], k) - width <= upper]
        rounds += 1
    if world.mass(alive) > 0:
        errors = world.errors(alive, final)
        alive = [h for h in alive if errors[h] == min(errors.values())]
    return first(seed, alive), world.asked, alive


def replica2(codes, order, truth, stop, rounds_most, k, loop_offset, nu_bar, final, excess, seed):
    """Algorithm 4; `loop_offset` is v, `excess` the global excess allowed at the end."""
    world, alive, rounds = _Rounds(codes, order, truth), list(range(len(codes))), 0
    while (mass := world.mass(alive)) >= stop and rounds < rounds_most:
        errors = world.errors(alive, k)
        alive = [h for h in alive if Fraction(errors[h], k) <= loop_offset + nu_bar / mass]
        rounds += 1
    if (mass := world.mass(alive)) > 0:
        errors = world.errors(alive, final)
        limit = Fraction(min(errors.values()), final) + excess / mass
        alive = [h for h in alive if Fraction(errors[h], final) <= limit]
    return first(seed, alive), world.asked, alive


def replica2_on_a_pool(codes, order, truth, measuring, stop, rounds_most, k, theta, nu_bar, M, u, seed):
    """ReplicA² that scans; `u` is the excess allowed on the last M items."""
    measured, fresh = order[len(order) - measuring :], iter(order[: len(order) - measuring])
    alive, rounds, asked = list(range(len(codes))), 0, []

    def mass():
        disputed = dis(codes, alive)
        return Fraction(sum(disputed[x] for x in measured), len(measured))

    while rounds < rounds_most and stop < 1 and mass() >= stop:
        disputed, batch, T = dis(codes, alive), [], 0
        while len(batch) < k:
            x = next(fresh)
            T += 1
            batch += [x] if disputed[x] else []
        wrong = {h: sum(codes[h][x] != truth[x] for x in batch) for h in alive}
        alive = [h for h in alive if wrong[h] <= nu_bar * T + Fraction(k) / (8 * theta)]
        asked, rounds = asked + batch, rounds + 1
        if not alive:
            return None, asked, alive
    disputed, last = dis(codes, alive), [next(fresh) for _ in range(M)]
    wrong = {h: sum(codes[h][x] != truth[x] for x in last) for h in alive}  # on all items: outside DIS(V) alike
    alive = [h for h in alive if Fraction(wrong[h] - min(wrong.values()), M) <= u]
    return first(seed, alive), asked + [x for x in last if disputed[x]], alive


def replicable_erm(codes, order, truth, k, threshold, agnostic, seed):
    """Keep everyone whose (excess) error is at most the shared threshold."""
    wrong = [sum(codes[h][x] != truth[x] for x in order[:k]) for h in range(len(codes))]
    base = Fraction(min(wrong), k) if agnostic else 0
    alive = [h for h in range(len(codes)) if Fraction(wrong[h], k) <= base + threshold]
    return first(seed, alive), list(order[:k]), alive


def handicap(
    codes, order, truth, c, places, beta, *, batch, most=None, first=None, noiseless=False, unlabelled=(), until=None,
    cost=lambda said, label: int(said != label),
):  # fmt: skip
    """Handicap in fractions: who is left, the favourite, labels asked, items scanned, every wealth at its largest, tolerance."""
    stakes = [Fraction(4, 5), Fraction(2, 5), Fraction(1, 5), Fraction(1, 10), Fraction(1, 20)]
    S, V = list(range(len(codes))), list(range(len(codes)))
    W, lost, largest = {g: [Fraction(1)] * 5 for g in S}, dict.fromkeys(S, 0), dict.fromkeys(S, Fraction(1))
    at = asked = 0

    def score(g):
        return lost[g] + c[g] * at

    def lead(m):
        least = min(map(score, S))
        if m in S and score(m) <= least + (4 if m == first else 2):
            return m
        return min((g for g in S if score(g) == least), key=lambda g: places[g])

    def differ(among, x):
        return len({int(codes[g][x]) for g in among}) > 1

    Z_first = {g: [] for g in range(len(codes))}  # losses of the first of an order less those of g, item by item
    most = min(most or until, until) if until else most
    m = lead(None)
    while len(S) > 1 and (most is None or asked < most):
        opens, block, idle, hits = batch if most is None else min(batch, most - asked), [], 0, 0
        while at < len(order) and idle < 16 and hits < opens:
            x = order[at]
            at += 1
            ask = differ(S, x) and x not in unlabelled and (not noiseless or differ(V, x))
            idle, hits = (0, hits + 1) if ask else (idle + 1, hits)
            block.append((x, ask))
        if not block:
            break
        asked += hits
        for g in S:
            theta = c[g] - c[m]
            for x, ask in block:
                known = ask or (noiseless and not differ(V, x))
                if known:
                    Z = cost(int(codes[m][x]), int(truth[x])) - cost(int(codes[g][x]), int(truth[x]))
                else:
                    Z = int(noiseless and codes[m][x] != codes[g][x])
                if first in S:
                    Z_first[g].append(
                        cost(int(codes[first][x]), int(truth[x])) - cost(int(codes[g][x]), int(truth[x]))
                        if known
                        else int(noiseless and codes[first][x] != codes[g][x])
                    )
                for place, stake in enumerate(stakes):
                    W[g][place] *= 1 + (stake if theta >= 0 else stake / (1 - theta)) * (theta - Z)
            lost[g] += sum(
                cost(int(codes[g][x]), int(truth[x]))
                for x, ask in block
                if ask or (noiseless and differ(S, x) and not differ(V, x))
            )
            largest[g] = max(largest[g], sum(W[g]) / 5)
        V = [h for h in V if all(codes[h][x] == truth[x] for x, ask in block if ask)]
        S = [g for g in S if g == m or sum(W[g]) / 5 < (1 + Fraction(1, 10**6)) / beta]
        m = lead(m)
    while (
        until and [first] == S and not noiseless and asked < most and max_of(Z_first, first, beta) > Fraction(1, 1000)
    ):
        U = max_of(Z_first, first, beta)
        T = [g for g in range(len(codes)) if g == first or wealth(Z_first[g], Fraction(7, 10) * U, stakes) < 1 / beta]
        block, idle, hits = [], 0, 0
        while at < len(order) and idle < 16 and hits < min(batch, most - asked):
            x = order[at]
            at += 1
            ask = differ(T, x) and x not in unlabelled
            idle, hits = (0, hits + 1) if ask else (idle + 1, hits)
            block.append((x, ask))
        if not block:
            break
        asked += hits
        for g in T:
            Z_first[g] += [
                (cost(int(codes[first][x]), int(truth[x])) - cost(int(codes[g][x]), int(truth[x]))) * ask
                for x, ask in block
            ]
    U = None if first is None or noiseless else max_of(Z_first, first, beta)
    return S, m, asked, at, largest, U


def handicap_by_groups(
    codes, order, truth, c, places, beta, *, groups, largest, by_items, batch, most=None, first=None, skipped=(),
    cost=lambda said, label: int(said != label),
):  # fmt: skip
    """Handicap where items come in `groups`, in fractions: who is left, the favourite, labels, items, tolerance.

    Every group is a list of items; `order` has the groups one after the other.
    """
    stakes = [Fraction(4, 5), Fraction(2, 5), Fraction(1, 5), Fraction(1, 10), Fraction(1, 20)]
    queue = [[x for x in order if groups[x] == each] for each in dict.fromkeys(groups[x] for x in order)]
    S, n = list(range(len(codes))), len(codes)
    W, V = {g: [Fraction(1)] * 5 for g in S}, {g: [] for g in S}
    lost, asked, scanned, m = dict.fromkeys(S, Fraction(0)), 0, 0, None

    def lead(m):
        score = {g: lost[g] + c[g] * units for g in S}
        least = min(score.values())
        if m in S and score[m] <= least + (4 if m == first else 2):
            return m
        return min((g for g in S if score[g] == least), key=lambda g: places[g])

    units = 0
    m = lead(None)
    while len(S) > 1 and (most is None or asked < most):
        block, hits, quiet = [], 0, 0
        while queue and hits < (batch if most is None else min(batch, most - asked)) and quiet < 16:
            ask = [x for x in queue[0] if len({int(codes[g][x]) for g in S}) > 1 and x not in skipped]
            if most is not None and asked + hits + len(ask) > most:
                break
            hits, quiet = hits + len(ask), 0 if ask else quiet + len(queue[0])
            block.append((queue.pop(0), ask))
        if not block:
            break
        asked += hits
        for items, ask in block:
            N = len(items)
            w = Fraction(N, largest) if by_items else Fraction(1)
            total = {g: sum(Fraction(cost(int(codes[g][x]), int(truth[x]))) for x in ask) for g in S}
            for g in S:
                theta = c[g] - c[m]
                gap = w * (theta - (total[m] - total[g]) / N)
                W[g] = [
                    each * (1 + (s if theta >= 0 else s / (1 - theta)) * gap)
                    for each, s in zip(W[g], stakes, strict=True)
                ]
                lost[g] += total[g] / (1 if by_items else N)
                if first in S:
                    V[g].append((w, w * (total[first] - total[g]) / N))
            scanned += N
            units += N if by_items else 1
        S = [g for g in S if g == m or sum(W[g]) / 5 < (1 + Fraction(1, 10**6)) / beta]
        m = lead(m)
    if first is None:
        return S, m, asked, scanned, None
    for x in tolerances():
        holds = [
            sum(math.prod(1 + float(s) * float(w * x - z) for w, z in V[g]) for s in stakes) / 5 >= 1 / beta
            for g in range(n)
            if g != first
        ]
        if all(holds):
            return S, m, asked, scanned, x
    return S, m, asked, scanned, Fraction(1)


def handicap_on_a_table(
    codes, order, truth, c, places, beta, *, most=None, cost=lambda said, label: int(said != label)
):
    """Handicap where the items are the whole population, in fractions: who is left, the favourite, labels, items, wealths."""
    stakes = [Fraction(4, 5), Fraction(2, 5), Fraction(1, 5), Fraction(1, 10), Fraction(1, 20)]
    N, S, at, asked = len(order), list(range(len(codes))), 0, 0
    W, Z = {g: [Fraction(1)] * 5 for g in S}, {g: [Fraction(0)] * N for g in S}  # Z: losses, item by item
    largest, m = dict.fromkeys(S, Fraction(1)), None

    def lead(m):
        score = {g: sum(Z[g][:at]) + c[g] * at for g in S}
        least = min(score.values())
        if m in S and score[m] <= least + 2:
            return m
        return min((g for g in S if score[g] == least), key=lambda g: places[g])

    def owed(g):
        return N * (c[g] - c[m]) - sum(Z[m][:at]) + sum(Z[g][:at])

    m = lead(None)
    while len(S) > 1 and at < N and (most is None or asked < most):
        for _ in range(16):
            if at == N:
                break
            x = order[at]
            ask = len({int(codes[g][x]) for g in S}) > 1
            theta = {g: Fraction(owed(g)) / (N - at) for g in S}
            for g in S:
                Z[g][at] = Fraction(cost(int(codes[g][x]), int(truth[x]))) * ask
            for g in S:
                each = [s if theta[g] >= 0 else s / (1 - theta[g]) for s in stakes]
                W[g] = [w * (1 + s * (theta[g] - Z[m][at] + Z[g][at])) for w, s in zip(W[g], each, strict=True)]
            at, asked = at + 1, asked + ask
            if ask:
                break
        for g in S:
            largest[g] = max(largest[g], sum(W[g]) / 5)
        stay = [g for g in S if g == m or sum(W[g]) / 5 < (1 + Fraction(1, 10**6)) / beta]
        total = {
            g: N * c[g] + sum(Z[g][:at]) for g in S
        }  # errors and handicap on the whole table, as far as they are known
        h = min(S, key=lambda g: total[g])
        S = [g for g in stay if total[g] - total[h] <= N - at or (g == m and h not in stay)]
        m = lead(m)
    return S, m, asked, at, largest


def tolerances():
    """.001, .001·1.05, .. up to 1."""
    x = Fraction(1, 1000)
    while x < 1:
        yield x
        x *= Fraction(105, 100)


def wealth(Z, x, stakes=(0.8, 0.4, 0.2, 0.1, 0.05)):
    """Of bets that the mean of Z is below x, in doubles: the grid has so many digits that fractions take for ever."""
    each = [math.prod((1 + float(stake) * float(x - z)) ** Z.count(z) for z in set(Z)) for stake in stakes]
    return sum(each) / len(each)


def max_of(Z, first, beta):
    """The least of .001, .001·1.05, .. at which everybody's bet against the first holds 1/β; 1 where none is."""
    grid = [Fraction(1, 1000)]
    while grid[-1] < 1:
        grid.append(min(Fraction(1), grid[-1] * Fraction(21, 20)))
    least = 0
    for g in Z:
        low, high = least, len(grid) - 1
        while g != first and low < high:
            middle = (low + high) // 2
            low, high = (low, middle) if wealth(Z[g], grid[middle]) >= 1 / beta else (middle + 1, high)
        least = max(least, low)
    return grid[least]


def public_order(codes, walk, answer, names, most, cost=lambda said, label: int(said != label)):
    """A public order, one prediction at a time: who comes first, and the items asked, with None where nobody answered.

    What is `answer(item)` is looked at for those items alone.
    """
    everyone, asked = range(len(codes)), []

    def lost(h):
        return sum(cost(int(codes[h][x]), label) for x, label in asked if label is not None)

    for x in walk:
        best = min(map(lost, everyone))
        in_play = [h for h in everyone if lost(h) - best <= 3]
        known = sum(label is not None for _, label in asked)
        if known < most and any(codes[h][x] != codes[in_play[0]][x] for h in in_play):
            asked.append((x, answer(x)))
    said = [[int(codes[h][x]) for h in everyone] for x in range(len(walk))]
    vote = [max(sorted(set(each)), key=each.count) for each in said]
    agrees = [sum(each[h] == most_said for each, most_said in zip(said, vote, strict=True)) for h in everyone]
    return sorted(everyone, key=lambda h: (lost(h), -agrees[h], names[h])), asked


def confirm(
    codes, h, order, labels, margin, alpha, *, batch=1, most=None, idle=16, skipped=(),
    cost=lambda said, label: Fraction(int(said != label)),
):  # fmt: skip
    """Confirm from docs/claims/confirm.md alone: exact wealth, item by item. (outcome, against, asked, scanned, unlabelled)."""
    stakes = [Fraction(s) for s in ("4/5", "2/5", "1/5", "1/10", "1/20")]
    rivals = [g for g in range(len(codes)) if g != h]  # those not done
    W, E = {g: [Fraction(1)] * 5 for g in rivals}, dict.fromkeys(rivals, 0)  # E: errors above those of h
    R, asked, at, unlabelled = [Fraction(1)] * 5, 0, 0, 0
    while True:
        if not rivals:
            return ("confirmed" if unlabelled <= asked else "undecided"), None, asked, at, unlabelled
        o = min(rivals, key=lambda g: (E[g], g))
        if (most is not None and asked >= most) or at >= len(order):
            return "undecided", o, asked, at, unlabelled
        block, since, limit = 0, 0, batch if most is None else min(batch, most - asked)
        while at < len(order) and since < idle and block < limit:
            item, at = order[at], at + 1
            differ = len({int(codes[g][item]) for g in (h, *rivals)}) > 1
            known = differ and item not in skipped
            unlabelled += differ and not known
            block, asked, since = block + known, asked + known, 0 if known else since + 1
            wrong = {g: cost(int(codes[g][item]), int(labels[item])) if known else 0 for g in (h, *rivals)}
            for g in rivals:
                z = wrong[h] - wrong[g]
                W[g] = [w * (1 + s * (margin - z)) for w, s in zip(W[g], stakes, strict=True)]
                E[g] -= z
            z = wrong[h] - wrong[o]
            R = [r * (1 + s / (1 + margin) * (z - margin)) for r, s in zip(R, stakes, strict=True)]
        if sum(R) / 5 >= 1 / alpha:
            return "refuted", o, asked, at, unlabelled
        rivals = [g for g in rivals if sum(W[g]) / 5 < 1 / alpha]


def heavy_hitters_boosting(answers, q1, thresholds):
    """The paper's boosting, given what every string (row) answers on every data set (column): the answer, or None."""
    for row, threshold in zip(answers, thresholds, strict=True):
        rest = list(row[q1:])
        heavy = [h for h in set(row[:q1]) if h is not None and Fraction(rest.count(h), len(rest)) >= threshold]
        if heavy:
            (h,) = heavy
            return h
    return None


def edits(one, two):
    """Characters to insert, delete or replace to make one text of another, from the definition."""
    if not one or not two:
        return len(one) + len(two)
    row = list(range(len(two) + 1))
    for i, a in enumerate(one, 1):
        last, row[0] = row[0], i
        for j, b in enumerate(two, 1):
            last, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, last + (a != b))
    return row[-1]
