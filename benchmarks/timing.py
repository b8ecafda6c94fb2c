"""Interleaved best-of-N timing: in each round every contestant runs once, so a noisy moment hurts all alike.

The clock is the CPU time of this process, which on one thread is the wall time of an idle machine: others' work does not count.
"""

import gc
from collections.abc import Callable, Hashable, Mapping
from time import process_time
from typing import NamedTuple, TypeVar

Key = TypeVar("Key", bound=Hashable)
Job = Callable[[], Callable[[], int]]
"""The timed part; what it returns counts the mistakes made, outside the clock."""


class Timed(NamedTuple):
    """The best time of one contestant, in CPU seconds, and the mistakes it made."""

    seconds: float
    mistakes: int


def interleave(contestants: Mapping[Key, Callable[[], Job]], rounds: int) -> dict[Key, Timed]:
    """Time what each contestant prepares anew in each round, until no best time falls by 3% in a round, or 4 x `rounds`.

    Compilation falls in the first round, so there are at least two.
    """
    best: dict[Key, Timed] = {}
    for turn in range(4 * rounds):
        settled = True
        for name, prepare in contestants.items():
            job = prepare()
            seconds, count = clock(job)
            if name not in best or seconds < best[name].seconds:
                settled &= name in best and seconds > 0.97 * best[name].seconds
                best[name] = Timed(seconds, count())
        if settled and turn + 1 >= max(2, rounds):
            break
    return best


def clock(job: Job) -> tuple[float, Callable[[], int]]:
    """Run a job once with the garbage collector off."""
    gc.collect()
    gc.disable()
    try:
        start = process_time()
        count = job()
        return process_time() - start, count
    finally:
        gc.enable()


def per_call(calls: Mapping[Key, Callable[[int], object]], number: int, rounds: int = 7) -> dict[Key, float]:
    """Give the best mean seconds per call of each function of the call's index, over interleaved rounds of `number` calls."""

    def looped(call: Callable[[int], object]) -> Job:
        def job() -> Callable[[], int]:
            for i in range(number):
                call(i)
            return lambda: 0

        return job

    timed = interleave({name: lambda call=call: looped(call) for name, call in calls.items()}, rounds)
    return {name: t.seconds / number for name, t in timed.items()}
