#include <sys/utsname.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <set>

#include "lib/base/parse.h"
#include "lib/base/pci_address.h"
#include "lib/engine/attach/verb_context.h"
#include "lib/inspect/hardware.h"
#include "lib/inspect/select.h"
#include "lib/netlink/sysfs_view.h"
#include "lib/sriov/lookup.h"

namespace rail::inspect {
namespace {

using engine::AttachmentView;
using sriov::Sysfs;

std::vector<uint32_t> Numbers(const std::vector<std::string>& names) {
  std::vector<uint32_t> numbers;
  for (const std::string& name : names) {
    if (const auto number = Number<uint32_t>(name)) numbers.push_back(*number);
  }
  std::ranges::sort(numbers);
  return numbers;
}

// An entry is of the interface if the kernel says so.
std::vector<libs::Gid> GidsOf(const Sysfs& inside, const std::string& port, const std::string& ifname) {
  std::vector<libs::Gid> gids;
  for (const uint32_t index : Numbers(inside.List(port + "/gids"))) {
    const std::string entry = std::to_string(index);
    const std::string gid = libs::GidText(inside.Read(port + "/gids/" + entry).value_or(""));
    if (gid.empty() || inside.Read(port + "/gid_attrs/ndevs/" + entry) != ifname) continue;
    gids.push_back({index, gid, inside.Read(port + "/gid_attrs/types/" + entry).value_or("")});
  }
  return gids;
}

// The RDMA device of the pod's interface: the one of its PCI device, of whose ports its address decides. An interface whose PCI device has none
// (Soft-RoCE is of no device) is known by its address in the GID table alone. That goes last: where pods see the devices of all
// (rdma-system(8), shared), two tenants' pods may have one name and one address.
void FindRdma(const Sysfs& inside, libs::Port& found) {
  const auto own_device = inside.Real("class/net/" + found.ifname + "/device");
  bool of_device = false;   // found: it is of the PCI device
  bool by_address = false;  // found: it has the address
  for (const std::string& name : inside.List("class/infiniband")) {
    const std::string folder = "class/infiniband/" + name;
    const bool same = own_device && inside.Real(folder + "/device") == own_device;
    for (const uint32_t number : Numbers(inside.List(folder + "/ports"))) {
      std::vector<libs::Gid> gids = GidsOf(inside, folder + "/ports/" + std::to_string(number), found.ifname);
      const bool has =
          std::ranges::any_of(gids, [&](const libs::Gid& g) { return found.own_gids.contains(g.gid); });
      if ((!same && !has) || std::pair(same, has) <= std::pair(of_device, by_address)) continue;
      of_device = same;
      by_address = has;
      found.rdma = name;
      found.port = number;
      found.gids = std::move(gids);
    }
  }
}

Result<netns::SysfsView> SysfsOf(const netns::Netns& pod) {
  std::optional<netns::SysfsView> mounted;
  RAIL_TRY_AS(pod.Run([&]() -> Status {
    RAIL_ASSIGN(mounted, netns::SysfsView::Open());
    return {};
  }),
              "look into the pod");
  return std::move(*mounted);
}

Result<std::vector<const AttachmentView*>> FindPod(const LibsQuestion& question,
                                                   const engine::NodeView& view) {
  std::vector<const AttachmentView*> found =
      Select(view, {.pod_namespace = question.pod_namespace, .pod = question.pod});
  const std::string wanted =
      (question.pod_namespace.empty() ? "" : question.pod_namespace + "/") + question.pod;
  std::erase_if(found, [](const AttachmentView* a) { return a->attachment.phase != state::Phase::kReady; });
  if (question.pod.empty() || found.empty()) {
    return Fail(Code::kNotFound, "no attachment on this node that is ready is of pod " + wanted +
                                     ": `railctl get attachments` lists those that exist");
  }
  for (const AttachmentView* each : found) {
    if (each->attachment.pod_namespace != found.front()->attachment.pod_namespace)
      return Fail(Code::kInvalid, "several namespaces have a pod " + wanted + ": name one, namespace/name");
  }
  return found;
}

libs::PciFacts FactsOf(const Sysfs& sysfs, const std::string& address) {
  const auto read = [&](const char* name) {
    return sysfs.Read("bus/pci/devices/" + address + "/" + name).value_or("");
  };
  return {read("class"), read("vendor"), read("device"), read("subsystem_vendor"), read("subsystem_device")};
}

// The value of the first line "vendor_id\t: GenuineIntel".
std::string CpuInfo(const std::string& text, const std::string& key) {
  for (size_t at = text.find(key); at != std::string::npos; at = text.find(key, at + 1)) {
    if (at != 0 && text[at - 1] != '\n') continue;
    const size_t colon = text.find_first_not_of(" \t", at + key.size());
    if (colon == std::string::npos || text[colon] != ':') continue;
    const size_t value = text.find_first_not_of(' ', colon + 1);
    return text.substr(value, text.find('\n', value) - value);
  }
  return {};
}

libs::Cpu ThisCpu() {
  utsname name{};
  ::uname(&name);
  libs::Cpu cpu{.arch = name.machine, .vendor = {}, .family = {}, .model = {}};
  if (cpu.arch == "aarch64") cpu.arch = "arm64";  // as NCCL calls it
  if (cpu.arch != "x86_64") return cpu;
  const std::string info = Sysfs("/proc").Read("cpuinfo").value_or("");
  cpu.vendor = CpuInfo(info, "vendor_id");
  cpu.family = CpuInfo(info, "cpu family");
  cpu.model = CpuInfo(info, "model");
  return cpu;
}

libs::Tree TreeOf(const libs::Pod& pod, const Sysfs& sysfs) {
  libs::Tree tree{.cpu = ThisCpu(), .gpus = {}, .nics = {}, .bridges = {}, .cpumaps = {}};
  std::set<std::string> bridges;
  std::set<uint32_t> nodes;
  const auto add = [&](std::vector<libs::Device>& to, const std::string& address) {
    const auto path = pcie::PathOf(sysfs, address);
    if (!path) return;
    to.push_back({*path, FactsOf(sysfs, address)});
    // A VF has no link of its own: it is its PF's.
    if (to.back().path.speed.empty()) {
      const auto pf = sysfs.Target("bus/pci/devices/" + address + "/physfn");
      const auto link = pf ? pcie::PathOf(sysfs, *pf) : std::nullopt;
      if (link) to.back().path.speed = link->speed;
      if (link) to.back().path.width = link->width;
    }
    bridges.insert(path->bridges.begin(), path->bridges.end());
    if (path->numa_node) nodes.insert(*path->numa_node);
  };
  for (const std::string& gpu : pod.gpus) add(tree.gpus, gpu);
  for (const libs::Port& port : pod.ports) add(tree.nics, port.pci_address);
  for (const std::string& bridge : bridges) {
    if (const auto path = pcie::PathOf(sysfs, bridge))
      tree.bridges.push_back({*path, FactsOf(sysfs, bridge)});
  }
  for (const uint32_t node : nodes)
    tree.cpumaps.emplace_back(
        node, sysfs.Read("devices/system/node/node" + std::to_string(node) + "/cpumap").value_or(""));
  return tree;
}

}  // namespace

libs::Port PortOf(const Sysfs& inside, const config::Rail& rail, const state::Attachment& a) {
  libs::Port port{
      .ifname = a.key.ifname, .rail = rail.name, .rail_index = rail.number(), .plane = rail.place.plane};
  for (const IpAddress& address : a.addresses) {
    port.own_gids.insert((address.is_v6() ? "" : "::ffff:") + address.ToString());
    if (port.address.empty() || !address.is_v6()) port.address = address.ToString();
  }
  const std::string device = inside.Target("class/net/" + port.ifname + "/device").value_or("");
  if (IsPciAddress(device)) port.pci_address = device;
  port.speed = inside.ReadNumber("class/net/" + port.ifname + "/speed").value_or(0);
  if (rail.lossless) port.tos = rail.lossless->tos;
  FindRdma(inside, port);
  return port;
}

Result<LibsAnswer> AskLibs(const LibsQuestion& question, const engine::NodeView& view,
                           const config::NodeConfig& config, const Hardware& hardware, Deadline until) {
  RAIL_ASSIGN(const auto attachments, FindPod(question, view));
  const state::Attachment& first = attachments.front()->attachment;
  const std::optional<netns::Netns> pod = engine::PodNamespace(first);
  if (!pod) return Fail(Code::kNotFound, "the network namespace of the pod is gone: " + first.netns_path);
  RAIL_ASSIGN(const netns::SysfsView mounted, SysfsOf(*pod));
  const Sysfs inside(mounted.path());

  LibsAnswer answer;
  std::set<std::string> on_rails = {"lo"};
  for (const AttachmentView* each : attachments) {
    const config::Rail* rail = config.FindRail(each->attachment.rail);
    if (rail == nullptr) continue;
    on_rails.insert(each->attachment.key.ifname);
    answer.pod.ports.push_back(PortOf(inside, *rail, each->attachment));
  }
  std::ranges::stable_sort(answer.pod.ports, {},
                           [](const libs::Port& port) { return std::pair(port.rail_index, port.plane); });
  for (const std::string& link : inside.List("class/net")) {
    if (!on_rails.contains(link) && inside.Read("class/net/" + link + "/carrier") == "1")
      answer.pod.other_links.push_back(link);
  }
  const Machinery seen = LookAtMachinery(config, hardware, until);
  answer.pod.gpus_without_nic = pcie::GpusWithoutNic(seen.machine).size();
  if (seen.gpus_of_pods) {
    const auto own = seen.gpus_of_pods->find({first.pod_namespace, first.pod_name});
    if (own != seen.gpus_of_pods->end()) answer.pod.gpus = own->second;
  }
  answer.settings = libs::Settings(answer.pod, question.version);
  answer.problems = libs::Problems(answer.pod);
  if (!seen.gpus_of_pods)
    answer.problems.push_back("which GPUs the pod has is not known, so the topology has none: " +
                              seen.gpus_of_pods.error().message);
  if (!hardware.sysfs.empty())
    answer.topology = libs::Topology(answer.pod, TreeOf(answer.pod, Sysfs(hardware.sysfs)));
  return answer;
}

Result<std::vector<std::string>> LookAtGids(const std::string& libraries, const config::Rail& rail,
                                            const state::Attachment& a) {
  std::ifstream file(libs::FolderOf(libraries, a.device) + "/" + libs::kGidsFile);
  const std::string lines{std::istreambuf_iterator<char>(file), {}};
  if (libraries.empty() || lines.empty()) return std::vector<std::string>();
  const std::optional<netns::Netns> pod = engine::PodNamespace(a);
  if (!pod) return std::vector<std::string>();
  RAIL_ASSIGN(const netns::SysfsView mounted, SysfsOf(*pod));
  return libs::MovedGids(lines, PortOf(Sysfs(mounted.path()), rail, a));
}

}  // namespace rail::inspect
