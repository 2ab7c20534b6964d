"""Draws the plots of the README and of the documents from result files; nothing else goes into them.

    plots.py            writes docs/plots/*.svg from results/latest.json and results/curves.json

Needs matplotlib. Each file names the digest of the result file that it was drawn from; `table.py --check` compares it.
"""

from __future__ import annotations

import hashlib
import json
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
RESULTS = HERE / "results"
PLOTS = HERE.parents[1] / "docs" / "plots"
#: Which file each plot is drawn from.
SOURCES = {"gains": "latest", "queued": "curves", "references": "curves", "actors": "curves"}
COLOURS = {"eagleray": "#1f77b4", "ray": "#d9822b"}
NAMES = {"eagleray": "Eagle Ray", "ray": "Ray"}
TITLES = {
    "queued": ("Cost of a task with many queued before it", "tasks queued"),
    "references": ("Cost of a task while references are alive", "references alive"),
    "actors": ("Cost of a task while actors are alive", "actors alive"),
}


def digest(source: str) -> str:
    """What a plot says of the file that it was drawn from."""
    return f"{source}.json sha256:{hashlib.sha256((RESULTS / f'{source}.json').read_bytes()).hexdigest()}"


def stale() -> list[str]:
    """The plots that are missing or drawn from another file than the one that lies there."""
    found = []
    for name, source in SOURCES.items():
        plot = PLOTS / f"{name}.svg"
        if (RESULTS / f"{source}.json").exists() and not (
            plot.exists() and digest(source) in plot.read_text(encoding="utf-8")
        ):
            found.append(plot.name)
    return found


def pyplot() -> Any:
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams.update({"svg.hashsalt": "eagleray", "svg.fonttype": "none", "font.size": 10})
    from matplotlib import pyplot

    return pyplot


def save(plot: Any, figure: Any, name: str) -> None:
    PLOTS.mkdir(parents=True, exist_ok=True)
    path = PLOTS / f"{name}.svg"
    metadata = {"Date": None, "Creator": None, "Description": digest(SOURCES[name])}
    figure.savefig(path, metadata=metadata, bbox_inches="tight", facecolor="white")
    plot.close(figure)
    path.write_text("\n".join(line.rstrip() for line in path.read_text(encoding="utf-8").splitlines()) + "\n")


def draw_gains(plot: Any, result: dict[str, Any]) -> None:
    """Bars: how many times better than Ray, on a scale of powers of ten, with what is asked for as a mark."""
    lines = [one for one in result["figures"].values() if one.get("gain", 0) > 0]
    figure, axes = plot.subplots(figsize=(8, 0.27 * len(lines) + 1))
    labels = [one["label"].partition(";")[0] for one in lines]
    places = range(len(lines))
    axes.barh(places, [one["gain"] for one in lines], color=COLOURS["eagleray"], height=0.7)
    for place, one in zip(places, lines, strict=True):
        axes.text(one["gain"] * 1.06, place, f"{one['gain']:.3g}", va="center", fontsize=8)
        for aim in one.get("aims", ()):
            if aim["text"].endswith("x"):
                wanted = float(aim["text"].removeprefix("at least ").removesuffix("x"))
                axes.plot([wanted, wanted], [place - 0.42, place + 0.42], color="black", linewidth=1.5)
    axes.set_yticks(list(places), labels, fontsize=8)
    axes.set_xscale("log")
    axes.axvline(1, color=COLOURS["ray"], linewidth=2)
    axes.set_xlim(0.5, 4 * max(one["gain"] for one in lines))
    axes.invert_yaxis()
    axes.set_xlabel("times better than Ray (the line at 1); marks: what is asked for")
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    save(plot, figure, "gains")


def draw_curve(plot: Any, name: str, result: dict[str, Any]) -> None:
    """Cost over number for each system, both on scales of powers of ten."""
    figure, axes = plot.subplots(figsize=(6, 3.4))
    for system, points in result["curves"][name].items():
        measured = [point for point in points if "number" in point]
        numbers = [point["number"] for point in measured]
        style = {"color": COLOURS[system], "marker": "o", "markersize": 4}
        axes.plot(numbers, [point["task_us"] for point in measured], label=NAMES[system], **style)
        if any("call_us" in point for point in measured):
            calls = [point["call_us"] for point in measured]
            axes.plot(numbers, calls, label=f"{NAMES[system]}, actor call", linestyle=":", **style)
    title, below = TITLES[name]
    axes.set_title(title, fontsize=11)
    axes.set_xlabel(below)
    axes.set_ylabel("µs a task, 1,000 at once" if name != "queued" else "µs a task, queued and run")
    axes.set_xscale("log")
    axes.set_yscale("log")
    low, high = axes.get_ylim()
    axes.set_ylim(min(1.0, low), max(1000.0, high))
    axes.grid(True, which="major", color="#dddddd")
    axes.legend(frameon=False, fontsize=8)
    save(plot, figure, name)


def main() -> int:
    plot = pyplot()
    for name, source in SOURCES.items():
        path = RESULTS / f"{source}.json"
        if not path.exists():
            print(f"no {path.name}: {name}.svg is not drawn", file=sys.stderr)
            continue
        result = json.loads(path.read_text(encoding="utf-8"))
        if name == "gains":
            draw_gains(plot, result)
        else:
            draw_curve(plot, name, result)
    return 0


if __name__ == "__main__":
    sys.exit(main())
