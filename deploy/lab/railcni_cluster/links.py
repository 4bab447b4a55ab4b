#!/usr/bin/python3
"""Keeps checksum offload off on the bridges of this network namespace, whoever makes them and when.

The userspace datapath passes half-made checksums on, and bgpd's TCP goes through the bridge's own port. A NIC needs none of this.
"""

import ctypes
import fcntl
import os
import socket
import struct

NETLINK_ROUTE, RTMGRP_LINK = 0, 1
SIOCETHTOOL, ETHTOOL_STXCSUM = 0x8946, 0x17


def off(name: str) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        value = ctypes.create_string_buffer(struct.pack("II", ETHTOOL_STXCSUM, 0))
        try:
            fcntl.ioctl(s, SIOCETHTOOL, struct.pack("16sP", name.encode(), ctypes.addressof(value)) + bytes(16))
        except OSError:
            pass  # it has gone meanwhile


def main() -> None:
    events = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, NETLINK_ROUTE)
    events.bind((0, RTMGRP_LINK))
    done: set[tuple[int, str]] = set()
    while True:
        there = {(index, name) for index, name in socket.if_nameindex() if name.startswith("br-")}
        for index, name in there - done:
            off(name)
            print(f"checksums of {name} by software", flush=True)
        done = there
        try:
            events.recv(65536)
        except OSError as error:
            if error.errno != 105:  # ENOBUFS: events were lost, so it looks again
                raise


if __name__ == "__main__":
    os.environ.clear()
    main()
