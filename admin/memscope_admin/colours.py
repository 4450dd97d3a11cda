"""Accent colours: whether they can be read on the console's grounds (WCAG 2.2, 1.4.3), and the nearest that can."""

from __future__ import annotations

import colorsys

LIGHT = ("#ffffff", "#f6f7f9")
DARK = ("#1a212b", "#11161d")
"""`--card` and `--page` of console.css in its two themes."""
ENOUGH = 4.5
INK = ("#ffffff", "#0b1420")
"""What may stand on an accent."""


def contrast(one: str, other: str) -> float:
    """The contrast ratio of two colours, 1 to 21."""
    lighter, darker = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


def readable(colour: str, grounds: tuple[str, ...]) -> bool:
    """Whether text of a colour can be read on each ground."""
    return all(contrast(colour, ground) >= ENOUGH for ground in grounds)


def nearest(colour: str, grounds: tuple[str, ...]) -> str:
    """The colour of the same hue whose lightness differs least and that can be read on each ground."""
    hue, lightness, saturation = colorsys.rgb_to_hls(*(part / 255 for part in _parts(colour)))
    for step in range(201):
        for moved in (lightness - step / 200, lightness + step / 200):
            if 0 <= moved <= 1:
                tried = "#" + "".join(f"{round(part * 255):02x}" for part in colorsys.hls_to_rgb(hue, moved, saturation))
                if readable(tried, grounds):
                    return tried
    raise ValueError("the grounds leave no readable colour")


def ink(colour: str) -> str:
    """What is read best on an accent."""
    return max(INK, key=lambda one: contrast(one, colour))


def stylesheet(accent: str, accent_dark: str) -> str:
    """Rules that put the accents in the place of console.css's own."""
    light, dark = _rules(accent), _rules(accent_dark)
    return (
        f":root{{{light}}}\n"
        f'@media (prefers-color-scheme: dark){{:root:not([data-theme="light"]){{{dark}}}}}\n'
        f':root[data-theme="dark"]{{{dark}}}\n'
    )


def _rules(colour: str) -> str:
    return f"--primary:{colour};--link:{colour};--on-primary:{ink(colour)}" if colour else ""


def _parts(colour: str) -> tuple[int, int, int]:
    return int(colour[1:3], 16), int(colour[3:5], 16), int(colour[5:7], 16)


def _luminance(colour: str) -> float:
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in (p / 255 for p in _parts(colour))]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
