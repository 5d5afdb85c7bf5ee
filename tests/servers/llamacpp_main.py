"""The process started by ``llamacpp.py``: ``llamacpp_main.py MODEL N_CTX SLOTS``; prints its address."""

import os
import signal
import sys

import xllamacpp  # type: ignore[import-untyped]


def serve(model: str, n_ctx: int, slots: int) -> None:
    """Run the server until SIGTERM, or until stdin is closed because the parent has exited."""
    params = xllamacpp.CommonParams()
    params.model.path = model
    params.model_alias = ["scripted"]
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.n_ctx = n_ctx * slots
    params.n_parallel = slots
    params.cpuparams.n_threads = 1
    params.use_jinja = True
    params.warmup = False
    params.fit_params = False
    server = xllamacpp.Server(params)
    # The server's destructor would wait for requests whose clients no longer read.
    signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
    print(server.listening_address, flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    serve(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
