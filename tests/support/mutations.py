"""Valid files made invalid: bits that flipped, files cut and spliced, numbers swapped, fields of JSON and TOML changed.

Everything follows from the generator that is handed in, so a mutated file is named by a seed and made again.
"""

import contextlib
import copy
import json
import re
import struct
import tomllib

from replical.core.files import toml_lines
from support.certificates import resealed

NUMBER = re.compile(rb"-?\d+(?:\.\d+)?")
ODD_BYTES = (
    b"\x00", b"\xff", b"\x7f", b"\x80", b"\xed\xa0\x80", b"\n", b"\r", b'"', b",", b"\\", b"\xef\xbb\xbf", b"=",
)  # fmt: skip
# Where a reader's arithmetic ends: signs, widths of integers, floats that are none.
ODD_NUMBERS = (
    0, 1, -1, 2**31 - 1, -(2**31), 2**32, 2**53 + 1, 2**63 - 1, 2**63, -(2**63) - 1, 2**64, 10**9, 10**18, 10**40, 10**400,
)  # fmt: skip
ODD_FLOATS = (0.0, -0.0, 1e308, -1e308, 5e-324, 1e-9, 0.5, 1.0, float("nan"), float("inf"), -float("inf"))
ODD_TEXTS = (
    "", " ", "\x00", "\ud800", "a" * 5000, "nan", "-1", "1e999", "../../etc/passwd", "[red]", "{}", "'", "=1+1",
)  # fmt: skip
ODD_VALUES = (*ODD_NUMBERS, *ODD_FLOATS, *ODD_TEXTS, None, True, False, [], {}, [[]], [0], {"a": 1})


def mutated(random, content, kind, others):
    """Another content, one to three steps away; `kind` says what it is, `others` are contents to splice with."""
    if kind in ("json", "sealed", "toml") and random.random() < 0.7:
        changed = by_fields(random, content, kind)
        if changed is not None:
            return changed
    for _ in range(random.choice((1, 1, 1, 2, 3))):
        content = random.choice(BYTES)(random, content, others)
    return content


def odd(random):
    """A value that hardly anybody expects, of any type."""
    return copy.deepcopy(random.choice(ODD_VALUES))


def _place(random, content):
    """Ends of a file tell what is in it, so half of all changes are there."""
    if random.random() < 0.5:
        return random.randrange(max(1, len(content)))
    near = min(len(content), 400)
    place = random.randrange(max(1, near))
    return place if random.random() < 0.5 else max(0, len(content) - 1 - place)


def flip(random, content, _):
    """Some bits, mostly one."""
    changed = bytearray(content)
    for _ in range(random.choice((1, 1, 1, 4, 20))):
        if changed:
            changed[_place(random, content) % len(changed)] ^= 1 << random.randrange(8)
    return bytes(changed)


def truncate(random, content, _):
    """The beginning, or all but the beginning."""
    place = _place(random, content)
    return content[:place] if random.random() < 0.7 else content[place:]


def splice(random, content, others):
    """The beginning of one file, the end of another."""
    other = random.choice(others)
    return content[: _place(random, content)] + other[_place(random, other) :]


def move(random, content, _):
    """A piece copied to another place, put in or written over."""
    start, place = _place(random, content), _place(random, content)
    piece = content[start : start + random.choice((1, 4, 8, 16, 64, 500))]
    kept = place if random.random() < 0.5 else place + len(piece)
    return content[:place] + piece + content[kept:]


def overwrite(random, content, _):
    """A number of four or eight bytes as binary formats write lengths and offsets, or a strange byte."""
    place = _place(random, content)
    if random.random() < 0.3:
        piece = random.choice(ODD_BYTES)
    else:
        width, most = random.choice((("<I", 2**32), ("<Q", 2**64), ("<H", 2**16)))
        number = random.choice((0, 1, most - 1, most // 2, most // 2 - 1, 10**7, 2**34, random.randrange(most)))
        place = place // 4 * 4 if random.random() < 0.7 else place  # most are aligned
        piece = struct.pack(width, number % most)
    return content[:place] + piece + content[place + len(piece) :]


def swap(random, content, _):
    """A written number becomes another one."""
    found = list(NUMBER.finditer(content))
    if not found:
        return flip(random, content, _)
    one = random.choice(found)
    other = random.choice(found)[0] if random.random() < 0.4 else _spelled(random.choice(ODD_NUMBERS + ODD_FLOATS))
    return content[: one.start()] + other + content[one.end() :]


def lines(random, content, _):
    """A line left out, twice, or moved."""
    listed = content.split(b"\n")
    line = listed.pop(random.randrange(len(listed)))
    for _ in range(random.choice((0, 1, 2))):
        listed.insert(random.randrange(len(listed) + 1), line)
    return b"\n".join(listed)


def _spelled(number):
    return repr(number).encode()


BYTES = (flip, flip, truncate, splice, move, overwrite, overwrite, swap, lines)


# ---- by fields ----


def by_fields(random, content, kind):
    """Some fields changed and the whole written as before; None where it cannot be read or written."""
    try:
        value = tomllib.loads(content.decode()) if kind == "toml" else json.loads(content)
    except (ValueError, RecursionError):
        return None
    value = copy.deepcopy(value)
    for _ in range(random.choice((1, 1, 2, 4))):
        value = changed_field(random, value)
    try:
        if kind == "toml":
            return _toml(value).encode("utf-8", "surrogatepass")
        return _json(value, sealed=kind == "sealed").encode("utf-8", "surrogatepass")
    except (ValueError, TypeError, AttributeError, KeyError, RecursionError):
        return None


def _json(value, *, sealed):
    """As replical writes it; a forger knows how digests and seals are made."""
    if sealed and isinstance(value, dict):
        with contextlib.suppress(Exception):  # what cannot be sealed, a forger publishes as it is
            value = _sealed(value)
    return json.dumps(value, indent=1, sort_keys=True, ensure_ascii=False) + "\n"


def _sealed(value):
    from replical.core.canonical import fingerprint
    from replical.lab.certificate.file import seal

    if "body" in value:
        return resealed(value)
    if "digest" in value:
        value["digest"] = fingerprint({key: each for key, each in value.items() if key not in ("digest", "provenance")})
    if "provenance" in value:
        value["provenance"]["seal"] = seal(value["digest"], value["provenance"])
    return value


def _toml(value):
    plain = {key: each for key, each in value.items() if not isinstance(each, dict)}
    text = toml_lines(plain)
    for key, section in value.items():
        if isinstance(section, dict):
            text += ["", f"[{key}]", *toml_lines(section)]
    return "\n".join(text) + "\n"


def changed_field(random, value):
    """One place of nested lists and mappings: changed, left out, added, swapped, or put under another name."""
    containers = [each for each in _containers(value) if len(each)]
    if not containers:
        return odd(random)
    inside = random.choice(containers)
    keys = list(inside) if isinstance(inside, dict) else list(range(len(inside)))
    key, other, step = random.choice(keys), random.choice(keys), random.random()
    if step < 0.55:
        inside[key] = _near(random, inside[key])
    elif step < 0.7:
        inside[key], inside[other] = inside[other], inside[key]
    elif step < 0.8:
        del inside[key]
    elif step < 0.9:
        donor = random.choice(containers)
        inside[key] = copy.deepcopy(random.choice(list(donor.values()) if isinstance(donor, dict) else donor))
    elif isinstance(inside, dict):
        inside[random.choice(("added", "schema", "", str(key) + "x"))] = odd(random)
    else:
        inside.insert(random.randrange(len(inside) + 1), random.choice((odd(random), copy.deepcopy(inside[key]))))
    return value


def _containers(value):
    if isinstance(value, dict | list):
        yield value
        for each in value.values() if isinstance(value, dict) else value:
            yield from _containers(each)


def _near(random, value):
    """Half of the time of the same type, so that it is looked at for what it says."""
    if random.random() < 0.5:
        return odd(random)
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return random.choice((value + 1, value - 1, -value, 2 * value, *ODD_NUMBERS))
    if isinstance(value, float):
        return random.choice((value * 1.1 + 1e-3, -value, value / 2, *ODD_FLOATS))
    if isinstance(value, str) and value:
        place = random.randrange(len(value))
        return value[:place] + random.choice(("0", "x", "", "\u00e9", "\n", *ODD_TEXTS[:3])) + value[place + 1 :]
    if isinstance(value, list):
        return value[: len(value) // 2] if random.random() < 0.5 else value * 2
    return odd(random)
