"""The plugins as built: static, small, and without gRPC or protobuf in them."""

import subprocess
from pathlib import Path

LARGEST_BYTES = 8 * 1024 * 1024
NEVER_INSIDE = (b"grpc_", b"grpc::", b"google.protobuf", b"google::protobuf")


def check(root: Path, folder: Path) -> list[str]:
    """`folder` holds the binaries; which of them are plugins is told by the folders of plugins/."""
    names = sorted(p.parent.name for p in (root / "plugins").glob("*/main.cc"))
    return [problem for name in names for problem in check_one(folder / name)]


def check_one(path: Path) -> list[str]:
    if not path.is_file():
        return [f"{path.name}: not built: no {path}"]
    found = []
    ran = subprocess.run(["readelf", "--program-headers", "--dynamic", "--wide", str(path)], capture_output=True,
                         text=True, check=False, env={"LC_ALL": "C", "PATH": "/usr/bin:/bin"})
    if ran.returncode != 0:
        return [f"{path.name}: readelf cannot read it: {ran.stderr.strip()}"]
    if " INTERP " in ran.stdout:
        found.append(f"{path.name}: needs a dynamic linker; plugins are static (-static-pie)")
    found += [f"{path.name}: needs a shared library: {line.split(')')[-1].strip()}"
              for line in ran.stdout.splitlines() if "(NEEDED)" in line]
    size = path.stat().st_size
    if size >= LARGEST_BYTES:
        found.append(f"{path.name}: {size} bytes; plugins stay under {LARGEST_BYTES}")
    content = path.read_bytes()
    found += [f"{path.name}: contains {word.decode()}: gRPC and protobuf belong to the daemon"
              for word in NEVER_INSIDE if word in content]
    return found
