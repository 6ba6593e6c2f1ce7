"""``--device``: where there is none, one sentence before anything is read; where there is one, the same answer."""

import pytest

from replical.core.kernels import backend
from replical.gpu import device

THETA = ("paper", "theta", "--class", "halfspaces:2,60", "--seed", "net", "--pool")
AUDIT = ("paper", "audit", "--class", "thresholds:20", "--learner", "cal", "--epsilon", ".2", "--pool-size", "200",
         "--seed", "a")  # fmt: skip
RUN = ("run", "protocol.toml", "--pool", "pool.csv", "--journal", "journal.db", "--out", "out.json",
       "--labels", "a.csv:y")  # fmt: skip


@pytest.fixture
def here(tmp_path, monkeypatch):
    """An empty folder, and an environment that is as it was afterwards."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(backend.DEVICE, "")
    device.check.cache_clear()
    device.pytorch.cache_clear()
    return tmp_path


@pytest.mark.parametrize("words", [(*THETA, "pool.csv"), AUDIT, RUN], ids=lambda words: words[0])
def test_without_pytorch_it_is_one_sentence_and_nothing_is_touched(here, words, command, monkeypatch):
    monkeypatch.setattr(backend, "torch_trouble", lambda: "PyTorch is not installed")
    code, out, err = command(*words, "--device", "cuda")
    assert (code, out) == (2, "")
    assert err == (
        'Error: no device can be used, PyTorch is not installed: pip install "replical[gpu]", or leave the device out to '
        "compute on the processor, with the same results\n"
    )
    assert list(here.iterdir()) == []


@pytest.mark.parametrize("words", [(*THETA, "pool.csv"), AUDIT, RUN], ids=lambda words: words[0])
def test_what_is_no_device_is_one_sentence(here, words, command):
    code, out, err = command(*words, "--device", "gpu")
    assert (code, out) == (2, "")
    assert err == "Error: there is no device 'gpu': --device is cpu, cuda, or cuda:N for the card with this number\n"


def test_the_answer_is_the_same_wherever_it_is_computed(here, command, monkeypatch):
    (here / "pool.csv").write_text("x0,x1\n" + "".join(f"{i % 7},{i % 5}\n" for i in range(30)), encoding="utf-8")
    expected = command(*THETA, "pool.csv", "--json")
    assert expected[0] == 0
    assert command(*THETA, "pool.csv", "--json", "--device", "cpu") == expected
    if backend.torch_trouble() is not None:
        pytest.skip(f"PyTorch's kernels cannot be used, {backend.torch_trouble()}")
    with backend.using("torch"):
        assert command(*THETA, "pool.csv", "--json", "--device", "cpu") == expected
