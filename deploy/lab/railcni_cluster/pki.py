"""The cluster's certificates and kubeconfig files: an authority of its own, made with each cluster, by openssl."""

from __future__ import annotations

import base64
import json
from pathlib import Path

from railcni_lab.kernel import run

from .layout import API_SERVICE, CONTROL_PLANE, Cluster

USERS = {"admin": "/O=system:masters/CN=admin", "controller-manager": "/CN=system:kube-controller-manager",
         "scheduler": "/CN=system:kube-scheduler", "multus": "/CN=multus"}
DAYS = "30"


def make(cluster: Cluster) -> None:
    cluster.pki.mkdir(mode=0o700)
    (cluster.folder / "kubeconfig").mkdir(mode=0o700)
    run(["openssl", "req", "-x509", *_new_key(cluster.pki, "ca"), "-out", str(cluster.pki / "ca.crt"), "-subj", "/CN=railcni-cluster", "-days", DAYS])
    _certificate(cluster.pki, "apiserver", "/CN=kube-apiserver",
                 f"IP:{CONTROL_PLANE},IP:127.0.0.1,IP:{API_SERVICE},DNS:kubernetes,DNS:kubernetes.default.svc")
    for user, subject in USERS.items():
        _certificate(cluster.pki, user, subject)
        _kubeconfig(cluster, user)
    for node in cluster.nodes():
        _certificate(cluster.pki, node.name, f"/O=system:nodes/CN=system:node:{node.name}", f"IP:{node.address},DNS:{node.name}")
        _kubeconfig(cluster, node.name)
    run(["openssl", "genrsa", "-out", str(cluster.pki / "sa.key"), "2048"])
    run(["openssl", "rsa", "-in", str(cluster.pki / "sa.key"), "-pubout", "-out", str(cluster.pki / "sa.pub")])


def _new_key(folder: Path, name: str) -> list[str]:
    return ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", str(folder / f"{name}.key")]


def _certificate(folder: Path, name: str, subject: str, names: str = "") -> None:
    extensions = folder / f"{name}.ext"
    extensions.write_text("extendedKeyUsage=serverAuth,clientAuth\n" + (f"subjectAltName={names}\n" if names else ""))
    run(["openssl", "req", *_new_key(folder, name), "-out", str(folder / f"{name}.csr"), "-subj", subject])
    run(["openssl", "x509", "-req", "-in", str(folder / f"{name}.csr"), "-CA", str(folder / "ca.crt"), "-CAkey", str(folder / "ca.key"),
         "-CAcreateserial", "-days", DAYS, "-out", str(folder / f"{name}.crt"), "-extfile", str(extensions)])


def _kubeconfig(cluster: Cluster, user: str) -> None:
    """JSON is YAML, too: so the stand-in of Multus needs no parser of it."""
    def data(file: str) -> str:
        return base64.b64encode((cluster.pki / file).read_bytes()).decode()

    value = {"apiVersion": "v1", "kind": "Config", "current-context": "c",
             "clusters": [{"name": "k", "cluster": {"server": cluster.api_server, "certificate-authority-data": data("ca.crt")}}],
             "users": [{"name": "u", "user": {"client-certificate-data": data(f"{user}.crt"), "client-key-data": data(f"{user}.key")}}],
             "contexts": [{"name": "c", "context": {"cluster": "k", "user": "u"}}]}
    file = cluster.kubeconfig(user)
    file.write_text(json.dumps(value))
    file.chmod(0o600)
