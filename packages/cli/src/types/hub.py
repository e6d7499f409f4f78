import json
import re
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal
from http.client import IncompleteRead
from typing import Any, Literal, NotRequired, TypedDict, Unpack
from uuid import UUID, uuid4


class ProblemError(Exception):
    """What the hub answered instead of rows: a status and a problem document."""

    def __init__(self, status: int, problem: dict[str, Any]) -> None:
        super().__init__(problem.get("detail", f"HTTP {status}"))
        self.status = status
        self.problem = problem
        self.code: str | None = problem.get("code")


class TruncatedError(Exception):
    """The query has more rows than a limit of the key or of the hub allows."""


class Prediction(TypedDict):
    """The label that a classifier gives a text. 1.0 stands for 100 %."""

    classId: str
    label: str
    confidence: float


class ClassCount(TypedDict):
    """A class, and how many examples it has after a training."""

    classId: str
    observations: int


# A classifier, by name or id, labels the column `text`. Two columns are added: `as`, and `as` + "Confidence".
Annotation = TypedDict("Annotation", {"classifier": str, "text": str, "as": str})


class Hub:
    """A hub and a key. The timeout, in seconds, holds for the connection and between two parts of an answer.

    A query is named by its id, or by the path of its hub, a slash, and its own path. A classifier is named by its id, or
    by its name if no other classifier has it, for which the key needs `classifiers:read`.
    """

    def __init__(self, url: str, key: str, timeout: float = 60) -> None:
        self._url = url.rstrip("/") + "/v1/"
        self._key = key
        self._timeout = timeout
        self._classifiers: dict[str, str] = {}

    def execute(
        self, query: str, values: Mapping[str, object], *, annotate: Sequence[Annotation] = ()
    ) -> list[Any]:
        """All rows of a query; of a procedure, those of its first result. Decimals keep their digits."""
        with self._send(query, values, "application/json", annotate) as answer:
            result = _read_json(answer, Decimal)
        data: list[Any] = result["data"]
        if result.get("truncated") and not result.get("moreResults"):
            raise TruncatedError(f"{query} has more than {len(data)} rows.")
        return data

    def results(self, query: str, values: Mapping[str, object]) -> list[list[Any]]:
        """The rows of each result of a procedure. The values of its OUT parameters are the last."""
        with self._send(query, values, "application/json", (), results="all") as answer:
            result = _read_json(answer, Decimal)
        if result.get("truncated"):
            raise TruncatedError(f"{query} has more rows.")
        return [one["rows"] for one in result["results"]]

    def rows(
        self, query: str, values: Mapping[str, object], *, annotate: Sequence[Annotation] = ()
    ) -> Iterator[Any]:
        """Each row as it arrives. Raises http.client.IncompleteRead or an OSError if the result breaks off."""
        with self._send(query, values, "application/x-ndjson", annotate, ending=True) as answer:
            ending: dict[str, Any] | None = None
            rest = b""
            # Not `for line in answer`: it takes a chunked body that breaks off for a complete one.
            while part := answer.read1(65536):
                *lines, rest = (rest + part).split(b"\n")
                for line in lines:
                    # No row has these bytes; a row with this value has others.
                    if line == b'{"truncated":true}':
                        continue  # `ending` says why.
                    if _ending_mark in line:
                        ending = json.loads(line.partition(_ending_mark)[2])
                    else:
                        yield json.loads(line, parse_float=Decimal)
            # A proxy can end an answer that broke off as if it were whole.
            if rest or answer.length or ending is None:
                raise IncompleteRead(rest, answer.length)
            if problem := ending.get("problem"):
                raise IncompleteRead(rest) from ProblemError(problem["status"], problem)
        if ending.get("truncated") and not ending.get("moreResults"):
            raise TruncatedError(f"{query} has more rows.")

    def frame(
        self,
        query: str,
        values: Mapping[str, object],
        *,
        annotate: Sequence[Annotation] = (),
        allow_truncated: bool = False,
    ) -> Any:
        """All rows of a query as a pyarrow.Table, with the types of the columns. Needs the package pyarrow."""
        import pyarrow

        with self._send(query, values, "application/vnd.apache.arrow.stream", annotate) as answer:
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
            has_more_results = answer.headers["x-more-results"] == "true"
        if is_truncated and not has_more_results and not allow_truncated:
            raise TruncatedError(f"{query} has more than {table.num_rows} rows.")
        return table

    def predict(self, classifier: str, texts: Sequence[str]) -> list[Prediction]:
        """The label of each text, in their order. Needs the scope `classifiers:predict`."""
        path = f"classifiers/{self._classifier_id(classifier)}/predict"
        found: list[Prediction] = []
        for start in range(0, len(texts), _texts_at_once):
            part = list(texts[start : start + _texts_at_once])
            found += self._json(path, {"contexts": part, "options": {"top": 1}})["predictions"]
        return found

    def train(self, classifier: str, examples: Sequence[tuple[str, str]]) -> list[ClassCount]:
        """Learns pairs of a label and a text, at most 10,000. Needs the scope `classifiers:train`.

        Returns the class of each example. If it raises, the examples may have been learned.
        """
        path = f"classifiers/{self._classifier_id(classifier)}/train"
        body = {"examples": [{"label": label, "context": text} for label, text in examples]}
        results: list[ClassCount] = self._json(path, body)["results"]
        return results

    def evaluation(self, classifier: str) -> dict[str, Any]:
        """How good the predictions are, in total and by class. Needs the scope `classifiers:read`."""
        result: dict[str, Any] = self._json(f"classifiers/{self._classifier_id(classifier)}/evaluation")
        return result

    def summarize(self, texts: Sequence[str]) -> str:
        """One summary of all texts. Needs the scope `ai:summarize`."""
        summary: str = self._json("ai/summarize", {"context": [list(texts)]})["generated"]
        return summary

    def _classifier_id(self, classifier: str) -> str:
        if _id_of_classifier.fullmatch(classifier):
            return classifier
        if classifier not in self._classifiers:
            found = [one["classifierId"] for one in self._json("classifiers") if one["name"] == classifier]
            if len(found) != 1:
                raise LookupError(f"{len(found)} classifiers have the name {classifier}.")
            self._classifiers[classifier] = found[0]
        return self._classifiers[classifier]

    def _json(self, path: str, body: object = None) -> Any:
        with self._open(path, body, "application/json") as answer:
            return _read_json(answer)

    def _send(
        self,
        query: str,
        values: Mapping[str, object],
        accept: str,
        annotate: Sequence[Annotation],
        **options: object,
    ) -> Any:
        hub_path, _, path = query.partition("/")
        names = {"hubId": hub_path, "path": path} if path else {"queryId": query}
        if annotate:
            options["annotate"] = list(annotate)
        body = {**names, "context": values, **({"options": options} if options else {})}
        return self._open("queries/execute", body, accept)

    def _open(self, path: str, body: object, accept: str) -> Any:
        headers = {"x-service-api-key": self._key, "accept": accept}
        data = None
        if body is not None:
            headers["content-type"] = "application/json"
            text = json.dumps(body, default=_to_json, allow_nan=False)
            data = _decimals.sub(r"\1", text).encode()
        request = urllib.request.Request(self._url + path, data, headers)
        try:
            return _opener.open(request, timeout=self._timeout)
        except urllib.error.HTTPError as err:
            with err:
                is_problem = err.headers.get_content_type() == "application/problem+json"
                raise ProblemError(err.code, json.load(err) if is_problem else {}) from None


def _read_json(answer: Any, parse_float: Callable[[str], Any] = float) -> Any:
    body = answer.read()
    try:
        return json.loads(body, parse_float=parse_float)
    except ValueError:
        # A proxy can end an answer that broke off as if it were whole.
        raise IncompleteRead(body) from None


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """A redirect could send the key to another address."""

    def redirect_request(self, *_: Any, **__: Any) -> None:
        return None


# With the option `ending`, it follows the rows, and JSON says how they ended. No row has it.
_ending_mark = b"\x1e"

# A call classifies this many texts, whatever the number of classes.
_texts_at_once = 100
_id_of_classifier = re.compile(r"[a-z][a-z0-9-]*\.clfr\.[\w-]+")

_opener = urllib.request.build_opener(_NoRedirects)


# A decimal is written as a text with this mark, which nobody knows before, and then as a number with its digits.
_mark = uuid4().hex
_decimals = re.compile(f'"{_mark}([^"]*)"')


def _to_json(value: object) -> str:
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, Decimal):
        if not value.is_finite():
            raise ValueError(f"{value} cannot be sent: JSON has no such number.")
        return f"{_mark}{value}"
    if isinstance(value, UUID):
        return str(value)
    raise TypeError(f"A value of the type {type(value).__name__} cannot be sent.")
