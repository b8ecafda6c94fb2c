"""A study: three learners in one pass, their regret, and what the theorems allow."""

import tempfile
from pathlib import Path

import noregret as nr


def main():
    source = "synthetic:linear?n=20000&d=20&noise=0.1&seed=1"
    report = nr.compare(source, ["perceptron", "pa1:C=0.1", "ogd:projection=l2,radius=5"])
    print(report.text(width=100))

    # The regret as a curve: R_t / t falls, and stays below the bound where the theorem is about regret.
    ogd = next(m for m in report.learners if m["model"] == "ogd")["regret"]
    points = list(zip(ogd["curve"]["examples"], ogd["curve"]["regret"], ogd["curve"]["bound"], strict=True))
    for t, regret, bound in points[::-10][::-1]:
        print(f"{t:>6} rows: regret {regret:6.1f}, {regret / t:7.4f} a row; the theorem ({ogd['bound_name']}) allows {bound:6,.0f}")
    print("below the bound everywhere:", all(regret <= bound for _, regret, bound in points))

    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder, "report.html")
        report.to_html(page)  # one page with the curves; open it in a browser
        print(f"report: {page.stat().st_size // 1000 * 1000:,} bytes of HTML")


if __name__ == "__main__":
    main()
