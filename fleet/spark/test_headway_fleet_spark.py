"""What the job decides without Spark."""

import contextlib
import io
import json
import unittest

from headway_fleet_spark import S3_COMMITS, Store, Unusable, arguments, found, location, sentence, settings_for


def described(**changes):
    files = ["day=2026-11-25/bucket=07/lock_minute/a.parquet", "day=2026-11-24/bucket=07/lock_minute/b.parquet"]
    table = {"name": "lock_minute", "columns": "ts TIMESTAMP", "files": files}
    view = {"name": "lock_hour", "query": "SELECT 1", "period": "hour"}
    return json.dumps({"format": 1, "root": "/rows", "tables": [table], "views": [view]} | changes)


class StoreTest(unittest.TestCase):
    def test_a_day_has_its_files_only(self):
        store = Store.of(described())
        self.assertEqual(store.days(), ["2026-11-24", "2026-11-25"])
        self.assertEqual(store.of_day("2026-11-24").tables[0].files, ["day=2026-11-24/bucket=07/lock_minute/b.parquet"])
        self.assertEqual(store.of_day("2026-11-24").views, store.views)

    def test_another_version_is_refused(self):
        with self.assertRaisesRegex(Unusable, "format 2; this job reads format 1"):
            Store.of(described(format=2))


class SettingsTest(unittest.TestCase):
    def test_places_are_named_as_hadoop_does(self):
        places = ["s3://b/rows", "/rows", "hdfs://n/rows"]
        self.assertEqual([location(place) for place in places], ["s3a://b/rows", "file:///rows", "hdfs://n/rows"])

    def test_only_s3_has_its_settings(self):
        environment = {"AWS_ENDPOINT": "http://127.0.0.1:9", "AWS_REGION": "eu-west-1", "AWS_SECRET_ACCESS_KEY": "hidden"}
        local = settings_for("file:///rows", "file:///out", environment)
        self.assertFalse([name for name in local if "s3a" in name])
        read = settings_for("s3a://b/rows", None, environment)
        self.assertEqual(read["spark.hadoop.fs.s3a.connection.ssl.enabled"], "false")
        self.assertNotIn("hidden", read.values())
        self.assertFalse(S3_COMMITS.keys() & read.keys())
        self.assertLessEqual(S3_COMMITS.items(), settings_for("file:///rows", "s3a://b/out", environment).items())


class ArgumentsTest(unittest.TestCase):
    def refusal(self, *words):
        with contextlib.redirect_stderr(io.StringIO()) as said, self.assertRaises(SystemExit):
            arguments(["--tables", "tables.json", *words])
        return said.getvalue()

    def test_one_job_at_a_time(self):
        self.assertEqual(arguments(["--tables", "t", "--view", "a", "--view", "b"]).view, ["a", "b"])
        self.assertIn("one of the arguments", self.refusal())
        self.assertIn("not allowed with", self.refusal("--view", "site", "--query", "SELECT 1"))
        self.assertIn("--rollup needs --output", self.refusal("--rollup", "hour"))

    def test_options_of_a_search_are_handed_on(self):
        asked = arguments(["--tables", "t", "--headway-fleet", "/bin/x", "--regressions", "--service", "a", "--fail"])
        self.assertEqual((asked.headway_fleet, asked.regressions), ("/bin/x", ["--service", "a", "--fail"]))
        self.assertEqual(arguments(["--tables", "t", "--regressions"]).regressions, [])
        self.assertIsNone(arguments(["--tables", "t", "--view", "a"]).regressions)
        self.assertIn("not allowed with", self.refusal("--view", "site", "--regressions"))
        self.assertIn("it takes no --output", self.refusal("--output", "there", "--regressions"))


class SentenceTest(unittest.TestCase):
    def test_a_worker_is_named(self):
        text = "Job aborted: Task 0 failed\norg.apache.spark.SparkException: Subprocess exited with status 126. Error: ./x: no\n\tat"
        said = "headway-fleet failed on a worker of Spark (exit code 126): ./x: no"
        self.assertEqual(sentence(Exception(text)), said)

    def test_other_failures_are_one_line(self):
        text = "An error occurred.\n: org.apache.spark.SparkException: Job aborted: disk\n\tat a.b.c"
        self.assertEqual(sentence(Exception(text)), "Spark failed: org.apache.spark.SparkException: Job aborted: disk")
        self.assertEqual(sentence(Exception()), "Spark failed: Exception")

    def test_a_missing_program_is_refused(self):
        with self.assertRaisesRegex(Unusable, "there is no program no-such-program here"):
            found("no-such-program")


if __name__ == "__main__":
    unittest.main()
