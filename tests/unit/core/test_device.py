"""Which work goes to a card, what is held there, and what is said where there is none."""

import gc
from types import SimpleNamespace

import numpy as np
import pytest

from replical.core import bits
from replical.core.kernels import backend
from replical.core.kernels.matrices import transpose
from replical.core.kernels.pairs import GrowingBalls, Pairs
from replical.core.kernels.signs import signs
from replical.errors import BadUsage, MissingExtra, ValueOutOfRange
from replical.gpu import device
from replical.gpu import kernels as torch_balls
from replical.gpu import kernels as torch_pairs

needs_torch = pytest.mark.skipif(backend.torch_trouble() is not None, reason="PyTorch is not installed")


@pytest.fixture
def fresh(monkeypatch):
    """An environment that names neither a back end nor a device; what a test sets in it is gone afterwards."""
    monkeypatch.setenv(backend.DEVICE, "")
    device.check.cache_clear()
    yield monkeypatch
    device.check.cache_clear()


def found(*cards):
    """PyTorch as it looks where there are such cards: their memory, free and in all."""
    cuda = SimpleNamespace(
        is_available=lambda: bool(cards),
        device_count=lambda: len(cards),
        mem_get_info=lambda number: cards[number],
        get_device_name=lambda number: f"card {number}",
    )
    return lambda: SimpleNamespace(__version__="2.9", cuda=cuda)


def test_a_card_gets_large_work_and_the_torch_back_end_everything(fresh):
    assert not backend.on_device(2**40)
    fresh.setenv(backend.DEVICE, " CUDA:1 ")
    assert backend.on_device(2**40)
    assert not backend.on_device(100)
    fresh.setenv(backend.DEVICE, "cpu")
    assert not backend.on_device(2**40)
    fresh.setenv(backend.DEVICE, "cuda")
    with backend.using("numpy"):
        assert not backend.on_device(2**40)
    with backend.using("torch"):
        assert backend.on_device(1)
        fresh.setattr(backend, "trouble", lambda: "it is not installed")
        assert not backend.compiles(2**40)  # kernels without a PyTorch version run as they would otherwise


@pytest.mark.parametrize("name", ["gpu", "cuda:", "cuda:x", "mps", "cuda:-1"])
def test_what_is_no_device_is_named(fresh, name):
    with pytest.raises(BadUsage, match=f"^there is no device '{name}': --device is cpu, cuda, or cuda:N for the card"):
        device.use(name)
    fresh.setenv(backend.DEVICE, name)
    with pytest.raises(BadUsage, match=f"^there is no device '{name}': REPLICAL_DEVICE is cpu"):
        backend.on_device(2**40)


def test_without_pytorch_the_extra_is_named(fresh):
    device.pytorch.cache_clear()
    fresh.setattr(backend, "torch_trouble", lambda: "PyTorch is not installed")
    said = r'PyTorch is not installed: pip install "replical\[gpu\]", or leave'
    with pytest.raises(MissingExtra, match="^no device can be used, " + said):
        device.use("cuda")
    assert device.cards() == []
    device.use("cpu")  # needs none


def test_without_such_a_card_it_is_said(fresh):
    fresh.setattr(device, "pytorch", found())
    with pytest.raises(
        BadUsage, match=r"^the device cuda cannot be used, PyTorch 2.9 finds no CUDA card here: leave it"
    ):
        device.use("cuda")
    fresh.setattr(device, "pytorch", found((1, 2)))
    with pytest.raises(
        BadUsage, match=r"^the device cuda:1 cannot be used, PyTorch 2.9 finds 1 CUDA card, numbered from 0"
    ):
        device.use("cuda:1")
    device.use("cuda:0")
    assert backend.device() == "cuda:0"
    device.use(None)
    assert backend.device() == "cuda:0"
    device.use("cpu")
    assert backend.device() == "cpu"


def test_cards_are_listed(fresh):
    fresh.setattr(backend, "torch_trouble", lambda: None)
    fresh.setattr(device, "pytorch", found((3, 5), (7, 9)))
    assert device.cards() == [
        {"device": "cuda:0", "name": "card 0", "memory": 5, "free": 3},
        {"device": "cuda:1", "name": "card 1", "memory": 9, "free": 7},
    ]


# ---- with PyTorch, on the processor ----


@pytest.fixture
def copying(fresh):
    """The processor as if it were a card, with a thousand bytes: what it holds are copies."""
    fresh.setattr(device, "_shares", lambda _: False)
    fresh.setattr(device, "_free", lambda _: 1000)
    fresh.setattr(device, "_HELD", {})
    fresh.setenv(backend.DEVICE, "cpu")
    return fresh


@needs_torch
def test_a_matrix_is_copied_once_and_forgotten_with_its_array(copying):
    planes = np.arange(24, dtype=np.uint64).reshape(1, 3, 8)
    copy = device.hold(planes)
    assert copy.tolist() == planes.tolist()
    assert device.hold(planes).data_ptr() == copy.data_ptr() != planes.ctypes.data
    assert device.hold(planes[0]).data_ptr() == copy.data_ptr()  # the same bytes, seen otherwise
    assert device.hold(planes[0]).shape == (3, 8)
    assert device.hold(planes[:, ::2]).tolist() == planes[:, ::2].tolist()  # not the same bytes
    assert device.hold(planes[:, 1:2]).tolist() == planes[:, 1:2].tolist()
    del planes
    gc.collect()
    assert device._HELD == {}


@needs_torch
def test_what_the_device_made_is_not_copied_again(copying):
    out = np.zeros((1, 5, 2), dtype=np.uint64)
    with backend.using("torch"):
        signs(np.ones((5, 1)), np.ones((70, 1)), np.zeros(70), out[0])
        assert len(device._HELD) == 1
        assert device.hold(out).numpy().view(np.uint64).tolist() == out.tolist() == [[[2**64 - 1, 63]] * 5]
        assert len(device._HELD) == 1
        far = Pairs(out).distances(np.arange(3))
        assert far.dtype == np.uint16
        assert device.hold(far).tolist() == far.tolist()


@needs_torch
def test_what_does_not_fit_is_one_sentence_with_what_does(copying):
    with pytest.raises(
        ValueOutOfRange, match=r"^a matrix of 1x50x8 words needs .* are free on cpu: 15 of its 50 rows fit"
    ):
        device.hold(np.zeros((1, 50, 8), dtype=np.uint64))


@needs_torch
def test_no_memory_left_on_the_way_is_one_sentence(copying):
    error = device.pytorch().cuda.OutOfMemoryError("CUDA out of memory. Tried to allocate ..")
    with (
        pytest.raises(
            ValueOutOfRange, match=r"^cpu has no memory left \(0.0 GiB free, .* or use a smaller class or pool$"
        ),
        device.short_of_memory(),
    ):
        raise error


@needs_torch
def test_arrays_that_may_not_be_written_are_read(fresh):
    fresh.setenv(backend.DEVICE, "cpu")
    array = np.arange(3, dtype=np.uint64)
    array.flags.writeable = False
    assert device.hold(array).tolist() == [0, 1, 2]


@needs_torch
@pytest.mark.parametrize("room", [1, 40_000])
def test_little_room_means_smaller_blocks_and_nothing_else(fresh, room):
    """Every kernel in one piece on NumPy, and in many on PyTorch."""
    generator = np.random.default_rng(room)
    codes = np.where(generator.random((90, 150)) < 0.2, generator.integers(4, size=(90, 150)), 1)
    planes = np.stack([bits.pack((codes >> digit) & 1 == 1) for digit in range(2)])
    rows = generator.integers(90, size=60)
    weights = generator.integers(1, 9, size=192)[: 64 * planes.shape[2]]
    heavy = np.where(np.arange(192) < 150, weights, 1)

    def everything():
        out = np.zeros((30, 2), dtype=np.uint64)
        points, factors = generator_of(1).normal(size=(30, 3)), generator_of(2).normal(size=(100, 3))
        signs(points, factors, np.zeros(100), out)
        far = Pairs(planes, heavy).matrix()
        whole = int(heavy[:150][(codes != codes[0]).any(axis=0)].sum())
        tops = GrowingBalls(planes, heavy, whole=whole).tops(np.arange(90), far, inner=2, best=0.0)
        top = tops.ratios.max()
        return [
            out.tolist(), far.tolist(), tops.inside.tolist(), transpose(planes, rows, 150).tolist(),
            [(h, int(tops.disputed[h]), int(tops.radius[h])) for h in np.flatnonzero(tops.ratios == top)],
        ]  # fmt: skip

    with backend.using("numpy"):
        expected = everything()
    fresh.setenv(backend.DEVICE, "cpu")
    fresh.setattr(device, "room", lambda: room)
    fresh.setattr(torch_pairs, "_SIDE", 17)
    fresh.setattr(torch_pairs, "_CENTRES", 7)
    fresh.setattr(torch_balls, "_STEP", 3)
    with backend.using("torch"):
        for ours, theirs in zip(everything(), expected, strict=True):
            assert ours == theirs


def generator_of(seed):
    return np.random.default_rng(seed)
