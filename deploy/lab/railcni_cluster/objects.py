"""Objects that a cluster needs before RailCNI comes: the kind of Multus' definitions, and what Multus may do."""

from __future__ import annotations

from typing import Any

Object = dict[str, Any]


def network_attachment_definitions() -> Object:
    names = {"plural": "network-attachment-definitions", "singular": "network-attachment-definition", "kind": "NetworkAttachmentDefinition",
             "shortNames": ["net-attach-def"]}
    schema = {"type": "object", "properties": {"spec": {"type": "object", "properties": {"config": {"type": "string"}}}}}
    return {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": "network-attachment-definitions.k8s.cni.cncf.io"},
            "spec": {"group": "k8s.cni.cncf.io", "scope": "Namespaced", "names": names,
                     "versions": [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}]}}


def multus_rights() -> list[Object]:
    rules = [{"apiGroups": ["k8s.cni.cncf.io"], "resources": ["*"], "verbs": ["get", "list", "watch"]},
             {"apiGroups": [""], "resources": ["pods", "pods/status"], "verbs": ["get", "list", "watch", "update", "patch"]},
             {"apiGroups": ["resource.k8s.io"], "resources": ["resourceclaims", "resourceslices"], "verbs": ["get", "list"]},
             {"apiGroups": ["", "events.k8s.io"], "resources": ["events"], "verbs": ["create", "patch", "update"]}]
    return [{"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": "multus"}, "rules": rules},
            {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": {"name": "multus"},
             "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "multus"},
             "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "multus"}]}]


def pod(name: str, namespace: str, *, node: str | None = None, rails: int = 2, image: str, labels: dict[str, str] | None = None) -> Object:
    """A pod with one device on each rail, on a node or wherever there is room."""
    wanted = {f"nvidia.com/rail{rail}": 1 for rail in range(rails)}
    spec: Object = {"restartPolicy": "Never", "terminationGracePeriodSeconds": 1, "automountServiceAccountToken": False,
                    "enableServiceLinks": False,
                    "containers": [{"name": "main", "image": image, "imagePullPolicy": "Never",
                                    "resources": {"limits": wanted, "requests": wanted}}]}
    if node is not None:
        spec["nodeSelector"] = {"kubernetes.io/hostname": node}
    annotations = {"k8s.v1.cni.cncf.io/networks": ",".join(f"default/rail{rail}" for rail in range(rails))}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": namespace, "annotations": annotations,
                                                            "labels": labels or {}}, "spec": spec}


def namespace(name: str, labels: dict[str, str] | None = None) -> Object:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels or {}}}
