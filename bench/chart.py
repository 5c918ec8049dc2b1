"""Draws figures of scripts/bench as an SVG: ours beside those of the peers, as ratios to ours.

The picture has its own background, for light and dark pages, and needs no font but the system's.
"""
import html

OURS = "agentcore"
BREAK = 5  # a longer bar is drawn broken
MARGIN, COLUMN, GAP = 20, 410, 32
WIDTH = 2 * (MARGIN + COLUMN) + GAP
TOP, TITLE, ROW, BAR = 66, 22, 19, 11
NAME, UNIT = 154, 28  # width of the names; length of a bar of ratio 1

STYLE = """
text { font: 12px -apple-system, "Segoe UI", "Noto Sans", Helvetica, Arial, sans-serif; fill: #57606a }
.head { font-size: 15px; font-weight: 600; fill: #1f2328 } .title, .ours { font-weight: 600; fill: #1f2328 }
.page { fill: #ffffff; stroke: #d0d7de } .bar { fill: #b6bec8 } .first { fill: #0969da } .line { stroke: #0969da }
.cut { stroke: #ffffff }
@media (prefers-color-scheme: dark) {
  text { fill: #9198a1 } .head, .title, .ours { fill: #f0f6fc }
  .page { fill: #0d1117; stroke: #3d444d } .bar { fill: #4c5561 } .first { fill: #4493f8 } .line { stroke: #4493f8 }
  .cut { stroke: #0d1117 }
}
"""


class Group:
    """One figure in the picture: of its variants with `word`, the one with the largest number at the end."""

    def __init__(self, name, word, title):
        self.name, self.word, self.title = name, word, title

    def bars(self, rows, differences):
        """The title, and [(who, ratio to ours, value)], ours first; nothing without a peer."""
        found = [row for row in rows if row["id"] == self.name and row["ratio"] and self.matches(row["variant"])]
        if not found:
            return "", []
        size = max(size_of(row["variant"]) for row in found)
        found = [row for row in found if size_of(row["variant"]) == size]
        first = found[0]
        whole = first["ratio"] * first["peer_value"] if self.name in differences else first["value"]
        bars = [(OURS, 1, amount(whole, first["unit"]))]
        bars += [(row["peer"], 1 / row["ratio"], amount(row["peer_value"], row["unit"])) for row in found]
        return self.title.format(f"{size:,}"), bars

    def matches(self, variant):
        words = [part for part in variant.split(", ") if not part.isdigit()]
        return words == ([self.word] if self.word else [])


LEFT = [
    Group("stop_wire", "median", "Stop one of {} streams, until the server saw it, median"),
    Group("stop_gate_1m", "tree of 8", "Stop a tree of {} agents, until the call returns"),
    Group("settle_1m", "tree of 8", "Settle a stopped tree of {} agents, per agent"),
]
RIGHT = [
    Group("chunk_cpu", "", "CPU time per event, {} streams"),
    Group("stream_bytes", "", "Memory per open stream, {} streams"),
]


def size_of(variant):
    return max((int(part) for part in variant.split(", ") if part.isdigit()), default=0)


def amount(value, unit):
    unit = unit.split("/")[0]
    for small, large, step in (("ns", "us", 1000), ("us", "ms", 1000), ("bytes", "KB", 1024)):
        if unit == small and value >= step:
            value, unit = value / step, large
    return f"{value:.3g}".replace("e+03", "000") + " " + {"us": "\u00b5s"}.get(unit, unit)


def times(ratio):
    return f"{float(f'{ratio:.2g}'):,g}\u00d7"


def text(x, y, words, kind="", anchor=""):
    kind = f' class="{kind}"' if kind else ""
    anchor = f' text-anchor="{anchor}"' if anchor else ""
    return f'<text x="{x:g}" y="{y:g}"{kind}{anchor}>{html.escape(words)}</text>'


def bar(x, y, who, ratio, value):
    """One row: the name, the bar, the ratio and the value."""
    kind = "ours" if who == OURS else ""
    start, length = x + NAME, UNIT * min(ratio, BREAK)
    yield text(start - 8, y + 10, who, kind, "end")
    yield (f'<rect x="{start:g}" y="{y:g}" width="{length:.1f}" height="{BAR}" rx="2" '
           f'class="{"first" if kind else "bar"}"/>')
    if ratio > BREAK:
        for left in (start + length - 20, start + length - 14):
            yield f'<path d="M{left:g} {y + BAR + 1:g}l6 {-BAR - 2}" stroke-width="2.5" class="cut"/>'
    if not kind:
        yield text(start + max(length, UNIT) + 7, y + 10, times(ratio))
    yield text(x + COLUMN, y + 10, value, kind, "end")


def column(x, groups, rows, differences):
    """(the elements, the lower end)"""
    parts, y = [], TOP
    for group in groups:
        title, bars = group.bars(rows, differences)
        if not bars:
            continue
        parts.append(text(x, y + 12, title, "title"))
        y += TITLE
        line = x + NAME + UNIT
        parts.append(f'<path d="M{line:g} {y:g}v{ROW * len(bars) - 4:g}" stroke-dasharray="2 3" class="line"/>')
        for who, ratio, value in bars:
            parts += bar(x, y + 2, who, ratio, value)
            y += ROW
        y += TITLE - 8
    return parts, y


def draw(rows, differences=()):
    """The picture, or None without a figure for it. `differences`: figures of ours that are differences to a peer;
    the picture shows the whole amount, as for the peers."""
    left, left_end = column(MARGIN, LEFT, rows, differences)
    right, right_end = column(MARGIN + COLUMN + GAP, RIGHT, rows, differences)
    if not left and not right:
        return None
    height = max(left_end, right_end) + 4
    head = [text(MARGIN, 30, "Cost of stopping and streaming", "head"),
            text(MARGIN, 48, "multiples of agentcore's figure, measured in the same run; shorter is better")]
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" '
        f'viewBox="0 0 {WIDTH} {height}" role="img">',
        f"<style>{STYLE}</style>",
        f'<rect x="0.5" y="0.5" width="{WIDTH - 1}" height="{height - 1}" rx="8" class="page"/>',
        *head, *left, *right, "</svg>", ""])
