"""Headway's fleet on Apache Spark: questions, views, rollups and the search for regressions over the files of a store.

`headway fleet tables` describes a store: its tables with their files, and the views in Spark's language. This job
makes tables and views of that description, so that Spark answers what `headway sql` answers. `headway fleet submit`
runs it; docs/fleet.md has the command without.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING, Any, Mapping, Sequence

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

FORMAT = 1
"""Version of the description that is understood."""

S3_COMMITS = {
    "spark.sql.sources.commitProtocolClass": "org.apache.spark.internal.io.cloud.PathOutputCommitProtocol",
    "spark.sql.parquet.output.committer.class": "org.apache.spark.internal.io.cloud.BindingParquetOutputCommitter",
    "spark.hadoop.fs.s3a.committer.name": "magic",
}
"""What is written to S3 is there once, though tasks are tried again: uploads are completed when the job is."""

FOUND = 5
"""The exit code of a search with --fail that found a regression."""


class Unusable(Exception):
    """Something typed or described wrongly, in a sentence."""


@dataclass(frozen=True)
class Table:
    """A table: its name, its columns in Spark's language, and the paths of its files from the root on."""

    name: str
    columns: str
    files: Sequence[str]


@dataclass(frozen=True)
class View:
    """A view. A rollup's `period` is `hour` or `day`."""

    name: str
    query: str
    period: str | None


@dataclass(frozen=True)
class Store:
    """A store as `headway fleet tables` describes it."""

    root: str
    tables: Sequence[Table]
    views: Sequence[View]

    @staticmethod
    def of(text: str) -> Store:
        """Reads a description; raises `Unusable` for one of another version."""
        described: dict[str, Any] = json.loads(text)
        if described.get("format") != FORMAT:
            raise Unusable(f"the tables are of format {described.get('format')}; this job reads format {FORMAT}")
        tables = [Table(table["name"], table["columns"], table["files"]) for table in described["tables"]]
        views = [View(view["name"], view["query"], view["period"]) for view in described["views"]]
        return Store(described["root"], tables, views)

    def days(self) -> list[str]:
        """The days that have files, earliest first."""
        files = (file for table in self.tables for file in table.files)
        return sorted({day for day in map(day_of, files) if day is not None})

    def of_day(self, day: str) -> Store:
        """The same with the files of one day."""
        only = [Table(t.name, t.columns, [file for file in t.files if day_of(file) == day]) for t in self.tables]
        return Store(self.root, only, self.views)


def day_of(path: str) -> str | None:
    """`2026-11-25` of `day=2026-11-25/bucket=07/lock_minute/X.parquet`."""
    found = re.match(r"day=(\d{4}-\d{2}-\d{2})/", path)
    return found.group(1) if found else None


def location(place: str) -> str:
    """A place as Hadoop names it. What is no URL is a path of this machine, or of a file system that all share."""
    if place.startswith("s3://"):
        return "s3a://" + place.removeprefix("s3://")
    return place if "://" in place else "file://" + place


def s3_settings(environment: Mapping[str, str]) -> dict[str, str]:
    """Which S3 server it is, from the variables that `headway` knows. Spark takes the credentials from
    AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY itself."""
    settings = {}
    if endpoint := environment.get("AWS_ENDPOINT") or environment.get("AWS_ENDPOINT_URL"):
        settings["spark.hadoop.fs.s3a.endpoint"] = endpoint
        settings["spark.hadoop.fs.s3a.path.style.access"] = "true"
        settings["spark.hadoop.fs.s3a.connection.ssl.enabled"] = str(endpoint.startswith("https://")).lower()
    if region := environment.get("AWS_REGION"):
        settings["spark.hadoop.fs.s3a.endpoint.region"] = region
    return settings


def settings_for(root: str, to: str | None, environment: Mapping[str, str]) -> dict[str, str]:
    """Spark's settings for where rows are and where they go, and those without which answers would differ."""
    settings = {
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
        # As the store's files. Spark's default, Snappy, cannot be loaded on a machine that has glibc and musl.
        "spark.sql.parquet.compression.codec": "zstd",
    }
    writes_to_s3 = to is not None and to.startswith("s3a://")
    if writes_to_s3 or root.startswith("s3a://"):
        settings |= s3_settings(environment)
    if writes_to_s3:
        settings |= S3_COMMITS
    return settings


def session(settings: Mapping[str, str]) -> SparkSession:
    """Spark, with these settings where the command line of spark-submit has no others."""
    from pyspark import SparkConf
    from pyspark.sql import SparkSession

    conf = SparkConf()
    for name, value in settings.items():
        if not conf.contains(name):
            conf.set(name, value)
    return SparkSession.builder.appName("headway-fleet").config(conf=conf).getOrCreate()


def register(spark: SparkSession, store: Store) -> None:
    """Makes temporary views of a store's tables and views."""
    root = location(store.root)
    for table in store.tables:
        # The folders' names are no columns: rows have their service and time themselves.
        reader = spark.read.schema(table.columns).option("recursiveFileLookup", "true")
        paths = [f"{root}/{file}" for file in table.files]
        frame = reader.parquet(*paths) if paths else spark.createDataFrame([], table.columns)
        frame.createOrReplaceTempView(table.name)
    for view in store.views:
        spark.sql(view.query).createOrReplaceTempView(view.name)


def as_texts(frame: DataFrame) -> DataFrame:
    """Lists as JSON: CSV has none."""
    from pyspark.sql.functions import col, to_json
    from pyspark.sql.types import ArrayType, MapType, StructType

    nested = [field.name for field in frame.schema if isinstance(field.dataType, (ArrayType, MapType, StructType))]
    return frame.withColumns({name: to_json(col(f"`{name}`")) for name in nested}) if nested else frame


def write(frame: DataFrame, form: str, to: str) -> None:
    """Writes rows into a folder, in the place of what is there."""
    writer = (as_texts(frame) if form == "csv" else frame).write.mode("overwrite")
    if form == "csv":
        writer = writer.option("header", "true")
    writer.format(form).save(to)


def answer(frame: DataFrame, form: str, to: str | None) -> None:
    """Writes rows into a folder, or prints each as JSON."""
    if to is not None:
        write(frame, form, to)
        return
    for row in frame.toJSON().toLocalIterator():
        print(row)


def roll_up(spark: SparkSession, store: Store, period: str, form: str, to: str) -> None:
    """Writes the rollups of a period, day by day, each into the folder of its day: a day that is done again replaces
    its rows."""
    for day in store.days():
        register(spark, store.of_day(day))
        for view in store.views:
            if view.period == period:
                write(spark.table(view.name), form, f"{to}/{view.name}/day={day}")


def found(program: str) -> str:
    """The path of `headway-fleet`; raises `Unusable` if there is none."""
    path = shutil.which(program)
    if path is None:
        raise Unusable(f"there is no program {program} here; --headway-fleet names it")
    return os.path.realpath(path)


def sentence(problem: Exception) -> str:
    """Why Spark failed, on one line. What Spark says of a program on a worker is: its exit code, and what it printed."""
    text = str(problem)
    if ended := re.search(r"Subprocess exited with status (\d+)\. Error:\s*([^\n]*)", text):
        code, printed = ended.groups()
        return f"headway-fleet failed on a worker of Spark (exit code {code}): {printed.strip()}"
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    cause = next((line for line in lines if "Exception: " in line), lines[0] if lines else type(problem).__name__)
    return f"Spark failed: {cause.lstrip(': ')}"


def rows_for(spark: SparkSession, query: str) -> list[str]:
    """The answer to a query of `headway-fleet`, in lines: what it is, and a row each."""
    from py4j.protocol import Py4JJavaError
    from pyspark.errors import PySparkException

    try:
        frame = spark.sql(query)
        rows = frame.toJSON().collect()
    except (PySparkException, Py4JJavaError) as problem:
        return [json.dumps({"failed": sentence(problem)})]
    return [json.dumps({"rows": {"columns": frame.dtypes, "rows": len(rows)}}), *rows]


def attend(spark: SparkSession, asked: IO[str], answers: IO[str]) -> str | None:
    """Answers queries of `headway-fleet`, and prints what it found; gives why it failed, or what `--fail` asks about."""
    for line in asked:
        message = json.loads(line)
        if "ask" in message:
            answers.writelines(f"{row}\n" for row in rows_for(spark, message["ask"]))
            answers.flush()
        elif "print" in message:
            print(message["print"], end="", flush=True)
        else:
            return str(message["fail"])
    return None


def search(spark: SparkSession, program: str, words: Sequence[str], said: str | None) -> int:
    """Searches for regressions; gives the exit code. `headway-fleet` knows how: here it asks Spark, and Spark's workers
    run it on the rows of a service each. Why it failed goes to the file `said`, if there is one."""
    spark.sparkContext.addFile(program)
    command = [program, "fleet", "search", *words]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, encoding="utf-8") as searching:
        assert searching.stdin and searching.stdout
        why = attend(spark, searching.stdout, searching.stdin)
    if why is not None and said is not None:
        with open(said, "w", encoding="utf-8") as file:
            file.write(why)
    elif why is not None and searching.returncode != FOUND:
        # spark-submit puts it on the standard output. What was found stands there already.
        print(f"headway-fleet: {why}", file=sys.stderr)
    return searching.returncode


def arguments(words: Sequence[str] | None = None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tables", required=True, metavar="FILE", help="what `headway fleet tables` printed")
    job = parser.add_mutually_exclusive_group(required=True)
    job.add_argument("--query", metavar="SELECT", help="answer a question in SQL")
    job.add_argument("--view", action="append", metavar="NAME", help="compute a view; repeatable")
    job.add_argument("--rollup", choices=["hour", "day"], help="write the rows of each hour or day below --output")
    job.add_argument("--regressions", nargs=argparse.REMAINDER, metavar="OPTION",
                     help="search for regressions; what follows are options of `headway fleet regressions`")
    parser.add_argument("--output", metavar="PLACE", help="folder for the rows (default: print them as JSON)")
    parser.add_argument("--format", choices=["parquet", "csv", "json"], default="parquet")
    parser.add_argument("--headway-fleet", default="headway-fleet", metavar="PROGRAM",
                        help="what --regressions runs, here and on Spark's workers (default: found on the PATH)")
    parser.add_argument("--said", metavar="FILE", help="where --regressions writes why it failed, for `fleet submit`")
    asked = parser.parse_args(words)
    if asked.rollup and not asked.output:
        parser.error("--rollup needs --output")
    if asked.regressions is not None and asked.output:
        parser.error("--regressions prints what it finds: it takes no --output")
    return asked


def run(asked: argparse.Namespace) -> int:
    """Does what was asked for; gives the exit code."""
    with open(asked.tables, encoding="utf-8") as file:
        store = Store.of(file.read())
    known = {view.name for view in store.views}
    if unknown := [name for name in asked.view or [] if name not in known]:
        raise Unusable(f'there is no view "{unknown[0]}"')
    program = found(asked.headway_fleet) if asked.regressions is not None else None
    to = location(asked.output).rstrip("/") if asked.output else None
    spark = session(settings_for(location(store.root), to, os.environ))
    try:
        if asked.rollup and to:
            roll_up(spark, store, asked.rollup, asked.format, to)
            return 0
        register(spark, store)
        if program:
            return search(spark, program, asked.regressions, asked.said)
        if asked.query:
            answer(spark.sql(asked.query), asked.format, to)
        for name in asked.view or []:
            answer(spark.table(name), asked.format, f"{to}/{name}" if to else None)
        return 0
    finally:
        spark.stop()


def main() -> int:
    """The job; gives its exit code."""
    asked = arguments()
    try:
        from pyspark.errors import PySparkException
    except ImportError:
        print("headway_fleet_spark: run this by spark-submit: there is no pyspark here", file=sys.stderr)
        return 1
    try:
        return run(asked)
    except (Unusable, OSError, PySparkException) as problem:
        print(f"headway_fleet_spark: {problem}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
