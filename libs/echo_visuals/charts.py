"""Bars and lines over the answers of a chat. Pure: values in, SVG out; colours come from the host's style sheet."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape
from typing import Final, Literal

#: Size of the drawing in its own units; it scales with the place it gets.
WIDTH: Final = 640
HEIGHT: Final = 220
_LEFT: Final = 56
_RIGHT: Final = 12
_TOP: Final = 12
_BOTTOM: Final = 28
_GRID_LINES: Final = 4
_X_LABELS: Final = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class Series:
    """One row of values.

    Args:
        name: in the legend.
        style: class of its shapes, which the style sheet colours.
        values: one a place on the x axis; None leaves a gap.
    """

    name: str
    style: str
    values: tuple[float | None, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Chart:
    """What is drawn.

    Args:
        title: what it shows.
        summary: the same in a sentence with figures, for whoever does not see it.
        labels: one a place on the x axis.
        series: stacked as bars, or one line each.
        kind: `bars` or `line`.
        tell: a value as text.
        top: highest value of the y axis, None = as the values ask for.
    """

    title: str
    summary: str
    labels: tuple[str, ...]
    series: tuple[Series, ...]
    kind: Literal["bars", "line"]
    tell: Callable[[float | None], str]
    top: float | None = None

    def table(self) -> tuple[tuple[str, ...], ...]:
        """The figures by row: a label, then one value a series."""
        columns = zip(*(series.values for series in self.series), strict=True)
        return tuple(
            (label, *(self.tell(value) for value in values)) for label, values in zip(self.labels, columns, strict=True)
        )


def draw(chart: Chart) -> str:
    """The chart as one `svg` element with a title and a description.

    Raises:
        ValueError: a series has another length than the labels.
    """
    if any(len(series.values) != len(chart.labels) for series in chart.series):
        raise ValueError("a series and the labels differ in length")
    top = nice_top(chart.top if chart.top is not None else _highest(chart))
    shapes = _bars(chart, top) if chart.kind == "bars" else _lines(chart, top)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" class="chart" role="img">'
        f"<title>{escape(chart.title)}</title><desc>{escape(chart.summary)}</desc>"
        f"{_grid(chart, top)}{shapes}{_x_axis(chart)}</svg>"
    )


def nice_top(value: float) -> float:
    """The end of an axis: the next of 1, 2, 2.5, 4, 5 and 10 times a power of ten."""
    if not math.isfinite(value) or value <= 0:
        return 1.0
    power = 10.0 ** math.floor(math.log10(value))
    return next(step * power for step in (1, 2, 2.5, 4, 5, 10) if step * power >= value * (1 - 1e-9))


def _highest(chart: Chart) -> float:
    if chart.kind == "line":
        return max((value or 0.0 for series in chart.series for value in series.values), default=0.0)
    columns = zip(*(series.values for series in chart.series), strict=True)
    return max((sum(value or 0.0 for value in column) for column in columns), default=0.0)


def _y(value: float, top: float) -> float:
    share = min(1.0, max(0.0, value / top))
    return HEIGHT - _BOTTOM - share * (HEIGHT - _TOP - _BOTTOM)


def _slot(chart: Chart) -> float:
    return (WIDTH - _LEFT - _RIGHT) / max(1, len(chart.labels))


def _grid(chart: Chart, top: float) -> str:
    pieces = []
    for line in range(_GRID_LINES + 1):
        value = top * line / _GRID_LINES
        y = _y(value, top)
        pieces.append(f'<line class="grid" x1="{_LEFT}" x2="{WIDTH - _RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>')
        pieces.append(
            f'<text class="scale" x="{_LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{escape(chart.tell(value))}</text>'
        )
    return "".join(pieces)


def _bars(chart: Chart, top: float) -> str:
    slot = _slot(chart)
    wide = max(1.0, min(28.0, slot * 0.7))
    pieces = []
    for index, label in enumerate(chart.labels):
        x = _LEFT + slot * (index + 0.5) - wide / 2
        base = 0.0
        for series in chart.series:
            value = series.values[index]
            if not value:
                continue
            upper, lower = _y(base + value, top), _y(base, top)
            told = escape(f"{label} · {series.name}: {chart.tell(value)}")
            pieces.append(
                f'<rect class="{escape(series.style)}" x="{x:.1f}" y="{upper:.1f}" width="{wide:.1f}" '
                f'height="{max(0.5, lower - upper):.1f}"><title>{told}</title></rect>'
            )
            base += value
    return "".join(pieces)


def _lines(chart: Chart, top: float) -> str:
    slot = _slot(chart)
    pieces = []
    for series in chart.series:
        path, dots, drawing = [], [], False
        for index, value in enumerate(series.values):
            if value is None:
                drawing = False
                continue
            x, y = _LEFT + slot * (index + 0.5), _y(value, top)
            path.append(f"{'L' if drawing else 'M'}{x:.1f} {y:.1f}")
            told = escape(f"{chart.labels[index]} · {series.name}: {chart.tell(value)}")
            dots.append(
                f'<circle class="{escape(series.style)} dot" cx="{x:.1f}" cy="{y:.1f}" r="3">'
                f"<title>{told}</title></circle>"
            )
            drawing = True
        pieces.append(f'<path class="{escape(series.style)} line" d="{" ".join(path)}"/>{"".join(dots)}')
    return "".join(pieces)


def _x_axis(chart: Chart) -> str:
    slot = _slot(chart)
    step = max(1, math.ceil(len(chart.labels) / _X_LABELS))
    return "".join(
        f'<text class="scale" x="{_LEFT + slot * (index + 0.5):.1f}" y="{HEIGHT - 8}" text-anchor="middle">'
        f"{escape(label)}</text>"
        for index, label in enumerate(_places(chart.labels))
        if index % step == 0
    )


def _places(labels: Sequence[str]) -> Sequence[str]:
    return [label.rsplit(" ", 1)[-1] for label in labels]
