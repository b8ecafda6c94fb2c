"""Vowpal Wabbit's Python interface: learn() from text, from dicts and from parsed examples."""

from collections.abc import Callable, Iterable

from vowpalwabbit import Workspace

from .ours import learn_one, partial_fit
from .streams import HASH_BITS, Dicts, click_dicts, clicks, text, text_dicts, vw_lines
from .table import Row, rate
from .timing import Job, interleave

OPTIONS = f"--quiet --binary --loss_function hinge --noconstant -b {HASH_BITS}"


def counted(vw: Workspace, work: Callable[[], object]) -> Callable[[], int]:
    """Do the work, and give the sum of its 0-1 losses later."""
    work()
    return lambda: int(vw.get_sum_loss())


def from_text(lines: list[str]) -> Callable[[], Job]:
    """Prepare learn() on lines of text."""

    def prepare() -> Job:
        vw = Workspace(OPTIONS)
        return lambda: counted(vw, lambda: [vw.learn(line) for line in lines])

    return prepare


def from_dicts(rows: Dicts, labels: Iterable[int]) -> Callable[[], Job]:
    """Prepare an example from each dict, its label set by a string, then learn()."""
    labelled = [(row, str(y)) for row, y in zip(rows, labels, strict=True)]

    def prepare() -> Job:
        vw = Workspace(OPTIONS)

        def work() -> None:
            for row, label in labelled:
                example = vw.example({"a": row})
                example.set_label_string(label)
                vw.learn(example)
                vw.finish_example(example)

        return lambda: counted(vw, work)

    return prepare


def parsed(lines: list[str], options: str = OPTIONS) -> Callable[[], Job]:
    """Prepare learn() on examples parsed before the clock starts."""

    def prepare() -> Job:
        vw = Workspace(options)
        examples = [vw.example(line) for line in lines]

        def work() -> None:
            for example in examples:
                vw.learn(example)

        def job() -> Callable[[], int]:
            work()
            return lambda: finish(vw, examples)

        return job

    return prepare


def finish(vw: Workspace, examples: list[object]) -> int:
    """Hand the examples back, which is when their losses are added up."""
    for example in examples:
        vw.finish_example(example)
    return int(vw.get_sum_loss())


def run(quick: bool) -> list[Row]:
    """Compare on documents and on clicks; VW's own default update, and plain SGD."""
    n = 2000 if quick else 20_000
    rows = []
    for name, (dicts, y), matrix in (("75 words", text_dicts(n), text(n)), ("30 clicks", click_dicts(n), clicks(n))):
        lines, labels = vw_lines(dicts, y), y.tolist()
        race = {
            "learn_one": learn_one(dicts, labels),
            "learn_one, hashed": learn_one(dicts, labels, hash_bits=HASH_BITS),
            "partial_fit(CSR)": partial_fit([matrix]),
            "text": from_text(lines),
            "dict": from_dicts(dicts, labels),
            "parsed": parsed(lines),
            "parsed --sgd": parsed(lines, f"{OPTIONS} --sgd"),
        }
        best = interleave(race, rounds=3)
        for way in ("learn_one", "learn_one, hashed"):
            rows += [rate(f"{name}: {way}", n, best[way], f"VW {peer}", best[peer]) for peer in ("text", "dict")]
        rows += [
            rate(f"{name}: partial_fit(CSR)", n, best["partial_fit(CSR)"], f"VW {peer}", best[peer])
            for peer in ("parsed", "parsed --sgd")
        ]
    return rows
