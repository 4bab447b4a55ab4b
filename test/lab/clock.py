"""A raild whose clocks a test sets forward and back (libfaketime).

Use:     clock = Clock(tmp_path, lab.binaries); daemons.start_raild(lab, node, clock.raild); clock.set("+620s")
"""

from __future__ import annotations

from pathlib import Path


class Clock:
    def __init__(self, folder: Path, binaries: Path, *, steady: bool = False) -> None:
        """`steady`: the time of day alone is set; the steady clock is the kernel's."""
        fake = next(Path("/usr/lib").glob("*/faketime/libfaketimeMT.so.1"), None)
        assert fake is not None, "libfaketime is not there: deploy/deps.sh test installs it"
        folder.mkdir(parents=True, exist_ok=True)
        self._file, self.raild = folder / "offset", folder / "raild"
        self.set("+0")
        self.raild.write_text(f"#!/bin/sh\nexport LD_PRELOAD={fake} FAKETIME_TIMESTAMP_FILE={self._file} FAKETIME_NO_CACHE=1"
                              f"{' DONT_FAKE_MONOTONIC=1' * steady}\nexec {binaries}/raild\n")
        self.raild.chmod(0o755)

    def set(self, offset: str) -> None:
        """Against the kernel's: "+620s", "-1d"."""
        self.offset, new = offset, self._file.with_suffix(".new")
        new.write_text(f"{offset}\n")
        new.rename(self._file)  # at once: raild reads it whenever it looks at a clock
