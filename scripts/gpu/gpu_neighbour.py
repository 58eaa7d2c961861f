"""Process on the first GPU, using only CUDA's driver, that holds memory or works for a share of the time.

`python -m scripts.gpu.gpu_neighbour [--gib 2] [--share 1.0]` prints "ready" when it has begun, and runs until it is
ended. In each tenth of a second the GPU overwrites the memory for the given share; with 0 it only holds the memory.
"""

from __future__ import annotations

import argparse
import ctypes
import sys
import time

PERIOD_S = 0.1
AT_ONCE = 4  # writes on their way: the GPU never waits for us, and stops soon


class Gpu:
    """Memory on the first GPU that CUDA shows; ends the process with CUDA's error number if a call fails."""

    def __init__(self, size_bytes: int) -> None:
        self._cuda = ctypes.CDLL("libcuda.so.1")
        self._words = ctypes.c_size_t(size_bytes // 4)
        context, self._memory = ctypes.c_void_p(), ctypes.c_uint64()
        self._call("cuInit", 0)
        self._call("cuDevicePrimaryCtxRetain", ctypes.byref(context), 0)
        self._call("cuCtxSetCurrent", context)
        self._call("cuMemAlloc_v2", ctypes.byref(self._memory), ctypes.c_size_t(size_bytes))
        self.write()

    def write(self) -> None:
        """Overwrite all of it a few times; return when the GPU has finished."""
        for _ in range(AT_ONCE):
            self._call("cuMemsetD32_v2", self._memory, 7, self._words)
        self._call("cuCtxSynchronize")

    def _call(self, name: str, *arguments: object) -> None:
        if code := getattr(self._cuda, name)(*arguments):
            sys.exit(f"{name} failed with {code}")


def work(gpu: Gpu, share: float) -> None:
    """Work forever."""
    while True:
        began = time.monotonic()
        while time.monotonic() - began < share * PERIOD_S:
            gpu.write()
        time.sleep(max(0.0, began + PERIOD_S - time.monotonic()) if share < 1 else 0.0)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--gib", type=float, default=2.0)
    parser.add_argument("--share", type=float, default=1.0, help="of the time in which it works")
    flags = parser.parse_args()
    gpu = Gpu(int(flags.gib * 2**30))
    print("ready", flush=True)
    work(gpu, flags.share)


if __name__ == "__main__":
    main()
