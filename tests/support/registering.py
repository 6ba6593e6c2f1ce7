"""Runs that were registered before their first label, with a private seed that everybody knows."""

from replical.lab.certificate.file import certify, seal
from replical.lab.journal.binding import registration_digest as digest_of
from replical.lab.journal.journal import Journal
from replical.lab.protocol import Protocol
from replical.lab.registration import register, tell_beacon
from replical.lab.sessions.session import Session
from replical.lab.tables import read_pool
from support.lab import answered, begin, content, world

NAMES = ["north", "south"]
BEACON = "the sum of the numbers drawn on 1 May"


def said(*, beacon=None, keys=None, names=NAMES, register=True, **changes):
    """A protocol of a learner whose answer depends on the private seed; it asks for registrations if not told otherwise."""
    more = ({} if not register else {"register": True}) | ({} if beacon is None else {"beacon": beacon})
    labs = {} if names is None else {"labs": {"names": names} | ({} if keys is None else {"keys": keys})}
    return content("erm", k_final=15, **changes) | more | labs


def columns(seed=1, items=60):
    """Candidates that are hard to tell apart on few items."""
    return world(items=items, seed=seed, best=0.1, worst=0.3)


class RegisteredRun:
    """A finished run that was registered first; `secret` names its private seed."""

    def __init__(self, folder, protocol, table, lab=None, *, secret="lab", beacon=None):
        self.protocol, self.path = Protocol.of(protocol), folder / f"{secret}.db"
        self.lab = read_pool(table, self.protocol.recipe)
        with Journal(self.path) as journal:
            begin(journal, self.protocol, self.lab, secret)
            self.registration = register(self.protocol, self.lab, journal, name=lab)
            if beacon is not None:
                tell_beacon(self.protocol, journal, beacon)
            self.session = answered(Session(self.protocol, self.lab, journal), table)
            self.certificate = certify(self.session)


def resealed(registration):
    """What a forger does who knows how registrations are made."""
    made = {**registration, "digest": digest_of(registration)}
    return made | {"provenance": made["provenance"] | {"seal": seal(made["digest"], made["provenance"])}}
