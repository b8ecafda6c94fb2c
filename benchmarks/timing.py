"""Interleaved best-of-N timing: in each round every contestant runs once, so a noisy moment hurts all alike."""

import gc
from collections.abc import Callable, Hashable, Mapping
from time import perf_counter
from typing import NamedTuple, TypeVar

Key = TypeVar("Key", bound=Hashable)
Job = Callable[[], Callable[[], int]]
"""The timed part; what it returns counts the mistakes made, outside the clock."""


class Timed(NamedTuple):
    """The best time of one contestant, in seconds, and the mistakes it made."""

    seconds: float
    mistakes: int


def interleave(contestants: Mapping[Key, Callable[[], Job]], rounds: int) -> dict[Key, Timed]:
    """Time what each contestant prepares anew in each round; compilation falls in the first round, so take at least two."""
    best: dict[Key, Timed] = {}
    for _ in range(max(2, rounds)):
        for name, prepare in contestants.items():
            job = prepare()
            seconds, count = clock(job)
            if name not in best or seconds < best[name].seconds:
                best[name] = Timed(seconds, count())
    return best


def clock(job: Job) -> tuple[float, Callable[[], int]]:
    """Run a job once with the garbage collector off."""
    gc.collect()
    gc.disable()
    try:
        start = perf_counter()
        count = job()
        return perf_counter() - start, count
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
