"""Every class keeps the protocol."""

import numpy as np
import pytest

from replical.classes.base import HypothesisClass
from support.worlds import classes


@pytest.mark.parametrize(("name", "C", "cells"), classes(), ids=lambda value: value if isinstance(value, str) else "")
def test_every_class_keeps_the_protocol(name, C, cells):
    assert isinstance(C, HypothesisClass)
    assert C.fingerprint.startswith("sha256:")
    assert len({C.describe(h) for h in range(len(C))}) == len(C)
    codes = C.codes(cells, np.arange(len(C)))
    assert codes.shape == (len(C), len(cells))
    assert codes.max() < len(C.labels)
    assert (C.codes(cells, np.array([len(C) - 1]))[0] == codes[-1]).all()
