"""The quick start on a machine that has nothing installed: a minimal Debian 12 made by debootstrap, entered with chroot in
mount and PID namespaces of its own, so that the lab's names and processes are the test's and end with it."""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "test" / "packaging"))

import builder  # noqa: E402

ENTER = """
set -e
mount --bind "$1" "$1"   # a root that is a mount point, as a machine's is
cd "$1"
for at in proc sys dev; do mkdir -p "$1/$at"; done
mount -t proc proc "$1/proc"
mount --rbind /sys "$1/sys"
mount --rbind /dev "$1/dev"
mount -t tmpfs tmpfs "$1/run"
cp /etc/resolv.conf "$1/etc/resolv.conf"
exec chroot "$1" /usr/bin/env -i HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin /bin/bash -c \
  'cd /src && ./deploy/quickstart.sh; status=$?; deploy/lab/lab down; exit $status'
"""


def sources() -> list[str]:
    listed = builder.run(["git", "-C", str(ROOT), "ls-files", "--cached", "--others", "--exclude-standard"])
    return [name for name in listed.splitlines() if (ROOT / name).is_file()]


def test_the_quick_start_needs_nothing_but_debian() -> None:
    with tempfile.TemporaryDirectory(prefix="railcni-fresh-") as folder:
        system = Path(folder) / "root"
        system.mkdir()
        builder.run(["tar", "-C", str(system), "-xf", str(builder.base_system())], seconds=300)
        for name in sources():
            (system / "src" / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, system / "src" / name)
        done = subprocess.run(
            ["unshare", "--mount", "--pid", "--fork", "--kill-child", "--propagation", "private",
             "bash", "-c", ENTER, "enter", str(system)],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=3000, check=False)
        print(done.stdout[-20000:])
        assert done.returncode == 0
        built = [path.name for path in (system / "src/build").rglob("*_test*") if path.is_file() and path.suffix in ("", ".o")]
        assert not built, f"the quick start builds tests before it shows anything: {built}"
        assert "all as expected" in done.stdout
        assert "no/no" in done.stdout and "yes/yes" in done.stdout
        assert "yes/no" not in done.stdout and "no/yes" not in done.stdout
