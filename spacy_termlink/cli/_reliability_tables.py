"""What `termlink calibrate` and `termlink evaluate` print about probabilities."""

from typing import Any

from ._common import print_table


def print_reliability(reports: dict[str, dict[str, Any]]) -> None:
    """Print calibration error, reliability table and accuracy over coverage.

    reports (dict): Title -> `reliability_figures`.
    """
    for name, report in reports.items():
        low, high = report["ci"]["ece"]
        print(
            f"\nProbabilities ({name}), {report['n']:,} mentions: expected calibration error "
            f"{report['ece']:.4f} [{low:.4f}, {high:.4f}], Brier score {report['brier']:.4f}"
        )
        rows = [
            (f"{b['low']:.3f} to {b['high']:.3f}", b["n"], f"{b['probability']:.3f}",
             f"{b['accuracy']:.3f}")
            for b in report["bins"]
        ]  # fmt: skip
        print_table(("probability", "n", "mean", "right"), rows)
        print("Answering only the surest, 95 % intervals of the gain:")
        rows = [
            (f"{100 * c['coverage']:.0f} %", f"{c['threshold']:.3f}", f"{c['accuracy']:.4f}",
             f"{c['gain']:+.4f} [{c['ci'][0]:+.4f}, {c['ci'][1]:+.4f}]")
            for c in report["coverage"]
        ]  # fmt: skip
        print_table(("coverage", "from", "accuracy", "gain"), rows)
