"""Draws a picture of a house in a landscape as PNG, with positions and colours from a seed."""

from __future__ import annotations

import base64
import random
import struct
import zlib
from math import isqrt

Color = tuple[int, int, int]
SIDE = 448  # pixels; a multiple of the patch size of most vision encoders
HORIZON = 300
SKIES: tuple[Color, ...] = ((150, 205, 250), (120, 180, 240), (175, 215, 245))
GROUNDS: tuple[Color, ...] = ((70, 150, 60), (95, 165, 75), (60, 130, 70))
WALLS: tuple[Color, ...] = ((190, 40, 40), (235, 225, 200), (150, 90, 170), (70, 90, 190))
ROOFS: tuple[Color, ...] = ((110, 50, 30), (60, 60, 70), (160, 60, 40))
SUN, TRUNK, LEAVES, DOOR, GLASS = (255, 215, 40), (110, 70, 35), (25, 95, 35), (40, 25, 20), (215, 240, 255)


class Canvas:
    """Rows of RGB pixels; shapes are clipped at the edges."""

    def __init__(self, color: Color) -> None:
        self._rows = [bytearray(bytes(color) * SIDE) for _ in range(SIDE)]

    def rectangle(self, left_x: int, top: int, width: int, height: int, color: Color) -> None:
        """Fill a rectangle, given by its top left corner; in pixels, y downwards."""
        for y in range(top, top + height):
            self._span(y, left_x, left_x + width, color)

    def circle(self, x: int, y: int, radius: int, color: Color) -> None:
        """Fill a disc around this pixel."""
        for dy in range(-radius, radius + 1):
            half_width = isqrt(radius * radius - dy * dy)
            self._span(y + dy, x - half_width, x + half_width, color)

    def triangle(self, left_x: int, bottom: int, width: int, height: int, color: Color) -> None:
        """Fill a triangle with a horizontal base and its tip above the middle."""
        for row in range(height):
            inset = width * row // (2 * height)
            self._span(bottom - row, left_x + inset, left_x + width - inset, color)

    def _span(self, y: int, left_x: int, right_x: int, color: Color) -> None:
        left_x, right_x = max(0, left_x), min(SIDE, right_x)
        if 0 <= y < SIDE and left_x < right_x:
            self._rows[y][3 * left_x : 3 * right_x] = bytes(color) * (right_x - left_x)

    def png(self) -> bytes:
        """Encode as PNG: 8-bit RGB, every row unfiltered."""
        header = struct.pack(">IIBBBBB", SIDE, SIDE, 8, 2, 0, 0, 0)
        pixels = zlib.compress(b"".join(b"\0" + row for row in self._rows), 9)
        return b"\x89PNG\r\n\x1a\n" + _chunk(b"IHDR", header) + _chunk(b"IDAT", pixels) + _chunk(b"IEND", b"")


def _chunk(chunk_type: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + chunk_type + data + struct.pack(">I", zlib.crc32(chunk_type + data))


def draw_scene(seed: str) -> bytes:
    """Return a PNG of a house with a door and two windows, a tree, sun, sky and ground; equal for equal seeds."""
    rng = random.Random(seed)
    canvas = Canvas(rng.choice(SKIES))
    canvas.rectangle(0, HORIZON, SIDE, SIDE - HORIZON, rng.choice(GROUNDS))
    house_x, tree_x = rng.choice(((30, 340), (210, 90)))
    canvas.circle(rng.choice((70, 224, 380)), rng.randint(48, 64), rng.randint(28, 38), SUN)
    _house(canvas, house_x + rng.randint(-10, 10), HORIZON + rng.randint(20, 50), rng)
    _tree(canvas, tree_x + rng.randint(-15, 15), HORIZON + rng.randint(20, 60))
    return canvas.png()


def _house(canvas: Canvas, left_x: int, bottom: int, rng: random.Random) -> None:
    top = bottom - 120
    canvas.rectangle(left_x, top, 180, 120, rng.choice(WALLS))
    canvas.triangle(left_x - 15, top, 210, 75, rng.choice(ROOFS))
    canvas.rectangle(left_x + 72, bottom - 65, 36, 65, DOOR)
    for window in (left_x + 20, left_x + 126):
        canvas.rectangle(window, top + 28, 34, 34, GLASS)


def _tree(canvas: Canvas, x: int, bottom: int) -> None:
    canvas.rectangle(x - 10, bottom - 85, 20, 85, TRUNK)
    canvas.circle(x, bottom - 115, 48, LEAVES)


def data_uri(png: bytes) -> str:
    """Return the image as a data URI for the API."""
    return "data:image/png;base64," + base64.b64encode(png).decode()
