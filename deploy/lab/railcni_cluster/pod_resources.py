#!/usr/bin/python3
"""Asks kubelet's pod-resources service which devices a pod has. usage: pod_resources.py NAMESPACE POD

Prints resources and their devices as JSON. What kubelet keeps on disk, its checkpoint, must say the same.
"""

from __future__ import annotations

import json
import sys

from wire import fields

SOCKET = "unix:/var/lib/kubelet/pod-resources/kubelet.sock"


def devices_of(namespace: str, pod: str) -> dict[str, list[str]]:
    """Resource -> devices, of all of the pod's containers."""
    import grpc  # only here: it takes longer to load than all else

    with grpc.insecure_channel(SOCKET) as channel:
        answer = channel.unary_unary("/v1.PodResourcesLister/List")(b"", timeout=10, wait_for_ready=True)
    found: dict[str, list[str]] = {}
    for _, one in fields(answer):
        words = list(fields(one))  # type: ignore[arg-type]
        if [value for number, value in words if number in (1, 2)] != [pod.encode(), namespace.encode()]:
            continue
        for container in (value for number, value in words if number == 3):
            for given in (value for number, value in fields(container) if number == 2):  # type: ignore[arg-type]
                parts = list(fields(given))  # type: ignore[arg-type]
                resource = next(value for number, value in parts if number == 1).decode()  # type: ignore[union-attr]
                found.setdefault(resource, []).extend(value.decode() for number, value in parts if number == 2)  # type: ignore[union-attr]
    return {resource: sorted(ids) for resource, ids in found.items()}


if __name__ == "__main__":
    print(json.dumps(devices_of(sys.argv[1], sys.argv[2])))
