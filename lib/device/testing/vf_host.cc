#include "lib/device/testing/vf_host.h"

#include <sys/eventfd.h>

#include "lib/netlink/testing/borrowed.h"
#include "lib/netlink/testing/scratch.h"

namespace rail::device::testing {
namespace {

using netlink::testing::Borrowed;

// Announces one event, which is whatever the host says that happens.
class Event : public netlink::Monitor {
 public:
  explicit Event(std::function<void()> happens)
      : fd_(::eventfd(happens ? 1 : 0, EFD_CLOEXEC)), happens_(std::move(happens)) {}
  int fd() const override { return fd_.get(); }
  Result<netlink::Changes> Receive() override {
    if (happens_) happens_();
    return netlink::Changes{};
  }

 private:
  Fd fd_;
  std::function<void()> happens_;
};

sriov::testing::PfSpec PfSpecOf(uint32_t number) {
  const std::string digit = std::to_string(number);
  return {.address = "0000:3b:00." + digit,
          .netdev = "ens1f" + digit + "np" + digit,
          .switch_id = "3c1a0f0003a1c0e8",
          .port = number,
          .pf_number = number,
          .vfs = 2,
          .first_function = number == 0 ? 2U : 10U};
}

}  // namespace

VfHost::VfHost(netlink::RdmaNetns mode)
    : rdma(mode), host_ns_(netns::testing::MakeScratch()), pod_(netns::testing::MakeScratch()) {
  host.Connect(pod_->fd(), inside);
  inside.Connect(host_ns_.fd(), host);
  for (const uint32_t number : {0U, 1U}) {
    const auto spec = PfSpecOf(number);
    machine.AddPf(spec);
    netlink::Link link;
    link.name = spec.netdev;
    link.parent_device = spec.address;
    link.permanent_mac = MacAddress{{0x3c, 0x1a, 0x0f, 0x00, 0xa1, static_cast<uint8_t>(number)}};
    const int pf = host.AddLink(link);
    link.permanent_mac = {};
    for (uint32_t i = 0; i < spec.vfs; ++i) {
      const std::string address = sriov::testing::Machine::VfAddress(spec, i);
      AddVf(address, pf, i, spec.netdev.substr(0, 8) + "v" + std::to_string(i));
      link.name = spec.netdev + "_" + std::to_string(i);
      link.parent_device = spec.address;
      host.AddLink(link);
    }
  }
  rail_.name = "rail0";
  rail_.pf = PfSpecOf(0).netdev;
  rail_.mtu = 4200;
  const auto open_inside = [this]() -> Result<std::unique_ptr<netlink::Netlink>> {
    return std::make_unique<Borrowed>(inside);
  };
  Sriov::Connections connections;
  connections.sysfs = machine.root();
  connections.devlink = machine.OpenDevlink();
  connections.vfs = [this]() -> Result<std::unique_ptr<netlink::Vfs>> {
    class Shared : public netlink::Vfs {
     public:
      explicit Shared(netlink::Vfs& other) : other_(other) {}
      Result<netlink::VfState> Get(int pf, uint32_t vf) override { return other_.Get(pf, vf); }
      Status Set(int pf, uint32_t vf, const netlink::VfChange& change) override {
        return other_.Set(pf, vf, change);
      }

     private:
      netlink::Vfs& other_;
    };
    return std::make_unique<Shared>(vfs);
  };
  connections.rdma = [this] { return rdma.Open(); };
  connections.rates = [this]() -> Result<std::unique_ptr<netlink::Rates>> {
    return std::make_unique<netlink::testing::FakeRates>(rates);
  };
  connections.monitor = [this]() -> Result<std::unique_ptr<netlink::Monitor>> {
    return std::make_unique<Event>(on_wait);
  };
  backend_.emplace(host, open_inside, std::move(connections));
  rdma.on_change = [this] { SyncRdma(); };
}

void VfHost::AddVf(const std::string& address, int pf, uint32_t index, const std::string& name) {
  netlink::Link link;
  link.name = name;
  link.parent_device = address;
  host.AddLink(link);
  netlink::VfState state;
  state.spoofchk = true;
  state.trust = false;
  state.link_state = netlink::VfLinkState::kAuto;
  vfs.Add(pf, index, state);
  rdma_of_[address] = rdma.Add("mlx5_" + name, host_ns_.identity());
}

void VfHost::Sync() {
  const auto links = host.ListLinks();
  for (const std::string& address : machine.sysfs().List("bus/pci/devices")) {
    const std::string path = "bus/pci/devices/" + address;
    if (!machine.sysfs().Exists(path + "/physfn")) continue;
    for (const std::string& name : machine.sysfs().List(path + "/net")) machine.RemoveNetdev(name);
    for (const netlink::Link& link : *links) {
      if (link.parent_device == address) machine.AddNetdev(link.name, sriov::testing::DevicePath(address));
    }
  }
  SyncRdma();
}

void VfHost::SyncRdma() {
  for (const auto& [address, index] : rdma_of_) {
    const std::string infiniband = sriov::testing::DevicePath(address) + "/infiniband";
    machine.Remove(infiniband);
    for (const auto& entry : rdma.devices()) {
      const bool seen = rdma.mode() == netlink::RdmaNetns::kShared || entry.where == host_ns_.identity();
      if (entry.device.index == index && seen) {
        machine.Write(infiniband + "/" + entry.device.name + "/node_guid", "");
      }
    }
  }
}

void VfHost::RecountRdma() {
  const auto last = static_cast<uint32_t>(rdma.devices().size() - 1);
  for (auto& entry : rdma.devices()) entry.device.index = last - entry.device.index;
  for (auto& [address, index] : rdma_of_) index = last - index;
}

Status VfHost::On(const std::function<Status()>& body) {
  Sync();
  return host_ns_.Run(body);
}

void VfHost::KillPod() {
  const netns::Identity pod = pod_->identity();
  pod_.reset();
  on_wait = [this, pod] {
    rdma.Kill(pod, host_ns_.identity());
    SyncRdma();
    int number = 0;
    const auto links = inside.ListLinks();
    for (netlink::Link link : *links) {
      inside.RemoveLink(link.name);
      if (host.GetLink(link.name)) link.name = "dev" + std::to_string(number++);
      host.AddLink(link);
    }
  };
}

}  // namespace rail::device::testing
