"""What product code never does: run other people's command line tools, wait by sleeping, or decide by the time of day."""

import re
from pathlib import Path

import tree

TOOLS = ("ovs-vsctl", "ovs-ofctl", "ovs-appctl", "ovs-dpctl", "vtysh", "ip", "tc", "devlink", "ethtool", "iptables", "nft")
TOOL = re.compile(r'"(?:/(?:usr/)?(?:local/)?s?bin/)?(' + "|".join(TOOLS) + r')(?: [^"]*)?"')
STARTS = re.compile(r"\b(?:system|popen|execl|execle|execlp|execv|execve|execvp|execvpe|execveat|fexecve"
                    r"|posix_spawn|posix_spawnp)\s*\(")
SLEEPS = re.compile(r"\b(?:sleep|usleep|nanosleep|clock_nanosleep|sleep_for|sleep_until|thrd_sleep)\s*\(")
SHELLS = re.compile(r"(?<![\w.>])(?:system|popen)\s*\(")

# The time of day jumps. What waits, expires or is compared goes by the steady clock; these may ask, to show a time to people.
TIME_OF_DAY = re.compile(r"system_clock|CLOCK_REALTIME|\bUnixMs\b|\b(?:gettimeofday|time|localtime|gmtime)\s*\(")
MAY_TELL_THE_TIME = {
    "cmd/raild/daemon.cc": "when raild was started, for the API",
    "cmd/raild/doctor.cc": "when the look was taken, for the view",
    "cmd/raild/workers/workers.cc": "the clock of the inspector, by which certificates hold",
    "cmd/raild/workers/report_worker.cc": "when the node's condition changed, and when an event happened, for people",
    "cmd/raild/workers/claim_offers.cc": "since when a device is as healthy as it is, for people",
    "cmd/raild/metrics/page.cc": "the moment from which both ends of an age are counted, and which the page does not show",
    "cmd/raild/api/service.cc": "gRPC's own deadline for its end is a time of day",
    "cmd/railfabric/overview.cc": "since when a node is away, and when causes are looked at again, for people",
    "cmd/railfabric/service.cc": "gRPC's own deadline for its end is a time of day",
    "cmd/railctl/main.cc": "how old an attachment is, for people",
    "cmd/railctl/ports.cc": "writes when a burst began as text",
    "cmd/railctl/top_screen.cc": "writes when counters were read as text",
    "lib/counters/sampler.cc": "when a burst began, for people; lengths and rates go by the steady clock",
    "lib/base/clock.h": "UnixMs itself",
    "lib/engine/attach/tenant_move.cc": "the record's leaving_ms, which outlives raild",
    "lib/engine/repair/switch_tenants.cc": "compared with leaving_ms; `leaving` bounds it by a clock that does not jump",
    "lib/engine/repair/node_status.cc": "since when rules are not known, for people",
    "lib/engine/repair/bgp_feed.cc": "when a remote was learned, for the API",
    "lib/inspect/doctor/rails.cc": "writes that time as text",
    "lib/kubelet/podresources.cc": "gRPC's own deadline of a call is a time of day",
    "lib/inspect/inspector.h": "certificates hold by the time of day",
    "plugins/frr-provider/alone.cc": "when a pod was attached, for people",
    "plugins/ovs-provider/add.cc": "when an attachment was made, for people",
}

# Where the product starts another program: IPAM plugins are executables by the CNI specification, and perftest is nothing else.
MAY_START = re.compile(r"^(?:lib/cni/[a-z_]+|cmd/railctl/accept/program)\.cc$")

# A pause between two questions is right only where nobody could tell the answer: file -> why there is no event.
MAY_PAUSE = {
    "lib/frr/bgp.cc": "bgpd's vty tells nobody when a session is Established or a route enters an Adj-RIB-Out; it can only be asked",
}

# A command line for a person to copy, which nobody here starts.
MAY_NAME_A_TOOL = {"lib/engine/repair/foreign_rules.cc": "the line that deletes a rule of others"}


def check(root: Path) -> list[str]:
    found = []
    for name in tree.files(root):
        if not tree.is_cpp(name) or not tree.is_product(name):
            continue
        code = without_comments(tree.text(root, name))
        starts = bool(STARTS.search(code))
        for number, line in enumerate(code.split("\n"), 1):
            if SLEEPS.search(line) and name not in MAY_PAUSE:
                found.append(f"{name}:{number}: sleeps; wait for the event instead: {line.strip()}")
            if TIME_OF_DAY.search(line) and name not in MAY_TELL_THE_TIME:
                found.append(f"{name}:{number}: asks for the time of day, which jumps; take lib/base/clock.h: {line.strip()}")
            if SHELLS.search(line):
                found.append(f"{name}:{number}: runs a shell; the product never does: {line.strip()}")
            elif STARTS.search(line) and not MAY_START.match(name):
                found.append(f"{name}:{number}: starts a program; only IPAM delegation in lib/cni and the agent of `railctl accept` do: {line.strip()}")
            # A lone "ip" is also a CNI key, so the short names count only where something is started.
            tool = TOOL.search(line)
            if tool and (starts or len(tool[1]) > 3) and (starts or name not in MAY_NAME_A_TOOL):
                found.append(f"{name}:{number}: names the tool {tool[1]}; the product never executes it: {line.strip()}")
    return found


def without_comments(code: str) -> str:
    """`code` with comments blanked out; strings, and the line count, are kept."""
    pattern = re.compile(r'"(?:\\.|[^"\\\n])*"' r"|'(?:\\.|[^'\\\n])*'" r"|//[^\n]*|/\*.*?\*/", re.DOTALL)

    def blank(match: re.Match[str]) -> str:
        return match[0] if match[0][0] in "\"'" else "\n" * match[0].count("\n")
    return pattern.sub(blank, code)
