"""Who does the work: this process, processes of this machine, or a Dask cluster. All are executors of pieces.

A piece whose worker ended raises `BrokenExecutor`; the others go on. What every piece needs may be held by the workers
instead of travelling with each.
"""

from __future__ import annotations

import logging
import pickle
import socket
from collections.abc import Callable, Iterator
from concurrent.futures import BrokenExecutor, Executor, Future
from concurrent.futures.process import BrokenProcessPool
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any
from uuid import uuid4

from replical.core.parallel import FreshProcesses, cores, interrupts_held
from replical.errors import BadUsage, MissingExtra, WorkerLost

_TRIES = 2  # times Dask starts a piece again that failed
_ANSWER = 10  # seconds a scheduler has to answer
# Dask has its workers give memory back at once: the pools of the next pair then cost as much again as drawing them.
_KEEP_MEMORY = {"distributed.nanny.pre-spawn-environ.MALLOC_TRIM_THRESHOLD_": None}
_NO_DASHBOARD = {"dashboard": False, "dashboard_address": "127.0.0.1:0"}  # it would listen even so: here, anywhere free

_held: dict[str, Callable[..., Any]] = {}  # what this process holds for pieces to come, by name

log = logging.getLogger("replical")


class Here(Executor):
    """The very process that asks: work is done when it is handed in."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Do it now."""
        done: Future[Any] = Future()
        done.set_result(fn(*args, **kwargs))
        return done


class Processes(Executor):
    """Processes of this machine, each on its own: one that ends takes nothing with it but its own work."""

    def __init__(self, count: int) -> None:
        self._each = [FreshProcesses(1) for _ in range(count)]
        self._futures: list[list[Future[Any]]] = [[] for _ in range(count)]

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Hand it to the one that has the least to do, started anew if it ended."""
        self._futures = [[future for future in futures if not future.done()] for futures in self._futures]
        number = min(range(len(self._each)), key=lambda each: len(self._futures[each]))
        try:
            future = self._each[number].submit(fn, *args, **kwargs)
        except BrokenProcessPool:
            self._each[number].let_go()
            self._each[number] = FreshProcesses(1)
            future = self._each[number].submit(fn, *args, **kwargs)
        self._futures[number].append(future)
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Stop them all; without waiting, in the middle of what they do, which may take long."""
        for each in self._each:
            if wait:
                each.shutdown(cancel_futures=cancel_futures)
            else:
                each.let_go()


class OnDask(Executor):
    """A Dask cluster. It runs the pieces of a lost worker elsewhere by itself, until they have cost it several."""

    def __init__(self, client: Any, address: str) -> None:
        self._client, self._address = client, address

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Hand it in."""
        from distributed.scheduler import KilledWorker

        if self._client.status != "running":
            raise self._gone()
        remote, done = self._client.submit(fn, *args, **kwargs, pure=False, retries=_TRIES), Future[Any]()

        async def hear() -> None:
            try:
                done.set_result(await remote)
            except KilledWorker as error:
                done.set_exception(BrokenExecutor(str(error)))
            except BaseException as error:
                done.set_exception(self._gone() if remote.status in ("cancelled", "lost") else error)

        self._client.loop.add_callback(hear)
        return done

    @contextmanager
    def holding(self, task: Callable[..., Any]) -> Iterator[Callable[..., Any]]:
        """A short name for what all workers hold meanwhile, those too that join later; it travels once to each."""
        from cloudpickle import dumps  # what a notebook defines travels too

        name = f"replical-{uuid4().hex}"
        if self._client.status != "running":
            raise self._gone()
        self._client.register_plugin(_holder(name, dumps(task)), name=name)
        try:
            yield _Held(name)
        finally:
            if self._client.status == "running":
                with suppress(Exception):  # the scheduler may go at this very moment; so does what is held
                    self._client.unregister_worker_plugin(name)

    def look(self) -> None:
        """Say so if nobody is there to work."""
        if self._client.status == "running" and not self._client.nthreads():
            log.warning("no worker is left on Dask at %s: waiting for one", self._address)

    def _gone(self) -> WorkerLost:
        return WorkerLost(f"the Dask scheduler at {self._address} is gone")


@dataclass(frozen=True)
class _Held:
    """What a worker holds under a name, called there."""

    name: str

    def __call__(self, *args: Any) -> Any:
        return _held[self.name](*args)


def _holder(name: str, packed: bytes) -> Any:
    """What Dask starts on every worker: it takes something out of the message and holds it."""
    from distributed import WorkerPlugin

    class Holder(WorkerPlugin):
        def setup(self, worker: Any) -> None:
            _hold(name, packed)

        def teardown(self, worker: Any) -> None:
            _let_go(name)

    return Holder()


def _hold(name: str, packed: bytes) -> None:
    _held[name] = pickle.loads(packed)


def _let_go(name: str) -> None:
    _held.pop(name, None)


class Workers:
    """Some workers, as a sweep sees them.

    Attributes
    ----------
    count
        How many pieces are worked on at a time.
    ahead
        How many more are handed in.
    losses
        Workers a piece may cost; then it is the piece that ends them.
    words
        For people: who they are.
    """

    def __init__(self, executor: Executor, *, count: int, words: str, ahead: int = 0, losses: int = 3) -> None:
        self._executor, self.count, self.words, self.ahead, self.losses = executor, count, words, ahead, losses

    def submit(self, task: Callable[..., Any], *args: Any) -> Future[Any]:
        """Hand in a piece of work."""
        return self._executor.submit(task, *args)

    @contextmanager
    def holding(self, task: Callable[..., Any]) -> Iterator[Callable[..., Any]]:
        """The same task, to hand in with pieces: on a cluster only its name travels, the task once to each worker."""
        if isinstance(self._executor, OnDask):
            with self._executor.holding(task) as held:
                yield held
        else:
            yield task

    def look(self) -> None:
        """Nothing came for a while: is anyone there?"""
        if isinstance(self._executor, OnDask):
            self._executor.look()


@contextmanager
def local(count: int | None) -> Iterator[Workers]:
    """Processes of this machine; every core if left out."""
    count = count or cores()
    executor = Here() if count == 1 else Processes(count)
    try:
        yield Workers(executor, count=count, words=f"{count} on this machine")
    finally:
        executor.shutdown(wait=False, cancel_futures=True)


@contextmanager
def cluster(address: str) -> Iterator[Workers]:
    """A Dask cluster: the address of its scheduler, or ``local:N`` for one of N processes started here."""
    try:
        import distributed
        from dask.config import set as configured
    except ImportError as error:
        raise MissingExtra("--cluster needs Dask: install it with pip install 'replical[study]'") from error
    dask: Any = distributed  # without types of its own
    with ExitStack() as stack:
        kind, _, number = address.partition(":")
        if kind == "local":
            if not (number.isascii() and number.isdigit() and len(number) < 5) or not 1 <= int(number) <= 1000:
                raise BadUsage(f"--cluster local:N starts N worker processes, e.g. local:2, got {address!r}")
            with interrupts_held(), configured(_KEEP_MEMORY):
                started = dask.LocalCluster(
                    n_workers=int(number),
                    threads_per_worker=1,
                    host="127.0.0.1",
                    scheduler_kwargs=_NO_DASHBOARD,
                    silence_logs=logging.CRITICAL,  # whoever is ended in the middle of a heartbeat would say so at length
                )
            client = stack.enter_context(dask.Client(stack.enter_context(started)))
        else:
            client = stack.enter_context(_client(dask, address))
        threads = sum(client.nthreads().values())
        if not threads:
            raise BadUsage(f"the Dask cluster at {address!r} has no workers: start some with dask worker {address}")
        _check_versions(client, address)
        executor = OnDask(client, address)
        yield Workers(executor, count=threads, words=f"{threads} on Dask at {address}", ahead=threads, losses=1)


def _client(dask: Any, address: str) -> Any:
    """Who answers at an address; a client of Dask would ask for a long time, or for ever, where nobody does."""
    try:
        whole = dask.comm.normalize_address(address)
        if not whole.startswith(("tcp://", "tls://")):
            raise ValueError("no way to talk to another process")
        with socket.create_connection(dask.comm.get_address_host_port(whole, strict=True), timeout=_ANSWER) as probe:
            if whole.startswith("tcp://") and not probe.recv(1):  # a scheduler speaks first
                raise ConnectionError("nothing was said")
        return dask.Client(address, timeout=_ANSWER)
    except Exception as error:  # of many kinds, depending on what is there instead
        raise BadUsage(f"no Dask scheduler answers at {address!r}: start one with dask scheduler") from error


def _check_versions(client: Any, address: str) -> None:
    """Every part has this very version: otherwise results would depend on who ran what."""
    here = _version()
    try:
        there = {client.run_on_scheduler(_version), *client.run(_version).values()}
    except Exception as error:  # of many kinds: it could not even be asked
        raise BadUsage(
            f"part of the Dask cluster at {address!r} has no replical: scheduler and workers need version {here}"
        ) from error
    for other in there - {here}:
        raise BadUsage(f"part of the Dask cluster at {address!r} has replical {other}: install {here} there")


def _version() -> str:
    return version("replical")
