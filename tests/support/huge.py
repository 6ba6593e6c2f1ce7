"""A certificate about a class of any size, as a forger writes one: no run was made, and everything that is checked holds."""

import copy

from replical.lab.certificate.file import plan_of, shared_of, summary_hypotheses
from replical.lab.protocol import Protocol
from support.certificates import resealed
from support.lab import Run, content

ITEMS = 40


def huge(folder, n):
    """A run of CAL on a few thresholds, said to be about `n` of them, almost all of which survive."""
    small = content("cal") | {"class": {"kind": "thresholds", "features": ["x"], "count": 50}}
    columns = {"id": [f"i{number}" for number in range(ITEMS)], "x": list(range(ITEMS))}
    columns["truth"] = ["yes" if x >= 20 else "no" for x in columns["x"]]
    with Run(folder, small, columns, "huge") as run:
        certificate = copy.deepcopy(run.certificate)
    body = certificate["body"]
    protocol = Protocol.of(small | {"class": small["class"] | {"count": n}})
    body |= {"protocol": protocol.body, "protocol_fingerprint": protocol.fingerprint}
    body["class_fingerprint"], body["plan"] = protocol.recipe.C.fingerprint, plan_of(protocol.plan)
    for each in body["rounds"]:
        each["survivors"] = n - each["round"] + 1
    left = n - len(body["rounds"])
    survivors = {"count": left, "ranges": [[0, left - 1]]}
    h = protocol.prior.first_in(protocol.shared, "order", ranges=[(0, left - 1)])
    body |= {"survivors": survivors, "shared": shared_of(protocol, h)}
    body["hypothesis"] = {"index": h, "description": protocol.recipe.describe(h)}
    body["pool"]["summary"] = [
        {"hypothesis": each, "predicts": [0, ITEMS]} for each in summary_hypotheses(protocol).tolist()
    ]
    return resealed(certificate)
