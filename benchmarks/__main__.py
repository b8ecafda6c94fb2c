"""Run the benchmarks, print a table for each and write its numbers as JSON."""

import argparse
import json
import sys
from importlib import import_module
from pathlib import Path
from time import perf_counter

from .table import machine, render

NAMES = (
    "sklearn_peers",
    "river_peers",
    "vw_peers",
    "c_peer",
    "levels",
    "startup",
    "overheads",
    "all_learners",
    "parsing",
    "whole_process",
    "studies",
    "second_order",
    "nothing_to_tune",
    "defaults",
    "budgets",
    "probabilities",
    "text_errors",
    "least_squares",
    "random_features",
    "sparsity",
    "kernels",
    "forests",
    "novelty",
    "portfolios",
    "components",
    "topics",
    "recommendation",
)
RESULTS = Path(__file__).parent / "results"


def main() -> int:
    """Parse the command line and run; a peer that is not installed is skipped with a word."""
    parser = argparse.ArgumentParser(prog="benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="name", help=f"which to run: {', '.join(NAMES)} (default: all)")
    parser.add_argument("--quick", action="store_true", help="about ten times less data")
    parser.add_argument("--json", type=Path, metavar="FILE", help="one file for all (default: benchmarks/results/<name>.json)")
    args = parser.parse_args()
    if unknown := set(args.names) - set(NAMES):
        parser.error(f"unknown benchmark {', '.join(sorted(unknown))}; there are {', '.join(NAMES)}")
    host, everything = machine(), {}
    print(", ".join(f"{key} {value}" for key, value in host.items()))
    for name in args.names or NAMES:
        start = perf_counter()
        try:
            module = import_module(f"{__package__}.{name}")
        except ModuleNotFoundError as error:
            print(f"\n== {name}: skipped, {error.name} is not installed")
            continue
        rows = module.run(args.quick)
        print("\n" + render(f"{name}: {module.__doc__.splitlines()[0]}", rows), flush=True)
        print(f"({perf_counter() - start:.0f} s)")
        result = {"machine": host, "quick": args.quick, "rows": [row.to_dict() for row in rows]}
        everything[name] = result
        if args.json is None:
            RESULTS.mkdir(exist_ok=True)
            (RESULTS / f"{name}.json").write_text(json.dumps(result, indent=1) + "\n")
    if args.json is not None:
        args.json.write_text(json.dumps(everything, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
