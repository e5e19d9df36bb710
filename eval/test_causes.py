"""Every known cause has a program that provokes it, or a reason why it has none."""

from __future__ import annotations

import collections
import unittest
from pathlib import Path

import causes
from causes import Catalogue, Trial


class Programs(unittest.TestCase):
    def test_each_entry_of_the_catalogue_has_one_program_or_a_reason(self) -> None:
        entries = causes.entries()
        self.assertGreaterEqual(len(entries), 80)
        provided = collections.Counter([*causes.with_program(), *causes.without_program()])
        self.assertEqual(set(entries) - set(provided), set(), "entries without a program or a reason")
        self.assertEqual(set(provided) - set(entries), set(), "no such entries")
        self.assertEqual([entry for entry, times in provided.items() if times > 1], [], "twice")
        self.assertTrue(all(causes.without_program().values()))


class Reports(unittest.TestCase):
    def test_an_entry_is_recognized_by_the_advice_of_any_finding(self) -> None:
        stack = {"whose": "blocked in", "frames": ["java.util.Hashtable.get:1", "app.Users.find:2"]}
        cpus, lock = {"text": "a", "stacks": []}, {"text": "b", "advice": {"id": "hashtable"}, "stacks": [stack]}
        report = {"findings": [cpus, lock]}
        self.assertEqual((causes.place(report, "hashtable"), causes.place(report, "vector")), (1, 0))
        self.assertEqual(
            causes.said(report), ["[-] a", "[hashtable] b", "    blocked in: java.util.Hashtable.get:1 < app.Users.find:2"]
        )

    def test_what_came_of_them_is_counted_by_jdk_and_in_all(self) -> None:
        catalogue = Catalogue("headway", Path())
        catalogue.add("17", Trial("hashtable", 1))
        catalogue.add("17", Trial("vector", 0))
        catalogue.add("25", Trial("hashtable", 2))
        known = ["hashtable", "vector", "oracle-connection", "cleaners"]
        self.assertEqual(
            catalogue.sentences(known),
            [
                "JDK 17: 1 of 2 known causes recognized, 1 by the first finding about a lock or wait",
                "JDK 25: 1 of 1 known causes recognized, 0 by the first finding about a lock or wait",
                "1 of the 4 entries of the catalogue provoked and recognized",
                "2 passed, 1 failed",
            ],
        )
        self.assertFalse(catalogue.is_right())
        table = catalogue.table(known, {"oracle-connection": "its terms"})
        self.assertIn("| vector | not recognized | not on this JDK |\n", table)
        self.assertIn("| hashtable | first | second |\n", table)
        self.assertIn("| oracle-connection | no program: its terms | no program: its terms |\n", table)


if __name__ == "__main__":
    unittest.main()
