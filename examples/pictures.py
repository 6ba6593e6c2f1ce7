"""Handwritten digits as picture files that people can label, with nothing but NumPy."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterable
from pathlib import Path

import numpy as np


def write_pictures(pictures: Iterable[tuple[Path, np.ndarray]]) -> None:
    """Digits of 8 by 8 values from 0 to 16, as dark strokes on white; the page shows such small pictures enlarged."""
    for path, digit in pictures:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(png((255 - 15.9 * digit).astype(np.uint8)))


def png(grey: np.ndarray) -> bytes:
    """A picture in shades of grey (www.w3.org/TR/png): each row is written as its difference from the row above."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    height, width = grey.shape
    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    above = np.vstack([np.zeros((1, width), np.uint8), grey[:-1]])
    rows = zlib.compress(b"".join(b"\2" + row.tobytes() for row in grey - above))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", rows) + chunk(b"IEND", b"")
