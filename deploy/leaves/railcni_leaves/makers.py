"""Which files there are for which leaf."""

from __future__ import annotations

from . import eos, frr, junos, nvue, sonic
from .leaf import VRF
from .site import Site


def files(site: Site) -> dict[str, str]:
    """Path below the folder -> text."""
    made = {}
    for leaf in site.leaves:
        linux = site.named(leaf, lambda n: f"swp{n}")
        made[f"frr/{leaf.name}.conf"] = frr.render(linux)
        made[f"frr/{leaf.name}.sysctl"] = "".join(f"{key} = {value}\n" for key, value in frr.sysctls(linux).items())
        if leaf.role == VRF:
            made[f"frr/{leaf.name}.ip"] = frr.links(linux)
        on_sonic = site.named(leaf, lambda n: sonic.port_name(n, site.lanes), sonic.vrf_name)
        made[f"sonic/{leaf.name}.config_db.json"] = sonic.render(on_sonic)
        made[f"sonic/{leaf.name}.frr.conf"] = frr.render(on_sonic)
        made[f"cumulus/{leaf.name}.yaml"] = nvue.render(site.named(leaf, nvue.port_name))
        made[f"eos/{leaf.name}.conf"] = eos.render(site.named(leaf, eos.port_name))
        made[f"junos/{leaf.name}.set"] = junos.render(site.named(leaf, junos.port_name))
    return made
