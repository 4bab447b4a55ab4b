"""Devices for claims (DRA): the class of each rail, and a training whose pods pair each rail's VF with a GPU."""

from __future__ import annotations

from . import examples
from .site import Rail, Site
from .text import SITE, kustomization

DRIVER = "rail.railcni.io"


def files(site: Site) -> dict[str, str]:
    made = {}
    for size in site.sizes:
        folder = f"devices/{size}-rails/claims"
        made[f"{folder}/kustomization.yaml"] = kustomization(
            f"The classes of {size} rails, where raild is the DRA driver (components/dra). Kubernetes 1.34 or newer.", ["classes.yaml"])
        made[f"{folder}/classes.yaml"] = SITE + "---\n".join(_class(site, rail) for rail in site.rails[:size])
    rails = site.rails[:max(site.sizes)]
    made["examples/job-claims/kustomization.yaml"] = kustomization(
        f"A training on {site.job_nodes} nodes with {len(rails)} pairs of GPU and VF each, by claims.", ["claims.yaml", "job.yaml"])
    made["examples/job-claims/claims.yaml"] = _template(site, rails)
    made["examples/job-claims/job.yaml"] = "---\n".join(
        [examples.service(site, "# As job/, but for what its pods ask for.\n")] +
        [examples.job_of_node(site, rails, rank, claim="rails") for rank in range(site.job_nodes)])
    return made


def class_of(rail: Rail) -> str:
    return f"{rail.name}.railcni.io"


def _class(site: Site, rail: Rail) -> str:
    return f"""apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata:
  name: {class_of(rail)}
spec:
  extendedResourceName: {site.resource(rail)}  # pods that ask for the resource get a claim (Kubernetes 1.36; feature gate before)
  selectors:
    - cel:
        expression: device.driver == "{DRIVER}" && device.attributes["{DRIVER}"].rail == "{rail.name}"
"""


def _template(site: Site, rails: tuple[Rail, ...]) -> str:
    requests = "".join(f"""        - name: gpu-{rail.name}
          exactly: {{ deviceClassName: gpu.nvidia.com }}
        - name: {rail.name}
          exactly: {{ deviceClassName: {class_of(rail)} }}
""" for rail in rails)
    pairs = "".join(f"""        - requests: ["gpu-{rail.name}", "{rail.name}"]
          matchAttribute: resource.kubernetes.io/pcieRoot
""" for rail in rails)
    return f"""{SITE}# Each rail's VF with a GPU of the same PCIe root complex: where there is none, the pod waits.
apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata:
  name: rails
  namespace: {site.team}
spec:
  spec:
    devices:
      requests:
{requests}      constraints:
{pairs}"""
