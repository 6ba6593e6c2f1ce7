"""The PyTorch device that large work is sent to, what is held on it, and packed bits there.

Packed words are held as int64, which has the same bits; a matrix is copied to a card when a kernel first asks about it
and stays there as long as the array of which it is a copy. Such arrays must not be changed: predictions never are.
"""

from __future__ import annotations

import os
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from replical.core.bits import blocks as stretches
from replical.core.kernels import backend
from replical.errors import BadUsage, MissingExtra, ValueOutOfRange

Tensor = Any  # torch.Tensor: the library is typed without PyTorch too

_HELD: dict[tuple[int, int, str], tuple[Any, Tensor]] = {}  # by place, size and device: who owns the memory, its copy
_ROOM = 2**27  # bytes of temporary arrays at a time on the processor, where more leave the cache
_MOST_ROOM = 2**32  # and on a card, where more gain nothing
_ONES = (0x5555555555555555, 0x3333333333333333, 0x0F0F0F0F0F0F0F0F, 0x0101010101010101)
_GATHER = 0x0102040810204080  # times eight bytes that are 0 or 1: their bits, in order, in the highest byte


def use(wanted: str | None) -> None:
    """Send large work to this device, in this process and those it starts; None leaves everything as it is.

    `wanted` is what an option ``--device`` says: cpu, cuda or cuda:N.

    >>> use("gpu")
    Traceback (most recent call last):
        ...
    replical.errors.BadUsage: there is no device 'gpu': --device is cpu, cuda, or cuda:N for the card with this number
    """
    found = None if wanted is None else backend.check_device(wanted.strip().lower(), "--device")
    if found is None:
        return
    if found != backend.CPU:
        check(found)
    os.environ[backend.DEVICE] = found


def name() -> str:
    """The device that is used: the one named, else the first card, else the processor."""
    wanted = backend.device()
    if wanted is None:
        return "cuda" if pytorch().cuda.is_available() else backend.CPU
    return check(wanted)


@cache
def check(wanted: str) -> str:
    """The same name, if PyTorch can use this device here; one sentence if not."""
    if wanted == backend.CPU:
        return wanted
    torch = pytorch()
    cards = torch.cuda.device_count() if torch.cuda.is_available() else 0
    number = int(wanted.partition(":")[2] or 0)
    if number >= cards:
        found = "no CUDA card" if not cards else f"{cards} CUDA card{'s' if cards > 1 else ''}, numbered from 0"
        raise BadUsage(
            f"the device {wanted} cannot be used, PyTorch {torch.__version__} finds {found} here: leave it out to "
            "compute on the processor, with the same results"
        )
    return wanted


def cards() -> list[dict[str, Any]]:
    """Every card that PyTorch finds: its name, and its memory, total and free, in bytes; none without PyTorch."""
    if backend.torch_trouble() is not None:
        return []
    torch = pytorch()
    found = []
    for number in range(torch.cuda.device_count() if torch.cuda.is_available() else 0):
        free, total = torch.cuda.mem_get_info(number)
        found.append(
            {"device": f"cuda:{number}", "name": torch.cuda.get_device_name(number), "memory": total, "free": free}
        )
    return found


def room() -> int:
    """Bytes that temporary arrays of one step may take together: a quarter of what is free."""
    here = name()
    return _ROOM if here == backend.CPU else max(2**20, min(_MOST_ROOM, _free(here) // 4))


def send(array: NDArray[Any]) -> Tensor:
    """A copy of a small array on the device."""
    return pytorch().as_tensor(np.array(array, order="C"), device=name())


def hold(array: NDArray[Any]) -> Tensor:
    """The matrix on the device: copied when first asked for, and then kept as long as it lives; refused if it does not fit.

    Packed words are int64 there, and uint16 is int32.
    """
    torch, here = pytorch(), name()
    known = _HELD.get(_key(array))
    if known is not None:
        return known[1].view(array.shape)
    plain = np.ascontiguousarray(array)
    plain = plain.view(np.int64) if plain.dtype == np.uint64 else plain
    plain = plain.astype(np.int32) if plain.dtype == np.uint16 else plain  # which PyTorch cannot sort
    if _shares(here):
        return torch.from_numpy(plain if plain.flags.writeable else plain.copy())
    if plain.nbytes > (free := _free(here)):
        what = "x".join(str(length) for length in array.shape)
        rows = array.shape[-2]
        raise ValueOutOfRange(
            f"a matrix of {what} words needs {plain.nbytes / 2**30:.1f} GiB and {free / 2**30:.1f} GiB are free on "
            f"{here}: {rows * free // plain.nbytes} of its {rows} rows fit; leave the device out to "
            "compute on the processor, with the same results"
        )
    with short_of_memory():
        return keep(array, torch.from_numpy(plain if plain.flags.writeable else plain.copy()).to(here, copy=True))


def keep(array: NDArray[Any], tensor: Tensor) -> Tensor:
    """`tensor` is the copy of `array` on the device from now on."""
    key, owner = _key(array), array
    while isinstance(owner.base, np.ndarray):
        owner = owner.base
    if not _shares(key[2]) and array.flags.c_contiguous:
        _HELD[key] = (weakref.ref(owner, lambda _: _HELD.pop(key, None)), tensor)
    return tensor


def _key(array: NDArray[Any]) -> tuple[int, int, str]:
    return array.__array_interface__["data"][0], array.nbytes if array.flags.c_contiguous else -1, name()


@contextmanager
def short_of_memory() -> Iterator[None]:
    """A card without memory is one sentence."""
    try:
        yield
    except pytorch().cuda.OutOfMemoryError as error:
        raise ValueOutOfRange(
            f"{name()} has no memory left ({_free(name()) / 2**30:.1f} GiB free, other programs may use it too): leave "
            "the device out to compute on the processor, with the same results, or use a smaller class or pool"
        ) from error


def blocks(count: int, each: int) -> Iterator[slice]:
    """Stretches of ``range(count)``, so short that `each` bytes a number stay within `room`."""
    return stretches(count, each, room())


# ---- packed bits ----


def pack(values: Tensor) -> Tensor:
    """Truth values, a whole number of words a row, as `bits.pack` has them."""
    torch = pytorch()
    rows, length = values.shape
    eight = values.view(torch.uint8).view(torch.int64) * _GATHER
    octets = eight.bitwise_right_shift_(56).to(torch.uint8)
    return octets.view(rows, length // 8).view(torch.int64)


def unpack(words: Tensor, *, signs: bool = False) -> Tensor:
    """Bits of packed words as int8: 0 and 1, or 1 and -1 if they stand for `signs`."""
    torch = pytorch()
    table = _table(name(), signs)
    octets = words.contiguous().view(torch.uint8).flatten().to(torch.int32)
    spread = torch.index_select(table, 0, octets).view(torch.int8)
    return spread.view(*words.shape[:-1], 64 * words.shape[-1])


def set_bits(words: Tensor) -> Tensor:
    """How many bits of each word are set; its sums of neighbouring bits, pairs and nibbles stay in the word."""
    ones, twos, fours, octets = _ONES
    found = words - ((words >> 1) & ones)
    found = (found & twos) + ((found >> 2) & twos)
    found = (found + (found >> 4)).bitwise_and_(fours)
    return found.mul_(octets).bitwise_right_shift_(56)


@cache
def _table(here: str, signs: bool) -> Tensor:
    """The eight bits of every octet as eight bytes of an int64."""
    spread = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1, bitorder="little").astype(np.int8)
    spread = 1 - 2 * spread if signs else spread
    return pytorch().from_numpy(np.ascontiguousarray(spread).view(np.int64).ravel()).to(here)


def _shares(here: str) -> bool:
    """Does the device work on the arrays themselves?"""
    return here == backend.CPU


def _free(here: str) -> int:
    """Bytes of the card that are free, or that PyTorch holds without use."""
    torch = pytorch()
    unused = torch.cuda.memory_reserved(here) - torch.cuda.memory_allocated(here)
    return int(torch.cuda.mem_get_info(here)[0] + unused)


@cache
def pytorch() -> Any:
    """The module `torch`, imported when first asked for."""
    if (why := backend.torch_trouble()) is None:
        try:
            import torch
        except Exception as error:  # an installation that does not fit this system says so in various ways
            why = f"PyTorch cannot be imported ({error})"
        else:
            return torch
    raise MissingExtra(
        f'no device can be used, {why}: pip install "replical[gpu]", or leave the device out to compute on the '
        "processor, with the same results"
    )
