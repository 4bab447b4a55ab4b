"""Pods that ask for NICs: one that waits, and a distributed training of plain Kubernetes objects."""

from __future__ import annotations

from .site import Rail, Site
from .text import SITE, indented, kustomization

NCCL = """- { name: NCCL_SOCKET_IFNAME, value: eth0 }  # NCCL's own connections go by the primary network, the data by the rails
- { name: NCCL_CROSS_NIC, value: "0" }       # a ring stays on its rail
- { name: NCCL_IB_TC, value: "106" }         # DSCP 26, ECN-capable: what the fabric's PFC and ECN settings are for
"""
# NCCL takes every RDMA device that it sees, and a container may see those of other pods. The device plugin says which are ours.
HCA = """for device in $(env | sed -nE 's/^PCIDEVICE_[^=]*=([0-9a-f]{4,8}:.*)$/\\1/p' | tr , ' '); do
  for hca in /sys/bus/pci/devices/$device/infiniband/*; do NCCL_IB_HCA=${NCCL_IB_HCA:+$NCCL_IB_HCA,}${hca##*/}; done
done
export NCCL_IB_HCA="=$NCCL_IB_HCA"
"""


def files(site: Site) -> dict[str, str]:
    made = {"examples/namespace/kustomization.yaml": kustomization(
                "The namespace of the examples. It is apart from them, so that deleting an example deletes no namespace.",
                ["namespace.yaml"]),
            "examples/namespace/namespace.yaml": f"{SITE}apiVersion: v1\nkind: Namespace\nmetadata:\n  name: {site.team}\n"}
    for size in site.sizes:
        rails, suffix = site.rails[:size], "" if size == min(site.sizes) else f"-{size}-rails"
        made[f"examples/pod{suffix}/kustomization.yaml"] = kustomization(f"A pod with one VF on each of {size} rails.", ["pod.yaml"])
        made[f"examples/pod{suffix}/pod.yaml"] = _pod(site, rails)
        made[f"examples/job{suffix}/kustomization.yaml"] = kustomization(
            f"A training on {site.job_nodes} nodes with {size} rails each: a Job for each node, torchrun in each.", ["job.yaml"])
        made[f"examples/job{suffix}/job.yaml"] = _job(site, rails)
    return made


def networks(site: Site, rails: tuple[Rail, ...]) -> str:
    return ",".join(f"{site.networks_namespace}/{rail.name}" for rail in rails)


def resources(site: Site, rails: tuple[Rail, ...], more: str = "") -> str:
    asked = "{ " + more + ", ".join(f"{site.resource(rail)}: 1" for rail in rails) + " }"
    return f"resources:\n  requests: {asked}\n  limits: {asked}\n"


def _pod(site: Site, rails: tuple[Rail, ...]) -> str:
    return f"""{SITE}# One VF on each of {len(rails)} rails. The tenant is the namespace: pods of other namespaces cannot be reached on the rails.
apiVersion: v1
kind: Pod
metadata:
  name: trainer
  namespace: {site.team}
  annotations:
    # namespace/name, because the definitions stand in `{site.networks_namespace}`
    k8s.v1.cni.cncf.io/networks: {networks(site, rails)}
spec:
  restartPolicy: Never
  containers:
    - name: trainer
      image: {site.pod_image}
      command: ["sh", "-c", "trap exit TERM; sleep infinity & wait"]  # ends as soon as it is told to
      env:
{indented(NCCL, 8)}      securityContext:
        capabilities: {{ add: ["IPC_LOCK"] }}  # RDMA pins memory
{indented(resources(site, rails), 6)}"""


def service(site: Site, about: str) -> str:
    """By which the pods of a training find the first of them."""
    return f"""{SITE}{about}apiVersion: v1
kind: Service
metadata:
  name: trainer
  namespace: {site.team}
spec:
  clusterIP: None
  publishNotReadyAddresses: true
  selector: {{ app: trainer }}
  ports:
    - {{ name: rendezvous, port: 29500 }}
"""


def _job(site: Site, rails: tuple[Rail, ...]) -> str:
    about = """# The pods find the first of them by the name trainer-0.trainer. A Job for each node, and not one with completionMode Indexed,
# because Kubernetes before 1.24 has no such mode. /workspace/train.py stands for your program.
"""
    return "---\n".join([service(site, about)] + [job_of_node(site, rails, rank) for rank in range(site.job_nodes)])


def job_of_node(site: Site, rails: tuple[Rail, ...], rank: int, near: str = "", claim: str = "") -> str:
    """`near`: what a podAffinity asks for, as text. `claim`: the template of the claim by which its pod gets devices; "": by resources."""
    claims = f"resourceClaims:\n  - {{ name: {claim}, resourceClaimTemplateName: {claim} }}\n" if claim else ""
    return f"""apiVersion: batch/v1
kind: Job
metadata:
  name: trainer-{rank}
  namespace: {site.team}
spec:
  backoffLimit: 0
  template:
    metadata:
      labels: {{ app: trainer }}
      annotations:
        k8s.v1.cni.cncf.io/networks: {networks(site, rails)}
    spec:
      restartPolicy: Never
      hostname: trainer-{rank}
      subdomain: trainer
      affinity:
{indented(near, 8)}        podAntiAffinity:
          requiredDuringSchedulingIgnoredDuringExecution:
            - topologyKey: kubernetes.io/hostname
              labelSelector: {{ matchLabels: {{ app: trainer }} }}
{indented(claims + trainer(site, rails, str(rank), "trainer-0.trainer", claim), 6)}"""


def trainer(site: Site, rails: tuple[Rail, ...], rank: str, master: str, claim: str = "") -> str:
    """Containers and volumes of a pod that takes part in a training; `rank` and `master` as the shell reads them."""
    run = HCA + f"""exec torchrun --nnodes={site.job_nodes} --node-rank={rank} --nproc-per-node={site.gpus} \\
  --master-addr={master} --master-port=29500 /workspace/train.py
"""
    asked = f"resources:\n  claims: [{{ name: {claim} }}]\n" if claim else resources(site, rails, f"nvidia.com/gpu: {site.gpus}, ")
    return f"""containers:
  - name: trainer
    image: {site.job_image}
    command:
      - /bin/bash
      - -ec
      - |
{indented(run, 8)}    env:
{indented(NCCL, 6)}    securityContext:
      capabilities: {{ add: ["IPC_LOCK"] }}  # RDMA pins memory
{indented(asked, 4)}    volumeMounts:
      - {{ name: shm, mountPath: /dev/shm }}
volumes:
  - name: shm  # for the processes of a node among themselves
    emptyDir: {{ medium: Memory }}
"""
