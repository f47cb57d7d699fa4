#!/usr/bin/env python3
"""Draws the book's diagrams: every NAME.txt beside this file becomes NAME.svg.

    draw.py            writes all of them
    draw.py --check    fails if one is not what its source says

A source is a list of things, one to a line. Places and lengths are in units of ten pixels, from the
top left. What is indented below a thing is its text; the first line of a box is its heading.

    title WORDS                     what the picture is called
    about WORDS                     what it shows, for those who do not see it; may be repeated
    size WIDTH HEIGHT
    also FILE                       writes a copy there
    box NAME X Y WIDTH HEIGHT [KIND]       KIND is party, secret, result or quiet
    text X Y [left|middle|right] [head]    X is where the text starts, its middle or its end
    onion X Y LAYERS [SCALE]        a message inside its layers, outermost first: 123, 23, 3, or 0 for none
    bag X Y WIDTH HEIGHT NUMBER [LAYERS]   so many onions in no order
    arrow FROM TO [dashed]          FROM and TO are NAME, NAME.side or X,Y; its text stands at the middle
    rule X1 Y1 X2 Y2 [dashed]       a line

Text that does not fit its box, or lies over other text, is an error: nothing is drawn that cannot be read.
Colours follow the reader's light or dark preference, over a ground of their own.
"""

import sys
from html import escape
from pathlib import Path

UNIT = 10
LINE = 18
HEAD, BODY = 14, 12.5
RING = (4, 4.5)  # Radius of the message, distance between layers.
KINDS = ("party", "secret", "result", "quiet")

STYLE = """
    .ground { fill: #ffffff } .box { stroke-width: 1.5 } .rule, .way { fill: none; stroke: #6a737d; stroke-width: 1.5 }
    .party { fill: #eef3f8; stroke: #2f5d8a } .secret { fill: #fbf0e8; stroke: #b4541f }
    .result { fill: #edf5ed; stroke: #3d7a3d } .quiet { fill: none; stroke: #8a929a; stroke-dasharray: 5 4 }
    .head { font-weight: 600; fill: #1b1f23 } .say { fill: #3f474f } .dot, .tip { fill: #3f474f }
    .ring { fill: none; stroke-width: 2.5 } .l1 { stroke: #b4541f } .l2 { stroke: #2f5d8a } .l3 { stroke: #3d7a3d }
    .dashed { stroke-dasharray: 5 4 }
    @media (prefers-color-scheme: dark) {
      .ground { fill: #15191e } .rule, .way { stroke: #98a2ad } .dot, .tip { fill: #c9d1d9 }
      .party { fill: #1b2835; stroke: #7fb0dd } .secret { fill: #33241a; stroke: #e8935c }
      .result { fill: #1c2b1d; stroke: #86c486 } .quiet { fill: none; stroke: #7d8690 }
      .head { fill: #f0f3f6 } .say { fill: #c3cad2 }
      .l1 { stroke: #e8935c } .l2 { stroke: #7fb0dd } .l3 { stroke: #86c486 }
    }"""


class Fault(Exception):
    """A source that cannot be drawn."""


def main(arguments):
    check = arguments == ["--check"]
    if arguments and not check:
        sys.exit(__doc__)
    here = Path(__file__).resolve().parent
    stale = []
    for source in sorted(here.glob("*.txt")):
        try:
            picture = Picture(source.read_text(encoding="utf-8"))
        except Fault as fault:
            sys.exit(f"{source.name}: {fault}")
        targets = [source.with_suffix(".svg")] + [here / copy for copy in picture.copies]
        for target in targets:
            if check:
                if not target.exists() or target.read_text(encoding="utf-8") != picture.svg:
                    stale.append(target.name)
            else:
                target.write_text(picture.svg, encoding="utf-8")
    if stale:
        sys.exit(f"out of date: {', '.join(stale)}; run docs/diagrams/draw.py")


class Picture:
    """One source, read and drawn."""

    def __init__(self, source):
        self.title, self.about, self.size, self.copies = "", [], None, []
        self.boxes = {}
        self.under, self.over = [], []  # Lines lie under boxes, text over everything.
        self.inked = []  # Where text is.
        for number, (words, lines) in enumerate(things(source), 1):
            keyword, *rest = words
            draw = getattr(self, "draw_" + keyword, None)
            if draw is None:
                raise Fault(f"{keyword} is not known")
            try:
                draw(rest, lines)
            except (ValueError, KeyError, IndexError) as error:
                raise Fault(f"thing {number}, {' '.join(words)}: {error}") from error
        if not self.size or not self.title:
            raise Fault("size or title is missing")
        self.svg = self.compose()

    def compose(self):
        width, height = self.size
        head = (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {show(width)} {show(height)}" role="img" '
            f'aria-labelledby="t d" font-family="system-ui, sans-serif" font-size="{BODY}">'
        )
        tip = (
            '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" '
            'orient="auto"><path class="tip" d="M0 0 8 4 0 8z"/></marker></defs>'
        )
        body = [
            f'<title id="t">{escape(self.title)}</title>',
            f'<desc id="d">{escape(" ".join(self.about))}</desc>',
            f"<style>{STYLE}\n  </style>",
            tip,
            f'<rect class="ground" width="{show(width)}" height="{show(height)}" rx="8"/>',
            *self.under,
            *self.over,
        ]
        return "\n  ".join([head, *body]) + "\n</svg>\n"

    def draw_title(self, words, _):
        self.title = " ".join(words)

    def draw_about(self, words, _):
        self.about.append(" ".join(words))

    def draw_also(self, words, _):
        self.copies.append(words[0])

    def draw_size(self, words, _):
        self.size = tuple(float(word) * UNIT for word in words)

    def draw_box(self, words, lines):
        name, (x, y, w, h), kind = words[0], places(words[1:5]), (words[5:] or ["party"])[0]
        if kind not in KINDS:
            raise ValueError(f"{kind} is no kind of box")
        self.boxes[name] = (x, y, w, h)
        self.over.append(
            f'<rect class="box {kind}" x="{show(x)}" y="{show(y)}" width="{show(w)}" height="{show(h)}" rx="8"/>'
        )
        broad, high = max((width(t, i == 0) + 20 for i, t in enumerate(lines)), default=0), len(lines) * LINE + 8
        if broad > w or high > h:
            raise ValueError(f"its text needs {show(broad / UNIT)} by {show(high / UNIT)}")
        for i, line in enumerate(lines):
            self.write(x + 12, y + 21 + i * LINE, line, "start", head=i == 0)

    def draw_text(self, words, lines):
        x, y = places(words[:2])
        anchor = {"left": "start", "middle": "middle", "right": "end"}[(words[2:] or ["left"])[0]]
        for i, line in enumerate(lines):
            self.write(x, y + i * LINE, line, anchor, head="head" in words[2:])

    def draw_onion(self, words, _):
        (x, y), layers = places(words[:2]), words[2]
        self.onion(x, y, layers, float((words[3:] or ["1"])[0]))

    def draw_bag(self, words, _):
        (x, y, w, h), number, layers = places(words[:4]), int(words[4]), (words[5:] or ["0"])[0]
        # Steps of the golden ratio fill a strip without a pattern and without chance.
        for i in range(number):
            across, down = (i + 0.5) / number, (0.5 + i * 0.618034) % 1
            self.onion(x + across * w, y + down * h, layers, 1)

    def draw_arrow(self, words, lines):
        start, end = self.end_points(words[0], words[1])
        (x1, y1, sideways1), (x2, y2, sideways2) = start, end
        bend = max(abs(x2 - x1), abs(y2 - y1)) / 2
        sign = lambda a, b: (b > a) - (b < a)
        c1 = (x1 + sign(x1, x2) * bend, y1) if sideways1 else (x1, y1 + sign(y1, y2) * bend)
        c2 = (x2 - sign(x1, x2) * bend, y2) if sideways2 else (x2, y2 - sign(y1, y2) * bend)
        straight = x1 == x2 or y1 == y2
        curve = "L" if straight else f"C{show(c1[0])} {show(c1[1])} {show(c2[0])} {show(c2[1])} "
        kind = "way dashed" if "dashed" in words[2:] else "way"
        path = f"M{show(x1)} {show(y1)} {curve}{show(x2)} {show(y2)}"
        self.under.append(f'<path class="{kind}" d="{path}" marker-end="url(#tip)"/>')
        across = abs(x2 - x1) >= abs(y2 - y1)
        for i, line in enumerate(lines):
            x, y = (x1 + x2) / 2, (y1 + y2) / 2
            if across:
                self.write(x, y - 8 - (len(lines) - 1 - i) * LINE, line, "middle")
            else:
                self.write(x + 8, y + 4 + i * LINE, line, "start")

    def draw_rule(self, words, _):
        x1, y1, x2, y2 = places(words[:4])
        kind = "rule dashed" if "dashed" in words[4:] else "rule"
        self.under.append(f'<path class="{kind}" d="M{show(x1)} {show(y1)} L{show(x2)} {show(y2)}"/>')

    def onion(self, x, y, layers, scale):
        first, step = (length * scale for length in RING)
        self.over.append(f'<circle class="dot" cx="{show(x)}" cy="{show(y)}" r="{show(first)}"/>')
        for i, layer in enumerate(reversed(layers.strip("0")), 1):
            radius = show(first + i * step)
            self.over.append(f'<circle class="ring l{layer}" cx="{show(x)}" cy="{show(y)}" r="{radius}"/>')

    def end_points(self, start, end):
        """Where an arrow begins and ends, and whether sideways; sides that are not named face each other."""
        a, b = self.frame(start), self.frame(end)
        gap_x = max(b[0] - a[0] - a[2], a[0] - b[0] - b[2])
        gap_y = max(b[1] - a[1] - a[3], a[1] - b[1] - b[3])
        if gap_x >= gap_y:
            faces = ("right", "left") if a[0] < b[0] else ("left", "right")
        else:
            faces = ("bottom", "top") if a[1] < b[1] else ("top", "bottom")
        return [side(self.frame(at), *(named(at) or (face,))) for at, face in zip((start, end), faces)]

    def frame(self, at):
        if "," in at:
            x, y = places(at.split(","))
            return x, y, 0, 0
        return self.boxes[at.split(".")[0]]

    def write(self, x, y, line, anchor, head=False):
        if not line:
            return
        long = width(line, head)
        left = x - {"start": 0, "middle": long / 2, "end": long}[anchor]
        ink = (left, y - 11, left + long, y + 4)
        for other, text in self.inked:
            if ink[0] < other[2] and other[0] < ink[2] and ink[1] < other[3] and other[1] < ink[3]:
                raise ValueError(f"{line!r} lies over {text!r}")
        if self.size and (left < 0 or ink[2] > self.size[0] or ink[3] > self.size[1]):
            raise ValueError(f"{line!r} leaves the picture")
        self.inked.append((ink, line))
        style = f'class="head" font-size="{HEAD}"' if head else 'class="say"'
        place = "" if anchor == "start" else f' text-anchor="{anchor}"'
        self.over.append(f'<text {style} x="{show(x)}" y="{show(y)}"{place}>{escape(line)}</text>')


def things(source):
    """Each thing's words, and the lines of text below it."""
    found = []
    for line in source.splitlines():
        if line.startswith("#") or not line.strip():
            continue
        if line[0].isspace():
            found[-1][1].append(line.strip())
        else:
            found.append((line.split(), []))
    return found


def side(frame, face):
    x, y, w, h = frame
    at = {"left": (x, y + h / 2), "right": (x + w, y + h / 2), "top": (x + w / 2, y), "bottom": (x + w / 2, y + h)}
    return (*at[face], face in ("left", "right"))


def named(at):
    return tuple(at.split(".")[1:]) if "," not in at else ()


def places(words):
    return tuple(float(word) * UNIT for word in words)


def width(text, head=False):
    """Pixels, on the wide side: of a font with broad letters."""
    return sum(advance(letter) for letter in text) * (HEAD * 1.08 if head else BODY)


def advance(letter):
    if letter in "ijl.,:;'|!":
        return 0.32
    if letter in "ftrI()[]- ":
        return 0.41
    if letter in "mwMW—…":
        return 0.92
    return 0.68 if letter.isupper() or letter.isdigit() else 0.61


def show(number):
    return f"{number:.1f}".rstrip("0").rstrip(".")


if __name__ == "__main__":
    main(sys.argv[1:])
