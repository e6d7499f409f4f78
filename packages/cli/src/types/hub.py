import json
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal
from http.client import IncompleteRead
from typing import Any, Literal, NotRequired, TypedDict, Unpack
from uuid import UUID


class ProblemError(Exception):
    """What the hub answered instead of rows: a status and a problem document."""

    def __init__(self, status: int, problem: dict[str, Any]) -> None:
        super().__init__(problem.get("detail", f"HTTP {status}"))
        self.status = status
        self.problem = problem
        self.code: str | None = problem.get("code")


class TruncatedError(Exception):
    """The query has more rows than a limit of the key or of the hub allows."""


class Hub:
    """A hub and a key. The timeout, in seconds, holds for the connection and between two parts of an answer.

    A query is named by its id, or by the path of its hub, a slash, and its own path.
    """

    def __init__(self, url: str, key: str, timeout: float = 60) -> None:
        self._url = url.rstrip("/") + "/v1/queries/execute"
        self._key = key
        self._timeout = timeout

    def execute(self, query: str, values: Mapping[str, object]) -> list[Any]:
        """All rows of a query. Decimals keep their digits."""
        with self._send(query, values, "application/json") as answer:
            result = json.loads(answer.read(), parse_float=Decimal)
        data: list[Any] = result["data"]
        if result.get("truncated"):
            raise TruncatedError(f"{query} has more than {len(data)} rows.")
        return data

    def rows(self, query: str, values: Mapping[str, object]) -> Iterator[Any]:
        """Each row as it arrives. Raises http.client.IncompleteRead or an OSError if the result breaks off."""
        with self._send(query, values, "application/x-ndjson") as answer:
            is_cut = False
            rest = b""
            # Not `for line in answer`: it takes a chunked body that breaks off for a complete one.
            while part := answer.read1(65536):
                *lines, rest = (rest + part).split(b"\n")
                for line in lines:
                    # No row has these bytes; a row with this value has others.
                    if line == b'{"truncated":true}':
                        is_cut = True
                    else:
                        yield json.loads(line, parse_float=Decimal)
            if rest or answer.length:
                raise IncompleteRead(rest, answer.length)
        if is_cut:
            raise TruncatedError(f"{query} has more rows.")

    def frame(self, query: str, values: Mapping[str, object], *, allow_truncated: bool = False) -> Any:
        """All rows of a query as a pyarrow.Table, with the types of the columns. Needs the package pyarrow."""
        import pyarrow

        with self._send(query, values, "application/vnd.apache.arrow.stream") as answer:
            reader = pyarrow.ipc.open_stream(answer)
            batches = []
            is_truncated = False
            while True:
                try:
                    batch, metadata = reader.read_next_batch_with_custom_metadata()
                except StopIteration:
                    break
                batches.append(batch)
                is_truncated = metadata[b"truncated"] == b"true"
            table = pyarrow.Table.from_batches(batches, reader.schema)
        if is_truncated and not allow_truncated:
            raise TruncatedError(f"{query} has more than {table.num_rows} rows.")
        return table

    def _send(self, query: str, values: Mapping[str, object], accept: str) -> Any:
        hub_path, _, path = query.partition("/")
        names = {"hubId": hub_path, "path": path} if path else {"queryId": query}
        body = json.dumps({**names, "context": values}, default=_to_json, allow_nan=False)
        headers = {"x-service-api-key": self._key, "content-type": "application/json", "accept": accept}
        request = urllib.request.Request(self._url, body.encode(), headers)
        try:
            return _opener.open(request, timeout=self._timeout)
        except urllib.error.HTTPError as err:
            with err:
                is_problem = err.headers.get_content_type() == "application/problem+json"
                raise ProblemError(err.code, json.load(err) if is_problem else {}) from None


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """A redirect could send the key to another address."""

    def redirect_request(self, *_: Any, **__: Any) -> None:
        return None


_opener = urllib.request.build_opener(_NoRedirects)


def _to_json(value: object) -> str:
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, (Decimal, UUID)):
        return str(value)
    raise TypeError(f"A value of the type {type(value).__name__} cannot be sent.")
