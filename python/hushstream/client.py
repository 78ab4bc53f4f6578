"""A client of `hushstream serve`, from the standard library alone.

`Client` waits for its answers, `AsyncClient` has the same methods to be awaited:

    from hushstream.client import Client

    hush = Client("http://127.0.0.1:7070", token)
    decision = hush.decide("banner", {"age": 31, "device": "phone"})
    hush.reward("banner", decision.event_id, 1.0)

A decision can be asked again with the same `event_id`, and is then the same; a reward can be told
again with the same `reward_id`, and counts once. So both are sent again if the server is busy or was
not reached.
"""

from __future__ import annotations

import asyncio
import base64
import concurrent.futures
import functools
import http.client
import json
import math
import queue
import ssl
import threading
import time
import urllib.parse
import uuid
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NoReturn

__all__ = ["AsyncClient", "Client", "Decision", "Event", "Refusal", "Slot"]

#: Seconds after which a connection is not used again.
_IDLE = 4.0

#: A value of a context: None or NaN is missing.
Value = float | int | str | bool | None


class Refusal(Exception):
    """The server refused: `status`, `detail` in words, and `place` in what was sent, or None."""

    def __init__(self, status: int, detail: str, place: str | None = None):
        super().__init__(f"{detail} ({place})" if place else detail)
        self.status, self.detail, self.place = status, detail, place


@dataclass(frozen=True)
class Decision:
    """The answer to one person's question: for that person and nobody else."""

    event_id: str
    action: str
    probability: float
    ranking: tuple[tuple[str, float], ...]
    policy: int
    learning: bool
    closes_by: str | None


@dataclass(frozen=True)
class Slot:
    """A place for a decision that is made elsewhere, with this version of the policy.

    `learning` is false once all batches are given out: there is nothing to fill then.
    """

    event_id: str
    policy: int
    learning: bool
    closes_by: str | None


@dataclass(frozen=True)
class Event:
    """Something that happened to a model: `state`, `slots`, `closed`, `released` or `finished`."""

    event: str
    data: dict[str, Any]


def _decision(told: dict[str, Any]) -> Decision:
    ranking = tuple((each["action"], each["probability"]) for each in told["ranking"])
    known = {name: told[name] for name in ("event_id", "action", "probability", "policy")}
    return Decision(
        **known, ranking=ranking, learning=told["learning"], closes_by=told.get("closes_by")
    )


def _slot(told: dict[str, Any]) -> Slot:
    learning = told.get("learning", True)
    return Slot(told["event_id"], told["policy"], learning, told.get("closes_by"))


def _same(told: Any) -> Any:
    return told


def _nothing(_: Any) -> None:
    return None


def _lines(text: str) -> list[Any]:
    return [json.loads(line) for line in text.splitlines() if line.strip()]


def _part(name: str) -> str:
    return urllib.parse.quote(name, safe="")


def _model(name: str) -> str:
    return f"/v1/models/{_part(name)}"


def _plain(row: Mapping[str, Any]) -> dict[str, Any]:
    """A row for JSON: numbers of numpy are numbers, NaN is missing."""
    plain: dict[str, Any] = {}
    for name, value in row.items():
        if not isinstance(value, str | bool | int | float | None):
            value = value.item() if hasattr(value, "item") else value
        if isinstance(value, float) and not math.isfinite(value):
            if not math.isnan(value):
                raise ValueError(f"the value of {name} is not finite")
            value = None
        plain[name] = value
    return plain


def _batch(source: str, batch: int, parts: Iterable[bytes]) -> dict[str, Any]:
    coded = [base64.b64encode(part).decode() for part in parts]
    return {"source": source, "batch": int(batch), "parts": coded}


def _id(event_id: str | None) -> str:
    return str(uuid.uuid4()) if event_id is None else event_id


class _Calls:
    """What can be asked. `_ask` sends it, and gives an answer or something to be awaited."""

    def _ask(self, method: str, path: str, body: Any = None, **how: Any) -> Any:
        raise NotImplementedError

    # The node.

    def whoami(self) -> Any:
        """The tenant, the role and the id of the token."""
        return self._ask("GET", "/v1/whoami")

    def tokens(self, tenant: str) -> Any:
        """The tokens of a tenant, without their secrets."""
        path = f"/v1/tenants/{_part(tenant)}/tokens"
        return self._ask("GET", path, read=lambda told: told["tokens"])

    def make_tenant(self, tenant: str) -> Any:
        """Makes a tenant (admin)."""
        return self._ask("PUT", f"/v1/tenants/{_part(tenant)}", {}, again=True)

    def make_token(
        self,
        tenant: str,
        role: str,
        models: list[str] | None = None,
        expires: str | None = None,
    ) -> Any:
        """Makes a token; it is shown this once."""
        wishes = {"role": role, "models": models, "expires": expires}
        body = {name: value for name, value in wishes.items() if value is not None}
        return self._ask("POST", f"/v1/tenants/{_part(tenant)}/tokens", body)

    def end_token(self, tenant: str, token: str) -> Any:
        """Ends a token, by its id."""
        path = f"/v1/tenants/{_part(tenant)}/tokens/{_part(token)}"
        return self._ask("DELETE", path, read=_nothing)

    def audit(self, after: int = 0) -> Any:
        """Rows of the audit log (operator, admin)."""
        return self._ask("GET", f"/v1/audit?after={int(after)}", read=_lines, text=True)

    # Data sets.

    def datasets(self) -> Any:
        """All data sets, with what is spent of their budgets."""
        return self._ask("GET", "/v1/datasets", read=lambda told: told["datasets"])

    def dataset(self, name: str) -> Any:
        """A data set, with its charges."""
        return self._ask("GET", f"/v1/datasets/{_part(name)}")

    def make_dataset(
        self,
        name: str,
        epsilon: float,
        delta: float = 0.0,
        adjacency: str = "replace-one",
        persons: bool = False,
    ) -> Any:
        """Promises a budget about the people of a data set (operator)."""
        body = dict(epsilon=epsilon, delta=delta, adjacency=adjacency, persons=persons)
        return self._ask("PUT", f"/v1/datasets/{_part(name)}", body, again=True)

    def raise_budget(self, name: str, epsilon: float, delta: float, reason: str) -> Any:
        """Raises the budget of a data set: a decision about the people in it (operator)."""
        body = dict(epsilon=epsilon, delta=delta, reason=reason)
        return self._ask("POST", f"/v1/datasets/{_part(name)}/budget", body)

    def forget(
        self,
        dataset: str,
        *,
        person: str | None = None,
        model: str | None = None,
        event_ids: Iterable[str] | None = None,
    ) -> Any:
        """Empties slots of a person, or of some events, that are not learned from (operator)."""
        if (person is None) == (event_ids is None) or (model is None) != (event_ids is None):
            raise ValueError("name a person, or a model and event_ids")
        body: dict[str, Any] = {"person": person}
        if event_ids is not None:
            body = {"model": model, "event_ids": list(event_ids)}
        return self._ask("POST", f"/v1/datasets/{_part(dataset)}/forget", body)

    # Models.

    def plan(self, **settings: Any) -> Any:
        """What a model with these settings would be and cost; spends nothing (operator)."""
        return self._ask("POST", "/v1/models:plan", settings, again=True)

    def make_model(self, name: str, **settings: Any) -> Any:
        """Charges the data set and begins a model (operator)."""
        return self._ask("PUT", _model(name), settings, again=True)

    def models(self) -> Any:
        """All models."""
        return self._ask("GET", "/v1/models", read=lambda told: told["models"])

    def model(self, name: str) -> Any:
        """A model: how far it is, and what is promised."""
        return self._ask("GET", _model(name))

    def pause(self, name: str) -> Any:
        """Pauses learning with the next batch (operator)."""
        return self._ask("POST", f"{_model(name)}:pause", read=_nothing)

    def resume(self, name: str) -> Any:
        """Goes on with the next batch (operator)."""
        return self._ask("POST", f"{_model(name)}:resume", read=_nothing)

    def close_batch(self, name: str) -> Any:
        """Makes batches no longer than the open one is now (operator)."""
        return self._ask("POST", f"{_model(name)}:close-batch", read=_nothing)

    def operator(self, name: str) -> Any:
        """Exact numbers, for the operator and nobody else."""
        return self._ask("GET", f"{_model(name)}/operator")

    # Decisions.

    def decide(
        self,
        model: str,
        context: Mapping[str, Value],
        *,
        event_id: str | None = None,
        actions: Iterable[str] | None = None,
        exclude: Iterable[str] | None = None,
        person: str | None = None,
        defer: bool = False,
    ) -> Any:
        """Asks for a decision: a `Decision`."""
        body: dict[str, Any] = {"event_id": _id(event_id), "context": _plain(context)}
        if actions is not None:
            body["actions"] = list(actions)
        if exclude is not None:
            body["exclude"] = list(exclude)
        if person is not None:
            body["person"] = person
        if defer:
            body["defer"] = True
        return self._ask("POST", f"{_model(model)}/decisions", body, read=_decision, again=True)

    def reward(self, model: str, event_id: str, value: float, reward_id: str | None = None) -> Any:
        """Tells what a decision earned; refused with 410 once its batch is closed.

        A reward that is told again with its `reward_id` counts once; without one it gets a random
        one, and a second call is a second reward.
        """
        path = f"{_model(model)}/decisions/{_part(event_id)}/reward"
        body = {"value": float(value), "reward_id": _id(reward_id)}
        return self._ask("POST", path, body, read=_nothing, again=True)

    def activate(self, model: str, event_id: str) -> Any:
        """Makes a deferred decision count."""
        path = f"{_model(model)}/decisions/{_part(event_id)}/activate"
        return self._ask("POST", path, read=_nothing, again=True)

    def slot(self, model: str, event_id: str | None = None) -> Any:
        """Takes a `Slot` for a decision that is made elsewhere, before its outcome is known."""
        body = {"event_id": _id(event_id)}
        return self._ask("POST", f"{_model(model)}/slots", body, read=_slot, again=True)

    def fill(
        self,
        model: str,
        slot: Slot,
        context: Mapping[str, Value],
        action: str,
        value: float | None = None,
        person: str | None = None,
    ) -> Any:
        """Fills a slot with what was decided and, perhaps, what it earned."""
        body: dict[str, Any] = {"policy": slot.policy, "context": _plain(context), "action": action}
        if value is not None:
            body["value"] = float(value)
        if person is not None:
            body["person"] = person
        path = f"{_model(model)}/slots/{_part(slot.event_id)}"
        return self._ask("PUT", path, body, read=_nothing)

    # Records and predictions.

    def records(self, model: str, rows: Iterable[Mapping[str, Any]]) -> Any:
        """Brings records: each has `features`, and perhaps `target`, `event_id` and `person`."""
        lines = []
        for row in rows:
            line = {"event_id": _id(row.get("event_id")), "features": _plain(row["features"])}
            more = _plain({key: row[key] for key in ("target", "person") if key in row})
            lines.append(json.dumps({**line, **more}) + "\n")
        return self._ask("POST", f"{_model(model)}/records", "".join(lines), again=True)

    def target(self, model: str, event_id: str, value: Value) -> Any:
        """Brings the target of a record that had none."""
        path = f"{_model(model)}/records/{_part(event_id)}/target"
        return self._ask("PUT", path, _plain({"value": value}), read=_nothing)

    def predict(self, model: str, rows: Iterable[Mapping[str, Value]]) -> Any:
        """Predicts rows with the published model."""
        body = {"rows": [_plain(row) for row in rows]}
        path = f"{_model(model)}/predict"
        return self._ask("POST", path, body, read=lambda told: told["predictions"], again=True)

    # Sums that workers make elsewhere: hushstream.elsewhere.Remote is built on these.

    def question(self, model: str) -> Any:
        """What workers are asked next, in base64, and the last batch that was taken."""
        return self._ask("GET", f"{_model(model)}/question")

    def batch(self, model: str, source: str, batch: int, parts: Iterable[bytes]) -> Any:
        """Brings a batch of sums, which are **as private as their rows**; it is taken once."""
        path = f"{_model(model)}/batches"
        return self._ask("POST", path, _batch(source, batch, parts), again=True)

    def accept_source(
        self,
        model: str,
        source: str,
        batch: int,
        parts: Iterable[bytes],
        first: Mapping[str, int],
        reason: str,
    ) -> Any:
        """Brings the first batch of a new source (operator).

        ``first`` states the first position of every partition that was never learned. **If it is
        wrong, people are counted twice, and the guarantee does not hold for them.** The reason is
        in the audit log.
        """
        body = {**_batch(source, batch, parts), "first": dict(first), "reason": reason}
        return self._ask("POST", f"{_model(model)}:accept-source", body, again=True)

    # What is released.

    def policy(self, model: str, version: int | None = None) -> Any:
        """The published file of a policy or model, as a dict."""
        query = "" if version is None else f"?version={int(version)}"
        return self._ask("GET", f"{_model(model)}/policy{query}")

    def policy_file(self, model: str, version: int | None = None) -> Any:
        """The same file as a text, byte for byte: to be kept, or loaded with `load_model`."""
        query = "" if version is None else f"?version={int(version)}"
        return self._ask("GET", f"{_model(model)}/policy{query}", read=_same, text=True)

    def releases(self, model: str, after: int = 0) -> Any:
        """Releases after a version, at most 1,000."""
        path = f"{_model(model)}/releases?after={int(after)}"
        return self._ask("GET", path, read=_lines, text=True)

    def evaluation(self, model: str) -> Any:
        """What policies earn, estimated privately."""
        return self._ask("GET", f"{_model(model)}/evaluation")


def _refuse(status: int, reason: str, data: bytes) -> NoReturn:
    try:
        told = json.loads(data)
        raise Refusal(status, told["detail"], told.get("place"))
    except (ValueError, KeyError, TypeError, AttributeError):
        raise Refusal(status, reason) from None


class Client(_Calls):
    """A client that waits for its answers. Threads may share it: each has its own connection."""

    def __init__(
        self,
        url: str,
        token: str,
        *,
        timeout: float = 30.0,
        attempts: int = 4,
        context: ssl.SSLContext | None = None,
    ):
        parts = urllib.parse.urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError("a url such as http://127.0.0.1:7070 is needed")
        self._make = functools.partial(
            http.client.HTTPConnection, parts.hostname, parts.port, timeout=timeout
        )
        if parts.scheme == "https":
            self._make = functools.partial(
                http.client.HTTPSConnection,
                parts.hostname,
                parts.port,
                timeout=timeout,
                context=context or ssl.create_default_context(),
            )
        self._base = parts.path.rstrip("/")
        self._headers = {"Authorization": f"Bearer {token}", "Accept-Encoding": "identity"}
        self._attempts = max(1, attempts)
        self._own = threading.local()

    def __repr__(self) -> str:
        return f"{type(self).__name__}(<token>)"

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Closes the connection of this thread."""
        connection = getattr(self._own, "connection", None)
        if connection is not None:
            connection.close()
            self._own.connection = None

    def _request(self, method: str, path: str, body: Any) -> tuple[http.client.HTTPResponse, bytes]:
        """One request on the connection of this thread."""
        headers, data = dict(self._headers), None
        if isinstance(body, str):
            headers["Content-Type"], data = "application/x-ndjson", body.encode()
        elif body is not None:
            headers["Content-Type"], data = "application/json", json.dumps(body).encode()
        # A connection that was idle may be closed at the other end, which is noticed too late.
        if time.monotonic() - getattr(self._own, "used", 0.0) > _IDLE:
            self.close()
        connection = getattr(self._own, "connection", None)
        if connection is None:
            connection = self._own.connection = self._make()
        try:
            connection.request(method, self._base + path, body=data, headers=headers)
            answer = connection.getresponse()
            told = answer.read()
        except (OSError, http.client.HTTPException):
            self.close()
            raise
        self._own.used = time.monotonic()
        return answer, told

    def _ask(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        read: Any = _same,
        again: bool = False,
        text: bool = False,
    ) -> Any:
        attempts = self._attempts if again or method == "GET" else 1
        for left in range(attempts - 1, -1, -1):
            try:
                answer, data = self._request(method, path, body)
            except (OSError, http.client.HTTPException):
                if left == 0:
                    raise
                # A server that is started again needs a moment.
                time.sleep(0.2 * 2 ** (attempts - 1 - left))
                continue
            if answer.status in (429, 503) and left > 0:
                after = answer.headers.get("Retry-After", "")
                time.sleep(min(float(after), 30.0) if after.isdigit() else 0.5)
                continue
            if not 200 <= answer.status < 300:
                _refuse(answer.status, answer.reason, data)
            if text:
                return read(data.decode())
            return read(json.loads(data) if data else None)
        raise AssertionError("there is a last attempt")

    def events(self, model: str) -> Iterator[Event]:
        """Everything that happens to a model, from now on."""
        connection = self._make()
        try:
            path = f"{self._base}{_model(model)}/events"
            headers = {**self._headers, "Accept": "text/event-stream"}
            connection.request("GET", path, headers=headers)
            answer = connection.getresponse()
            if answer.status != 200:
                _refuse(answer.status, answer.reason, answer.read())
            if connection.sock is not None:
                connection.sock.settimeout(None)
            name, data = "message", []
            while line := answer.readline():
                field, _, value = line.decode().rstrip("\r\n").partition(":")
                value = value.removeprefix(" ")
                if field == "event":
                    name = value
                elif field == "data":
                    data.append(value)
                elif not field and not value:
                    if data:
                        yield Event(name, json.loads("\n".join(data)))
                    name, data = "message", []
        finally:
            connection.close()


class AsyncClient(_Calls):
    """The same methods, to be awaited: requests run in threads, `connections` at a time."""

    def __init__(self, url: str, token: str, *, connections: int = 16, **wishes: Any):
        self._client = Client(url, token, **wishes)
        self._threads = concurrent.futures.ThreadPoolExecutor(connections, "hushstream")

    def __repr__(self) -> str:
        return f"{type(self).__name__}(<token>)"

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Waits for what is under way, and closes the connections."""
        await asyncio.to_thread(self._threads.shutdown, True)

    def _ask(self, method: str, path: str, body: Any = None, **how: Any) -> Any:
        ask = functools.partial(self._client._ask, method, path, body, **how)
        return asyncio.get_running_loop().run_in_executor(self._threads, ask)

    async def events(self, model: str) -> AsyncIterator[Event]:
        """Everything that happens to a model, from now on."""
        found: queue.SimpleQueue[Event | BaseException | None] = queue.SimpleQueue()
        source = self._client.events(model)
        loop, more, ended = asyncio.get_running_loop(), asyncio.Event(), threading.Event()

        def follow() -> None:
            last: BaseException | None = None
            try:
                for event in source:
                    if ended.is_set():
                        return
                    found.put(event)
                    loop.call_soon_threadsafe(more.set)
            except BaseException as error:  # told to whoever waits
                last = error
            if not ended.is_set():
                found.put(last)
                loop.call_soon_threadsafe(more.set)

        thread = threading.Thread(target=follow, name="hushstream events", daemon=True)
        thread.start()
        try:
            while True:
                await more.wait()
                more.clear()
                while not found.empty():
                    event = found.get()
                    if event is None:
                        return
                    if isinstance(event, BaseException):
                        raise event
                    yield event
        finally:
            ended.set()
