"""A drawing: shapes and words, written as SVG.

It has enough of SVG for charts, and no more; a plotting library would be the largest dependency of
the benchmark. Colours have names of roles, never numbers: the drawing carries two sets of them, and
the reader's system chooses the light or the dark one. The drawing has its own background, so that
it is readable on any page.

Coordinates are pixels from the top left corner.
"""

from __future__ import annotations

from html import escape
from typing import Final, Literal

# ``ours`` and ``theirs`` differ in brightness too, so that a reader can distinguish them without
# colours.
Ink = Literal["ours", "theirs", "text", "faint", "grid", "goal"]
Anchor = Literal["start", "middle", "end"]

_LIGHT: Final = {
    "paper": "#ffffff",
    "text": "#1f2933",
    "faint": "#616e7c",
    "grid": "#dde2e8",
    "ours": "#00796b",
    "theirs": "#c77700",
    "goal": "#8492a6",
}
_DARK: Final = {
    "paper": "#1a212b",
    "text": "#e4e7eb",
    "faint": "#9aa5b1",
    "grid": "#36404d",
    "ours": "#4dd0b5",
    "theirs": "#f0b429",
    "goal": "#7b8794",
}
_FONT: Final = "system-ui, -apple-system, 'Segoe UI', 'Noto Sans', sans-serif"


class Drawing:
    """``title`` stands on top, and is the text for screen readers."""

    def __init__(self, *, title: str, subtitle: str, width: int, height: int) -> None:
        self.width = width
        self.height = height
        self._title = title
        self._subtitle = subtitle
        self._shapes: list[str] = []
        self.text(24, 32, title, size=17, bold=True)
        self.text(24, 52, subtitle, ink="faint")

    def line(self, x1: float, y1: float, x2: float, y2: float, ink: Ink, *, width: float = 1, opacity: float = 1) -> None:
        self._shapes.append(
            f'<line x1="{_n(x1)}" y1="{_n(y1)}" x2="{_n(x2)}" y2="{_n(y2)}" class="line {ink}"'
            f' stroke-width="{_n(width)}"{_opacity(opacity)}/>'
        )

    def path(self, points: list[tuple[float, float]], ink: Ink, *, width: float = 2.5) -> None:
        """A line through all of ``points``."""
        joined = " ".join(f"{_n(x)},{_n(y)}" for x, y in points)
        self._shapes.append(f'<polyline points="{joined}" class="line {ink}" stroke-width="{_n(width)}"/>')

    def dot(self, x: float, y: float, ink: Ink, *, radius: float = 4.5) -> None:
        self._shapes.append(f'<circle cx="{_n(x)}" cy="{_n(y)}" r="{_n(radius)}" class="fill {ink}"/>')

    def bar(self, x: float, y: float, width: float, height: float, ink: Ink, *, opacity: float = 1) -> None:
        self._shapes.append(
            f'<rect x="{_n(x)}" y="{_n(y)}" width="{_n(width)}" height="{_n(height)}" rx="2" class="fill {ink}"{_opacity(opacity)}/>'
        )

    def text(
        self, x: float, y: float, words: str, *, ink: Ink = "text", anchor: Anchor = "start", size: float = 13, bold: bool = False
    ) -> None:
        weight = ' font-weight="600"' if bold else ""
        self._shapes.append(
            f'<text x="{_n(x)}" y="{_n(y)}" class="fill {ink}" text-anchor="{anchor}" font-size="{_n(size)}"{weight}>{escape(words)}</text>'
        )

    def svg(self) -> str:
        size = f'viewBox="0 0 {self.width} {self.height}" width="{self.width}" height="{self.height}"'
        return "\n".join(
            [
                f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" font-family="{_FONT}">',
                f"<title>{escape(self._title)}</title>",
                f"<desc>{escape(self._subtitle)}</desc>",
                f"<style>{_rules(_LIGHT)} @media (prefers-color-scheme: dark) {{ {_rules(_DARK)} }} .line {{ fill: none }}</style>",
                f'<rect width="{self.width}" height="{self.height}" rx="8" class="paper"/>',
                *self._shapes,
                "</svg>\n",
            ]
        )


def _rules(colours: dict[str, str]) -> str:
    fills = (f".fill.{name} {{ fill: {colour} }} .line.{name} {{ stroke: {colour} }}" for name, colour in colours.items())
    return f".paper {{ fill: {colours['paper']} }} {' '.join(fills)}"


def _opacity(opacity: float) -> str:
    return "" if opacity == 1 else f' opacity="{_n(opacity)}"'


def _n(number: float) -> str:
    """A tenth of a pixel is exact enough, and keeps the files small and their changes readable."""
    return f"{round(number, 1):g}"
