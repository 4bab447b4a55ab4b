#!/usr/bin/python3
"""What tidy.py looks at, and how it counts."""

import json
import os
import subprocess
import tempfile
import unittest
from pathlib import Path

import tidy

DAY = tidy.DAY
START = 1_700_000_000


class Repository(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)
        self.git("init", "-q", "-b", "main")

    def git(self, *words: str, at: int = 0) -> str:
        who = {f"GIT_{role}_{what}": "tests" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
        dates = {f"GIT_{role}_DATE": f"{START + at} +0000" for role in ("AUTHOR", "COMMITTER")}
        return subprocess.run(["git", "-C", str(self.root), *words], capture_output=True, text=True, check=True,
                              env=os.environ | who | dates).stdout.strip()

    def commit(self, at: int, **texts: str) -> str:
        for name, text in texts.items():
            self.write(name.replace("__", ".").replace("_in_", "/"), text)
        self.git("add", "-A")
        self.git("commit", "-q", "-m", "x", at=at)
        return self.git("rev-parse", "HEAD")

    def write(self, name: str, text: str) -> None:
        (self.root / name).parent.mkdir(exist_ok=True)
        (self.root / name).write_text(text)

    def wanted(self) -> list[str]:
        every = [name for name in tidy.tree.files(self.root) if name.endswith(".cc")]
        return tidy.units(self.root, tidy.changed(self.root, tidy.base_of(self.root)), every)

    def test_what_a_branch_has_changed(self) -> None:
        common = self.commit(0, a__cc="1", b__cc="1")
        self.git("update-ref", "refs/remotes/origin/main", common)
        self.commit(5 * DAY, b__cc="2")
        self.assertEqual(self.wanted(), ["b.cc"])

    def test_on_main_what_the_last_day_has_changed(self) -> None:
        self.commit(0, a__cc="1", b__cc="1", c__cc="1", d__cc="1")
        old = self.commit(8 * DAY, a__cc="2")
        self.commit(9 * DAY, b__cc="2")
        head = self.commit(9 * DAY + 60, c__cc="2")
        self.git("update-ref", "refs/remotes/origin/main", head)
        self.assertEqual(tidy.base_of(self.root), old)
        self.assertEqual(self.wanted(), ["c.cc", "b.cc"], "newest first")

    def test_what_is_not_committed_comes_first(self) -> None:
        self.commit(0, a__cc="1", b__cc="1")
        self.commit(9 * DAY, a__cc="2")
        self.write("b.cc", "2")
        self.write("new.cc", "1")
        self.assertEqual(self.wanted(), ["b.cc", "new.cc", "a.cc"])

    def test_all_of_a_young_repository_and_of_none(self) -> None:
        self.commit(0, a__cc="1", b__cc="1")
        self.assertEqual(sorted(self.wanted()), ["a.cc", "b.cc"])
        (self.root / ".git").rename(self.root / "build")
        self.assertEqual(sorted(self.wanted()), ["a.cc", "b.cc"])

    def test_a_header_is_seen_where_it_is_included(self) -> None:
        self.commit(0, lib_in_a__h="", lib_in_a__cc="", lib_in_b__h="", lib_in_c__cc='#include "lib/b.h"',
                    app_in_d__cc='#include "lib/b.h"', lib_in_alone__h="")
        self.commit(9 * DAY, lib_in_a__h="2", lib_in_b__h="2", lib_in_alone__h="2", text__md="2")
        self.assertEqual(sorted(self.wanted()), ["lib/a.cc", "lib/c.cc"])

    def test_what_has_gone_is_nothing(self) -> None:
        self.commit(0, a__cc="1", b__cc="1")
        self.commit(9 * DAY, b__cc="2", c__cc="1")
        self.git("rm", "-q", "b.cc")
        self.commit(9 * DAY, d__cc="1")
        self.assertEqual(sorted(self.wanted()), ["c.cc", "d.cc"])


class Looks(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)
        (self.root / ".clang-tidy").write_text("Checks: '-*,bugprone-sizeof-expression'\nWarningsAsErrors: '*'\n")
        (self.root / "good.cc").write_text("int main() {}\n")
        (self.root / "bad.cc").write_text("int main() { int a[2]; return (int)sizeof(sizeof(a)); }\n")
        (self.root / "other.cc").write_text("")
        (self.root / "compile_commands.json").write_text(self.commands(""))

    def commands(self, more: str) -> str:
        return json.dumps([{"directory": str(self.root), "command": f"clang++ -I. {more} -c {name}", "file": name} for name in ("good.cc", "bad.cc")])

    def look(self, *names: str, seconds: float = 60) -> list[tidy.Verdict]:
        return tidy.look_at_all(self.root, self.root, list(names), seconds, self.root / "known")

    def test_findings_fail_and_what_is_not_looked_at_is_counted(self) -> None:
        good, bad, other = self.look("good.cc", "bad.cc", "other.cc")
        self.assertEqual((good.found, good.skipped), ("", ""))
        self.assertIn("bad.cc:1:", bad.found)
        self.assertEqual(other.skipped, tidy.NOT_BUILT)
        late = self.look("bad.cc", seconds=-1)
        self.assertEqual((late[0].found, late[0].skipped), ("", tidy.NO_TIME))
        cases = list(tidy.report([good, bad, *late]).getroot())
        self.assertEqual([[child.tag for child in case] for case in cases], [[], ["failure"], ["skipped"]])
        self.assertIn("bad.cc:1:", cases[1][0].get("message") or "")

    def test_a_unit_without_findings_is_looked_at_again_when_something_of_it_has_changed(self) -> None:
        (self.root / "good.cc").write_text('#include "near.h"\nint main() {}\n')
        (self.root / "near.h").write_text('#pragma once\n#include "far.h"\n')
        (self.root / "far.h").write_text("#pragma once\n")
        self.assertGreater(self.look("good.cc")[0].seconds, 0)
        self.assertEqual(self.look("good.cc", seconds=-1)[0], tidy.Verdict("good.cc"), "it is known")
        for name, text in (("far.h", "#pragma once\nint x;\n"), ("good.cc", '#include "near.h"\nint main() { return 0; }\n'),
                           (".clang-tidy", "Checks: '-*,bugprone-sizeof-expression'\nWarningsAsErrors: '*'\n# new\n"), ("compile_commands.json", self.commands("-DX"))):
            (self.root / name).write_text(text)
            self.assertEqual(self.look("good.cc", seconds=-1)[0].skipped, tidy.NO_TIME, name)
            self.assertEqual(self.look("good.cc")[0].found, "", name)
        (self.root / "far.h").write_text("#pragma once\ninline int Of() { int a[2]; return (int)sizeof(sizeof(a)); }\n")
        self.look("bad.cc")
        self.assertNotEqual(self.look("bad.cc")[0].found, "", "findings are not known again")


if __name__ == "__main__":
    unittest.main()
