"""Reads CSV from the standard input with Python's csv, and with pandas and DuckDB if they are installed.

Prints the rows of each reader as JSON. An empty text and NULL are both "": readers differ in what they keep apart.
"""

import csv
import io
import json
import sys
import tempfile

delimiter = sys.argv[1]
data = sys.stdin.buffer.read()
text = data.decode("utf-8-sig")
found = {"csv": list(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True))[1:]}
try:
    import duckdb
    import pandas

    frame = pandas.read_csv(
        io.BytesIO(data), sep=delimiter, encoding="utf-8-sig", dtype=str, keep_default_na=False, lineterminator=None
    )
    found["pandas"] = frame.values.tolist()
    with tempfile.NamedTemporaryFile(suffix=".csv") as file:
        file.write(data)
        file.flush()
        rows = duckdb.read_csv(file.name, sep=delimiter, header=True, all_varchar=True, quotechar='"', escapechar='"')
        found["duckdb"] = [["" if value is None else value for value in row] for row in rows.fetchall()]
except ImportError:
    pass
print(json.dumps(found))
