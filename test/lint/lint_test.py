#!/usr/bin/python3
"""The checkers tested: each finds the violation that it is fed, and keeps quiet about the innocent neighbour."""

import json
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.dont_write_bytecode = True
import acceptance  # noqa: E402
import alerts  # noqa: E402
import binaries  # noqa: E402  (after the line above, so that no .pyc appears in the tree)
import dashboards  # noqa: E402
import documents  # noqa: E402
import format  # noqa: E402
import headers  # noqa: E402
import layers  # noqa: E402
import leaves  # noqa: E402
import length  # noqa: E402
import product  # noqa: E402
import scripts  # noqa: E402
import size  # noqa: E402
import tree  # noqa: E402

ROOT = Path(__file__).resolve().parents[2]


class Checker(unittest.TestCase):
    def setUp(self) -> None:
        self.root = Path(tempfile.mkdtemp(prefix="lint-test-"))
        self.addCleanup(shutil.rmtree, self.root)

    def write(self, name: str, content: str | bytes) -> None:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)

    def findings(self, checker, name: str, content: str | bytes) -> list[str]:
        self.write(name, content)
        found = checker.check(self.root)
        (self.root / name).unlink()
        return found

    def assert_found(self, checker, name: str, content: str | bytes, words: str) -> None:
        found = self.findings(checker, name, content)
        self.assertTrue(any(words in finding for finding in found), f"{name}: {content!r}: {found}")

    def assert_quiet(self, checker, name: str, content: str | bytes) -> None:
        self.assertEqual(self.findings(checker, name, content), [], f"{name}: {content!r}")


class Dashboards(unittest.TestCase):
    """Ours, each time with one thing changed."""

    def found(self, before: str, after: str) -> list[str]:
        families = dashboards.families_of(dashboards.names(ROOT))
        text = (ROOT / dashboards.FOLDER / "rail.json").read_text()
        self.assertIn(before, text)
        return dashboards.problems(json.loads(text.replace(before, after, 1)), families)

    def test_what_grafana_does_not_know_or_raild_does_not_count_is_found(self) -> None:
        self.assertEqual(self.found('"uid"', '"uid"'), [])
        for before, after, words in (('"type": "stat"', '"type": "stats"', "'stats' is not one of"),
                                     ('"refId"', '"refID"', "'refID' was unexpected"),
                                     ('"unit": "Bps"', '"unit": "bytes per second"', "is not one of"),
                                     ('"schemaVersion": 39', '"schemaVersion": "39"', "is not of type 'integer'"),
                                     ('"lastNotNull"', '"newest"', "'newest' is not one of"),
                                     ('"refId": "B"', '"refId": "A"', "two queries have one refId"),
                                     ("railcni_uplink_bytes_total", "railcni_uplink_bytes", "raild has no metric railcni_uplink_bytes"),
                                     ('rail=~', 'tenant=~', "has no label tenant")):
            found = self.found(before, after)
            self.assertTrue(any(words in each for each in found), f"{before} -> {after}: {found}")


class Leaves(unittest.TestCase):
    ROWS = "".join(f"| {kind}{i} | it tries | a rule | `test/lab/test_a.py::test_b` |\n" for kind, least in leaves.KINDS.items() for i in range(1, least + 1))

    def found(self, model: str) -> list[str]:
        return leaves.compare(model, {"test/lab/test_a.py::test_b", "Suite.Case"})

    def test_each_threat_has_a_line_of_defence_and_a_test_that_exists(self) -> None:
        self.assertEqual(self.found(self.ROWS), [])
        for before, after, words in (("test_b", "test_c", "no such test: test/lab/test_a.py::test_c"), ("`test/lab/test_a.py::test_b`", "", "names no test"),
                                     ("a rule", " ", "no line of defence"), ("| P2 |", "| P1 |", "P1 stands twice"),
                                     ("| N1 | it tries | a rule | `test/lab/test_a.py::test_b` |\n", "", "fewer than 5 rows N1")):
            self.assertTrue(any(words in line for line in self.found(self.ROWS.replace(before, after, 1))), words)

    def test_the_tests_of_this_tree_are_seen(self) -> None:
        self.assertIn("Pipeline.WhatTheSwitchAdmitsIsUntagged", leaves.of_cpp(ROOT))
        self.assertIn("test/lab/test_leaves.py::test_a_node_announces_its_own_and_nothing_else", leaves.of_pytest(ROOT))


class Layers(Checker):
    def found(self, name: str, include: str, words: str) -> None:
        self.assert_found(layers, name, f"#include {include}\n", words)

    def quiet(self, name: str, include: str) -> None:
        self.assert_quiet(layers, name, f"#include {include}\n")

    def test_a_folder_sees_only_what_the_table_allows(self) -> None:
        self.found("lib/base/a.h", '"lib/cni/request.h"', "it may include: nothing of ours")
        self.found("lib/cni/a.cc", '"lib/netlink/netlink.h"', "it may include: base")
        self.quiet("lib/device/a.cc", '"lib/netlink/netlink.h"')
        self.quiet("lib/cni/a.cc", '"lib/cni/request.h"')

    def test_a_folder_that_the_table_does_not_know_is_found(self) -> None:
        self.found("lib/gossip/a.h", '"lib/base/error.h"', "not in the table")

    def test_folders_within_a_folder_have_an_order(self) -> None:
        self.found("lib/engine/attach/a.cc", '"lib/engine/learned/remotes.h"', "the order is attach, learned, (beside), repair")
        self.found("lib/engine/view.cc", '"lib/engine/repair/nic.h"', "the order is")
        self.found("lib/engine/other/a.cc", '"lib/engine/attach/record.h"', "is not in the order")
        self.quiet("lib/engine/repair/a.cc", '"lib/engine/view.h"')

    def test_what_plugins_link_is_without_protobuf(self) -> None:
        self.found("lib/engine/attach/a.h", '"rail/v1/node.pb.h"', "protobuf stays out of them")
        self.found("lib/engine/learned/a.cc", '"rail/v1/node.pb.h"', "protobuf stays out of them")
        self.quiet("lib/engine/view.h", '"rail/v1/node.pb.h"')

    def test_real_implementations_are_named_by_main_and_wire_alone(self) -> None:
        for name in ("lib/engine/a.cc", "plugins/ovs-provider/ovs_provider.cc", "cmd/raild/api/service.cc"):
            self.found(name, '"lib/netlink/kernel.h"', "only main.cc and wire.cc")
            self.quiet(name, '"lib/netlink/netlink.h"')
        self.quiet("plugins/ovs-provider/main.cc", '"lib/netlink/kernel.h"')
        self.quiet("cmd/raild/wire.cc", '"lib/state/sqlite.h"')
        self.found("lib/engine/main.cc", '"lib/netlink/kernel.h"', "only main.cc and wire.cc")
        self.quiet("lib/netlink/kernel.cc", '"lib/netlink/decode.h"')

    def test_wire_names_real_things_and_is_seen_by_main_alone(self) -> None:
        self.quiet("lib/wire/wire.cc", '"lib/netlink/kernel.h"')
        self.found("lib/engine/a.cc", '"lib/wire/wire.h"', "it may include")
        self.found("cmd/raild/daemon.cc", '"lib/wire/wire.h"', "only main.cc and wire.cc")
        self.quiet("plugins/ovs-provider/main.cc", '"lib/wire/wire.h"')

    def test_doubles_are_for_tests(self) -> None:
        self.found("lib/engine/a.cc", '"lib/netlink/testing/fake.h"', "test double")
        self.found("plugins/ovs-provider/main.cc", '"lib/netlink/testing/fake.h"', "test double")
        self.quiet("lib/engine/a_test.cc", '"lib/netlink/testing/fake.h"')

    def test_plugins_and_programs_keep_apart(self) -> None:
        self.found("plugins/frr-provider/a.cc", '"plugins/ovs-provider/config.h"', "through lib/ only")
        self.found("plugins/frr-provider/a.cc", '"lib/api/node.h"', "belongs to the daemon")
        self.found("plugins/frr-provider/a.cc", '"lib/event/loop.h"', "belongs to the daemon")
        for name in ("plugins/frr-provider/a.cc", "lib/wire/wire.cc"):
            self.found(name, '"lib/engine/repair/origin.h"', "a plugin would link")
            self.quiet(name, '"lib/engine/attach/record.h"')
        self.found("plugins/frr-provider/a.cc", "<grpcpp/grpcpp.h>", "plugins are static")
        self.found("cmd/raild/a.cc", '"plugins/ovs-provider/config.h"', "through lib/ only")
        self.found("lib/cni/a.cc", '"plugins/ovs-provider/config.h"', "lib never depends")

    def test_heavy_headers_stay_out_of_headers(self) -> None:
        for heavy in ("<nlohmann/json.hpp>", "<spdlog/spdlog.h>", "<CLI/CLI.hpp>", "<grpcpp/grpcpp.h>"):
            self.found("lib/event/a.h", heavy, "in a header")
            self.quiet("lib/event/a.cc", heavy)
        self.quiet("lib/cni/a.h", "<nlohmann/json_fwd.hpp>")

    def test_includes_are_written_from_the_root(self) -> None:
        self.found("lib/cni/a.cc", '"request.h"', "written from the root")


class Product(Checker):
    def test_sleeps_are_found_but_not_in_comments_or_tests(self) -> None:
        for call in ("std::this_thread::sleep_for(1s);", "usleep(10);", "::sleep(1);", "nanosleep(&t, nullptr);"):
            self.assert_found(product, "lib/ovs/a.cc", call, "sleeps")
            self.assert_quiet(product, "lib/ovs/a_test.cc", call)
            self.assert_quiet(product, "lib/ovs/a.cc", f"// never {call}\n/* {call}\n{call} */\n")

    def test_the_time_of_day_is_found(self) -> None:
        for call in ("std::chrono::system_clock::now()", "clock_gettime(CLOCK_REALTIME, &t);", "std::time(nullptr)"):
            self.assert_found(product, "lib/ovs/a.cc", call, "time of day")
            self.assert_quiet(product, "lib/ovs/a_test.cc", call)
        self.assert_quiet(product, "lib/ovs/a.cc", "Clock::now() + last_time(3) // system_clock")

    def test_command_line_tools_are_found(self) -> None:
        self.assert_found(product, "cmd/raild/a.cc", 'auto t = "/usr/bin/ovs-vsctl";', "names the tool ovs-vsctl")
        self.assert_found(product, "lib/frr/a.cc", 'Run("vtysh -c show");', "names the tool vtysh")
        self.assert_found(product, "lib/cni/a.cc", 'execl("/sbin/ip", "ip");', "names the tool ip")
        self.assert_quiet(product, "lib/cni/a.cc", 'json["ip"] = address;')
        self.assert_quiet(product, "lib/frr/a.cc", '// what "vtysh" would print\n')

    def test_starting_programs_is_for_ipam_delegation_alone(self) -> None:
        self.assert_found(product, "lib/frr/a.cc", "posix_spawn(&pid, path, 0, 0, argv, envp);", "starts a program")
        self.assert_found(product, "lib/cni/a.cc", 'system("true");', "runs a shell")
        self.assert_quiet(product, "lib/cni/delegate.cc", "execve(path, argv, envp);")
        self.assert_quiet(product, "lib/cni/a.cc", "spec.system(); file_system(x);")


class Format(Checker):
    def test_a_misplaced_space_is_found(self) -> None:
        self.write(".clang-format", "BasedOnStyle: Google\n")
        self.assert_found(format, "lib/base/a.cc", "int  x ;\n", "lib/base/a.cc:1")
        self.assert_quiet(format, "lib/base/a.cc", "int x;\n")

    def test_documents_are_left_alone(self) -> None:
        """Asked to, clang-format takes a README for C++ and ruins it."""
        shutil.copy(ROOT / ".clang-format-ignore", self.root)
        for name in (name for name in tree.files(ROOT) if name.endswith(".md")):
            self.write(name, "# lib: a page\n\n| a | b |\n|---|---|\n| 1 |  2 |\n")
            before = (self.root / name).read_bytes()
            subprocess.run([format.TOOL, "-i", "--style=Google", name], cwd=self.root, check=True, timeout=60)
            self.assertEqual((self.root / name).read_bytes(), before, name)


class Length(Checker):
    def test_a_file_of_the_product_has_500_lines_at_most(self) -> None:
        for name in ("lib/ovs/a.cc", "lib/ovs/a.h", "plugins/ovs-provider/a.c", "cmd/raild/a.py", "cmd/raild/a.sh"):
            self.assert_found(length, name, "x\n" * 501, "501 lines, 500 at most")
            self.assert_quiet(length, name, "x\n" * 500)

    def test_a_cpp_test_has_500_lines_at_most(self) -> None:
        for name in ("lib/ovs/a_test.cc", "lib/ovs/testing/a.cc", "test/contract/a.h"):
            self.assert_found(length, name, "x\n" * 501, "501 lines, 500 at most")
            self.assert_quiet(length, name, "x\n" * 500)

    def test_python_tests_documents_and_the_api_may_be_longer(self) -> None:
        for name in ("test/lab/a.py", "lib/ovs/README.md", "lib/api/a.proto"):
            self.assert_quiet(length, name, "x\n" * 501)


class Size(Checker):
    def test_what_grows_above_its_limit_is_found(self) -> None:
        limits = size.LIMITS
        self.addCleanup(setattr, size, "LIMITS", limits)
        size.LIMITS = dict.fromkeys(limits, (2, 1))
        self.assert_quiet(size, "lib/ovs/a.cc", "int x;\n" * 2)
        self.assert_found(size, "lib/ovs/a.cc", "int x;\n" * 3, "lines of the product: 3, at most 2")
        self.assert_quiet(size, "lib/ovs/a_test.cc", "int x;\n" * 3)
        self.assert_found(size, "README.md", "one two three", "words of the pages: 3, at most 2")
        members = "class A {\n int f() { return a_; }\n  int a_ = 0;\n  std::map<int, int> b_{};\n  T& c_;\n};\n"
        size.LIMITS = dict.fromkeys(limits, (9, 1)) | {"data members of the largest class": (2, 1)}
        self.assert_found(size, "lib/ovs/a.h", members, "data members of the largest class: 3, at most 2")
        size.LIMITS = dict.fromkeys(limits, (9, 1)) | {"arrows between folders": (0, 0)}
        self.assert_found(size, "lib/ovs/a.h", '#include "lib/base/text.h"\n#include "lib/ovs/b.h"\n', "arrows between folders: 1, at most 0")


class Headers(Checker):
    def test_a_source_includes_its_own_header_first(self) -> None:
        self.write("lib/ovs/a.h", "#pragma once\n")
        for first in ("#include <map>\n", '#include "lib/ovs/b.h"\n', ""):
            self.assert_found(headers, "lib/ovs/a.cc", f'{first}int x;\n#include "lib/ovs/a.h"\n' if first else "int x;\n", "it must be lib/ovs/a.h")
        self.assert_quiet(headers, "lib/ovs/a.cc", '// Words.\n#include "lib/ovs/a.h"\n\n#include <map>\n')
        self.assert_quiet(headers, "lib/ovs/c.cc", "#include <map>\n")


class Scripts(Checker):
    def test_shell_errors_are_found_by_ending_and_by_first_line(self) -> None:
        head = "#!/bin/bash\nset -euo pipefail\n"
        self.assert_found(scripts, "deploy/a.sh", head + "echo $1\n", "SC2086")
        self.assert_found(scripts, ".ci/run", head + "echo $1\n", "SC2086")
        self.assert_found(scripts, "deploy/a.sh", "#!/bin/bash\necho\n", "set -euo pipefail")
        self.assert_quiet(scripts, "deploy/a.sh", head + 'echo "$1"\n')

    def test_python_that_does_not_compile_is_found(self) -> None:
        self.assert_found(scripts, "deploy/lab/lab", "#!/usr/bin/python3\ndef f(:\n", "deploy/lab/lab:2")
        self.assert_quiet(scripts, "test/a.py", "def f() -> int:\n    return 1\n")


class Documents(Checker):
    def test_dead_links_are_found(self) -> None:
        self.assert_found(documents, "README.md", "see [this](lib/gone.md)\n", "leads nowhere")
        self.assert_quiet(documents, "README.md", "see [here](README.md#part), [there](https://example.org/x)\n")

    def test_broken_json_is_found_also_inside_documents(self) -> None:
        self.assert_found(documents, "a.json", "{,}", "not JSON")
        self.assert_found(documents, "README.md", '```json\n{"a": }\n```\n', "block at line 1")
        self.assert_quiet(documents, "README.md", '```json\n{"a": 1}\n```\n')

    def test_tabs_in_yaml_are_found(self) -> None:
        self.assert_found(documents, "a.yaml", "a:\n\tb: 1\n", "a.yaml:2: a tab")

    def test_paths_of_one_machine_are_found(self) -> None:
        self.assert_found(documents, "a.txt", "see /wo" "rk/notes\n", "one machine's own")
        self.assert_found(documents, "a.txt", "cd /ro" "ot/project\n", "one machine's own")
        self.assert_quiet(documents, "a.txt", "under $PREFIX/work/ and /run/railcni\n")

    def test_a_table_of_files_that_is_not_complete_is_found(self) -> None:
        for name in ("a.cc", "a.h", "b_one.cc", "a_test.cc", "testing/fake.h", "sub/c.cc", "CMakeLists.txt"):
            self.write(f"lib/x/{name}", "")
        table = "# x\n\n| file | what |\n|---|---|\n| `a.h` | it |\n"
        self.assert_found(documents, "lib/x/README.md", table, "leaves out b_one")
        self.assert_found(documents, "lib/x/README.md", table + "| `b_*` | them |\n", "leaves out sub")
        self.assert_found(documents, "lib/x/README.md", table + "| `b_*`, `sub/`, `gone` | them |\n", "names gone, which is not there")
        self.assert_quiet(documents, "lib/x/README.md", table + "| `b_*`, [`sub/`](a.h) | them |\n")
        self.assert_quiet(documents, "lib/x/README.md", "# x\n\n| key | what |\n|---|---|\n| `a` | a table of something else |\n")

    def test_a_recipe_for_contributors_names_what_is_there(self) -> None:
        page, title = "lib/inspect/doctor/README.md", "\n## Adding a finding\n\n"
        for name in ("lib/inspect/doctor/doctor.cc", "lib/inspect/doctor/doctor.h", "test/lab/cause_rows_pod.py"):
            self.write(name, "")
        places = "1. `doctor.h`, `lib/inspect/doctor/doctor.cc`, `test/lab/cause_rows_*.py`\n"
        self.assert_quiet(documents, page, f"# inspect\n{title}{places}")
        self.assert_found(documents, page, f"# inspect\n\n{places}", "must name the files")
        self.assert_found(documents, page, f"# inspect\n{title}\n## Another\n\n{places}", "must name the files")
        self.assert_found(documents, page, f"# inspect\n{title}{places}2. `lib/inspect/subjects.cc`\n", "names lib/inspect/subjects.cc")



class Binaries(Checker):
    def built(self, code: str, *flags: str) -> list[str]:
        self.write("a.c", code)
        subprocess.run(["gcc", "-o", self.root / "plugin", self.root / "a.c", *flags], check=True)
        return binaries.check_one(self.root / "plugin")

    def test_a_dynamic_binary_is_found(self) -> None:
        found = " ".join(self.built("int main(void) { return 0; }\n"))
        self.assertIn("needs a dynamic linker", found)
        self.assertIn("libc.so.6", found)

    def test_a_static_binary_passes(self) -> None:
        self.assertEqual(self.built("int main(void) { return 0; }\n", "-static-pie", "-fPIE"), [])

    def test_protobuf_inside_and_size_are_found(self) -> None:
        code = 'char big[9 << 20] = {1}; const char* volatile s = "google.protobuf.Any"; int main(void) { return !s; }\n'
        found = " ".join(self.built(code, "-static-pie", "-fPIE"))
        self.assertIn("google.protobuf", found)
        self.assertIn("plugins stay under", found)

    def test_a_plugin_that_was_not_built_is_found(self) -> None:
        self.write("plugins/ovs-provider/main.cc", "")
        self.assertIn("not built", " ".join(binaries.check(self.root, self.root / "bin")))


class Acceptance(Checker):
    CTEST = {f"A{n:02}_Suite.Test" for n in range(1, 19)} | {"Other.Test"}
    LAB = {"test_x.py::test_y"}
    GOOD = "".join(f"| A{n:02} | what | `A{n:02}_Suite.*` |\n" for n in range(1, 19)) + \
        "".join(f"| B{n:02} | what | `test_x.py::test_y` |\n" for n in range(1, 11))

    def test_a_whole_index_passes(self) -> None:
        self.assertEqual(acceptance.compare(self.GOOD, self.CTEST, self.LAB), [])

    def test_what_is_missing_is_found(self) -> None:
        for old, new, words in (("| A07 | what | `A07_Suite.*` |\n", "", "line A07 is not there"),
                                ("`A07_Suite.*`", "", "A07 names no test"),
                                ("`A07_Suite.*`", "`A07_Gone.*`", "A07: no such test: A07_Gone.*"),
                                ("`A07_Suite.*`", "`Other.Test`", "A07: none of its tests has the line's number"),
                                ("| B03 |", "| B04 |", "line B04 stands twice"),
                                ("test_x.py::test_y", "test_x.py::test_gone", "B01: no such test")):
            found = acceptance.compare(self.GOOD.replace(old, new, 1), self.CTEST, self.LAB)
            self.assertTrue(any(words in finding for finding in found), (words, found))


class Alerts(unittest.TestCase):
    RULES = ("      - alert: One\n        expr: railcni_up == 0\n        description: >-\n          It is down.\n          Do: this.\n"
             "      - alert: Two\n        expr: railcni_remotes > 1\n        description: >-\n          Many. Do: that.\n")
    TESTS = 'alertname="One" alertname="Two" railcni_up'
    KNOWN = {"railcni_up", "railcni_remotes"}

    def test_rules_that_are_tested_and_say_what_to_do_pass(self) -> None:
        self.assertEqual(alerts.compare(self.RULES, self.TESTS, self.KNOWN), [])

    def test_what_is_missing_is_found(self) -> None:
        for rules, tests, known, words in (
                (self.RULES, self.TESTS, {"railcni_up"}, "raild has no metric railcni_remotes"),
                (self.RULES, self.TESTS + " railcni_gone", self.KNOWN, "raild has no metric railcni_gone"),
                (self.RULES.replace("Do: this.", ""), self.TESTS, self.KNOWN, "One does not say what to do"),
                (self.RULES, 'alertname="One"', self.KNOWN, "no test in which Two fires"),
                ("", self.TESTS, self.KNOWN, "no alert")):
            found = alerts.compare(rules, tests, known)
            self.assertTrue(any(words in finding for finding in found), (words, found))


class Tree(Checker):
    def test_build_folders_are_left_out_where_there_is_no_git(self) -> None:
        self.write("lib/a.cc", "")
        self.write("build/lib/b.cc", "")
        self.assertEqual(tree.files(self.root), ["lib/a.cc"])

    def test_ignored_files_are_left_out_where_there_is_git(self) -> None:
        subprocess.run(["git", "init", "-q", str(self.root)], check=True)
        self.write(".gitignore", "*.o\n")
        self.write("lib/a.o", "")
        self.write("lib/a.cc", "")
        self.assertEqual(tree.files(self.root), [".gitignore", "lib/a.cc"])


if __name__ == "__main__":
    unittest.main()
