"""Small drawings as SVG text, with no library: the report has to open anywhere, and follow the page's colours."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import NamedTuple

import numpy as np

__all__ = ["Curve", "Dot", "curves", "scatter", "timeline"]

_WIDTH, _HEIGHT = 640, 340
_LEFT, _RIGHT, _TOP, _BOTTOM = 56, 16, 14, 46


class Dot(NamedTuple):
    """A point; filled if `strong`. `about` is told when it is pointed at."""

    x: float
    y: float
    strong: bool
    about: str


class Curve(NamedTuple):
    """A line with its name, drawn in a style of the page's (class)."""

    name: str
    x: Sequence[float]
    y: Sequence[float]
    style: str


@dataclass(frozen=True)
class _Frame:
    """Axes from data to places on the page."""

    low: tuple[float, float]
    high: tuple[float, float]

    def x(self, value: float) -> float:
        share = (value - self.low[0]) / (self.high[0] - self.low[0])
        return _LEFT + share * (_WIDTH - _LEFT - _RIGHT)

    def y(self, value: float) -> float:
        share = (value - self.low[1]) / (self.high[1] - self.low[1])
        return _HEIGHT - _BOTTOM - share * (_HEIGHT - _TOP - _BOTTOM)

    def axes(self, labels: tuple[str, str]) -> list[str]:
        """The frame, its ticks and what they count."""
        width, height = _WIDTH - _LEFT - _RIGHT, _HEIGHT - _TOP - _BOTTOM
        across, middle = (_LEFT + _WIDTH - _RIGHT) / 2, (_TOP + _HEIGHT - _BOTTOM) / 2
        return [
            f'<rect x="{_LEFT}" y="{_TOP}" width="{width}" height="{height}" class="frame"/>',
            *(_text(self.x(at), _HEIGHT - _BOTTOM + 16, f"{at:g}", "tick") for at in _ticks(self.low[0], self.high[0])),
            *(part for at in _ticks(self.low[1], self.high[1]) for part in self._level(at)),
            _text(across, _HEIGHT - 8, labels[0], "label"),
            _text(14, middle, labels[1], "label", turned=True),
        ]

    def _level(self, value: float) -> tuple[str, str]:
        y = self.y(value)
        line = f'<line x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{y:.1f}" y2="{y:.1f}" class="grid"/>'
        return line, _text(_LEFT - 6, y + 4, f"{value:g}", "tick", "end")


def scatter(dots: Sequence[Dot], labels: tuple[str, str], title: str) -> str:
    """Points, the strong ones filled."""
    frame = _Frame((0.0, 0.0), (1.06 * max(dot.x for dot in dots), 1.08 * max(dot.y for dot in dots)))
    parts = frame.axes(labels)
    for dot in sorted(dots, key=lambda each: each.strong):
        style = "strong" if dot.strong else "weak"
        parts.append(
            f'<circle cx="{frame.x(dot.x):.1f}" cy="{frame.y(dot.y):.1f}" r="6" class="{style}">'
            f"<title>{escape(dot.about)}</title></circle>"
        )
    return _svg(parts, title)


def curves(lines: Sequence[Curve], labels: tuple[str, str], title: str) -> str:
    """Lines, named at their right ends' side in a legend."""
    xs = np.concatenate([np.asarray(line.x) for line in lines])
    ys = np.concatenate([np.asarray(line.y) for line in lines])
    room = 0.05 * float(ys.max() - ys.min() or 1.0)
    frame = _Frame((float(xs.min()), float(ys.min()) - room), (float(xs.max()), float(ys.max()) + room))
    parts = frame.axes(labels)
    for number, line in enumerate(lines):
        path = " ".join(f"{frame.x(a):.1f},{frame.y(b):.1f}" for a, b in zip(line.x, line.y, strict=True))
        parts.append(f'<polyline points="{path}" class="curve {line.style}"/>')
        place = _TOP + 20 + 20 * number
        mark = f'x1="{_LEFT + 12}" x2="{_LEFT + 44}" y1="{place - 4}" y2="{place - 4}"'
        parts.append(f'<line {mark} class="curve {line.style}"/>')
        parts.append(_text(_LEFT + 52, place, line.name, "legend", "start"))
    return _svg(parts, title)


def timeline(stages: Sequence[tuple[str, float, float]], title: str) -> str:
    """Stages as bars one below the other: name, begin, end."""
    end = max(stop for _, _, stop in stages) or 1.0
    height = 30 * len(stages) + 30
    parts = []
    for number, (name, begin, stop) in enumerate(stages):
        x, width = 110 + 460 * begin / end, max(3.0, 460 * (stop - begin) / end)
        y = 12 + 30 * number
        parts.append(_text(100, y + 14, name, "legend", "end"))
        parts.append(f'<rect x="{x:.1f}" y="{y}" width="{width:.1f}" height="18" rx="3" class="bar"/>')
        parts.append(_text(x + width + 6, y + 14, f"{stop - begin:.1f} s", "tick", "start"))
    return _svg(parts, title, height)


def _text(x: float, y: float, content: str, style: str, anchor: str = "middle", turned: bool = False) -> str:
    turn = f' transform="rotate(-90 {x:g} {y:g})"' if turned else ""
    place = f'x="{x:.1f}" y="{y:.1f}" class="{style}" text-anchor="{anchor}"'
    return f"<text {place}{turn}>{escape(content)}</text>"


def _ticks(low: float, high: float) -> list[float]:
    step = 10.0 ** np.floor(np.log10((high - low) / 4))
    step *= next(factor for factor in (1, 2, 2.5, 5, 10) if (high - low) / (factor * step) <= 7)
    first = np.ceil(low / step)
    return [round(float(step * number), 10) for number in np.arange(first, np.floor(high / step) + 1)]


def _svg(parts: Sequence[str], title: str, height: int = _HEIGHT) -> str:
    return (
        f'<svg viewBox="0 0 {_WIDTH} {height}" role="img" aria-label="{escape(title)}"><title>{escape(title)}</title>'
        + "".join(parts)
        + "</svg>"
    )
