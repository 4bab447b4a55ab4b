"""What stands in for parts of a cluster that this machine does not have."""

import os
import shutil
import socket
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import grpc
import pytest
from conftest import Cost
from kube import Kube
from railcni_cluster import device_plugin
from railcni_cluster.layout import API_SERVICE
from railcni_cluster.wire import fields
from railcni_lab.kernel import inside


def test_a_pod_reaches_the_api_server_and_pods_of_other_nodes(resident: Kube, cost: Cost) -> None:
    pod = ("tenant-a", "a1")
    other = resident.pod("tenant-a", "a2")["status"]["podIP"]
    assert resident.pod(*pod)["spec"]["nodeName"] != resident.pod("tenant-a", "a2")["spec"]["nodeName"]
    with inside(resident.sandbox(*pod)):
        socket.create_connection((API_SERVICE, 443), timeout=10).close()
        done = subprocess.run(["ping", "-c", "1", "-W", "10", other], capture_output=True, text=True, timeout=20, check=False)
        assert done.returncode == 0, f"{done.stdout}{done.stderr}"


class Kubelet:
    """Takes registrations at FOLDER/kubelet.sock, but refuses those of one resource."""

    def __init__(self, refused: str) -> None:
        self.refused, self.asked = refused, []  # type: tuple[str, list[str]]
        self.server = grpc.server(ThreadPoolExecutor(4))
        handler = grpc.unary_unary_rpc_method_handler(self.register)
        self.server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(f"{device_plugin.VERSION}.Registration", {"Register": handler}),))
        self.server.add_insecure_port(f"unix:{device_plugin.FOLDER}/kubelet.sock")
        self.server.start()

    def register(self, request: bytes, context: grpc.ServicerContext) -> bytes:
        resource = next(value.decode() for number, value in fields(request) if number == 3)  # type: ignore[union-attr]
        self.asked.append(resource)
        if resource == self.refused:
            context.abort(grpc.StatusCode.UNAVAILABLE, "not now")
        return b""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    short = Path(f"/run/railcni-plugin-{os.getpid()}")  # a socket's path has 107 bytes at most
    short.mkdir()
    monkeypatch.setattr(device_plugin, "FOLDER", short)
    yield short
    shutil.rmtree(short)


def test_a_pool_that_cannot_be_registered_costs_the_others_nothing(folder: Path) -> None:
    """kubelet takes a registration anew for new devices, and pods that were given the old ones end."""
    kubelet = Kubelet("nvidia.com/rail1")
    pools = [device_plugin.Pool(f"nvidia.com/rail{rail}", [f"vf{rail}x0"]) for rail in (0, 1)]
    try:
        for _ in range(3):
            for pool in pools:
                pool.follow(device_plugin.kubelet())
        assert kubelet.asked == ["nvidia.com/rail0"] + 3 * ["nvidia.com/rail1"]
        kubelet.refused = ""
        for pool in pools:
            pool.follow(device_plugin.kubelet())
        assert kubelet.asked[4:] == ["nvidia.com/rail1"]
        kubelet.server.stop(0).wait()
        (folder / "kubelet.sock").unlink(missing_ok=True)
        kubelet = Kubelet("")
        for pool in pools:
            pool.follow(device_plugin.kubelet())
        assert kubelet.asked == ["nvidia.com/rail0", "nvidia.com/rail1"], "a kubelet that has restarted knows none"
    finally:
        kubelet.server.stop(0)
        for pool in pools:
            if pool.server is not None:
                pool.server.stop(0)
