#!/usr/bin/python3
"""A device plugin for the lab's devices: tells kubelet of each rail's pool and lets pods have what kubelet chose.

It stands in for sriov-network-device-plugin, whose devices are VFs. usage: device_plugin.py RESOURCE=DEVICE,DEVICE... ...
As that one does, it writes a DeviceInfo file for each device that it hands out, and registers again when kubelet has restarted.
"""

import json
import os
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import grpc

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from railcni_cluster.wire import field, fields  # noqa: E402  the path above comes first

FOLDER = Path("/var/lib/kubelet/device-plugins")
DEVICE_INFO = Path("/var/run/k8s.cni.cncf.io/devinfo/dp")
VERSION = "v1beta1"


class Pool:
    """One resource: its devices, and the socket that kubelet asks at."""

    def __init__(self, resource: str, devices: list[str]) -> None:
        self.resource, self.devices = resource, devices
        self.socket = FOLDER / f"{resource.replace('/', '-')}.sock"
        self.server: grpc.Server | None = None
        self.known: tuple[int, int] | None = None  # the kubelet that it is registered at

    def follow(self, now: tuple[int, int] | None) -> None:
        """Registers with a kubelet that does not know this pool. One that does is left alone: to register anew is to end ListAndWatch, and
        with it every device that pods are admitted with."""
        if now is None or (now == self.known and self.socket.exists()):
            return
        try:
            self.serve()
            self.register()
            self.known = now
        except grpc.RpcError as error:
            print(f"cannot register {self.resource}: {error.details()}", flush=True)
            self.known = None

    def serve(self) -> None:
        if self.server is not None:
            self.server.stop(0)
        self.socket.unlink(missing_ok=True)
        self.server = grpc.server(ThreadPoolExecutor(8))
        unary, stream = grpc.unary_unary_rpc_method_handler, grpc.unary_stream_rpc_method_handler
        self.server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(f"{VERSION}.DevicePlugin", {
            "GetDevicePluginOptions": unary(lambda _request, _context: b""),
            "ListAndWatch": stream(self.list_and_watch),
            "Allocate": unary(self.allocate),
            "PreStartContainer": unary(lambda _request, _context: b""),
            "GetPreferredAllocation": unary(lambda _request, _context: b"")}),))
        self.server.add_insecure_port(f"unix:{self.socket}")
        self.server.start()

    def register(self) -> None:
        request = field(1, VERSION) + field(2, self.socket.name) + field(3, self.resource)
        with grpc.insecure_channel(f"unix:{FOLDER}/kubelet.sock") as channel:
            channel.unary_unary(f"/{VERSION}.Registration/Register")(request, timeout=10, wait_for_ready=True)
        print(f"registered {self.resource}: {len(self.devices)} devices", flush=True)

    def list_and_watch(self, _request: bytes, context: grpc.ServicerContext):  # type: ignore[no-untyped-def]
        yield b"".join(field(1, field(1, device) + field(2, "Healthy")) for device in self.devices)
        gone = threading.Event()
        context.add_callback(gone.set)
        gone.wait()

    def allocate(self, request: bytes, _context: grpc.ServicerContext) -> bytes:
        answers = b""
        for _, container in fields(request):
            ids = [value.decode() for _, value in fields(container)]  # type: ignore[arg-type, union-attr]
            for device in ids:
                self.describe(device)
            variable = "PCIDEVICE_" + self.resource.replace(".", "_").replace("/", "_").upper()
            answers += field(1, field(1, field(1, variable) + field(2, ",".join(ids))))
        return answers

    def describe(self, device: str) -> None:
        """The lab's devices have no PCI address: their name stands for it."""
        DEVICE_INFO.mkdir(parents=True, exist_ok=True)
        file = DEVICE_INFO / f"{self.resource.replace('/', '-')}-{device}-device.json"
        unfinished = file.with_suffix(".new")
        unfinished.write_text(json.dumps({"type": "pci", "version": "1.1.0", "pci": {"pci-address": device}}))
        unfinished.rename(file)


def kubelet() -> tuple[int, int] | None:
    """Which socket kubelet serves at now; a kubelet that starts removes all sockets of the folder and makes its own anew."""
    try:
        stat = os.stat(FOLDER / "kubelet.sock")
    except OSError:
        return None
    return stat.st_ino, stat.st_ctime_ns


def main() -> None:
    pools = [Pool(*_words(word)) for word in sys.argv[1:]]
    while True:
        now = kubelet()
        for pool in pools:
            pool.follow(now)
        time.sleep(0.5)


def _words(word: str) -> tuple[str, list[str]]:
    resource, _, devices = word.partition("=")
    return resource, devices.split(",")


if __name__ == "__main__":
    main()
