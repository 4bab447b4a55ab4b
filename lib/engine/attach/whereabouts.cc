#include "lib/engine/attach/whereabouts.h"

#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "lib/base/pci_address.h"
#include "lib/engine/attach/attachment.h"

namespace rail::engine {
namespace {

using device::Location;
using state::Attachment;
using Pod = Whereabouts::Pod;

// The inode of the host's PID namespace.
// Source: linux/proc_ns.h, PROC_PID_INIT_INO
constexpr uint64_t kHostPids = 0xEFFFFFFC;

bool SeesHostsProcesses() {
  struct stat st{};
  return ::stat("/proc/self/ns/pid", &st) == 0 && st.st_ino == kHostPids;
}

bool IsBelowProc(const std::string& path) {
  return path.starts_with("/proc/");
}

// What the path alone says.
Whereabouts ByPath(const Attachment& attachment) {
  const std::string& path = attachment.netns_path;
  const auto opened = netns::Netns::Open(path);
  if (opened && opened->identity() == NamespaceOf(attachment)) return {.pod = Pod::kLives, .visible = true};
  if (IsBelowProc(path) && !SeesHostsProcesses()) {
    return {.unseen =
                "the path is the host's, and these are not the host's processes: raild's container needs "
                "hostPID: true"};
  }
  if (opened) return {.pod = Pod::kGone};
  const std::string folder = std::filesystem::path(path).parent_path().string();
  std::error_code ignored;
  if (opened.error().code == Code::kNotFound) {
    if (IsBelowProc(path) || std::filesystem::is_directory(folder, ignored)) return {.pod = Pod::kGone};
    return {.unseen = "there is no folder " + folder + " here: mount the host's " + folder +
                      " there, with mountPropagation: HostToContainer"};
  }
  if (opened.error().code == Code::kInvalid) {
    return {.unseen = "no namespace is mounted there: the mount of " + folder +
                      " needs mountPropagation: HostToContainer"};
  }
  if (opened.error().code == Code::kPermission && IsBelowProc(path)) {
    return {.unseen = opened.error().message +
                      ": the process is another user's, and raild's container needs the capability "
                      "SYS_PTRACE (manifests/components/cri-dockerd has it)"};
  }
  return {.unseen = opened.error().message};
}

// The pods of other networks are there as well: a folder without any namespace may lack the host's mounts.
bool HoldsANamespace(const std::filesystem::path& folder) {
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(folder, ignored)) {
    struct statfs fs{};
    if (::statfs(entry.path().c_str(), &fs) == 0 && fs.f_type == NSFS_MAGIC) return true;
  }
  return false;
}

}  // namespace

int64_t BootedMs(const std::string& proc_stat) {
  std::ifstream file(proc_stat);
  for (std::string word; file >> word;) {
    int64_t seconds = 0;
    if (word == "btime" && file >> seconds) return seconds * 1000;
  }
  return 0;
}

bool IsOlderThanBoot(const Attachment& attachment, int64_t booted_ms) {
  return attachment.boot.empty() ? attachment.created_ms < booted_ms : IsKnownToBeOfEarlierBoot(attachment);
}

Location LocationOf(const Attachment& attachment, const std::vector<state::Step>& steps,
                    Connections& connections) {
  const auto devices = connections.Devices();
  if (!devices) return Location::kUnknown;
  // The last one counts: a device that was put back has two for a moment.
  const auto step = std::ranges::find(steps.rbegin(), steps.rend(), step::kDevice, &state::Step::kind);
  device::Saved saved;
  if (step != steps.rend()) {
    auto parsed = device::Saved::FromJson(step->detail);
    if (!parsed) return Location::kUnknown;
    saved = std::move(*parsed);
  } else if (!attachment.adopted) {
    return Location::
        kHost;  // an ADD records the step before it moves the device, an undo forgets it afterwards
  } else if (IsPciAddress(attachment.device)) {
    saved.id = attachment.device;  // its PCI address is all that a VF is known by
  } else {
    return Location::kUnknown;
  }
  return (*devices)->Locate(saved).value_or(Location::kUnknown);
}

Location LocationBehind(const ovs::Port& port, Connections& connections) {
  const auto device = port.external_ids.find(kDeviceKey);
  const auto host = connections.Netlink();
  const auto devices = connections.Devices();
  if (device == port.external_ids.end() || !host || !devices) return Location::kUnknown;
  device::Saved saved;
  saved.id = saved.netdev = device->second;
  saved.representor = port.name;
  if (const auto representor = (*host)->GetLink(port.name)) saved.kind = representor->kind;
  return (*devices)->Locate(saved).value_or(Location::kUnknown);
}

WhereaboutsById LookFor(const Record& record, Connections& connections, int64_t booted_ms) {
  WhereaboutsById all;
  for (const Attachment& attachment : record.attachments) {
    Whereabouts& where = all[attachment.id] = ByPath(attachment);
    where.device = LocationOf(attachment, record.steps.at(attachment.id), connections);
  }
  std::map<std::filesystem::path, bool> holds_namespaces;  // by folder
  const auto is_mounted = [&](const std::filesystem::path& folder) {
    const auto [it, is_new] = holds_namespaces.try_emplace(folder);
    if (is_new) it->second = HoldsANamespace(folder);
    return it->second;
  };
  for (const Attachment& attachment : record.attachments) {
    Whereabouts& where = all[attachment.id];
    if (IsKnownToBeOfEarlierBoot(attachment)) {
      where = {.pod = Pod::kGone, .device = where.device};
      continue;
    }
    if (where.visible) continue;
    const bool older_than_boot = IsOlderThanBoot(attachment, booted_ms);
    // The kernel returns a physical device when its namespace dies, and a virtual one dies with it.
    if (where.device == Location::kElsewhere) {
      where.pod = Pod::kLives;
    } else if (older_than_boot && where.device != Location::kUnknown) {
      where = {.pod = Pod::kGone, .device = where.device};
    } else if (where.pod == Pod::kGone && where.device == Location::kUnknown &&
               !IsBelowProc(attachment.netns_path)) {
      const auto folder = std::filesystem::path(attachment.netns_path).parent_path();
      if (is_mounted(folder)) continue;
      where.pod = Pod::kUnknown;
      where.unseen = "it is not there, and nor is any other: mount the host's " + folder.string() +
                     " there, with mountPropagation: HostToContainer";
    }
  }
  return all;
}

}  // namespace rail::engine
