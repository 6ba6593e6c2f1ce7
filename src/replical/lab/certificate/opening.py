"""Openings: some labels of a certificate, shown to be those that the lab has committed to, without telling the others.

Which ones, a public value may draw that nobody knew when the certificate was published. An auditor labels them again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from hashlib import sha256
from itertools import count
from pathlib import Path
from typing import Annotated, Any, NamedTuple

from msgspec import Meta, Struct

from replical.core.canonical import SALT, climb, leaf, path_of, root_of, rows_of, salt_of
from replical.errors import BadCertificate, BadUsage
from replical.lab.certificate.checks import Check, Checks
from replical.lab.certificate.file import read_as, transcript_leaves
from replical.lab.certificate.schema import Count, Digest, wrong_shape
from replical.lab.certificate.unchecked import not_checkable
from replical.lab.sessions.session import Session, transcript

SCHEMA = "replical.opening/1"
PARTS = ("schema", "certificate", "draw", "entries")


class Draw(Struct, forbid_unknown_fields=True):
    """The public value that draws so many labels."""

    value: str
    number: Annotated[int, Meta(ge=1)]


class Entry(Struct, forbid_unknown_fields=True):
    """What was said of an item, None where it was skipped; its place, its salt, and the hashes on the way to the root."""

    place: Count
    item: str
    said: int | str | dict[str, str] | None
    salt: Annotated[str, Meta(pattern=f"^[0-9a-f]{{{2 * SALT}}}$")]
    path: list[Annotated[str, Meta(pattern="^[0-9a-f]{64}$")]]


class Opening(Struct, forbid_unknown_fields=True):
    """What is in the file."""

    schema: str
    certificate: Digest
    draw: Draw | None
    entries: list[Entry]


def drawn(value: str, certificate: str, *, among: int, number: int) -> set[int]:
    """Places of labels that a public `value` draws of a certificate, by its digest.

    >>> sorted(drawn("4f1c", "sha256:00", among=1000, number=3))
    [160, 288, 923]
    """
    found = set[int]()
    for n in count():
        if len(found) >= min(number, among):
            break
        found.add(int.from_bytes(sha256(f"{certificate} {n} {value}".encode()).digest(), "big") % among)
    return found


def open_entries(
    certificate: Mapping[str, Any], session: Session, items: Sequence[str], draw: tuple[str, int] | None
) -> dict[str, Any]:
    """Show what was said of these `items`, and of as many more as a public value draws, in a `session` that has ended.

    Raises
    ------
    BadUsage
        If the run has no label of an item, or its labels are not those of the certificate.
    """
    entries, rows = transcript(session), rows_of(transcript_leaves(session))
    if root_of(rows[0]) != certificate["body"]["transcript"]["digest"]:
        raise BadUsage(
            "the labels in the journal are not those of the certificate: it belongs to another, or was corrected"
        )
    places = {entry[0]: place for place, entry in enumerate(entries)}
    if strange := [item for item in items if item not in places]:
        raise BadUsage(f"the run has no label of the item {strange[0]!r:.80}, so there is none to open")
    chosen, answered = {places[item] for item in items}, certificate["body"]["labels"]["answered"]
    if draw is not None:
        chosen |= drawn(draw[0], certificate["digest"], among=answered, number=draw[1])
    opened = [
        {"place": place, "item": item, "said": said, "salt": salt_of(session.private, item).hex()}
        | {"path": [each.hex() for each in path_of(rows, place)]}
        for place, (item, said) in enumerate(entries)
        if place in chosen
    ]
    drawing = None if draw is None else {"value": draw[0], "number": draw[1]}
    return {"schema": SCHEMA, "certificate": certificate["digest"], "draw": drawing, "entries": opened}


def wrong_opening(opened: Mapping[str, Any], certificate: Mapping[str, Any]) -> str | None:
    """Why this does not show entries of the certificate; nothing if it does."""
    if wrong := wrong_shape(opened, Opening):
        return f"it is damaged ({wrong})"
    body, entries = certificate["body"], opened["entries"]
    answered, root = body["labels"]["answered"], body["transcript"]["digest"]
    if opened["certificate"] != certificate["digest"]:
        return "it is of another certificate"
    for each in entries:
        if wrong := _wrong_entry(each, body["transcript"]["entries"], answered, root):
            return wrong
    order = [(each["place"] >= answered, each["item"]) for each in entries]
    if order != sorted(set(order)) or [each["place"] for each in entries] != sorted(
        {each["place"] for each in entries}
    ):
        return "its entries are in another order than those of a run, or one stands there twice"
    if (draw := opened["draw"]) is None:
        return None
    if min(draw["number"], answered) > len(entries):
        return f"{draw['number']} entries were to be drawn, and {len(entries)} are opened"
    wanted = drawn(draw["value"], certificate["digest"], among=answered, number=draw["number"])
    missing = wanted - {each["place"] for each in entries}
    return f"{len(missing)} of {len(wanted)} entries that were drawn are not opened" if missing else None


def _wrong_entry(entry: Mapping[str, Any], total: int, answered: int, root: str) -> str | None:
    salt, path = bytes.fromhex(entry["salt"]), [bytes.fromhex(each) for each in entry["path"]]
    if (
        entry["place"] >= total
        or climb(leaf(salt, [entry["item"], entry["said"]]), entry["place"], total, path) != root
    ):
        return f"what it says of the item {entry['item']!r:.80} is not what the certificate commits to"
    if (entry["said"] is None) != (entry["place"] >= answered):
        return f"the item {entry['item']!r:.80} stands among skips and has a label, or the other way round"
    return None


class Opened(NamedTuple):
    """An item, and the label that the lab has committed to; None where it was skipped."""

    item: str
    label: Any


def check_opening(opened: Mapping[str, Any], certificate: Mapping[str, Any]) -> tuple[Check, ...]:
    """Are these entries of the certificate, and those that were drawn?"""
    checks = Checks()
    checks(
        f"opened: {len(opened['entries'])} labels are those committed to", lambda: wrong_opening(opened, certificate)
    )
    if opened["draw"] is None or not checks.all_hold:
        return tuple(checks.done)
    why = f"it has to be looked up: {opened['draw']['value']!r:.200} draws {opened['draw']['number']} labels"
    return (*checks.done, not_checkable("opened: the value that draws was not known before the certificate", why=why))


def entries_of(opened: Mapping[str, Any], certificate: Mapping[str, Any]) -> list[Opened]:
    """What was opened, in words of the protocol."""
    values = certificate["body"]["protocol"]["labels"].get("values", [])
    words = dict(enumerate(values))
    said = ((each["item"], each["said"]) for each in opened["entries"])
    return [Opened(item, words.get(code, code) if isinstance(code, int) else code) for item, code in said]


def read_opening(path: Path) -> dict[str, Any]:
    """Read an opening."""
    found = read_as(path, SCHEMA, PARTS, what="opening")
    if not isinstance(found["entries"], list) or not all(isinstance(each, dict) for each in found["entries"]):
        raise BadCertificate(f"{path} is no opening: it lists no entries")
    return found
