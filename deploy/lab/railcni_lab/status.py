"""What is up: hosts with their daemons and BGP sessions, pods, the leaves' routes."""

from __future__ import annotations

from . import daemons, fabric, frontend, kernel, pods, vty
from .layout import COMMUNITY_ASN, Host, Lab, LabError, Node, rail_name

HIGH_KIND, LOW_KIND, RAIL_KIND, PLANE_KIND = 0x54, 0x55, 0x52, 0x50  # the high byte of a large community's second word


def status(lab: Lab) -> tuple[list[str], bool]:
    """Lines for people, and whether every daemon runs and every session is Established."""
    shape, lines, well = lab.shape(), [], True
    for node in lab.nodes():
        with lab.locked():
            mended = fabric.mend_devices(node, shape, pods.devices_in_use(lab, node))
        if mended:
            lines.append(f"{node.name}: {mended} device pairs that died with a pod's namespace made again")
    for host in [*lab.nodes(), *lab.leaves(), *lab.spines(), *frontend.leaves(lab)]:
        text, good = _host(host)
        lines.append(text)
        well = well and good
    for pod in pods.all_pods(lab):
        alive = pods.namespace(lab, pod.name) in kernel.namespaces()
        rails = ", ".join(f"{rail_name(shape, r)} {pods.ifname(r)} {' '.join(pod.addresses(r).values())}" for r in pod.results)
        lines.append(f"pod {pod.name}: {pod.node}, {pod.tenant}, {rails or 'not attached'}"
                     f"{'' if alive else ', NAMESPACE GONE'}")
        well = well and alive
    return lines, well


def _host(host: Host) -> tuple[str, bool]:
    states = {daemon: daemons.pid_of(host, daemon) for daemon in daemons.pid_files(host)}
    parts = [f"{daemon} {pid}" if pid else f"{daemon} DEAD" for daemon, pid in states.items()]
    good = all(states.values())
    if isinstance(host, Node) and states["raild"] and not daemons.raild_answers(host):
        parts.append("raild DOES NOT ANSWER")
        good = False
    try:
        sessions = vty.sessions(host.frr_dir)
    except LabError:
        sessions = {}
    parts += [f"BGP {name} {state}" for name, state in sessions.items()] or ["no BGP session"]
    good = good and bool(sessions) and all(s == "Established" for s in sessions.values())
    return f"{host.name}: {', '.join(parts)}", good


def routes(host: Host) -> list[str]:
    """The routes of a leaf with what their communities mean."""
    lines = []
    for route in vty.routes(host.frr_dir):
        lines.append(f"{route['prefix']:<28} via {route['peer'] or route['next_hop']:<10} AS {route['as_path']:<32} "
                     + " ".join(f"{c} ({_meaning(c)})" for c in route["large_communities"]))
    return lines


def _meaning(community: str) -> str:
    asn, first, second = (int(word) for word in community.split(":"))
    if asn == COMMUNITY_ASN and first >> 24 in (HIGH_KIND, LOW_KIND):
        half = f"{(first & 0xFFFFFF) << 32 | second:014x}"
        return f"tenant {half}..." if first >> 24 == HIGH_KIND else f"...{half}"
    if asn == COMMUNITY_ASN and first == RAIL_KIND << 24:
        return f"rail {second}"
    if asn == COMMUNITY_ASN and first == PLANE_KIND << 24:
        return f"rail {second >> 8} plane {second & 0xFF}"
    return "not ours"
