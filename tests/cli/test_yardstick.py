"""A public yardstick by the command line."""

import json

import pytest

AUDIT = ["audit", "--class", "thresholds:5000", "--learner", "rounded-cal", "--epsilon", ".05", "--pool-size", "3000",
         "--seed", "yardstick", "--pairs", "10", "--workers", "1"]  # fmt: skip


def test_an_audit_on_the_cells_certifies_where_own_items_do_not(command):
    on_cells = json.loads(command(*AUDIT, "--yardstick", "cells", "--json")[1])
    on_own = json.loads(command(*AUDIT, "--json")[1])
    assert on_cells["inputs"]["yardstick"] == "cells"
    assert on_own["inputs"]["yardstick"] is None
    assert (on_cells["certified_fraction"], on_own["certified_fraction"]) == (1.0, 0.0)
    assert on_cells["rho_proven"] <= 0.1


@pytest.mark.parametrize(
    ("learner", "source", "sentence"),
    [
        ("cal", "cells", "cal measures nothing on a yardstick"),
        ("rounded-cal", "pool", "the yardstick of an audit is 'cells'"),
    ],
)
def test_what_an_audit_cannot_measure_on_is_refused(command, learner, source, sentence):
    words = [learner if word == "rounded-cal" else word for word in AUDIT]
    code, _, told = command(*words, "--yardstick", source)
    assert code == 2
    assert sentence in told
