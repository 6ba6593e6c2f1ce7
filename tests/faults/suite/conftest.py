"""Labs that are disturbed."""

import pytest

from support.kills import Lab


@pytest.fixture(scope="session")
def lab_of(make_world, tmp_path_factory):
    """A lab in a folder of its own, with so many items open at once."""

    def make(batch=3):
        folder = tmp_path_factory.mktemp("lab")
        world = make_world({"name": "rounded-a2", "batch": batch, "epsilon": 0.3, "kappa": 0.2}, noise=0.03)
        files = world.write(folder)
        return Lab(
            folder, lambda journal, out: files.run(journal, out, labels=None), world.truth, folder / "labels.csv:y"
        )

    return make
