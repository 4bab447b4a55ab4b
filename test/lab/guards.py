"""What the guards of representors have refused, read from the kernel without the product (bpf(2), linux/bpf.h)."""

from __future__ import annotations

import ctypes
import json
import os
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from railcni_lab import kernel

NAME, REFUSED = "rail_guard_1", "rail_refused"
REASONS = ("malformed", "tagged", "ethertype", "gateway", "mac", "address", "destinations")
LOOKUP, PROGRAM_BY_ID, MAP_BY_ID, INFO = 1, 13, 14, 15
SYS_BPF = 321 if os.uname().machine == "x86_64" else 280
LIBC = ctypes.CDLL(None, use_errno=True)


def _bpf(command: int, attributes: bytes) -> int:
    room = ctypes.create_string_buffer(attributes.ljust(144, b"\0"), 144)
    result = int(LIBC.syscall(SYS_BPF, command, room, 144))
    if result < 0:
        raise OSError(ctypes.get_errno(), f"bpf({command})")
    return result


@contextmanager
def _opened(command: int, number: int) -> Iterator[int]:
    fd = _bpf(command, struct.pack("=I", number))
    try:
        yield fd
    finally:
        os.close(fd)


def _info(fd: int, asked: bytes) -> bytes:
    room = ctypes.create_string_buffer(asked.ljust(232, b"\0"), 232)
    _bpf(INFO, struct.pack("=IIQ", fd, 232, ctypes.addressof(room)))
    return room.raw


def _name(raw: bytes) -> str:
    return raw.split(b"\0")[0].decode()


def _link(namespace: str, link: str) -> dict[str, Any]:
    (shown,) = json.loads(kernel.run(["ip", "-n", namespace, "-d", "-j", "link", "show", "dev", link]))
    return dict(shown)


def program_of(namespace: str, link: str) -> int:
    """The number of the link's XDP program; 0: it has none."""
    return int(_link(namespace, link).get("xdp", {}).get("prog", {}).get("id", 0))


def refused(namespace: str, link: str) -> dict[str, int]:
    """Reason -> frames of the guard of `link`, which must have one."""
    maps = (ctypes.c_uint32 * 16)()
    with _opened(PROGRAM_BY_ID, program_of(namespace, link)) as program:
        info = _info(program, bytes(52) + struct.pack("=IQ", 16, ctypes.addressof(maps)))
    assert _name(info[64:80]) == NAME, f"{link} has the program {info[64:80]!r}"
    (count,) = struct.unpack_from("=I", info, 52)
    for number in maps[:count]:
        with _opened(MAP_BY_ID, number) as fd:
            if _name(_info(fd, b"")[24:40]) == REFUSED:
                key, counts = ctypes.c_uint32(int(_link(namespace, link)["ifindex"])), (ctypes.c_uint64 * len(REASONS))()
                _bpf(LOOKUP, struct.pack("=IIQQ", fd, 0, ctypes.addressof(key), ctypes.addressof(counts)))
                return dict(zip(REASONS, counts))
    raise AssertionError(f"the guard of {link} has no counters")

