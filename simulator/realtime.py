"""The real-time host: the same steps, each told when a real clock reaches its end.

Steps stand on absolute model time. A host that wakes late tells the step late and starts the next
one where the model has it, so lateness doesn't add up; it is measured and handed on.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from simulator.core.engine import Engine
from simulator.core.request import Request, Sequence
from simulator.core.step import Step


class Listener(Protocol):
    """Whoever waits for the tokens of one request."""

    def token(self, *, last: bool) -> None: ...


class Timer(Protocol):
    """What ``call_at`` gives back."""

    def cancel(self) -> object: ...


CallAt = Callable[[float, Callable[[], None]], Timer]
OnStep = Callable[[Step, float], None]
"""Called with each step once it is told, and how late its last token was."""


class RealTimeHost:
    """Owns one engine. ``clock`` gives model seconds; ``call_at`` calls back at a model time."""

    def __init__(
        self, engine: Engine, *, clock: Callable[[], float], call_at: CallAt, on_step: OnStep
    ) -> None:
        self.engine = engine
        self.step: Step | None = None
        """The step that runs now: computed, but not told yet."""
        self._clock = clock
        self._call_at = call_at
        self._on_step = on_step
        self._listeners: dict[str, Listener] = {}
        self._timer: Timer | None = None
        self._armed_for = 0.0

    def submit(self, request: Request, listener: Listener) -> Sequence:
        """Take a request that arrives now; QueueFull if the engine refuses it."""
        sequence = self.engine.add(request, self._clock())
        self._listeners[request.id] = listener
        self._arm()
        return sequence

    def abort(self, request_id: str) -> bool:
        """Forget a request whose client has gone, at once; False if it was over.

        At once is by the real clock: a host that is behind stops a little early in model time.
        """
        if self._listeners.pop(request_id, None) is None:
            return False
        self.engine.abort(request_id)
        return True

    def close(self) -> None:
        """Tell nothing more."""
        self._listeners.clear()
        if self._timer is not None:
            self._timer.cancel()

    def _arm(self) -> None:
        due = self.step.end if self.step is not None else self.engine.next_step_at()
        if due is None or (self._timer is not None and self._armed_for <= due):
            return
        if self._timer is not None:
            self._timer.cancel()
        self._armed_for = due
        self._timer = self._call_at(due, self._wake)

    def _wake(self) -> None:
        """Tell the step that ended and begin the next: one of each, then the loop gets its turn."""
        self._timer = None
        now = self._clock()
        if self.step is not None and self.step.end <= now:
            step, self.step = self.step, None
            self._tell(step)
        if self.step is None:
            due = self.engine.next_step_at()
            if due is not None and due <= now:
                self.step = self.engine.step(due)
        self._arm()

    def _tell(self, step: Step) -> None:
        finished = {sequence.request.id for sequence in step.finished}
        for sequence in step.emitted:
            name = sequence.request.id
            last = name in finished
            listener = self._listeners.pop(name, None) if last else self._listeners.get(name)
            if listener is not None:
                listener.token(last=last)
        self._on_step(step, self._clock() - step.end)
