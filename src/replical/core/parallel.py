"""Work on the processes of this machine or on a Dask cluster: results in order, and nobody is left behind.

`ordered_map` and `as_completed` hand units of work to `Workers`. Units of a lost worker are run again; the others go on.
What every unit needs is held by the workers instead of travelling with each.

Processes are started clean ("spawn"), because forking a process that holds threads can hang. Interrupts are left to the
parent; when it ends, however it ends, or lets them go, they notice and go too, in the middle of what they do.
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
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager, nullcontext, suppress
from dataclasses import dataclass
from importlib.metadata import version
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection
from multiprocessing.connection import wait as wait_for
from typing import Any, Generic, Protocol, TypeVar, runtime_checkable
from uuid import uuid4

from replical.errors import BadUsage, ReplicalError, WorkerLost, need

Unit = TypeVar("Unit")
Answer = TypeVar("Answer")

_SECONDS = 1.0  # what is sent at a time takes about so long: little is lost with a worker, and messages are few
_MOST = 50  # units sent at a time, at most; one while it is not known how long they take
_PATIENCE = 30.0  # seconds without an answer after which to see whether anyone is there
_SHORT = 200  # bytes of a function that travels with every unit: its name; what is longer is held by the workers
_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
_GARBAGE = 100_000  # objects between two looks for garbage in a worker: it makes hardly any, and looking costs a tenth
_RETRIES = 2  # times Dask starts a unit again that failed
_ANSWER = 10  # seconds a scheduler has to answer
# Dask has its workers give memory back at once: the pools of the next pair then cost as much again as drawing them.
_KEEP_MEMORY = {"distributed.nanny.pre-spawn-environ.MALLOC_TRIM_THRESHOLD_": None}
_NO_DASHBOARD = {"dashboard": False, "dashboard_address": "127.0.0.1:0"}  # it would listen even so: here, anywhere free

log = logging.getLogger("replical")


# ---- handing in and collecting ----


@runtime_checkable
class Workers(Protocol):
    """Who does the work: `count` units at a time, and `ahead` more are handed in.

    A unit may cost so many `losses` of workers before it is taken for what ends them; 0: the first loss ends everything.
    `words` say to people who they are.
    """

    count: int
    words: str
    ahead: int = 0
    losses: int = 3

    def submit(self, function: Callable[..., Any], /, *args: Any) -> Future[Any]:
        """Hand in a unit; its future raises `BrokenExecutor` if its worker ended."""
        ...

    def hold(self, function: Callable[..., Any]) -> AbstractContextManager[Callable[..., Any]]:
        """What to hand in for `function` meanwhile: where it is long, it travels once to each worker."""
        return nullcontext(function)

    def check(self) -> None:
        """Say so if nobody is there to work."""
        return


def ordered_map(
    function: Callable[[Unit], Answer], units: Sequence[Unit], workers: Workers | int, what: str = "work unit"
) -> Generator[Answer, None, None]:
    """``function(unit)`` for each of `units`, in their order, as they are ready; errors too come in their turn.

    `workers` may be a number of processes, started for this alone: if one of them ends, so does the whole. `what` a unit is
    called is for people.

    >>> list(ordered_map(len, ["one", "three"], 1))
    [3, 5]
    """
    if isinstance(workers, Workers):
        with workers.hold(function) as handed_in:
            yield from _map_in_order(handed_in, units, workers, what)
    elif min(workers, len(units)) <= 1:
        yield from map(function, units)
    else:
        count = min(workers, len(units))
        with closing(Processes(count, ahead=count, losses=0)) as processes:
            yield from ordered_map(function, units, processes, what)


def as_completed(
    take: Callable[[], Unit | None],
    submit: Callable[[Unit], Future[Answer]],
    workers: Workers,
    words: Callable[[Unit], str],
    remedy: str = "use smaller pools, or workers with more memory",
) -> Iterator[tuple[Unit, Future[Answer]]]:
    """Units with their futures, as they are done: those that `take` gives, until it gives None and none is left.

    `words` say which unit it is that lost a worker, `remedy` what to do about one that loses all.
    """
    running: dict[Future[Answer], tuple[Unit, int]] = {}
    again: list[tuple[Unit, int]] = []
    while True:
        while len(running) < workers.count + workers.ahead:
            if again:
                unit, losses = again.pop()
            elif (taken := take()) is not None:
                unit, losses = taken, 0
            else:
                break
            running[submit(unit)] = unit, losses
        if not running:
            return
        done, _ = wait(running, timeout=_PATIENCE, return_when=FIRST_COMPLETED)
        if not done:
            workers.check()
        for future in done:
            unit, losses = running.pop(future)
            if isinstance(error := future.exception(), BrokenExecutor):
                _check_losses(losses + 1, workers.losses, words(unit), remedy, error)
                again.append((unit, losses + 1))
            else:
                yield unit, future


def _check_losses(losses: int, most: int, which: str, remedy: str, error: BrokenExecutor) -> None:
    if not most:
        raise WorkerLost(
            "a worker process ended before its work was done, perhaps for lack of memory: use fewer workers or smaller pools"
        ) from error
    if losses >= most:
        raise WorkerLost(
            f"one worker after the other ended during {which}, perhaps for lack of memory: {remedy}"
        ) from error
    log.warning("a worker was lost during %s; run again", which)


def _map_in_order(
    function: Callable[[Unit], Answer], units: Sequence[Unit], workers: Workers, what: str
) -> Generator[Answer, None, None]:
    batches, done = _Batches(len(units), workers.count), 0
    early: dict[int, Future[_Batch[Answer]]] = {}  # by first number, until those in front of them are back too

    def submit(numbers: range) -> Future[_Batch[Answer]]:
        return workers.submit(_run_batch, function, units[numbers.start : numbers.stop])

    def words(numbers: range) -> str:
        return f"{what} {numbers[0]}" if len(numbers) == 1 else f"{what}s {numbers[0]} to {numbers[-1]}"

    for numbers, future in as_completed(batches.take, submit, workers, words):
        early[numbers.start] = future
        if future.exception() is None:
            batches.time(len(numbers), future.result().seconds)
        while done in early:
            batch = early.pop(done).result()
            yield from batch.answers
            done += len(batch.answers)
            if batch.refused is not None:
                raise batch.refused


class _Batches:
    """Which units are sent at a time: about a second's, and fewer towards the end, so that all are busy until then."""

    def __init__(self, count: int, workers: int) -> None:
        self._count, self._workers = count, workers
        self._next = 0
        self._seconds, self._timed = 0.0, 0  # that so many units took

    def take(self) -> range | None:
        if self._next == self._count:
            return None
        numbers = range(self._next, self._next + self._size())
        self._next = numbers.stop
        return numbers

    def _size(self) -> int:
        if not self._timed:
            return 1
        second = round(_SECONDS * self._timed / max(self._seconds, 1e-9))
        return max(1, min(_MOST, second, (self._count - self._next) // (2 * self._workers)))

    def time(self, units: int, seconds: float) -> None:
        self._seconds, self._timed = self._seconds + seconds, self._timed + units


@dataclass(frozen=True, kw_only=True)
class _Batch(Generic[Answer]):
    """What a worker returns: answers, to all units unless one was refused."""

    answers: list[Answer]
    refused: ReplicalError | None
    seconds: float


def _run_batch(function: Callable[[Any], Any], units: Sequence[Any]) -> _Batch[Any]:
    started, answers, refused = time.perf_counter(), [], None
    try:
        for unit in units:
            answers.append(function(unit))
    except ReplicalError as error:  # raised when its turn comes, as if one process had run everything
        refused = error
    return _Batch(answers=answers, refused=refused, seconds=time.perf_counter() - started)


# ---- this machine ----


def cores() -> int:
    """Cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@contextmanager
def local(count: int | None) -> Iterator[Workers]:
    """Processes of this machine; every core if left out. One alone is this very process."""
    count = count or cores()
    if count == 1:
        yield ThisProcess()
        return
    with closing(Processes(count)) as processes:
        yield processes


class ThisProcess(Workers):
    """The very process that asks: work is done when it is handed in."""

    def __init__(self, count: int = 1) -> None:
        self.count, self.words = count, f"{count} on this machine"

    def submit(self, function: Callable[..., Any], /, *args: Any) -> Future[Any]:
        """Do it now."""
        done: Future[Any] = Future()
        done.set_result(function(*args))
        return done


class Processes(Workers):
    """Processes of this machine, each on its own: one that ends takes nothing with it but its own work."""

    def __init__(self, count: int, *, ahead: int = 0, losses: int = 3) -> None:
        self.count, self.ahead, self.losses, self.words = count, ahead, losses, f"{count} on this machine"
        self._child_end, self._own_end = multiprocessing.get_context("spawn").Pipe(duplex=False)
        self._held: dict[str, bytes] = {}
        self._each: list[ProcessPoolExecutor] = []
        self._futures: list[list[Future[Any]]] = [[] for _ in range(count)]
        try:
            for _ in range(count):
                self._each.append(self._make())
                self._start(self._each[-1])
        except BaseException:
            self.close()
            raise

    def submit(self, function: Callable[..., Any], /, *args: Any) -> Future[Any]:
        """Hand it to the one that has the least to do, started anew if it ended."""
        self._futures = [[future for future in futures if not future.done()] for futures in self._futures]
        number = min(range(self.count), key=lambda each: len(self._futures[each]))
        try:
            future = _submit(self._each[number], function, *args)
        except BrokenProcessPool:
            self._each[number].shutdown(cancel_futures=True)
            self._each[number] = self._make()
            self._start(self._each[number])
            future = _submit(self._each[number], function, *args)
        self._futures[number].append(future)
        return future

    @contextmanager
    def hold(self, function: Callable[..., Any]) -> Iterator[Callable[..., Any]]:
        """A short name for what all hold meanwhile, those too that are started later."""
        packed = pickle.dumps(function)
        if len(packed) <= _SHORT:
            yield function
            return
        name = _new_name()
        self._held[name] = packed
        try:
            self._tell(_hold, name, packed)
            yield _Held(name)
        finally:
            del self._held[name]
            self._tell(_release, name)

    def close(self) -> None:
        """End them now, whatever they do, and see them off: a parent that leaves first may trip over its own threads."""
        self._own_end.close()
        for each in self._each:
            each.shutdown(cancel_futures=True)

    def _make(self) -> ProcessPoolExecutor:
        context = multiprocessing.get_context("spawn")
        return ProcessPoolExecutor(1, mp_context=context, initializer=_begin, initargs=(self._child_end,))

    def _start(self, process: ProcessPoolExecutor) -> None:
        """Start it now, not with its first unit."""
        _submit(process, int)
        for name, packed in self._held.items():
            _submit(process, _hold, name, packed)

    def _tell(self, function: Callable[..., Any], *args: Any) -> None:
        """All of them; whoever ended, or is gone, is told when it is started anew."""
        for each in self._each:
            with suppress(RuntimeError):  # broken, or shut down
                _submit(each, function, *args)


def _submit(process: ProcessPoolExecutor, function: Callable[..., Any], /, *args: Any) -> Future[Any]:
    """Work for a process; it may start it, which inherits that an interrupt is the parent's business."""
    with _interrupts_held(), _one_thread_each():
        return process.submit(function, *args)


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
def _interrupts_held() -> Iterator[None]:
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


def _begin(child_end: Connection) -> None:
    gc.set_threshold(_GARBAGE)
    threading.Thread(target=_leave_with_the_parent, args=(child_end,), daemon=True).start()


def _leave_with_the_parent(child_end: Connection) -> None:
    """Wait until the parent closes its end, or is no more."""
    parent = multiprocessing.parent_process()
    wait_for([child_end] if parent is None else [child_end, parent.sentinel])
    os._exit(1)


# ---- what a worker holds ----

_held: dict[str, Any] = {}  # what this process holds for units to come, by name; packed until it is called


@dataclass(frozen=True)
class _Held:
    """What a worker holds under a name, called there."""

    name: str

    def __call__(self, *args: Any) -> Any:
        if isinstance(_held[self.name], bytes):
            _held[self.name] = pickle.loads(_held[self.name])
        return _held[self.name](*args)


def _new_name() -> str:
    return f"replical-{uuid4().hex}"


def _hold(name: str, packed: bytes) -> None:
    _held[name] = packed


def _release(name: str) -> None:
    _held.pop(name, None)


# ---- Dask ----


@contextmanager
def cluster(address: str) -> Iterator[Workers]:
    """A Dask cluster: the address of its scheduler, or ``local:N`` for one of N processes started here."""
    dask = need("distributed", "--cluster needs Dask")
    from dask.config import set as configured

    with ExitStack() as stack:
        kind, _, number = address.partition(":")
        if kind == "local":
            if not (number.isascii() and number.isdigit() and len(number) < 5) or not 1 <= int(number) <= 1000:
                raise BadUsage(f"--cluster local:N starts N worker processes, e.g. local:2, got {address!r}")
            with _interrupts_held(), configured(_KEEP_MEMORY):
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
        yield Dask(client, address, threads)


class Dask(Workers):
    """A Dask cluster. It runs the units of a lost worker elsewhere by itself, until they have cost it several."""

    losses = 1

    def __init__(self, client: Any, address: str, threads: int) -> None:
        self._client, self._address = client, address
        self.count, self.ahead, self.words = threads, threads, f"{threads} on Dask at {address}"

    def submit(self, function: Callable[..., Any], /, *args: Any) -> Future[Any]:
        """Hand it in."""
        from distributed.scheduler import KilledWorker

        self._check_scheduler()
        remote, done = self._client.submit(function, *args, pure=False, retries=_RETRIES), Future[Any]()

        async def pass_on() -> None:
            try:
                done.set_result(await remote)
            except KilledWorker as error:
                done.set_exception(BrokenExecutor(str(error)))
            except BaseException as error:
                done.set_exception(self._gone() if remote.status in ("cancelled", "lost") else error)

        self._client.loop.add_callback(pass_on)
        return done

    @contextmanager
    def hold(self, function: Callable[..., Any]) -> Iterator[Callable[..., Any]]:
        """A short name for what all workers hold meanwhile, those too that join later."""
        from cloudpickle import dumps  # what a notebook defines travels too

        packed = dumps(function)
        if len(packed) <= _SHORT:
            yield function
            return
        name = _new_name()
        self._check_scheduler()
        self._client.register_plugin(_plugin(name, packed), name=name)
        try:
            yield _Held(name)
        finally:
            if self._client.status == "running":
                with suppress(Exception):  # the scheduler may go at this very moment; so does what is held
                    self._client.unregister_worker_plugin(name)

    def check(self) -> None:
        """Say so if nobody is there to work."""
        if self._client.status == "running" and not self._client.nthreads():
            log.warning("no worker is left on Dask at %s: waiting for one", self._address)

    def _check_scheduler(self) -> None:
        if self._client.status != "running":
            raise self._gone()

    def _gone(self) -> WorkerLost:
        return WorkerLost(f"the Dask scheduler at {self._address} is gone")


def _plugin(name: str, packed: bytes) -> Any:
    """What Dask starts on every worker: it holds what came with it."""
    from distributed import WorkerPlugin

    class Holder(WorkerPlugin):
        def setup(self, worker: Any) -> None:
            _hold(name, packed)

        def teardown(self, worker: Any) -> None:
            _release(name)

    return Holder()


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
