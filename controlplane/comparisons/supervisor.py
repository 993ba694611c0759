"""Watch one comparison's worker: a run's supervisor that also hears blocks and progress."""

from __future__ import annotations

from controlplane.comparisons.ledger import ComparisonLedger
from controlplane.runs.child import Message
from controlplane.runs.supervisor import Supervisor


class ComparisonSupervisor(Supervisor):
    """Deadlines, heartbeat, cancelling and the end are those of a run."""

    _ledger: ComparisonLedger

    def _take(self, message: Message) -> None:
        kind = message["type"]
        if kind == "block":
            self._ledger.hear_block(message)
            # A model closes many blocks a second; what is not stored now is with the next beat.
            if self._clock() - self._last_stored >= self._deadlines.poll:
                self._store()
        elif kind == "progress":
            self._ledger.hear_progress(message)
            self._store()
        elif kind == "finished":
            super()._take({**message, "summary": message.get("result")})
        else:
            super()._take(message)
