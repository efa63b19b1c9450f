"""A typed client of the market's HTTP interface, for agents and for programs of one's own.

Every request that changes something carries a key. When the network or the server fails, the same request is sent again
with the same key, for as long as `patience` says: it has one effect however often it arrives. Give a key of your own
where the program itself may be stopped and started.
"""

from __future__ import annotations

import random
import time
import uuid
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from kantor.errors import KantorError, MissingExtraError

if TYPE_CHECKING:
    import httpx

__all__ = ["Client", "ServiceError"]

_AGAIN = (429, 502, 503, 504)


class ServiceError(KantorError):
    """The market refused, or could not be reached: `kind` and `status` say which (0 if it was not reached)."""

    def __init__(self, status: int, kind: str, detail: str) -> None:
        self.status, self.kind, self.detail = status, kind, detail
        super().__init__(detail)

    def as_dict(self) -> dict[str, Any]:
        """The failure as plain data."""
        return {**super().as_dict(), "status": self.status, "kind": self.kind}


class Client:
    """Requests to one server with one token. Use it in a `with` statement, or `close` it."""

    def __init__(self, url: str, token: str, *, patience: float = 60.0, timeout: float = 30.0) -> None:
        try:
            import httpx
        except ImportError as missing:
            raise MissingExtraError("Talking to a market", "httpx", "market") from missing
        self.url, self.patience = url.rstrip("/"), patience
        headers = {"Authorization": f"Bearer {token}"}
        try:
            self._http: httpx.Client = httpx.Client(
                base_url=self.url, headers=headers, timeout=timeout, trust_env=False
            )
        except (httpx.InvalidURL, ValueError) as fault:
            raise ServiceError(0, "unreachable", f"{url!r} is no address: give http://HOST:PORT ({fault})") from fault

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the connection."""
        self._http.close()

    # ---- accounts

    def me(self) -> dict[str, Any]:
        """Who the token stands for."""
        return self._get("/v1/me")

    def add_account(self, name: str, role: str, key: str | None = None) -> dict[str, Any]:
        """A new account (operator)."""
        return self._post("/v1/accounts", {"name": name, "role": role}, key)

    def add_token(self, account: str, key: str | None = None, **more: Any) -> dict[str, Any]:
        """A new token (operator); `token` in the answer is its text."""
        return self._post("/v1/tokens", {"account": account, **more}, key)

    def revoke(self, token: str, key: str | None = None) -> dict[str, Any]:
        """Revoke a token by its id (operator)."""
        return self._post(f"/v1/tokens/{token}/revocation", None, key)

    # ---- markets

    def markets(self) -> Iterator[dict[str, Any]]:
        """All markets that the token may see, newest first."""
        return self._all("/v1/markets")

    def market(self, market: str) -> dict[str, Any]:
        """One market."""
        return self._get(f"/v1/markets/{market}")

    def create(self, terms: dict[str, Any], key: str | None = None) -> dict[str, Any]:
        """Draft a market (buyer)."""
        return self._post("/v1/markets", terms, key)

    def revise(self, market: str, terms: dict[str, Any], key: str | None = None) -> dict[str, Any]:
        """Other terms for a draft (buyer)."""
        return self._post(f"/v1/markets/{market}/terms", terms, key)

    def deposit(self, market: str, amount: int, reference: str = "", key: str | None = None) -> dict[str, Any]:
        """Say what was paid in, in minor units (buyer)."""
        return self._post(f"/v1/markets/{market}/deposits", {"amount": amount, "reference": reference}, key)

    def deposits(self, market: str) -> list[dict[str, Any]]:
        """A market's deposits (its buyer, operator)."""
        return list(self._all(f"/v1/markets/{market}/deposits"))

    def confirm(self, market: str, deposit: str, key: str | None = None) -> dict[str, Any]:
        """The money is there (operator)."""
        return self._post(f"/v1/markets/{market}/deposits/{deposit}/confirmation", None, key)

    def open(self, market: str, key: str | None = None) -> dict[str, Any]:
        """Freeze the terms and let owners enrol (buyer)."""
        return self._post(f"/v1/markets/{market}/opening", None, key)

    def cancel(self, market: str, reason: str, key: str | None = None) -> dict[str, Any]:
        """Call the market off (buyer, operator)."""
        return self._post(f"/v1/markets/{market}/cancellation", {"reason": reason}, key)

    def result(self, market: str) -> dict[str, Any]:
        """What came out, as far as it is one's business."""
        return self._get(f"/v1/markets/{market}/result")

    def purchase(self, market: str) -> dict[str, Any]:
        """What was bought (buyer)."""
        return self._get(f"/v1/markets/{market}/purchase")

    def doubts(self, market: str) -> list[dict[str, Any]]:
        """Doubts and disputes (operator)."""
        return list(self._get(f"/v1/markets/{market}/doubts"))

    def decide(self, market: str, doubt: str, decision: str, reason: str, key: str | None = None) -> dict[str, Any]:
        """Decide on a doubt: "pay" or "refuse" (operator)."""
        body = {"decision": decision, "reason": reason}
        return self._post(f"/v1/markets/{market}/doubts/{doubt}/decision", body, key)

    def dispute(self, market: str, text: str, owner: str = "", key: str | None = None) -> dict[str, Any]:
        """Object to a delivery (buyer) or to what happened to one's own (owner)."""
        return self._post(f"/v1/markets/{market}/disputes", {"owner": owner, "text": text}, key)

    # ---- owners

    def enrol(self, market: str, said: dict[str, Any], signature: str, key: str | None = None) -> dict[str, Any]:
        """Take part."""
        return self._post(f"/v1/markets/{market}/enrolment", {"enrolment": said, "signature": signature}, key)

    def enrolment(self, market: str) -> dict[str, Any]:
        """One's place in a market."""
        return self._get(f"/v1/markets/{market}/enrolment")

    def invitation(self, market: str) -> dict[str, Any]:
        """Where to send shares; `ready` says whether the parties wait for them."""
        return self._get(f"/v1/markets/{market}/valuation")

    def bid(self, market: str, said: dict[str, Any], signature: str, key: str | None = None) -> dict[str, Any]:
        """Place a sealed bid; the answer is the receipt."""
        return self._post(f"/v1/markets/{market}/bids", {"bid": said, "signature": signature}, key)

    def bids(self, market: str) -> list[dict[str, Any]]:
        """One's own bids."""
        return list(self._get(f"/v1/markets/{market}/bids"))

    def withdraw(self, market: str, said: dict[str, Any], signature: str, key: str | None = None) -> dict[str, Any]:
        """Take a bid back; the answer is a receipt."""
        return self._post(f"/v1/markets/{market}/withdrawals", {"withdrawal": said, "signature": signature}, key)

    def inclusion(self, market: str) -> dict[str, Any]:
        """The proof that one's bid counts."""
        return self._get(f"/v1/markets/{market}/inclusion")

    def deliver(
        self, market: str, said: dict[str, Any], signature: str, values: str, key: str | None = None
    ) -> dict[str, Any]:
        """Hand over noised values; the answer is the receipt."""
        body = {"delivery": said, "signature": signature, "values": values}
        return self._post(f"/v1/markets/{market}/delivery", body, key)

    # ---- records

    def log(self, market: str, after: int = 0) -> Iterator[dict[str, Any]]:
        """The log of a market, from the event after number `after`."""
        return self._all(f"/v1/markets/{market}/log", str(after) if after else None)

    def board(self, market: str) -> dict[str, dict[int, dict[str, Any]]]:
        """What the trustees posted to make the key, by round and trustee."""
        found = self._get(f"/v1/markets/{market}/board")
        return {stage: {int(place): said for place, said in each.items()} for stage, each in found.items()}

    def post(
        self, market: str, stage: str, trustee: int, message: dict[str, Any], key: str | None = None
    ) -> dict[str, Any]:
        """A trustee's message."""
        return self._post(f"/v1/markets/{market}/board/{stage}/{trustee}", {"message": message}, key)

    def closed(self, market: str) -> dict[str, Any]:
        """The closed set, sealed (trustee)."""
        return self._get(f"/v1/markets/{market}/closed")

    def bundle(self, market: str, kind: str = "public") -> bytes:
        """A bundle, byte for byte as it has to be verified."""
        return bytes(self._send("GET", f"/v1/markets/{market}/bundle", params={"kind": kind}).content)

    # ---- sending

    def _all(self, path: str, after: str | None = None) -> Iterator[dict[str, Any]]:
        while True:
            page = self._get(path, limit=500, **({} if after is None else {"after": after}))
            yield from page["items"]
            after = page["next"]
            if after is None:
                return

    def _get(self, path: str, **params: Any) -> Any:
        return self._send("GET", path, params=params).json()

    def _post(self, path: str, body: dict[str, Any] | None, key: str | None) -> Any:
        return self._send("POST", path, json=body, headers={"Idempotency-Key": key or str(uuid.uuid4())}).json()

    def _send(self, method: str, path: str, **more: Any) -> httpx.Response:
        import httpx

        until, wait = time.monotonic() + self.patience, 0.05
        while True:
            try:
                answer = self._http.request(method, path, **more)
            except httpx.TransportError as fault:
                failure = ServiceError(
                    0, "unreachable", f"{self.url} cannot be reached ({fault}). See whether the server runs."
                )
            else:
                if answer.status_code < 400:
                    return answer
                failure = _failure(answer)
                if answer.status_code not in _AGAIN:
                    raise failure
                wait = max(wait, float(answer.headers.get("Retry-After", 0)) * 0.5)
            if time.monotonic() + wait > until:
                raise failure
            time.sleep(wait * random.uniform(0.7, 1.3))  # noqa: S311  only spreads retries
            wait = min(2 * wait, 2.0)


def _failure(answer: httpx.Response) -> ServiceError:
    try:
        said = answer.json()
        kind = str(said["type"]).rpartition(":")[2]
        return ServiceError(answer.status_code, kind, str(said["detail"]))
    except (ValueError, KeyError, TypeError):
        return ServiceError(
            answer.status_code, "unreadable", f"the server answered {answer.status_code} in no known form"
        )
