"""`memscope serve`: one process, or several behind one port.

Several workers accept from one listening socket, so any of them may get any request. That suits modern MCP clients, the
console and everything else; only a legacy MCP session lives in the process that made it. So each worker writes its
number before the session ids it gives out, and hands a request for another worker's session to that worker, over a Unix
socket in a folder that only this server's user may enter (`memscope.serving.process.Sticky`).
"""

from __future__ import annotations

import logging
import multiprocessing
import multiprocessing.connection
import os
import signal
import socket
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

from memscope.app import MemScope
from memscope.errors import StartError
from memscope.serving.process import Place, run_server
from memscope.settings import Settings

log = logging.getLogger(__name__)

STOP_S = 15
"""How long a worker may take to stop."""
_QUICK_DEATH_S = 10
_QUICK_DEATHS_MAX = 3

Announce = Callable[[MemScope, str], None]
"""Called once with the open MemScope and the address it listens on."""


def serve(settings: Settings, announce: Announce) -> int:
    """Serve until told to stop (SIGINT, SIGTERM); the exit code. Raises StartError with what to do."""
    with listening(settings.server.host, settings.server.port) as socket_, MemScope.from_settings(settings) as app:
        address = url(socket_)
        if settings.server.workers == 1:
            run_server(app, [socket_], lambda: announce(app, address))
            return 0
        # This process keeps the storage open for its workers, and an embedded database running with it.
        return _supervise(settings, socket_, lambda: announce(app, address))


@contextmanager
def listening(host: str, port: int) -> Iterator[socket.socket]:
    """A listening socket (port 0: any free one). Raises StartError when the address cannot be had."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # asyncio sends small answers at once (TCP_NODELAY) only over sockets that say they are TCP; else each waits 40 ms for an acknowledgement.
    with socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((host, port))
            listener.listen(2048)
        except OSError as failure:
            raise StartError(f"Cannot listen on {host} port {port}: {failure.strerror}. Choose others with --host and --port.") from None
        yield listener


def url(listener: socket.socket) -> str:
    """The address of a listening socket."""
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def _supervise(settings: Settings, listener: socket.socket, announce: Callable[[], None]) -> int:
    context = multiprocessing.get_context("spawn")
    stop = threading.Event()
    heard, ready = context.Pipe(duplex=False)

    def told(number: int, frame: object) -> None:
        stop.set()
        ready.send(None)

    previous = {number: signal.signal(number, told) for number in (signal.SIGINT, signal.SIGTERM)}
    code = 0
    with tempfile.TemporaryDirectory(prefix="memscope-") as folder:

        def start(number: int) -> tuple[BaseProcess, float]:
            process = context.Process(target=_work, args=(settings, listener, number, folder, ready), name=f"worker-{number}")
            process.start()
            return process, time.monotonic()

        workers = {number: start(number) for number in range(settings.server.workers)}
        announced = False
        quick = 0
        while not stop.is_set():
            multiprocessing.connection.wait([heard, *(process.sentinel for process, _ in workers.values())])
            while heard.poll():
                # The number of a worker that listens now, or None when told to stop.
                if heard.recv() is not None and not announced:
                    announced = True
                    announce()
            for number, (process, since) in list(workers.items()):
                if stop.is_set() or process.is_alive():
                    continue
                quick = quick + 1 if time.monotonic() - since < _QUICK_DEATH_S else 0
                log.error("worker %d ended with code %s", number, process.exitcode)
                if quick >= _QUICK_DEATHS_MAX:
                    log.error("workers keep ending; stopping")
                    code = 1
                    stop.set()
                else:
                    workers[number] = start(number)
        for process, _ in workers.values():
            process.terminate()
        for process, _ in workers.values():
            process.join(STOP_S)
            if process.is_alive():
                process.kill()
                process.join()
    for number, handler in previous.items():
        signal.signal(number, handler)
    heard.close()
    ready.close()
    return code


def _work(settings: Settings, listener: socket.socket, number: int, folder: str, ready: Any) -> None:
    """One worker process."""
    place = Place(number, settings.server.workers, folder)
    logging.basicConfig(level=settings.log.level.upper(), format="%(asctime)s %(levelname)s %(name)s %(message)s")
    threading.Thread(target=_end_with_parent, daemon=True).start()
    path = place.socket_of(number)
    Path(path).unlink(missing_ok=True)
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as siblings, MemScope.from_settings(settings) as app:
        siblings.bind(path)
        siblings.listen(128)
        run_server(app, [listener, siblings], lambda: ready.send(number), place)


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os.kill(os.getpid(), signal.SIGTERM)
