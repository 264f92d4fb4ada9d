"""Curves as SVG: shares of each line's highest value, so that lines of different units share one scale. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from xml.sax.saxutils import escape

_WIDTH, _HEIGHT = 640, 320
_LEFT, _RIGHT, _TOP, _BOTTOM = 56, 150, 40, 44
_COLOURS = ("#1f6feb", "#d9822b", "#6f42c1", "#2da44e")
_DASHES = ("", ' stroke-dasharray="7 7"')
"""The first two lines are whole; others are dashed, so that the two that lie below them are seen."""
_LEVELS = (0.0, 0.25, 0.5, 0.75, 1.0)
# a grey that can be read on white and on black: pages have both
_STYLE = "text{font:12px sans-serif;fill:#7d8590}path{fill:none;stroke-width:2}line{stroke:#7d8590;stroke-opacity:.4}"


def draw(title: str, below: str, lines: Mapping[str, Sequence[float]]) -> str:
    """A picture of lines, each from the left edge to the right one.

    :param below: the text below the horizontal axis
    :param lines: by their names the values, two or more; each is drawn as a share of its line's highest
    """
    shares = {name: [each / max(values) for each in values] for name, values in lines.items()}
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img">',
        f"<title>{escape(title)}</title><style>{_STYLE}</style>",
        _text(_LEFT, 22, title),
        _text(_LEFT, _HEIGHT - 10, below),
        *map(_level, _LEVELS),
        *(_line(name, values, number) for number, (name, values) in enumerate(shares.items())),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def _height(share: float) -> float:
    return _HEIGHT - _BOTTOM - share * (_HEIGHT - _BOTTOM - _TOP)


def _text(x: float, y: float, text: str, more: str = "") -> str:
    return f'<text x="{x:g}" y="{y:.1f}"{more}>{escape(text)}</text>'


def _level(share: float) -> str:
    """A line across, with its value on the left."""
    y = _height(share)
    across = f'<line x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>'
    return across + _text(_LEFT - 8, y + 4, f"{share:.2f}", ' text-anchor="end"')


def _line(name: str, shares: Sequence[float], number: int) -> str:
    """A curve, and its name on the right; names stand below each other, for curves may end at the same place."""
    colour = _COLOURS[number % len(_COLOURS)]
    apart = (_WIDTH - _LEFT - _RIGHT) / (len(shares) - 1)
    points = (f"{_LEFT + place * apart:.1f},{_height(share):.1f}" for place, share in enumerate(shares))
    label = _text(_WIDTH - _RIGHT + 12, _TOP + 16 + 20 * number, name, f' style="fill:{colour}"')
    return f'<path stroke="{colour}"{_DASHES[number > 1]} d="M{" ".join(points)}"/>{label}'
