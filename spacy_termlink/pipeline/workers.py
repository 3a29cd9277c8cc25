"""What a worker process needs before it encodes."""

import multiprocessing
import os
import sys

_settled_pid = None
_imported_pid = os.getpid()


def settle_worker() -> None:
    """In a worker process, encode and search with one thread; once per process, nothing elsewhere.

    The OpenMP pool of the parent does not exist in a forked child: a parallel region there waits
    for ever. And n workers with a pool each would share the processors n times over.
    """
    global _settled_pid
    pid = os.getpid()
    if pid == _settled_pid:
        return
    _settled_pid = pid
    if pid == _imported_pid and multiprocessing.parent_process() is None:
        return
    os.environ["OMP_NUM_THREADS"] = "1"  # for libraries that are not loaded yet
    if torch := sys.modules.get("torch"):
        torch.set_num_threads(1)
    if faiss := sys.modules.get("faiss"):
        faiss.omp_set_num_threads(1)
