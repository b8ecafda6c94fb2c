"""Read ahead: threads prepare the next items while the caller works on this one; items come out in order."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from queue import SimpleQueue
from typing import Any


def ahead(take: Callable[[], Any], work: Callable[[], Callable[[Any], Any]], threads: int, wait: bool) -> Iterator[Any]:
    """Yield what is made of each thing taken, in order; threads take and work ahead. `work()` prepares for one thread."""
    free = threading.Semaphore(2 * threads + 1)
    lock, over = threading.Lock(), threading.Event()
    slots: SimpleQueue[Future[Any] | None] = SimpleQueue()

    def run() -> None:
        do = work()
        while True:
            free.acquire()
            slot: Future[Any] = Future()
            with lock:
                if over.is_set():
                    return
                try:
                    thing = take()
                except BaseException as e:
                    slot.set_exception(e)
                    over.set()
                    slots.put(slot)
                    return
                if thing is None:
                    over.set()
                slots.put(None if thing is None else slot)
            if thing is None:
                return
            try:
                slot.set_result(do(thing))
            except BaseException as e:
                slot.set_exception(e)
            del thing, slot  # a thread that waits holds no text

    workers = [threading.Thread(target=run, daemon=True, name=f"noregret-parser-{i}") for i in range(threads)]
    for worker in workers:
        worker.start()
    try:
        while (slot := slots.get()) is not None:
            yield slot.result()
            free.release()
    finally:
        over.set()
        free.release(threads)
        for worker in workers if wait else ():
            worker.join()
