#!/usr/bin/python3
"""Stands in for Multus, which Debian does not have: runs the networks that a pod's annotation names, as Multus does.

The pod's primary network comes from the configuration's `delegates`. For each network of the annotation it reads the
NetworkAttachmentDefinition, finds the device that kubelet has chosen for the pod, and runs the chain's ADD; then it writes
network-status. DEL runs in reverse order from what ADD has kept, so it needs neither the pod nor the API server. An ADD that
fails is followed by the DEL of all networks so far. A pod that is not there any more gets no network, without an error.
"""

from __future__ import annotations

import base64
import json
import os
import ssl
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

STATE = Path("/var/lib/cni/multus")
CHECKPOINT = Path("/var/lib/kubelet/device-plugins/kubelet_internal_checkpoint")
DEVICE_INFO = Path("/var/run/k8s.cni.cncf.io/devinfo")
NETWORKS, STATUS = "k8s.v1.cni.cncf.io/networks", "k8s.v1.cni.cncf.io/network-status"
RESOURCE_NAME = "k8s.v1.cni.cncf.io/resourceName"
SECONDS = 120

Json = dict[str, Any]


class Failed(Exception):
    """What the runtime is told."""


# --- the API server ------------------------------------------------------------------------------------------------------------


class Api:
    """By the kubeconfig file that the cluster has made, which is JSON."""

    def __init__(self, kubeconfig: Path) -> None:
        config = json.loads(kubeconfig.read_text())
        cluster, user = config["clusters"][0]["cluster"], config["users"][0]["user"]
        self.server = cluster["server"]
        self.tls = ssl.create_default_context(cadata=base64.b64decode(cluster["certificate-authority-data"]).decode())
        with tempfile.NamedTemporaryFile() as pair:  # the module takes files only
            pair.write(base64.b64decode(user["client-certificate-data"]) + base64.b64decode(user["client-key-data"]))
            pair.flush()
            self.tls.load_cert_chain(pair.name)

    def get(self, path: str) -> Json | None:
        """None: there is no such object."""
        return self._ask(urllib.request.Request(self.server + path))

    def patch(self, path: str, change: Json) -> None:
        self._ask(urllib.request.Request(self.server + path, data=json.dumps(change).encode(), method="PATCH",
                                         headers={"Content-Type": "application/strategic-merge-patch+json"}))

    def _ask(self, request: urllib.request.Request) -> Json | None:
        try:
            with urllib.request.urlopen(request, timeout=20, context=self.tls) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as error:
            if error.code == 404:
                return None
            raise Failed(f"{request.method} {request.full_url}: {error.code} {error.read()[:300]!r}") from None
        except OSError as error:
            raise Failed(f"{request.full_url}: {error}") from None


# --- which networks, which devices ---------------------------------------------------------------------------------------------


def selections(annotation: str, namespace: str) -> list[Json]:
    """Elements of the annotation with "namespace", "name", "interface"."""
    if annotation.lstrip().startswith("["):
        chosen = json.loads(annotation)
    else:
        chosen = []
        for word in filter(None, (w.strip() for w in annotation.split(","))):
            path, _, interface = word.partition("@")
            where, _, name = path.rpartition("/")
            chosen.append({"name": name} | ({"namespace": where} if where else {}) | ({"interface": interface} if interface else {}))
    for number, each in enumerate(chosen, 1):
        each.setdefault("namespace", namespace)
        each["interface"] = each.get("interface") or each.get("interfaceRequest") or f"net{number}"
    return chosen


def devices_of(namespace: str, pod: str, uid: str) -> dict[str, list[str]]:
    """Resource -> the devices that kubelet has given to the pod's containers: by its checkpoint, or by asking it."""
    found: dict[str, list[str]] = {}
    try:
        entries = json.loads(CHECKPOINT.read_text())["Data"]["PodDeviceEntries"] or []
    except (FileNotFoundError, KeyError, ValueError):
        import pod_resources
        return pod_resources.devices_of(namespace, pod)
    for entry in entries:
        if entry["PodUID"] == uid:
            ids = entry["DeviceIDs"]  # by NUMA node, but in kubelets before 1.20
            flat = [one for some in ids.values() for one in some] if isinstance(ids, dict) else ids
            found.setdefault(entry["ResourceName"], []).extend(flat)
    return {resource: sorted(ids) for resource, ids in found.items()}


def delegates_of(api: Api, pod: Json) -> list[Json]:
    """What to run for the pod's annotation, in order: {"conf": conflist, "ifname": ..., "name": "ns/nad", ...}."""
    meta = pod["metadata"]
    devices = devices_of(meta["namespace"], meta["name"], meta["uid"])
    found = []
    for chosen in selections(meta.get("annotations", {}).get(NETWORKS, ""), meta["namespace"]):
        where, name = chosen["namespace"], chosen["name"]
        nad = api.get(f"/apis/k8s.cni.cncf.io/v1/namespaces/{where}/network-attachment-definitions/{name}")
        if nad is None:
            raise Failed(f"cannot find a network-attachment-definition ({name}) in namespace ({where})")
        conf = json.loads(nad["spec"]["config"])
        if "plugins" not in conf:
            conf = {"cniVersion": conf.get("cniVersion", "0.3.1"), "name": conf.get("name", name), "plugins": [conf]}
        conf.setdefault("name", name)
        resource = nad["metadata"].get("annotations", {}).get(RESOURCE_NAME)
        device = devices[resource].pop(0) if resource and devices.get(resource) else ""
        for plugin in conf["plugins"]:
            if device:
                plugin |= {"deviceID": device, "pciBusID": device}
            if "cni-args" in chosen:
                plugin["args"] = {"cni": {**plugin.get("args", {}).get("cni", {}), **chosen["cni-args"]}}
        found.append({"conf": conf, "ifname": chosen["interface"], "name": f"{where}/{name}", "device": device, "resource": resource or "",
                      "request": {key: chosen[key] for key in ("mac", "ips") if key in chosen}})
    return found


# --- one chain -------------------------------------------------------------------------------------------------------------------


def device_info(delegate: Json) -> Path:
    name = f"{delegate['name'].replace('/', '-')}-{os.environ['CNI_CONTAINERID']}_{delegate['ifname']}"
    return DEVICE_INFO / "cni" / name


def configuration(delegate: Json, plugin: Json, previous: Json | None) -> Json:
    wanted, given = plugin.get("capabilities", {}), {**delegate.get("request", {})}
    if delegate.get("device"):
        given |= {"deviceID": delegate["device"], "CNIDeviceInfoFile": str(device_info(delegate))}
    given |= delegate.get("runtime", {})
    config = {**plugin, "cniVersion": delegate["conf"]["cniVersion"], "name": delegate["conf"]["name"]}
    runtime = {key: value for key, value in given.items() if wanted.get(key)}
    if runtime:
        config["runtimeConfig"] = runtime
    if previous is not None:
        config["prevResult"] = previous
    return config


def execute(verb: str, delegate: Json, plugin: Json, previous: Json | None) -> Json | None:
    kind = plugin["type"]
    folders = os.environ.get("CNI_PATH", "/opt/cni/bin").split(":")
    binary = next((f"{folder}/{kind}" for folder in folders if os.access(f"{folder}/{kind}", os.X_OK)), None)
    if binary is None:
        raise Failed(f'failed to find plugin "{kind}" in path [{" ".join(folders)}]')
    environment = {**os.environ, "CNI_COMMAND": verb, "CNI_IFNAME": delegate["ifname"]}
    done = subprocess.run([binary], input=json.dumps(configuration(delegate, plugin, previous), sort_keys=True), env=environment,
                          capture_output=True, text=True, timeout=SECONDS, check=False)
    if done.returncode == 0:
        return json.loads(done.stdout) if done.stdout.strip() else None
    try:
        answer = json.loads(done.stdout)
        words = "; ".join(filter(None, (answer.get("msg"), answer.get("details"))))
    except ValueError:
        words = done.stdout.strip() or done.stderr.strip() or f"exit status {done.returncode}"
    raise Failed(f'plugin type="{kind}" failed ({verb.lower()}): {words}')


def add_one(delegate: Json) -> Json:
    info = device_info(delegate)
    if delegate["device"]:
        source = DEVICE_INFO / "dp" / f"{delegate['resource'].replace('/', '-')}-{delegate['device'].replace('/', '-')}-device.json"
        if source.exists():
            info.parent.mkdir(parents=True, exist_ok=True)
            info.write_text(source.read_text())
            info.chmod(0o444)
    result: Json | None = None
    for plugin in delegate["conf"]["plugins"]:
        result = execute("ADD", delegate, plugin, result)
    if result is None:
        raise Failed(f"network {delegate['name']}: no result")
    return result


def delete_one(delegate: Json, result: Json | None) -> str | None:
    """What went wrong; the rest of the chain is not run then, as in libcni."""
    try:
        for plugin in reversed(delegate["conf"]["plugins"]):
            execute("DEL", delegate, plugin, result)
        device_info(delegate).unlink(missing_ok=True)
    except (Failed, subprocess.TimeoutExpired) as error:
        return str(error)
    return None


# --- the verbs -------------------------------------------------------------------------------------------------------------------


def cni_args() -> dict[str, str]:
    return dict(word.partition("=")[::2] for word in os.environ.get("CNI_ARGS", "").split(";") if "=" in word)


def kept() -> Path:
    return STATE / os.environ["CNI_CONTAINERID"]


def keep(delegates: list[Json], results: list[Json]) -> None:
    STATE.mkdir(parents=True, exist_ok=True)
    unfinished = STATE / f".{kept().name}.{os.getpid()}"
    unfinished.write_text(json.dumps({"delegates": delegates, "results": results}))
    unfinished.rename(kept())


def primary(config: Json) -> Json:
    conf = config["delegates"][0]
    return {"conf": conf if "plugins" in conf else {**conf, "plugins": [conf]}, "ifname": os.environ.get("CNI_IFNAME", "eth0"), "name": conf["name"],
            "device": "", "resource": "", "runtime": config.get("runtimeConfig", {})}


def find_pod(api: Api) -> Json | None:
    args = cni_args()
    pod = api.get(f"/api/v1/namespaces/{args['K8S_POD_NAMESPACE']}/pods/{args['K8S_POD_NAME']}")
    # Another pod of the same name has come meanwhile.
    return pod if pod is not None and args.get("K8S_POD_UID") in (None, "", pod["metadata"]["uid"]) else None


def add(config: Json) -> Json:
    api = Api(Path(config["kubeconfig"]))
    pod = find_pod(api)
    delegates = [primary(config)]
    if pod is not None:
        delegates += delegates_of(api, pod)
        os.environ["CNI_ARGS"] = (f"IgnoreUnknown=true;K8S_POD_NAMESPACE={pod['metadata']['namespace']};K8S_POD_NAME={pod['metadata']['name']};"
                                  f"K8S_POD_INFRA_CONTAINER_ID={os.environ['CNI_CONTAINERID']};K8S_POD_UID={pod['metadata']['uid']}")
    results: list[Json] = []
    keep(delegates, results)
    for number, delegate in enumerate(delegates):
        try:
            results.append(add_one(delegate))
            keep(delegates, results)
        except (Failed, subprocess.TimeoutExpired, OSError, ValueError) as error:
            for undone in range(number, -1, -1):
                delete_one(delegates[undone], results[undone] if undone < len(results) else None)
            args = cni_args()
            raise Failed(f"[{args.get('K8S_POD_NAMESPACE')}/{args.get('K8S_POD_NAME')}:{delegate['name']}]: error adding container to network "
                         f"\"{delegate['name'].rpartition('/')[2]}\": {error}") from None
    if pod is not None:
        tell(api, pod, delegates, results)
    return results[0]


def status_of(delegate: Json, result: Json, number: int) -> list[Json]:
    """Entries of network-status: one for each interface in the pod's sandbox."""
    found = []
    interfaces = result.get("interfaces", [])
    for index, interface in enumerate(interfaces):
        if not interface.get("sandbox"):
            continue
        mine = [ip["address"].partition("/")[0] for ip in result.get("ips", []) if ip.get("interface", index) == index]
        entry: Json = {"name": delegate["name"], "interface": interface["name"], "ips": mine, "mac": interface.get("mac", ""), "dns": {}}
        if number == 0:
            entry["default"] = True
        if interface.get("mtu"):
            entry["mtu"] = interface["mtu"]
        if delegate["device"] and device_info(delegate).exists():
            entry["device-info"] = json.loads(device_info(delegate).read_text())
        found.append(entry)
    return found


def tell(api: Api, pod: Json, delegates: list[Json], results: list[Json]) -> None:
    entries = [entry for number, (delegate, result) in enumerate(zip(delegates, results, strict=True))
               for entry in status_of(delegate, result, number)]
    meta = pod["metadata"]
    api.patch(f"/api/v1/namespaces/{meta['namespace']}/pods/{meta['name']}/status",
              {"metadata": {"annotations": {STATUS: json.dumps(entries, indent=4)}}})


def delete(config: Json) -> None:
    if kept().exists():
        state = json.loads(kept().read_text())
        delegates, results = state["delegates"], state["results"]
    else:
        api = Api(Path(config["kubeconfig"]))
        pod = find_pod(api)
        if pod is None:
            return
        delegates, results = [primary(config), *delegates_of(api, pod)], []
    problems = []
    for number in range(len(delegates) - 1, -1, -1):
        problem = delete_one(delegates[number], results[number] if number < len(results) else None)
        if problem:
            problems.append(problem)
    kept().unlink(missing_ok=True)
    if problems:
        raise Failed("; ".join(problems))


def main() -> int:
    config = json.load(sys.stdin)
    verb = os.environ.get("CNI_COMMAND", "")
    try:
        if verb == "ADD":
            print(json.dumps(add(config)))
        elif verb == "DEL":
            delete(config)
        elif verb == "VERSION":
            print(json.dumps({"cniVersion": "0.4.0", "supportedVersions": ["0.3.0", "0.3.1", "0.4.0", "1.0.0"]}))
    except Failed as error:
        print(json.dumps({"cniVersion": config.get("cniVersion", "0.3.1"), "code": 999, "msg": str(error)}))
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
