"""Labs that are disturbed."""

import pytest


@pytest.fixture(scope="session")
def lab_of(make_world, tmp_path_factory):
    """A lab in a folder of its own, with so many items open at once."""
    from support.kills import Lab

    def make(batch=3):
        folder = tmp_path_factory.mktemp("lab")
        world = make_world({"name": "handicap", "batch": batch, "epsilon": 0.3}, noise=0.03)
        files = world.write(folder)
        labels = folder / "labels.csv:y"
        return Lab(folder, lambda journal, out: files.run(journal, out, labels=None), world.truth, labels)

    return make
