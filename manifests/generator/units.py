"""A training that stays in one scalable unit: by the label that raild writes on nodes (topology.labels of node.json), for three schedulers."""

from __future__ import annotations

from .examples import job_of_node, networks, service, trainer
from .site import Rail, Site
from .text import SITE, indented, kustomization

UNIT = "railcni.io/su"  # node.json: topology.labels.unit


def files(site: Site) -> dict[str, str]:
    rails = site.rails[:min(site.sizes)]
    made: dict[str, str] = {}
    for name, about, texts in (
            ("affinity", "A training in one scalable unit, by the affinity of its pods alone: any Kubernetes.",
             {"job.yaml": _by_affinity(site, rails)}),
            ("kueue", "A training in one scalable unit by Kueue: a topology of node labels, a queue, a Job that waits until a unit has room.",
             {"queue.yaml": _queue(site, rails), "job.yaml": _by_kueue(site, rails)}),
            ("volcano", "A training in one scalable unit by Volcano: a HyperNode for each unit, a Job that stays in one.",
             {"hypernodes.yaml": _hypernodes(site), "job.yaml": _by_volcano(site, rails)})):
        made |= {f"examples/one-unit-{name}/{file}": text for file, text in texts.items()}
        made[f"examples/one-unit-{name}/kustomization.yaml"] = kustomization(about, list(texts))
    return made


def _by_affinity(site: Site, rails: tuple[Rail, ...]) -> str:
    about = """# The first pod may go anywhere; the others follow it into its unit. A unit without room for all of them leaves some waiting for ever:
# a queue that looks before (one-unit-kueue, one-unit-volcano) does not.
"""
    near = f"""podAffinity:
  requiredDuringSchedulingIgnoredDuringExecution:
    - topologyKey: {UNIT}
      labelSelector: {{ matchLabels: {{ app: trainer }} }}
"""
    return "---\n".join([service(site, about)] + [job_of_node(site, rails, rank, near) for rank in range(site.job_nodes)])


def _queue(site: Site, rails: tuple[Rail, ...]) -> str:
    names = ["nvidia.com/gpu"] + [site.resource(rail) for rail in rails]
    quotas = "".join(f"            - {{ name: {name}, nominalQuota: {site.job_nodes * (site.gpus if name == names[0] else 1)} }}\n" for name in names)
    return f"""{SITE}# Kueue 0.15 or newer (v1beta2). The quota is that of one training of this size: take your cluster's.
apiVersion: kueue.x-k8s.io/v1beta2
kind: Topology
metadata:
  name: rails
spec:
  levels:
    - nodeLabel: {UNIT}
    - nodeLabel: kubernetes.io/hostname
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata:
  name: rails
spec:
  topologyName: rails
  nodeLabels: {{ {site.node_label}: "true" }}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata:
  name: trainings
spec:
  namespaceSelector: {{ matchLabels: {{ kubernetes.io/metadata.name: {site.team} }} }}
  resourceGroups:
    - coveredResources: [{", ".join(names)}]
      flavors:
        - name: rails
          resources:
{quotas}---
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata:
  name: trainings
  namespace: {site.team}
spec:
  clusterQueue: trainings
"""


def _by_kueue(site: Site, rails: tuple[Rail, ...]) -> str:
    """One Job with an index for each pod: Kueue places a Job as a whole."""
    return service(site, "") + f"""---
apiVersion: batch/v1
kind: Job
metadata:
  name: trainer
  namespace: {site.team}
  labels: {{ kueue.x-k8s.io/queue-name: trainings }}
spec:
  completionMode: Indexed
  completions: {site.job_nodes}
  parallelism: {site.job_nodes}
  backoffLimit: 0
  template:
    metadata:
      labels: {{ app: trainer }}
      annotations:
        k8s.v1.cni.cncf.io/networks: {networks(site, rails)}
        kueue.x-k8s.io/podset-required-topology: {UNIT}  # or podset-preferred-topology
    spec:
      restartPolicy: Never
      subdomain: trainer
      affinity:
        podAntiAffinity:
          requiredDuringSchedulingIgnoredDuringExecution:
            - topologyKey: kubernetes.io/hostname
              labelSelector: {{ matchLabels: {{ app: trainer }} }}
{indented(trainer(site, rails, "$JOB_COMPLETION_INDEX", "trainer-0.trainer"), 6)}"""


def _hypernodes(site: Site) -> str:
    """Volcano cannot make them of a label's values by itself: each unit is named."""
    return "---\n".join(f"""{SITE if number == 0 else ""}apiVersion: topology.volcano.sh/v1alpha1
kind: HyperNode
metadata:
  name: {unit}
spec:
  tier: 1
  members:
    - type: Node
      selector:
        labelMatch: {{ matchLabels: {{ {UNIT}: {unit} }} }}
""" for number, unit in enumerate(site.units))


def _by_volcano(site: Site, rails: tuple[Rail, ...]) -> str:
    return f"""{SITE}apiVersion: batch.volcano.sh/v1alpha1
kind: Job
metadata:
  name: trainer
  namespace: {site.team}
spec:
  schedulerName: volcano
  minAvailable: {site.job_nodes}
  networkTopology: {{ mode: hard, highestTierAllowed: 1 }}
  plugins: {{ svc: [], env: [] }}
  tasks:
    - name: node
      replicas: {site.job_nodes}
      template:
        metadata:
          labels: {{ app: trainer }}
          annotations:
            k8s.v1.cni.cncf.io/networks: {networks(site, rails)}
        spec:
          restartPolicy: Never
{indented(trainer(site, rails, "$VC_TASK_INDEX", "trainer-node-0.trainer"), 10)}"""
