"""A picture that Pitwall draws itself: a house in a landscape, its places and colours drawn from a seed, as PNG."""

from __future__ import annotations

import base64
import random
import struct
import zlib
from math import isqrt

Color = tuple[int, int, int]
SIDE = 448  # pixels; a multiple of the patches of most vision towers
HORIZON = 300
SKIES: tuple[Color, ...] = ((150, 205, 250), (120, 180, 240), (175, 215, 245))
GROUNDS: tuple[Color, ...] = ((70, 150, 60), (95, 165, 75), (60, 130, 70))
WALLS: tuple[Color, ...] = ((190, 40, 40), (235, 225, 200), (150, 90, 170), (70, 90, 190))
ROOFS: tuple[Color, ...] = ((110, 50, 30), (60, 60, 70), (160, 60, 40))
SUN, TRUNK, LEAVES, DOOR, GLASS = (255, 215, 40), (110, 70, 35), (25, 95, 35), (40, 25, 20), (215, 240, 255)


class Canvas:
    """Rows of RGB pixels; shapes are cut at its edges."""

    def __init__(self, color: Color) -> None:
        self._rows = [bytearray(bytes(color) * SIDE) for _ in range(SIDE)]

    def rectangle(self, left: int, top: int, width: int, height: int, color: Color) -> None:
        """Fill it from its top left corner on; pixels, y downwards."""
        for y in range(top, top + height):
            self._span(y, left, left + width, color)

    def circle(self, x: int, y: int, radius: int, color: Color) -> None:
        """Fill the disc around this pixel."""
        for at in range(-radius, radius + 1):
            half = isqrt(radius * radius - at * at)
            self._span(y + at, x - half, x + half, color)

    def triangle(self, left: int, bottom: int, width: int, height: int, color: Color) -> None:
        """On its base, the tip above the middle."""
        for up in range(height):
            inset = width * up // (2 * height)
            self._span(bottom - up, left + inset, left + width - inset, color)

    def _span(self, y: int, left: int, right: int, color: Color) -> None:
        left, right = max(0, left), min(SIDE, right)
        if 0 <= y < SIDE and left < right:
            self._rows[y][3 * left : 3 * right] = bytes(color) * (right - left)

    def png(self) -> bytes:
        """8-bit RGB, every row unfiltered."""
        head = struct.pack(">IIBBBBB", SIDE, SIDE, 8, 2, 0, 0, 0)
        pixels = zlib.compress(b"".join(b"\0" + row for row in self._rows), 9)
        return b"\x89PNG\r\n\x1a\n" + _chunk(b"IHDR", head) + _chunk(b"IDAT", pixels) + _chunk(b"IEND", b"")


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def draw_scene(seed: str) -> bytes:
    """A house with a door and two windows, a tree, the sun, sky and ground, as PNG; the same for the same seed."""
    drawn = random.Random(seed)
    canvas = Canvas(drawn.choice(SKIES))
    canvas.rectangle(0, HORIZON, SIDE, SIDE - HORIZON, drawn.choice(GROUNDS))
    house_x, tree_x = drawn.choice(((30, 340), (210, 90)))
    canvas.circle(drawn.choice((70, 224, 380)), drawn.randint(48, 64), drawn.randint(28, 38), SUN)
    _house(canvas, house_x + drawn.randint(-10, 10), HORIZON + drawn.randint(20, 50), drawn)
    _tree(canvas, tree_x + drawn.randint(-15, 15), HORIZON + drawn.randint(20, 60))
    return canvas.png()


def _house(canvas: Canvas, left: int, bottom: int, drawn: random.Random) -> None:
    top = bottom - 120
    canvas.rectangle(left, top, 180, 120, drawn.choice(WALLS))
    canvas.triangle(left - 15, top, 210, 75, drawn.choice(ROOFS))
    canvas.rectangle(left + 72, bottom - 65, 36, 65, DOOR)
    for window in (left + 20, left + 126):
        canvas.rectangle(window, top + 28, 34, 34, GLASS)


def _tree(canvas: Canvas, x: int, bottom: int) -> None:
    canvas.rectangle(x - 10, bottom - 85, 20, 85, TRUNK)
    canvas.circle(x, bottom - 115, 48, LEAVES)


def data_uri(png: bytes) -> str:
    """As the API takes an image."""
    return "data:image/png;base64," + base64.b64encode(png).decode()
