"""Attacks on what labs publish and keep, and how often each is tried: `docs/explanation/attacks.md` has them in one table."""

ATTACKS = {
    "a number of a certificate changed, digest and seal made anew": 600,
    "confirmations by nobody, beside one run": 4,
    "file, log or index of a journal removed, moved, emptied, cut or replaced under a run": 28,
    "a database that computes for hours, or gigabytes, as a journal": 24,
    "an event that says something else than its kind, in a journal that is whole": 230,
    "a copied pool, one row changed, as another lab's": 20,
    "half a copied pool with items of its own, as another lab's": 20,
    "labs with items of their own that both number from 1, accused of sharing": 20,
    "a file of hashed items with a hash changed, taken out or put in": 30,
    "an opened label, item, place, salt or path changed": 100,
    "a drawn label that is not opened": 50,
    "every code point of Unicode, as text on the terminal": 1_114_112,
    "a pipe, device, folder, socket or file of 3 GB in place of a file of ours": 110,
    "output to a full disk, a closed pipe, or closed streams": 50,
    "a second Ctrl-C while workers are ended": 12,
    "an error that was measured until it looked good": 9,
    "a link of one person, opened in the browser of another (simulated browsers)": 20,
    "a formula as item, label, annotator or detail in an export": 10,
}


def times(attack):
    """So often, by number."""
    return range(ATTACKS[attack])
