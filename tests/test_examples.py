"""The examples run, are short, and say what they should."""

import pathlib
import subprocess
import sys

import pytest

EXAMPLES = sorted((pathlib.Path(__file__).parent.parent / "examples").glob("*.py"))
SAYS = {
    "components": "left of a row, one by one:",
    "costly_mistakes": "total cost",
    "experts": "never more than paid",
    "late_classes": "4 classes",
    "novelty": "one by one: [1, -1]",
    "own_algorithm": "said left - it was right",
    "portfolio": "EG, regret below its bound: True",
    "recommender": "like item 0:",
    "regression_stream": "intercept: 3.0",
    "regret_study": "below the bound everywhere: True",
    "save_and_resume": "the same weights, bit for bit: True",
    "shop_pipeline": "loaded, it says: return",
    "sklearn_pipeline": "accuracy on the rest: 0.9",
    "spam_stream": "most like spam:",
    "topics": "vaccine trial dose hospital patient",
}


def test_every_example_is_known():
    assert [path.stem for path in EXAMPLES] == sorted(SAYS)


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_example(path):
    text = path.read_text("utf-8")
    assert len(text.splitlines()) < 60
    assert text.startswith('"""')
    done = subprocess.run([sys.executable, "-W", "error", str(path)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert SAYS[path.stem] in done.stdout
