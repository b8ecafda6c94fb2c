"""`noregret inspect`: a model file in words."""

from __future__ import annotations

import json
import os
import re
import shutil
import textwrap
import warnings
from collections.abc import Callable
from typing import Any

import click

from ..text import amount, percent, plural, printable, shortened, size, table
from .cite import references
from .options import Command, Option
from .own_words import speaker_for, speaker_of
from .plugins import plugin_option


@click.command("inspect", cls=Command, short_help="Show a model file in words.")
@click.argument("file", type=click.Path(dir_okay=False))
@plugin_option
@click.option(
    "--top",
    cls=Option,
    type=click.IntRange(0),
    default=20,
    show_default=True,
    metavar="N",
    help="Largest weights, or coefficients, to show.",
)
@click.option("--all", "everything", cls=Option, is_flag=True, help="Show every parameter, and not only those that were set.")
@click.option("--json", "as_json", cls=Option, is_flag=True, help="Print JSON instead of text.")
def command(file: str, top: int, everything: bool, as_json: bool) -> None:
    """Show what is in the model FILE: learner, parameters, what it has seen, and its largest weights by the names of features.

    Of a model with a kernel: its support vectors, and those with the largest coefficients. Of components: how large they are, and
    their largest loadings. Of topics: their words and weights.
    """
    from ..files.model_file import load

    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".* was learned by")  # it is shown below
        found = facts(load(file), file, top)
    if as_json:
        from ..evaluation.report.report import plain

        click.echo(json.dumps(plain(found), indent=2))
    else:
        click.echo(text(found, everything))


# ---- what is known ---------------------------------------------------------------------------------------------------
def facts(model: Any, path: str, top: int) -> dict[str, Any]:
    """Return everything about a model."""
    from ..evaluation.runs.run import sizes
    from ..tasks.compact import Compact
    from ..training.by_task import by_task

    learner, front = getattr(model, "learner", model), getattr(model, "front", None)
    found: dict[str, Any] = {
        "file": path,
        "bytes": os.path.getsize(path),
        "model": learner.name,
        "class": type(learner).__name__,
        "task": model.task,
        **({} if isinstance(model, Compact) else settings(learner)),
        "steps": steps(front),
        "stream": model.extras.get("stream"),
        "levels": model.levels,
        "examples": 0,
    }
    if not learner.started:
        return found
    if (speaker := speaker_of(model)) is not None:
        return found | speaker.inspected(model, top) | {"told": speaker.told(learner)}
    m, classes = learner.model, by_task(learner).classes
    found |= {
        "examples": learner.n_seen_,
        "mistakes": learner.n_mistakes_ if classes else None,
        "updates": learner.n_updates_,
        "classes": learner.classes_.tolist() if classes else None,
    }
    if isinstance(model, Compact):
        return found | kept(model, top)
    found |= {
        "features": learner.n_features_in_ if m.features.kind != "hashed" else m.features.size - m.features.bias,
        "hashed": m.features.kind == "hashed",
        "collisions": collisions(model, front, m),
        "vectors": sizes(learner)[1],
        "memory": sum(a.nbytes for a in m.arrays().values()),
    }
    if by_task(model).pair:
        found["rated"] = {"users": len(model.users_), "items": len(model.items_), "scale": model.scale_}
    if hasattr(learner, "standing"):
        found["pool"] = learner.report()
    elif learner.get_params().get("kernel") is not None:
        found["support"] = learner.support_report(top)
    elif hasattr(learner, "tree_report"):
        found["forest"] = forest(learner.tree_report(top), front, m)
    return found | weights(learner, front, m, top)


def forest(report: dict[str, Any], front: Any, m: Any) -> dict[str, Any]:
    """Return figures of a forest, its columns by name."""
    from ..evaluation.measures.features_in_use import naming

    names = naming(front, m)
    return {**report, "top": [{"feature": names(row["column"]), "importance": row["importance"]} for row in report["top"]]}


def settings(learner: Any) -> dict[str, Any]:
    """Return the parameters of a learner, and where it comes from."""
    from ..algorithm.params import same_value

    params = learner.get_params()
    changed = {k: v for k, v in params.items() if not same_value(v, learner.defaults[k])}
    return {"cite": cited(learner.cite), "params": params, "changed": changed}


def cited(key: str) -> str | None:
    """Return the authors of an algorithm, and the year."""
    entry = references().get(key)
    if entry is None:
        return None
    fields = dict(re.findall(r"^\s*(\w+)\s*=\s*\{(.*)\},?$", entry, re.M))
    names = [re.sub(r"[{}\\`'\"]", "", name.split(",")[0]) for name in fields["author"].split(" and ")]
    who = f"{', '.join(names[:-1])} and {names[-1]}" if len(names) > 1 else names[0]
    return f"{who} ({fields['year']})"


def steps(front: Any) -> list[str]:
    """Return what happens to a row before the learner."""
    if front is None:
        return []
    found = []
    if front.table is not None:
        settings = {
            k: v for k, v in front.table.get_params().items() if v not in (None, (), []) and v != default_of(front.table, k)
        }
        found.append(f"table({', '.join(f'{k}={v!r}' for k, v in settings.items())})")
        by_role: dict[str, list[str]] = {}
        for name, role in front.table.column_roles.items():
            by_role.setdefault(role, []).append(name)
        found += [f"{role}: {', '.join(names)}" for role, names in by_role.items()]
    return [*found, *(repr(m) for m in front.maps)]


def default_of(step: Any, name: str) -> Any:
    """Return the default of a setting."""
    from inspect import signature

    return signature(type(step)).parameters[name].default


def collisions(model: Any, front: Any, m: Any) -> int | None:
    """Return how many names share a place, where features are hashed and names are known."""
    if m.features.kind != "hashed":
        return None
    if front is not None and front.table is not None:
        return int(front.table.collisions)
    return int(m.features.collisions) if m.features.names else None


# ---- weights ---------------------------------------------------------------------------------------------------------
def weights(learner: Any, front: Any, m: Any, top: int) -> dict[str, Any]:
    """Return the non-zero weights there are, and the largest with the names of their features."""
    import numpy as np

    try:
        coef = np.atleast_2d(learner.coef_)
    except AttributeError:
        return {"nonzeros": None, "weights": None}
    surety = getattr(learner, "confidence_of_weights", None)
    sure = None if surety is None else np.atleast_2d(surety())
    from ..evaluation.measures.features_in_use import naming

    return largest(learner, coef, naming(front, m), top, sure, learner.tasks_ if learner.by_domain else None)


def kept(model: Any, top: int) -> dict[str, Any]:
    """Return what a compact predictor has kept of its learner."""
    features = [str(name) for name in model.features_]
    size = {"features": len(features), "memory": sum(a.nbytes for a in (model.at, model.W, model.b)), "vectors": None}
    hashed = {"hashed": model.features.kind == "hashed", "collisions": None}
    return {**size, **hashed, **largest(model, model.coef_, features.__getitem__, top)}


def largest(
    learner: Any, coef: Any, names: Callable[[int], str], top: int, sure: Any = None, tasks: list[Any] | None = None
) -> dict[str, Any]:
    """Return how many weights are not 0, and the largest of each class or task."""
    import numpy as np

    found = []
    intercept = np.ravel(getattr(learner, "intercept_", 0.0))
    for k, label in enumerate(tasks or (learner.classes_.tolist() if len(coef) > 1 else [None])):
        best = [int(j) for j in np.argsort(-np.abs(coef[k]), kind="stable")[:top] if coef[k, j] != 0.0]
        rows = [{"feature": names(j), "weight": float(coef[k, j])} for j in best]
        if sure is not None:
            rows = [{**row, "confidence": float(sure[k, j])} for row, j in zip(rows, best, strict=True)]
        whose = {"class": label} if tasks is None else {"class": None, "task": label}
        found.append({**whose, "intercept": float(intercept[k]), "top": rows})
    return {"nonzeros": int(np.count_nonzero(coef)), "weights": found}


# ---- in words --------------------------------------------------------------------------------------------------------
def levelled(levels: list[str]) -> str | None:
    """Return the processor levels in words, unless they are the usual one."""
    from ..engine.processor import USUAL, described

    return None if {*levels} <= {*USUAL} else " and ".join(map(described, levels))


def text(found: dict[str, Any], everything: bool) -> str:
    """Return the facts as text."""
    params = found.get("params" if everything else "changed")
    lines = [
        ("model", f"{found['model']} ({found['class']}), {found['task'].replace('_', ' ')}"),
        ("from", found.get("cite")),
        ("parameters", None if params is None else ", ".join(f"{k}={v!r}" for k, v in params.items()) or "all as by default"),
        *(("steps" if i == 0 else "", step) for i, step in enumerate(found["steps"])),
        ("file", f"{found['file']}, {size(found['bytes'])}"),
        ("learned by", levelled(found["levels"])),
    ]
    if found["examples"] == 0:
        return aligned([*lines, ("learned", "nothing yet")])
    if "told" in found:
        more, tables = speaker_for(found["task"]).inspected_lines(found, found["told"])
        lines += [("memory", size(found["memory"])), *more, ("stream", where(found["stream"]))]
        return "\n\n".join([aligned(lines), *tables])
    lines += [
        ("memory", size(found["memory"])),
        ("learned", learned(found)),
        ("ratings", rated(found["rated"]) if "rated" in found else None),
        ("stream", where(found["stream"])),
        ("classes", None if found["classes"] is None else listing(found["classes"])),
        ("features", counted(found)),
    ]
    if found["vectors"] is not None and "support" not in found:
        lines.append(("vectors", f"{plural(found['vectors'], 'row')} kept"))
    if "support" in found:
        lines += support_lines(found["support"])
        rest = support_table(found["support"])
    elif "forest" in found:
        lines.append(("trees", trees(found["forest"])))
        rest = importance_table(found["forest"])
    else:
        rest = pool_table(found["pool"]) if "pool" in found else weight_tables(found["weights"], found["classes"])
    return "\n\n".join([aligned(lines), *rest])


def aligned(lines: list[tuple[str, str | None]]) -> str:
    """Return names and values in two columns, long values over several lines."""
    width = max(40, min(shutil.get_terminal_size().columns, 132) - 12)
    wrapped = [(name, textwrap.wrap(printable(said), width, break_on_hyphens=False)) for name, said in lines if said is not None]
    return "\n".join(f"{name if i == 0 else '':<12}{part}" for name, parts in wrapped for i, part in enumerate(parts))


def learned(found: dict[str, Any]) -> str:
    """Return what was learned from."""
    parts = [plural(found["examples"], "row"), plural(found["updates"], "update")]
    if found["mistakes"] is not None:
        parts.insert(1, f"{plural(found['mistakes'], 'mistake')} on the way ({percent(found['mistakes'] / found['examples'])} %)")
    return ", ".join(parts)


def rated(found: dict[str, Any]) -> str:
    """Return who rated what, and between which numbers."""
    scale = "" if found["scale"] is None else f", from {' to '.join(map(amount, found['scale']))}"
    return f"{plural(found['users'], 'user')}, {plural(found['items'], 'item')}{scale}"


def counted(found: dict[str, Any]) -> str:
    """Return the number of features, and how they are kept."""
    said = plural(found["features"], "place" if found["hashed"] else "feature")
    if found["nonzeros"] is not None:
        said += f", {plural(found['nonzeros'], 'weight')} other than 0"
    if found["hashed"]:
        said += " (hashed" + ("" if found["collisions"] is None else f", {plural(found['collisions'], 'collision')}") + ")"
    return said


def where(stream: dict[str, Any] | None) -> str | None:
    """Return where the training stopped."""
    if not stream:
        return None
    earlier = [was["path"] for was in stream.get("before", [])]
    after = f", after {earlier[-1]}" + (f" and {plural(len(earlier) - 1, 'other file')}" if earlier[1:] else "") if earlier else ""
    if stream["position"] is None:
        end = f"the first {plural(stream['limited'], 'row')}" if "limited" in stream else "to the end"
        return f"{stream['source']}, {end} ({'once' if stream['epoch'] == 1 else plural(stream['epoch'], 'time')}){after}"
    epoch = f" of pass {stream['epoch'] + 1}" if stream["epoch"] else ""
    at = {k: v for k, v in stream["position"].items() if k in ("offset", "line", "row")}
    place = f" ({', '.join(f'{k} {amount(v)}' for k, v in at.items())})" if at else ""
    return f"{stream['source']}, stopped after {plural(stream['epoch_examples'], 'row')}{epoch}{place}{after}"


def listing(values: list[Any]) -> str:
    """Return labels, the first few of many."""
    shown = ", ".join(str(v) for v in values[:10])
    return f"{len(values)}: {shown}{', ...' if len(values) > 10 else ''}"


def pool_table(pool: dict[str, Any]) -> list[str]:
    """Return the learners of a pool, and its regret against the best of them."""
    rows = [[member["learner"], f"{member['weight']:.3f}", amount(member["loss"])] for member in pool["learners"]]
    allowed = f", of {amount(pool['bound'])} that the theorem allows ({pool['bound_name']})" if "bound_name" in pool else ""
    told = f"Regret against the best of them: {amount(pool['regret'])}{allowed}."
    return [table(["learner", "weight", "loss"], rows), told]


def support_lines(support: dict[str, Any]) -> list[tuple[str, str | None]]:
    """Return what is known of a kernel and its support vectors."""
    kept = f"{plural(support['vectors'], 'support vector')} of {plural(support['additions'], 'addition')}"
    if support["by_class"] is not None:
        counts = sorted(support["by_class"].items(), key=lambda item: -item[1])
        told = ", ".join(f"{amount(n)} for {label}" for label, n in counts[:10])
        kept += f" ({told}{', ...' if len(counts) > 10 else ''})"
    return [("kernel", support["kernel"]), ("budget", support["budget"] or "none"), ("vectors", kept)]


def support_table(support: dict[str, Any]) -> list[str]:
    """Return the support vectors with the largest coefficients."""
    if not support["top"]:
        return []
    names = {"addition": "vector", "class": "speaks for", "coefficient": "coefficient", "votes": "votes", "object": "object"}
    shown = [k for k in names if k in support["top"][0]]
    rows = [[amount(row[k]) if k in ("coefficient", "votes") else cut(row[k]) for k in shown] for row in support["top"]]
    left = [i for i, k in enumerate(shown) if k in ("class", "object")]
    return [table([names[k] for k in shown], rows, left)]


def trees(forest: dict[str, Any]) -> str:
    """Return how large a forest is."""
    full = ", full: cut no more" if forest["full"] else ""
    return f"{forest['trees']}, with {plural(forest['nodes'], 'node')} ({size(forest['bytes'])}), depth {forest['depth']}{full}"


def importance_table(forest: dict[str, Any]) -> list[str]:
    """Return the columns whose cuts save most of the loss."""
    rows = [[shortened(printable(row["feature"]), 50), f"{row['importance']:.3f}"] for row in forest["top"]]
    return [table(["feature", "importance"], rows)] if rows else []


def cut(value: Any) -> str:
    """Return any value on one line that is not too long."""
    return shortened(printable(str(value)), 50)


def weight_tables(groups: list[dict[str, Any]] | None, classes: list[Any] | None) -> list[str]:
    """Return the largest weights, of each class where there are several."""
    if groups is None:
        return ["This learner does not answer with one weight vector, so there are no weights to show."]
    found = []
    for group in groups:
        rows = [[shortened(printable(row["feature"]), 50), amount(row["weight"])] for row in group["top"]]
        rows += [["(constant)", amount(group["intercept"])]] if group["intercept"] else []
        label = classes[1] if classes is not None and group["class"] is None and len(classes) == 2 else group["class"]
        head = ["feature", "weight" if label is None else f"weight for {shortened(printable(str(label)), 20)}"]
        head[1] += f", task {shortened(printable(str(group['task'])), 20)}" if "task" in group else ""
        if any("confidence" in row for row in group["top"]):
            head.append("confidence")
            rows = [[*row, amount(said.get("confidence"))] for row, said in zip(rows, [*group["top"], {}], strict=False)]
        if rows:
            found.append(table(head, rows))
    return found
