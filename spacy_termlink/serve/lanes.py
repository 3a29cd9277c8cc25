"""Work off the event loop: a few threads, a bounded queue, a time limit."""

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar

from ..errors import TermlinkError

Result = TypeVar("Result")


class Lane:
    """Threads for one kind of request. What has begun cannot be stopped, so a call that ran out of
    time keeps its thread until it ends; what only waited is dropped.

    name (str): Of its threads.
    threads (int): Calls at a time.
    most (int): Calls that may wait or run; further ones are refused at once.
    seconds (float): Time limit of a call, waiting included.
    """

    def __init__(self, name: str, *, threads: int, most: int, seconds: float) -> None:
        self.most = most
        self.seconds = seconds
        self._executor = ThreadPoolExecutor(threads, thread_name_prefix=name)
        self._lock = threading.Lock()
        self._n_inside = 0

    async def run(self, function: Callable[..., Result], *args: Any, **kwargs: Any) -> Result:
        """Call a function in a thread of the lane.

        RAISES (TermlinkError): TL852 after the time limit, TL853 where too many calls wait; what the
            function raises.
        """
        with self._lock:
            if self._n_inside >= self.most:
                raise TermlinkError("TL853", n=self.most)
            self._n_inside += 1
        future = self._executor.submit(function, *args, **kwargs)
        future.add_done_callback(self._leave)
        try:
            return await asyncio.wait_for(asyncio.wrap_future(future), self.seconds)
        except asyncio.TimeoutError:
            raise TermlinkError("TL852", seconds=f"{self.seconds:g}") from None

    def _leave(self, _: "Future[Any]") -> None:
        with self._lock:
            self._n_inside -= 1

    def close(self) -> None:
        """Drop what waits; what runs ends by itself."""
        self._executor.shutdown(wait=False, cancel_futures=True)
