"""The family of children: started in order, watched, restarted when one falls, ended in reverse."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from pathlib import Path

from headway.embedded.child import Child, Spec
from headway.embedded.data_dir import CannotStart

RESTARTS, RESTART_WINDOW = 5, 60.0
"""A child that falls more often than this many times in so many seconds ends everything."""


class Family:
    """Children by name. ``clock`` and ``sleep`` come in, so that tests need not wait."""

    def __init__(
        self,
        *,
        environment: Mapping[str, str],
        logs: Path,
        clock: Callable[[], float],
        sleep: Callable[[float], None],
        say: Callable[[str], None],
    ) -> None:
        self._environment, self._logs = environment, logs
        self._clock, self._sleep, self._say = clock, sleep, say
        self._children: dict[str, Child] = {}
        self._falls: dict[str, deque[float]] = {}

    def start(self, spec: Spec) -> Child:
        """Start one child; it need not be ready yet."""
        child = Child(spec, environment=self._environment, logs=self._logs)
        self._children[spec.name] = child
        return child

    def wait_ready(self, child: Child) -> None:
        """Until the child can be used; CannotStart tells why when it can't."""
        deadline = self._clock() + child.spec.ready_within
        while not child.spec.ready():
            if child.exit_code is not None:
                raise CannotStart(
                    f"{child.spec.name} ended at once with code {child.exit_code}; "
                    f"its log {child.log} ends:\n{child.last_lines()}"
                )
            if self._clock() > deadline:
                raise CannotStart(
                    f"{child.spec.name} did not answer within {child.spec.ready_within:g} s; "
                    f"its log is {child.log}"
                )
            self._sleep(0.05)

    def revive(self) -> None:
        """Start again what has fallen; CannotStart when one keeps falling."""
        for name, child in list(self._children.items()):
            code = child.exit_code
            if code is None:
                continue
            child.reap(within=0)
            falls = self._falls.setdefault(name, deque(maxlen=RESTARTS))
            now = self._clock()
            if len(falls) == RESTARTS and now - falls[0] < RESTART_WINDOW:
                raise CannotStart(
                    f"{name} fell {RESTARTS + 1} times within {RESTART_WINDOW:g} s; "
                    f"its log {child.log} ends:\n{child.last_lines()}"
                )
            falls.append(now)
            self._say(f"{name} ended with code {code}; starting it again (log: {child.log})")
            self.start(child.spec)

    def end(self) -> None:
        """End every child, last started first, each with its own deadline; none is left."""
        children = list(self._children.values())[::-1]
        for child in children:
            child.terminate()
            child.reap(within=child.spec.stop_after)
        self._children.clear()
