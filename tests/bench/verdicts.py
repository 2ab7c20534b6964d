"""From the samples of a run to the lines of its table: medians, best ones, gains, and what came of each aim."""

from __future__ import annotations

import math
from statistics import median
from typing import Any

from book import OURS, THEIRS, Figure, load
from rounds import Results, Sample

#: The systems as the table calls them.
NAMES = {
    OURS: "Eagle Ray",
    THEIRS: "Ray",
    "executor": "ProcessPoolExecutor",
    "dask": "Dask distributed",
    "joblib": "joblib-loky",
}


def of_bare(samples: list[Sample]) -> float | None:
    """The value divided by what the machine did beside it: the median over the rounds."""
    parts = [sample.value / sample.bare for sample in samples if sample.bare]
    return median(parts) if parts else None


def better(entry: Figure, one: float, other: float) -> bool:
    return one > other if entry.higher_is_better else one < other


def remarks(entry: Figure, taken: dict[str, list[Sample]]) -> list[str]:
    """Who is better than Eagle Ray in this figure, and why."""
    if OURS not in taken:
        return []
    values = {system: [sample.value for sample in samples] for system, samples in taken.items()}
    ours, best = median(values[OURS]), entry.best(values[OURS])
    said = []
    for system, theirs in values.items():
        if system == OURS or not better(entry, median(theirs), ours):
            continue
        if system in entry.why:
            reason = entry.why[system]
        elif len(values[OURS]) > 1 and not better(entry, median(theirs), best):
            reason = "its median lies within the rounds of Eagle Ray"
        else:
            reason = "UNEXPLAINED"
        said.append(f"{NAMES.get(system, system)} is better: {reason}")
    return said


def verdict(entry: Figure, summary: dict[str, Any]) -> str:
    """One word, or two, for a line."""
    if summary.get("absent"):
        return "not there yet"
    ungained = THEIRS in summary["failed"] and "gain" not in summary and entry.times is not None
    if OURS in summary["failed"] or ungained:
        return "FAILED"
    if not summary["aims"]:
        return ""
    return "met" if all(aim["met"] for aim in summary["aims"]) else "MISSED"


def summary_of(entry: Figure, results: Results) -> dict[str, Any] | None:
    """What is kept of a figure; None when it was not asked for."""
    taken = results.samples.get(entry.name, {})
    failed = sorted({one["system"] for one in results.failures if one["figure"] == entry.name})
    absent = results.absent.get(entry.name, {})
    if not taken and not failed and not absent:
        return None
    values = {system: [sample.value for sample in samples] for system, samples in taken.items()}
    notes = {system: samples[-1].note for system, samples in taken.items() if samples[-1].note}
    summary: dict[str, Any] = {
        "label": entry.label,
        "group": entry.group,
        "unit": entry.unit,
        "median": {system: rounded(median(all_)) for system, all_ in values.items()},
        "best": {system: rounded(entry.best(all_)) for system, all_ in values.items()},
        "samples": {system: [rounded(value) for value in all_] for system, all_ in values.items()},
        "notes": notes,
        "failed": failed,
        "absent": absent.get(OURS, ""),
        "remarks": remarks(entry, taken),
        "aims": [],
    }
    if OURS in values:
        gain = None
        if THEIRS in values:
            gain = entry.gain(median(values[OURS]), median(values[THEIRS]))
            if math.isfinite(gain):  # a difference of two times can come out below nothing
                summary["gain"] = round(gain, 2)
        beside = of_bare(taken[OURS])
        if beside is not None:
            summary["bare"] = rounded(median([sample.bare for sample in taken[OURS] if sample.bare]))
            summary["of_bare"] = round(beside, 3)
        aims = entry.aims(median(values[OURS]), gain, beside)
        summary["aims"] = [{"text": aim.text, "met": aim.met} for aim in aims]
    summary["verdict"] = verdict(entry, summary)
    return summary


def rounded(value: float) -> float:
    return float(f"{value:.6g}")


def summarise(results: Results) -> dict[str, dict[str, Any]]:
    """The lines of the table by the figures' names."""
    found = {name: summary_of(entry, results) for name, entry in load().items()}
    return {name: summary for name, summary in found.items() if summary is not None}


def shortcomings(summaries: dict[str, dict[str, Any]]) -> list[str]:
    """What keeps a run from being as it should: aims that were missed, and peers that are better without a reason."""
    found = []
    for summary in summaries.values():
        found += [f"{summary['label']}: missed {aim['text']}" for aim in summary["aims"] if not aim["met"]]
        found += [f"{summary['label']}: {said}" for said in summary["remarks"] if said.endswith("UNEXPLAINED")]
    return found
