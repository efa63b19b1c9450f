"""What a running market refuses, with what the caller should do; HTTP gives each its status.

The kinds are few, because a program acts on the kind: mend the request (invalid), sign in (unauthorised), do not ask
again (forbidden, missing), look at the state and decide (conflict, late), wait (busy).
"""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from kantor.errors import InputError, KantorError

__all__ = [
    "BusyError",
    "ConflictError",
    "ForbiddenError",
    "LateError",
    "MissingError",
    "RefusedError",
    "StoreError",
    "UnauthorisedError",
    "place_of",
]


class RefusedError(InputError):
    """A request that is not granted."""

    status: ClassVar[int] = 422
    kind: ClassVar[str] = "invalid"


class UnauthorisedError(RefusedError):
    """Nobody known asks."""

    status = 401
    kind = "unauthorised"


class ForbiddenError(RefusedError):
    """Somebody asks who may not."""

    status = 403
    kind = "forbidden"


class MissingError(RefusedError):
    """There is no such thing, or none that the caller may know of."""

    status = 404
    kind = "missing"


class ConflictError(RefusedError):
    """The market is not in a state for this, or it was done otherwise already."""

    status = 409
    kind = "conflict"


class LateError(ConflictError):
    """The time for this is over, by the server's clock."""

    kind = "late"


class BusyError(RefusedError):
    """Too many requests."""

    status = 429
    kind = "busy"


class StoreError(KantorError):
    """The store did not say whether it kept something: ask again, with the same key."""

    status: ClassVar[int] = 503
    kind: ClassVar[str] = "unavailable"
    remedy = "Send the same request again with the same Idempotency-Key: it takes effect once."

    @classmethod
    def of(cls, fault: SQLAlchemyError) -> StoreError:
        """From what the database said; its statement and values stay out of it."""
        kind = type(fault.orig if isinstance(fault, DBAPIError) else fault).__name__
        return cls(f"the store is not available ({kind}). {cls.remedy}")


def place_of(fault: BaseException) -> str:
    """Where something failed, without anything that it says: a message may hold data."""
    last = fault.__traceback__
    while last is not None and last.tb_next is not None:
        last = last.tb_next
    return "unknown" if last is None else f"{Path(last.tb_frame.f_code.co_filename).name}:{last.tb_lineno}"
