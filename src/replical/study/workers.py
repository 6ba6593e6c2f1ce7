"""Who does the work: this process, processes of this machine, or a Dask cluster. All are executors of pieces."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from contextlib import contextmanager
from typing import Any

from replical.errors import BadUsage, MissingExtra
from replical.parallel import cores, spawned

_TRIES = 2  # times Dask starts a piece again that its worker failed on


class Here(Executor):
    """The very process that asks: work is done when it is handed in."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Do it now."""
        done: Future[Any] = Future()
        done.set_result(fn(*args, **kwargs))
        return done


class Workers:
    """An executor that can be made anew when it breaks.

    Attributes
    ----------
    count
        How many pieces are worked on at a time.
    told
        For people: who they are.
    """

    def __init__(self, make: Callable[[], Executor], *, count: int, told: str) -> None:
        self._make, self.count, self.told = make, count, told
        self._executor = make()

    def submit(self, task: Callable[..., Any], *args: Any) -> Future[Any]:
        """Hand in a piece of work."""
        return self._executor.submit(task, *args)

    def anew(self) -> None:
        """A worker was lost and took the others with it: begin again with fresh ones."""
        self.leave()
        self._executor = self._make()

    def leave(self) -> None:
        """Stop what is under way."""
        if isinstance(self._executor, ProcessPoolExecutor):
            self._executor.shutdown(wait=False, cancel_futures=True)
        else:
            self._executor.shutdown(wait=False)


@contextmanager
def local(count: int | None) -> Iterator[Workers]:
    """Processes of this machine; every core if left out."""
    count = count or cores()
    made = Workers(Here if count == 1 else lambda: spawned(count), count=count, told=f"{count} on this machine")
    try:
        yield made
    finally:
        made.leave()


@contextmanager
def cluster(address: str) -> Iterator[Workers]:
    """A Dask cluster: the address of its scheduler, or ``local:N`` for one of N processes started here."""
    try:
        import distributed
    except ImportError as error:
        raise MissingExtra("--cluster needs Dask: install it with pip install 'replical[study]'") from error
    dask: Any = distributed  # without types of its own
    kind, _, number = address.partition(":")
    if kind == "local":
        if not (number.isascii() and number.isdigit()) or not 1 <= int(number) <= 1000:
            raise BadUsage(f"--cluster local:N starts N worker processes, e.g. local:2, got {address!r}")
        started = dask.LocalCluster(
            n_workers=int(number), threads_per_worker=1, dashboard_address=None, host="127.0.0.1"
        )
        client = dask.Client(started)
    else:
        started = None
        try:
            client = dask.Client(address, timeout="10s")
        except (OSError, ValueError) as error:
            raise BadUsage(f"no Dask scheduler answers at {address!r}: start one with dask scheduler") from error
    threads = sum(client.nthreads().values())
    if not threads:
        raise BadUsage(f"the Dask cluster at {address!r} has no workers: start some with dask worker {address}")
    made = Workers(
        lambda: client.get_executor(pure=False, retries=_TRIES), count=threads, told=f"{threads} on Dask at {address}"
    )
    try:
        yield made
    finally:
        made.leave()
        client.close()
        if started is not None:
            started.close()
