"""Charts as the server draws them: geometry in percent of the plot, so that one drawing fits a phone and a wide screen."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

WIDTH, HEIGHT = 100.0, 100.0
"""The plot's own units; it is stretched to its place."""
FORMULA = ("=", "+", "-", "@", "\t", "\r")


@dataclass(frozen=True, slots=True)
class Series:
    """One row of values, one for each label; None where there is none."""

    name: str
    values: Sequence[float | None]
    summed: bool = True
    """Whether a sum means something."""

    @property
    def total(self) -> float:
        """The sum."""
        return sum(value or 0 for value in self.values)


@dataclass(frozen=True, slots=True)
class Box:
    """A bar or part of one."""

    x: float
    y: float
    width: float
    height: float
    series: int
    title: str


@dataclass(frozen=True, slots=True)
class Chart:
    """Values of one or more series over the same labels."""

    id: str
    title: str
    about: str
    """What is counted, in a sentence or two."""
    labels: Sequence[str]
    series: Sequence[Series]
    unit: str = ""
    kind: str = "bars"
    """`bars` (stacked), `line` or `rows` (a bar for each label, lying)."""
    figure: str = ""
    """What the chart comes to."""
    total: float | None = None
    """The number in it that the table's columns with a sum come to."""
    target: float | None = None
    target_name: str = ""
    extra: Sequence[Series] = ()
    """More columns of the table."""
    head: str = "Day"
    few: Sequence[str] = ()
    """Labels of which there is nothing to show, since too few people are behind them."""

    @property
    def empty(self) -> bool:
        """Whether there is nothing to draw."""
        return not any(value for series in (*self.series, *self.extra) for value in series.values)

    @property
    def top(self) -> float:
        """The value at the upper edge: the next round one."""
        if self.kind == "line":
            highest = max((value or 0 for series in self.series for value in series.values), default=0)
        else:
            highest = max((sum(series.values[place] or 0 for series in self.series) for place in range(len(self.labels))), default=0)
        return round_up(max(highest, self.target or 0))

    @property
    def boxes(self) -> list[Box]:
        """Stacked bars."""
        top, step, boxes = self.top, WIDTH / max(1, len(self.labels)), []
        for place, label in enumerate(self.labels):
            base = HEIGHT
            for number, series in enumerate(self.series):
                value = series.values[place]
                if value:
                    height = value / top * HEIGHT
                    base -= height
                    title = f"{label}, {series.name}: {number_text(value)}"
                    boxes.append(Box(_r(place * step + step * 0.12), _r(base), _r(step * 0.76), _r(height), number, title))
        return boxes

    @property
    def lines(self) -> list[list[str]]:
        """For each series the points of its line, in parts where values are missing."""
        found = []
        for series in self.series:
            parts: list[list[str]] = [[]]
            for place, value in enumerate(series.values):
                if value is None:
                    parts.append([])
                else:
                    parts[-1].append(f"{_r(self._x(place))},{_r(HEIGHT - value / self.top * HEIGHT)}")
            # A single point is drawn as a line of no length, which round ends make visible.
            found.append([" ".join(part if len(part) > 1 else part * 2) for part in parts if part])
        return found

    @property
    def target_y(self) -> float:
        """Where the target's line lies."""
        return _r(HEIGHT - (self.target or 0) / self.top * HEIGHT)

    @property
    def rows(self) -> list[tuple[str, float, str]]:
        """For lying bars: label, width in percent, value."""
        (series,) = self.series
        return [
            (label, _r((value or 0) / self.top * WIDTH), number_text(value or 0))
            for label, value in zip(self.labels, series.values, strict=True)
        ]

    @property
    def columns(self) -> Sequence[Series]:
        """All columns of the table."""
        return (*self.series, *self.extra)

    def _x(self, place: int) -> float:
        return (place + 0.5) * WIDTH / max(1, len(self.labels))


@dataclass(frozen=True, slots=True)
class Sparkline:
    """A small line without axes."""

    title: str
    values: Sequence[float | None]

    @property
    def points(self) -> str:
        """Points in a plot of 100 by 100."""
        top = max((value or 0 for value in self.values), default=0) or 1
        step = WIDTH / max(1, len(self.values) - 1)
        return " ".join(f"{_r(place * step)},{_r(96 - (value or 0) / top * 92)}" for place, value in enumerate(self.values))


def round_up(value: float) -> float:
    """The next value of one even digit, 1, 3 or 5 with a power of ten; at least 1."""
    power = 1.0
    while power * 10 <= value:
        power *= 10
    return next((power * step for step in (1, 2, 3, 4, 5, 6, 8, 10) if power * step >= value), 1.0)


def number_text(value: float | None) -> str:
    """A number as it is read: whole where it is, else with one decimal."""
    if value is None:
        return "–"
    return f"{value:,.0f}" if abs(value - round(value)) < 0.05 else f"{value:,.1f}"


def as_csv(chart: Chart) -> str:
    """The chart's table as CSV; a cell that a spreadsheet would take for a formula begins with a quote."""
    file = io.StringIO()
    writer = csv.writer(file)
    writer.writerow([_cell(chart.head), *(_cell(column.name) for column in chart.columns)])
    for place, label in enumerate(chart.labels):
        writer.writerow([_cell(label), *(_plain(column.values[place]) for column in chart.columns)])
    return file.getvalue()


def _plain(value: float | None) -> Any:
    return "" if value is None else int(value) if float(value).is_integer() else round(value, 2)


def _cell(text: str) -> str:
    return f"'{text}" if text.startswith(FORMULA) else text


def _r(value: float) -> float:
    return round(value, 2)
