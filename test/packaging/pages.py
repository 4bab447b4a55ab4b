"""The command blocks of the pages in manifests/: what a user copies. ```sh test ... is run by the tests on a cluster, in the order of
the page; ```sh ... is only looked at, because it needs a name that the user fills in or a registry."""

import re
from dataclasses import dataclass
from pathlib import Path

MANIFESTS = Path(__file__).resolve().parents[2] / "manifests"
PAGES = ("INSTALL.md", "UPGRADE.md", "ROLLBACK.md", "UNINSTALL.md")
BLOCK = re.compile(r"^```([^`\n]+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
WORD = re.compile(r"[^\s'\"()|;]+")


@dataclass(frozen=True)
class Block:
    page: str
    line: int
    run: bool  # whether the tests on a cluster run it
    text: str

    @property
    def name(self) -> str:
        return f"{self.page}:{self.line}"

    def commands(self) -> list[list[str]]:
        """The words of each command, without comments."""
        text = self.text.replace("\\\n", " ")
        return [words for line in text.splitlines() if (words := WORD.findall(re.sub(r"(^|\s)#.*", "", line)))]


def blocks(page: str) -> list[Block]:
    text = (MANIFESTS / page).read_text()
    found = []
    for match in BLOCK.finditer(text):
        if match[1] not in ("sh", "sh test"):
            raise ValueError(f"{page}: a block of kind {match[1]!r}; there are `sh` and `sh test`")
        found.append(Block(page, text.count("\n", 0, match.start()) + 1, match[1] == "sh test", match[2]))
    return found
