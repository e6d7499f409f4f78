"""Reads an Arrow stream from standard input with PyArrow, Polars and DuckDB, and prints the values of each as JSON."""

import base64
import datetime
import decimal
import io
import json
import sys

import duckdb
import polars
import pyarrow.ipc


def text(value):
    match value:
        case None | bool() | str():
            return value
        case int():
            return {"int": str(value)}
        case float():
            return {"float": repr(value)}
        case decimal.Decimal():
            return {"decimal": f"{value:f}"}
        case bytes():
            return {"binary": base64.b64encode(value).decode()}
        case datetime.datetime():
            zone = "" if value.tzinfo is None else "Z"
            naive = value if value.tzinfo is None else value.astimezone(datetime.timezone.utc).replace(tzinfo=None)
            return {"timestamp": naive.isoformat(timespec="microseconds") + zone}
        case datetime.date():
            return {"date": value.isoformat()}
        case datetime.time():
            return {"time": value.isoformat(timespec="microseconds")}
        case datetime.timedelta():
            return {"micros": value // datetime.timedelta(microseconds=1)}
    raise TypeError(type(value))


stream = sys.stdin.buffer.read()
arrow = pyarrow.ipc.open_stream(stream).read_all()
arrow.validate(full=True)
rows = {
    "pyarrow": [list(row.values()) for row in arrow.to_pylist()],
    "polars": polars.read_ipc_stream(io.BytesIO(stream)).rows(),
    "duckdb": duckdb.sql("FROM arrow").fetchall(),
}
json.dump({reader: [[text(value) for value in row] for row in read] for reader, read in rows.items()}, sys.stdout)
