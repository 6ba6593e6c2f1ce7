"""Numbered pieces of work on several processes, in order, without leaving anyone behind.

Workers are started clean ("spawn"), because forking a process that holds threads can hang. Interrupts are left to the
parent; when it ends, however it ends, or lets them go, they notice and go too, in the middle of what they do.

Who does the work: this process, processes of this machine, or a Dask cluster. All are executors of pieces.

A piece whose worker ended raises `BrokenExecutor`; the others go on. What every piece needs may be held by the workers
instead of travelling with each.

Numbered pieces of work on any workers, in order; those of a lost worker are run again.
"""

from __future__ import annotations

import gc
import logging
import multiprocessing
import os
import pickle
import signal
import socket
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Executor, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from importlib.metadata import version
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection
from multiprocessing.connection import wait as wait_for
from typing import Any, Generic, TypeVar
from uuid import uuid4

from replical.errors import BadUsage, MissingExtra, ReplicalError, WorkerLost

Piece = TypeVar("Piece")

_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
_GARBAGE = 100_000  # objects between two looks for garbage in a worker: it makes hardly any, and looking costs a tenth
_CHUNK = 16  # pieces sent to a worker at a time, at most
_AHEAD = 4  # chunks a worker that wait to be taken: enough to keep it busy, few enough to be forgotten quickly

_task: list[Callable[[int], Any]] = []  # what this worker runs: sent once, so that it can keep what it computes


def in_processes(task: Callable[[int], Piece], count: int, workers: int) -> Generator[Piece, None, None]:
    """``task(0), task(1), .. task(count - 1)``, in that order, on `workers` processes.

    Parameters
    ----------
    task
        What is done with a number; it travels to the processes once.
    count
        How many pieces.
    workers
        How many processes.

    Returns
    -------
    pieces
        One after the other, as they are ready.

    Raises
    ------
    WorkerLost
        If a process ended before its work was done.
    """
    executor = FreshProcesses(workers, task)
    step = max(1, min(_CHUNK, count // (4 * workers)))
    starts = iter(range(0, count, step))
    waiting: deque[Future[list[Piece]]] = deque()
    try:
        for start in starts:
            waiting.append(executor.submit(_run, range(start, min(start + step, count))))
            if len(waiting) > _AHEAD * workers:
                yield from waiting.popleft().result()
        while waiting:
            yield from waiting.popleft().result()
    except BrokenProcessPool as error:
        raise WorkerLost(
            "a worker process ended before its work was done, perhaps for lack of memory: use fewer workers or smaller pools"
        ) from error
    finally:
        executor.let_go()


def cores() -> int:
    """Cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class FreshProcesses(ProcessPoolExecutor):
    """Processes that leave interrupts to the parent and go when it goes.

    Parameters
    ----------
    workers
        How many.
    task
        What each keeps to run, if anything.
    """

    def __init__(self, workers: int, task: Callable[[int], Any] | None = None) -> None:
        context = multiprocessing.get_context("spawn")
        ends, self._open = context.Pipe(duplex=False)
        super().__init__(workers, mp_context=context, initializer=_receive, initargs=(ends, task))
        try:
            for _ in range(workers):  # one piece of nothing for each, so that all start now
                self.submit(int)
        except BaseException:
            self.let_go()
            raise

    def submit(self, *call: Any, **named: Any) -> Future[Any]:
        """Work for one of them; it may start a process, which inherits that an interrupt is the parent's business."""
        with interrupts_held(), _one_thread_each():
            return super().submit(*call, **named)

    def let_go(self) -> None:
        """End them now, whatever they do, and see them off: a parent that leaves first may trip over its own threads."""
        self._open.close()
        self.shutdown(wait=True, cancel_futures=True)


@contextmanager
def _one_thread_each() -> Iterator[None]:
    """Processes started meanwhile do linear algebra with one thread: there are as many of them as cores."""
    ours = [name for name in _THREADS if name not in os.environ]
    os.environ.update(dict.fromkeys(ours, "1"))
    try:
        yield
    finally:
        for name in ours:
            del os.environ[name]


@contextmanager
def interrupts_held() -> Iterator[None]:
    """Interrupts that arrive meanwhile are delivered afterwards; processes started meanwhile never get any."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    resource_tracker.ensure_running()  # its start would lift the mask
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _receive(ends: Connection, task: Callable[[int], Any] | None) -> None:
    _task[:] = [] if task is None else [task]
    gc.set_threshold(_GARBAGE)
    threading.Thread(target=_leave_with_the_parent, args=(ends,), daemon=True).start()


def _leave_with_the_parent(ends: Connection) -> None:
    """Wait until the parent closes its end, or is no more."""
    parent = multiprocessing.parent_process()
    wait_for([ends] if parent is None else [ends, parent.sentinel])
    os._exit(1)


def _run(numbers: range) -> list[Any]:
    return [_task[0](number) for number in numbers]


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


_SECONDS = 1.0  # what is sent at a time takes about so long: little is lost with a worker, and messages are few
_MOST = 50  # pieces sent at a time, at most; one while it is not known how long they take
_PATIENCE = 30.0  # seconds without an answer after which to see whether anyone is there


@dataclass(frozen=True, kw_only=True)
class _Told(Generic[Piece]):
    """What a worker answers: pieces, all of them unless one was refused."""

    pieces: list[Piece]
    refused: ReplicalError | None
    seconds: float


def in_order(
    task: Callable[[int], Piece], count: int, workers: Workers, what: str = "piece"
) -> Generator[Piece, None, None]:
    """``task(0), task(1), .. task(count - 1)``, in that order, on `workers`.

    Parameters
    ----------
    task
        What is done with a number; it travels once to each worker of a cluster.
    count
        How many pieces.
    workers
        Who does it.
    what
        What a piece is called where people read of it.

    Returns
    -------
    pieces
        One after the other, as they are ready.

    Raises
    ------
    ReplicalError
        What the task raises, for the first number for which it does.
    WorkerLost
        If a piece ended several workers, or the cluster is gone.

    Examples
    --------
    >>> from replical.core.parallel import local
    >>> with local(1) as here:
    ...     list(in_order(str, 3, here))
    ['0', '1', '2']
    """
    with workers.holding(task) as held:
        yield from _Running(held, range(count), workers, what).pieces()


def each_in_order(
    task: Callable[[Any], Piece], pieces: Sequence[Any], workers: Workers, what: str = "piece"
) -> Generator[Piece, None, None]:
    """``task(piece)`` for each of `pieces`, in their order, on `workers`: as `in_order`, where pieces travel themselves.

    Examples
    --------
    >>> from replical.core.parallel import local
    >>> with local(1) as here:
    ...     list(each_in_order(len, ["one", "three"], here))
    [3, 5]
    """
    yield from _Running(task, pieces, workers, what).pieces()


class _Running(Generic[Piece]):
    """What is handed in, what is back, and what comes next."""

    def __init__(self, task: Callable[[Any], Piece], pieces: Sequence[Any], workers: Workers, what: str) -> None:
        self._task, self._pieces, self._workers, self._what = task, pieces, workers, what
        self._count = len(pieces)
        self._handed = 0  # the next number to hand in
        self._flying: dict[Future[_Told[Piece]], range] = {}
        self._back: dict[int, _Told[Piece]] = {}  # by first number, until those in front of them are back too
        self._again: list[range] = []  # lost with a worker
        self._lost: Counter[range] = Counter()
        self._seconds, self._known = 0.0, 0  # that so many pieces took

    def pieces(self) -> Generator[Piece, None, None]:
        done = 0
        while done < self._count:
            self._hand_in()
            self._hear()
            while (told := self._back.pop(done, None)) is not None:
                yield from told.pieces
                done += len(told.pieces)
                if told.refused is not None:
                    raise told.refused

    def _hand_in(self) -> None:
        while len(self._flying) < self._workers.count + self._workers.ahead:
            if self._again:
                numbers = self._again.pop()
            elif self._handed < self._count:
                numbers = range(self._handed, self._handed + self._worth())
                self._handed = numbers.stop
            else:
                return
            some = self._pieces[numbers.start : numbers.stop]
            self._flying[self._workers.submit(_run_in_order, self._task, some)] = numbers

    def _worth(self) -> int:
        """How many to send at a time: about a second's, and fewer towards the end, so that all are busy until then."""
        if not self._known:
            return 1
        left = self._count - self._handed
        second = round(_SECONDS * self._known / max(self._seconds, 1e-9))
        return max(1, min(_MOST, second, left // (2 * self._workers.count)))

    def _hear(self) -> None:
        """Wait for at least one that is back."""
        done, _ = wait(self._flying, timeout=_PATIENCE, return_when=FIRST_COMPLETED)
        if not done:
            self._workers.look()
        for future in done:
            numbers = self._flying.pop(future)
            try:
                told = future.result()
            except BrokenExecutor as error:
                self._lose(numbers, error)
            else:
                self._back[numbers.start] = told
                self._seconds, self._known = self._seconds + told.seconds, self._known + len(numbers)

    def _lose(self, numbers: range, error: BaseException) -> None:
        self._lost[numbers] += 1
        which = _words(self._what, numbers)
        if self._lost[numbers] >= self._workers.losses:
            raise WorkerLost(
                f"one worker after the other ended during {which}, perhaps for lack of memory: "
                "use smaller pools, or workers with more memory"
            ) from error
        log.warning("a worker was lost during %s; run again", which)
        self._again.append(numbers)


def _words(what: str, numbers: Sequence[int]) -> str:
    return f"{what} {numbers[0]}" if len(numbers) == 1 else f"{what}s {numbers[0]} to {numbers[-1]}"


def _run_in_order(task: Callable[[Any], Any], some: Sequence[Any]) -> _Told[Any]:
    started, pieces, refused = time.perf_counter(), [], None
    try:
        for piece in some:
            pieces.append(task(piece))
    except ReplicalError as error:  # told when its turn comes, as if one process had run everything
        refused = error
    return _Told(pieces=pieces, refused=refused, seconds=time.perf_counter() - started)
