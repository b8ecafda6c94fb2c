"""Draw docs/report.svg, the picture in the README: the curves of a report. Run it again when plots change."""

from pathlib import Path

import noregret as nr

if __name__ == "__main__":
    report = nr.compare(
        "synthetic:sea?n=20000&seed=1", ["perceptron", "pa1:C=0.1", "nag", "auto"], window=1000, scale=True, regret=False
    )
    report.plot(Path(__file__).parent.parent / "report.svg", "window_error")
