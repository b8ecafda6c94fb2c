"""The gallery: every example with its text, what it prints when it runs, and a picture of it."""

from __future__ import annotations

import importlib.util
import inspect
import io
import random
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
from matplotlib import rc_context
from matplotlib.figure import Figure

import noregret as nr

EXAMPLES = sorted((Path(__file__).parent.parent.parent / "examples").glob("*.py"))
GREY = "#808080"  # legible on light and on dark paper
STYLE = {
    **dict.fromkeys(("text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color"), GREY),
    "axes.spines.top": False,
    "axes.spines.right": False,
    "legend.frameon": False,
    "svg.hashsalt": "noregret",
}


def page() -> tuple[str, dict[str, bytes]]:
    """Return the gallery as Markdown, and its pictures by the names of their files."""
    parts = ["# Gallery", "The files of the directory `examples`, what each prints, and a picture of it."]
    pictures = {}
    for path in EXAMPLES:
        name, done = path.stem, subprocess.run([sys.executable, str(path)], capture_output=True, text=True, check=True)
        module = loaded(path)
        summary, _, more = (inspect.getdoc(module) or "").partition(":")
        parts += [f"## {name.replace('_', ' ').capitalize()} {{ #{name} }}", f"{summary}:{more}" if more else summary]
        if name in DRAWN:
            pictures[f"{name}.svg"] = drawn(name, module, done.stdout)
            parts.append(f"![{summary}](pictures/{name}.svg)")
        parts += [f"```text\n{done.stdout.rstrip()}\n```", f'??? example "{path.name}"\n\n{fenced(path)}']
    return "\n\n".join(parts) + "\n", pictures


def loaded(path: Path) -> ModuleType:
    """Return an example as a module, without running it."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules[path.stem] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def fenced(path: Path) -> str:
    """Return a file as a block of code inside a folded one."""
    lines = ["```python", *path.read_text("utf-8").splitlines(), "```"]
    return "\n".join(f"    {line}" if line else "" for line in lines)


def drawn(name: str, module: ModuleType, said: str) -> bytes:
    """Return the picture of an example as SVG."""
    out = io.BytesIO()
    with rc_context(STYLE):
        figure = Figure(figsize=(7.0, 3.2), layout="constrained")
        DRAWN[name](figure.subplots(), module, said)
        figure.savefig(out, format="svg", transparent=True, metadata={"Date": None})
    return out.getvalue()


# ---- one picture for each ----------------------------------------------------------------------------------------------
def costs(ax: Any, module: ModuleType, said: str) -> None:
    """Draw the last column of the table that the example prints."""
    rows = re.findall(r"^(\S.*?)\s{2,}\d+\s+\d+\s+(\d+)$", said, re.M)
    ax.barh([name for name, _ in rows][::-1], [int(cost) for _, cost in rows][::-1], color="C0")
    ax.set_xlabel("total cost")


def classes(ax: Any, module: ModuleType, said: str) -> None:
    """Draw the points by class, later classes darker."""
    points = list(module.stream(1500))
    for label in dict.fromkeys(y for _, y in points):
        ax.scatter(*np.array([x for x, y in points if y == label]).T, s=5, label=label)
    ax.legend()


def tiles(ax: Any, module: ModuleType, said: str) -> None:
    """Draw the atoms that a dictionary finds."""
    m = nr.DictionaryLearner(k=16, lambda_=0.5, S=50).fit(module.stream(4000))
    ax.imshow(np.hstack([np.pad(c.reshape(module.SIDE, module.SIDE) / np.abs(c).max(), 1) for c in m.components_]), cmap="RdBu_r")
    ax.axis("off")


def oddities(ax: Any, module: ModuleType, said: str) -> None:
    """Draw two of the four coordinates of normal and odd rows."""
    X, odd = module.stream(3000)
    ax.scatter(*X[~odd, :2].T, s=4, label="normal")
    ax.scatter(*X[odd, :2].T, s=12, marker="x", label="odd")
    ax.legend()


def relaxed(ax: Any, module: ModuleType, said: str) -> None:
    """Draw the error of the new algorithm beside that of two others."""
    report = nr.compare("synthetic:linear?n=20000", [module.Relaxation(eta=0.2), "pa1", "perceptron"], regret=False)
    for learner in report.learners:
        ax.plot(learner["curve"]["examples"], [100 * e for e in learner["curve"]["error"]], label=learner["label"])
    labelled(ax, "examples", "error so far, %")


def load(ax: Any, module: ModuleType, said: str) -> None:
    """Draw the errors of two regressors over the change."""
    models = {"PA1Regressor": nr.PA1Regressor(C=0.1, epsilon=0.05), "OGDRegressor, 1/sqrt(t)": nr.OGDRegressor(eta=0.1)}
    for name, model in models.items():
        errors = [abs(y - model.learn_one(x, y)) for x, y in module.readings(4000)]
        ax.plot(np.arange(100, 4001), np.convolve(errors, np.full(100, 0.01), "valid"), label=name)
    labelled(ax, "readings", "mean |error| of the last 100")


def regret(ax: Any, module: ModuleType, said: str) -> None:
    """Draw the regret that the example prints, and its bound."""
    found = re.findall(r"^\s*(\d+) rows: regret\s+([\d.-]+),.*allows\s+([\d,]+)", said, re.M)
    t, regret, bound = (np.array([float(v.replace(",", "")) for v in column]) for column in zip(*found, strict=True))
    ax.loglog(t, bound / t, "--", color=GREY, label="the theorem allows")
    ax.loglog(t, regret / t, "o-", label="measured")
    labelled(ax, "examples", "regret per example")


def mistakes(example: str, model: Any, n: int) -> Any:
    """Return what draws the error of a model over examples that a function of the module makes."""

    def draw(ax: Any, module: ModuleType, said: str) -> None:
        rng, learner = random.Random(0), model()
        wrong = np.cumsum([learner.learn_one(x, y) != y for x, y in (getattr(module, example)(rng) for _ in range(n))])
        ax.semilogx(np.arange(1, n + 1), 100 * wrong / np.arange(1, n + 1))
        labelled(ax, "examples", "error so far, %")

    return draw


def digits(ax: Any, module: ModuleType, said: str) -> None:
    """Draw some of the digits."""
    images = module.load_digits().images
    ax.imshow(np.block([[images[10 * i + j] for j in range(10)] for i in range(3)]), cmap="Greys")
    ax.set_axis_off()


def wealth(ax: Any, module: ModuleType, said: str) -> None:
    """Draw what three strategies make of the market of the example, at a cost of 0.1 %."""
    X = module.market(1500)
    for name in ("market", "eg", "olmar"):
        ax.semilogy(np.cumprod(nr.learner(f"portfolio.{name}", cost=0.001).learn_rounds(X).outcome), label=name)
    labelled(ax, "days", "wealth")


def trust(ax: Any, module: ModuleType, said: str) -> None:
    """Draw the weights of the experts of the example, of whom one joins late."""
    truth, advice = module.forecasts(1500)
    e = nr.Experts(["almanac", "radar", "frog"], loss="absolute")
    early = e.learn_rounds(advice[:500, :3], y=truth[:500]).weights
    later = e.join("satellite").learn_rounds(advice[500:], y=truth[500:]).weights
    W = np.vstack([np.column_stack([early, np.full(500, np.nan)]), later])
    for k, name in enumerate(e.names_ or []):
        ax.semilogx(np.arange(1, 1501), W[:, k], label=name)
    labelled(ax, "days", "weight")


def shares(ax: Any, module: ModuleType, said: str) -> None:
    """Draw the shares of the topics of the example, of which one turns up late, in stretches of 50 documents."""
    m = nr.OnlineLDA(K=4, eta=0.1, S=20, tau0=8, D=2000, seed=1)
    Z = np.array([m.learn_one(text) for text, _ in module.stream(2000)])
    names = [", ".join(words) for words in m.topics(2)]
    ax.stackplot(np.arange(50, 2001, 50), Z.reshape(40, 50, 4).mean(1).T, labels=names)
    ax.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
    ax.set(xlabel="documents", ylabel="share")


def labelled(ax: Any, x: str, y: str) -> None:
    """Name the axes, and the lines if they have names."""
    ax.set_xlabel(x)
    ax.set_ylabel(y)
    if ax.get_legend_handles_labels()[0]:
        ax.legend()


DRAWN = {
    "components": tiles,
    "costly_mistakes": costs,
    "experts": trust,
    "late_classes": classes,
    "novelty": oddities,
    "own_algorithm": relaxed,
    "portfolio": wealth,
    "regression_stream": load,
    "regret_study": regret,
    "shop_pipeline": mistakes(
        "order", lambda: nr.pipeline(nr.Text("review"), nr.Category("country"), nr.Scale(), nr.PA1(C=0.1)), 2000
    ),
    "sklearn_pipeline": digits,
    "spam_stream": mistakes("message", lambda: nr.PA1(C=0.1), 3000),
    "topics": shares,
}
