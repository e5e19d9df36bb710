"""What DuckDB and pandas read from the files of a store: for each table, its rows and the sum of each column.

`sums.py TABLES` reads what `headway fleet tables` prints. A list counts with its length, a histogram with the sum of its
counts, a text with its length in characters, a fraction with its millionths, a time with its microseconds.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import duckdb
import pandas

# Sums of 64-bit ids do not fit into 64 bits.
MODULUS = 2**31 - 1


def by_duckdb(files: list[str], columns: dict[str, str]) -> dict[str, int]:
    """The sums, added up by DuckDB in SQL."""

    def number(name: str, kind: str) -> str:
        column = f'"{name}"'
        if kind.startswith("ARRAY<STRUCT"):
            return f"list_sum(list_transform({column}, lambda b: b.count))"
        if kind.startswith("ARRAY"):
            return f"len({column})"
        return {
            "STRING": f"length({column})",
            "DOUBLE": f"floor({column} * 1e6)",
            "TIMESTAMP": f"epoch_us({column})",
            "BOOLEAN": f"CAST({column} AS INT)",
        }.get(kind, column)

    sums = [
        f"CAST(coalesce(sum(CAST({number(name, kind)} AS HUGEINT)), 0) % {MODULUS} AS BIGINT)"
        for name, kind in columns.items()
    ]
    query = f"SELECT count(*), {', '.join(sums)} FROM read_parquet(?, union_by_name = true, hive_partitioning = false)"
    row = duckdb.execute(query, [files]).fetchone()
    assert row is not None
    return named(row, columns)


def by_pandas(files: list[str], columns: dict[str, str]) -> dict[str, int]:
    """The sums, added up in Python over data frames."""
    frame = pandas.concat([read(file) for file in files], ignore_index=True)

    def number(value: object, kind: str) -> int:
        if kind.startswith("ARRAY<STRUCT"):
            return sum(int(bucket["count"]) for bucket in value)  # type: ignore[attr-defined]
        if kind.startswith("ARRAY") or kind == "STRING":
            return len(value)  # type: ignore[arg-type]
        if kind == "DOUBLE":
            return int(value * 1e6)  # type: ignore[operator]
        if kind == "TIMESTAMP":
            return pandas.Timestamp(value).value // 1_000  # type: ignore[arg-type]
        return int(value)  # type: ignore[call-overload]

    def total(name: str, kind: str) -> int:
        if name not in frame:
            return 0
        sum_ = sum(number(value, kind) for value in frame[name] if is_there(value))
        # SQL's remainder has the sign of the sum.
        return sum_ % MODULUS if sum_ >= 0 else -(-sum_ % MODULUS)

    return named((len(frame), *(total(name, kind) for name, kind in columns.items())), columns)


def read(file: str) -> pandas.DataFrame:
    """A file as pandas reads it; whole numbers that may be missing stay whole."""
    return pandas.read_parquet(file, dtype_backend="pyarrow", partitioning=None)


def is_there(value: object) -> bool:
    """False for a missing value; a list is one value."""
    return isinstance(value, (list, str)) or hasattr(value, "__len__") or not pandas.isna(value)


def named(row: tuple[int, ...], columns: dict[str, str]) -> dict[str, int]:
    """A row of numbers, with their names."""
    return {name: int(value) for name, value in zip(["rows", *columns], row, strict=True)}


def columns_of(text: str) -> dict[str, str]:
    """Of "`ts` TIMESTAMP, `frames` ARRAY<STRING>": each column's type."""
    parts = text.removeprefix("`").split(", `")
    # Fields of a struct are named the same way.
    whole: list[str] = []
    for part in parts:
        if whole and whole[-1].count("<") != whole[-1].count(">"):
            whole[-1] += ", `" + part
        else:
            whole.append(part)
    pairs = (part.split("` ", 1) for part in whole)
    return {name: kind for name, kind in pairs}


def main() -> None:
    """Prints the sums of both readers as JSON."""
    tables = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    answer: dict[str, dict[str, dict[str, int]]] = {}
    for table in tables["tables"]:
        files = [f"{tables['root']}/{file}" for file in table["files"]]
        if files:
            columns = columns_of(table["columns"])
            answer[table["name"]] = {"duckdb": by_duckdb(files, columns), "pandas": by_pandas(files, columns)}
    json.dump(answer, sys.stdout, indent=1)


if __name__ == "__main__":
    main()
