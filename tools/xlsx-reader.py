"""Reads a workbook from the standard input with openpyxl, and prints the sheets: name, and the rows of typed cells.

A cell is [type, value, number format]. A text is as in the file: openpyxl does not undo the escapes of characters that
XML cannot hold.
"""

import io
import json
import sys
import zipfile

import openpyxl

data = sys.stdin.buffer.read()
assert zipfile.ZipFile(io.BytesIO(data)).testzip() is None
book = openpyxl.load_workbook(io.BytesIO(data))
json.dump(
    [
        [sheet.title, [[[cell.data_type, str(cell.value), cell.number_format] for cell in row] for row in sheet.iter_rows()]]
        for sheet in book
    ],
    sys.stdout,
)
