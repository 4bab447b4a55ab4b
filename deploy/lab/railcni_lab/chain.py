"""A CNI runtime for a list of plugins, by the rules of the CNI specification 1.x (section 3) and of libcni.

Use:     chain = Chain(configuration, path=[...], cache=folder, environment={"RAILCNI_ROOT": ...}, namespace="lab-n1")
         result = chain.add(Attachment(...)); chain.check(attachment); chain.delete(attachment)
As under Multus, every plugin gets `deviceID` at the top level of its configuration.
"""

from __future__ import annotations

import json
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .kernel import inside
from .layout import LabError, write_json

PLUGIN_SECONDS = 60


class PluginError(LabError):
    """What a plugin said when it failed."""

    def __init__(self, plugin: str, verb: str, code: int, message: str) -> None:
        super().__init__(f"{plugin} {verb} failed (code {code}): {message}")
        self.plugin, self.verb, self.code, self.message = plugin, verb, code, message


@dataclass(frozen=True)
class Attachment:
    """One interface of one pod, as a runtime knows it."""

    container_id: str
    netns: str  # "" when the pod's namespace is gone
    ifname: str
    device_id: str
    args: dict[str, str]


class Chain:
    def __init__(self, configuration: dict[str, Any], path: list[Path], cache: Path, environment: dict[str, str],
                 namespace: str) -> None:
        self.name: str = configuration["name"]
        self.version: str = configuration["cniVersion"]
        self.plugins: list[dict[str, Any]] = configuration["plugins"]
        self.path, self.cache, self.environment, self.namespace = path, cache, environment, namespace

    def add(self, attachment: Attachment) -> dict[str, Any]:
        """ADD of every plugin in order. Returns the last result, which is cached for CHECK and DEL."""
        result: dict[str, Any] | None = None
        for plugin in self.plugins:
            answer = self.execute("ADD", plugin, attachment, result)
            if answer is None:
                raise PluginError(plugin["type"], "ADD", 0, "it printed no result")
            result = answer
        if result is None:
            raise LabError(f"network {self.name} has no plugins")
        self.cache.mkdir(parents=True, exist_ok=True)
        write_json(self._cache_file(attachment), result)
        return result

    def check(self, attachment: Attachment) -> None:
        result = self._cached(attachment)
        for plugin in self.plugins:
            self.execute("CHECK", plugin, attachment, result)

    def delete(self, attachment: Attachment) -> None:
        """DEL in reverse order, with the cached result if there is one; ends at the first error, may be repeated."""
        result = self._cached(attachment)
        for plugin in reversed(self.plugins):
            self.execute("DEL", plugin, attachment, result)
        self._cache_file(attachment).unlink(missing_ok=True)

    def execute(self, verb: str, plugin: dict[str, Any], attachment: Attachment,
                previous: dict[str, Any] | None) -> dict[str, Any] | None:
        kind = plugin["type"]
        config = {**plugin, "cniVersion": self.version, "name": self.name, "deviceID": attachment.device_id}
        if previous is not None:
            config["prevResult"] = previous
        environment = {**os.environ, **self.environment, "CNI_COMMAND": verb, "CNI_CONTAINERID": attachment.container_id,
                       "CNI_NETNS": attachment.netns, "CNI_IFNAME": attachment.ifname,
                       "CNI_ARGS": ";".join(f"{k}={v}" for k, v in attachment.args.items()),
                       "CNI_PATH": ":".join(map(str, self.path))}
        try:
            with inside(self.namespace):
                done = subprocess.run([self._find(kind)], input=json.dumps(config, sort_keys=True), text=True,
                                      capture_output=True, env=environment, timeout=PLUGIN_SECONDS, check=False)
        except subprocess.TimeoutExpired:
            raise PluginError(kind, verb, 0, f"it did not end within {PLUGIN_SECONDS} s") from None
        if done.returncode != 0:
            raise self._error(kind, verb, done)
        try:
            return json.loads(done.stdout) if done.stdout.strip() else None
        except json.JSONDecodeError as error:
            raise PluginError(kind, verb, 0, f"its result is not one JSON document ({error}): {done.stdout[:200]!r}") from None

    def _find(self, kind: str) -> Path:
        for folder in self.path:
            if os.access(folder / kind, os.X_OK):
                return folder / kind
        raise LabError(f"CNI plugin {kind} is not in {', '.join(map(str, self.path))}")

    @staticmethod
    def _error(kind: str, verb: str, done: subprocess.CompletedProcess[str]) -> PluginError:
        try:
            answer = json.loads(done.stdout)
            words = "; ".join(w for w in (answer.get("msg"), answer.get("details")) if w)
            return PluginError(kind, verb, int(answer["code"]), words)
        except (ValueError, KeyError, TypeError, AttributeError):
            words = done.stderr.strip() or done.stdout.strip() or "no message"
            return PluginError(kind, verb, 0, f"exit status {done.returncode}: {words}")

    def _cache_file(self, attachment: Attachment) -> Path:
        return self.cache / f"{self.name}-{attachment.container_id}-{attachment.ifname}.json"

    def _cached(self, attachment: Attachment) -> dict[str, Any] | None:
        try:
            return json.loads(self._cache_file(attachment).read_text())
        except FileNotFoundError:
            return None
