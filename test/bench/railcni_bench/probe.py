"""Datagrams from one pod to another, to see from when on they arrive."""

from __future__ import annotations

import socket
import threading
import time

from railcni_lab import kernel

PORT = 9


class Prober(threading.Thread):
    """Sends a datagram from one pod to an address every millisecond until it is stopped."""

    def __init__(self, namespace: str, source: str, address: str) -> None:
        super().__init__()
        with kernel.inside(namespace):
            self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind((source, 0))  # the rail's routes are chosen by the source address
        self.address, self.over = address, threading.Event()

    def run(self) -> None:
        while not self.over.is_set():
            try:
                self.socket.sendto(b"probe", (self.address, PORT))
            except OSError:
                pass  # refused, no buffer: the next one
            time.sleep(0.001)
        self.socket.close()

    def stop(self) -> None:
        self.over.set()
        if self.ident is not None:
            self.join()
