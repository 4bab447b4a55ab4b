"""Who hands out VFs: sriov-network-device-plugin by its ConfigMap, or sriov-network-operator by a policy for each rail."""

from __future__ import annotations

import json

from .site import Rail, Site
from .text import SITE, indented, kustomization


def files(site: Site) -> dict[str, str]:
    made = {}
    for size in site.sizes:
        folder, rails = f"devices/{size}-rails", site.rails[:size]
        made[f"{folder}/device-plugin/kustomization.yaml"] = kustomization(
            f"sriov-network-device-plugin: which VFs it hands out as which resource, for {size} rails.", ["config.yaml"])
        made[f"{folder}/device-plugin/config.yaml"] = _config(site, rails)
        made[f"{folder}/sriov-network-operator/kustomization.yaml"] = kustomization(
            f"sriov-network-operator makes the VFs of {size} rails and runs the device plugin. Its RESOURCE_PREFIX must be\n"
            f"# {site.resource_prefix}, and node.json must leave \"manage_sriov\" out.", ["policies.yaml"])
        made[f"{folder}/sriov-network-operator/policies.yaml"] = SITE + "---\n".join(_policy(site, rail) for rail in rails)
    return made


def _config(site: Site, rails: tuple[Rail, ...]) -> str:
    resources = []
    for rail in rails:
        by, pf = rail.selector
        resources.append({"resourceName": rail.name, "resourcePrefix": site.resource_prefix,
                          "selectors": [{"vendors": [site.vendor], "devices": list(site.devices), by: [pf], "isRdma": True}]})
    listed = ",\n".join("  " + json.dumps(resource) for resource in resources)
    text = '{ "resourceList": [\n' + listed + " ] }\n"
    return f"""{SITE}apiVersion: v1
kind: ConfigMap
metadata:
  name: sriovdp-config
  namespace: {site.plugin_namespace}
data:
  config.json: |
{indented(text, 4)}"""


def _policy(site: Site, rail: Rail) -> str:
    by, pf = rail.selector
    return f"""apiVersion: sriovnetwork.openshift.io/v1
kind: SriovNetworkNodePolicy
metadata:
  name: {rail.name}
  namespace: {site.operator_namespace}
spec:
  resourceName: {rail.name}
  nodeSelector: {{ {site.node_label}: "true" }}
  numVfs: {site.num_vfs}
  mtu: {site.mtu}
  deviceType: netdevice
  eSwitchMode: switchdev
  linkType: eth
  isRdma: true
  nicSelector: {{ vendor: "{site.vendor}", {by}: ["{pf}"] }}
"""
