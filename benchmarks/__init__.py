"""Speed of noregret beside its peers, each on one thread: `python -m benchmarks --help`."""

import os

for _pool in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[_pool] = "1"  # before NumPy is imported: idle BLAS threads spin, which slows a peer on a busy machine
