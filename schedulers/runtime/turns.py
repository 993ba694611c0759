"""The lines that a waiting room's decisions have in the controller trace."""

from __future__ import annotations

from schedulers.admission import base as admission
from schedulers.decision import Decision, DecisionPoint, Reason
from schedulers.runtime.deciding import Deciding
from schedulers.runtime.waiting_room import Admitted, Sent, WaitingRoom

ROOM = "waiting_room"
"""Stands as the law where the room's own bounds send a request away."""
_OF_THE_ROOM = (Reason.QUEUE_FULL, Reason.DISPLACED, Reason.EXPIRED)


class Turns:
    """A line for whoever is let go or sent away, and one where somebody goes out of turn."""

    def __init__(self, room: WaitingRoom, said: Deciding) -> None:
        self._room = room
        self._said = said

    def went(self, went: Admitted, now: float) -> None:
        """It goes to the engine."""
        answer = admission.Answer(
            action=admission.Action.ADMIT,
            reason=went.reason,
            inputs={"tokens": went.reservation.tokens, "waiting": float(len(self._room))},
        )
        self._said.tell(admission.decided(self._room.laws.admission, went.request, answer, now))
        ahead = self._room.ahead_of(went.request.serial)
        if ahead:
            self._order(1.0 + ahead, 1.0, Reason.IN_TURN, now)

    def held(self, now: float) -> None:
        """All that wait are held: told where the law sees too little of the engine, or they would
        wait out their time without a word."""
        if self._room.held_blind is None:
            return
        request, answer = self._room.held_blind
        law = self._room.laws.admission
        self._said.tell_changes(
            DecisionPoint.ADMISSION,
            answer.reason,
            now,
            lambda: admission.decided(law, request, answer, now),
        )

    def sent(self, sent: Sent, now: float) -> None:
        """It is sent away."""
        if sent.reason is Reason.HOPELESS:
            self._order(0.0, 0.0, Reason.HOPELESS, now)
            return
        law = self._room.laws.admission.name
        asked = sent.request.prompt_tokens + sent.request.output()
        inputs = {"shed": 1.0, "retry_after_s": sent.retry_after_s}
        name = ROOM if sent.reason in _OF_THE_ROOM else law
        point = DecisionPoint.ADMISSION
        self._said.tell(Decision(now, point, name, asked, 0.0, sent.reason, inputs))

    def _order(self, before: float, after: float, reason: Reason, now: float) -> None:
        law, inputs = self._room.laws.ordering.name, {"waiting": float(len(self._room))}
        self._said.tell(Decision(now, DecisionPoint.ORDERING, law, before, after, reason, inputs))
