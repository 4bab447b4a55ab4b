"""How a generated file begins, and a kustomization."""

HEAD = "# Made by manifests/generate.py from {source}: change that, and run it again.\n"
SITE = HEAD.format(source="site.json")


def kustomization(about: str, resources: list[str]) -> str:
    names = "".join(f"  - {name}\n" for name in resources)
    return f"{SITE}# {about}\napiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources:\n{names}"


def indented(text: str, by: int) -> str:
    return "".join(" " * by + line if line.strip() else line for line in text.splitlines(keepends=True))
