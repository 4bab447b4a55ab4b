"""A second wire between two pods, beside the switch: what a pod sends and a test wants comes out at another pod's interface. It is what isolation
that does not hold looks like from inside of pods."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable
from types import TracebackType

from railcni_lab import kernel
from world import Port

Wanted = Callable[[bytes], bool]


class Wire:
    def __init__(self, source: Port, targets: list[Port], wanted: Wanted) -> None:
        self.wanted, self.ended, self.carried = wanted, threading.Event(), 0
        with kernel.inside(source.namespace):
            self.ear = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(0x0003))
        self.ear.bind((source.ifname, 0x0003))
        self.ear.settimeout(0.1)
        self.mouths = []
        for target in targets:
            with kernel.inside(target.node.namespace):
                self.mouths.append(socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0))
            self.mouths[-1].bind((target.representor, 0))
        self.thread = threading.Thread(target=self._carry, daemon=True)

    def __enter__(self) -> Wire:
        self.thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None) -> None:
        self.ended.set()
        self.thread.join()
        for each in (self.ear, *self.mouths):
            each.close()

    def _carry(self) -> None:
        while not self.ended.is_set():
            try:
                frame, sender = self.ear.recvfrom(65536)
            except TimeoutError:
                continue
            if sender[2] == socket.PACKET_OUTGOING and self.wanted(frame):
                self.carried += 1
                for mouth in self.mouths:
                    mouth.send(frame)
