"""Both back ends of the kernels, for tests that hold on each."""

import pytest

from replical.core.kernels import choice

ON_BOTH = [
    pytest.param(
        name, marks=pytest.mark.skipif(name == choice.NUMBA and choice.trouble() is not None, reason="no numba")
    )
    for name in choice.NAMES
]
on_both = pytest.mark.parametrize("kernels", ON_BOTH)  # the test says ``with using(kernels):``
