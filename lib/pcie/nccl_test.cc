// What is printed for NCCL, by version; the XML, by a reader that is as strict as NCCL's.
#include "lib/pcie/libs.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <map>
#include <set>

#include "lib/pcie/testing/tree.h"

namespace rail::libs {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

Port GoodPort(uint32_t rail) {
  const std::string n = std::to_string(rail);
  return {.ifname = "net" + std::to_string(rail + 1),
          .rail = "rail" + n,
          .rail_index = rail,
          .address = "10." + n + ".1.5",
          .rdma = "mlx5_" + n,
          .gids = {{1, "fe80::1", "RoCE v2"}, {3, "::ffff:10." + n + ".1.5", "RoCE v2"}},
          .pci_address = rail == 0 ? "0000:18:00.1" : "0000:40:00.1",
          .speed = 400000,
          .tos = 106};
}

Pod GoodPod() {
  return {
      .ports = {GoodPort(0), GoodPort(1)}, .other_links = {"eth0"}, .gpus = {"0000:1b:00.0", "0000:43:00.0"}};
}

const Setting* FindSetting(const std::vector<Setting>& settings, const std::string& name) {
  const auto it = std::ranges::find(settings, name, &Setting::name);
  return it == settings.end() ? nullptr : &*it;
}

std::string ValueOf(const Pod& pod, const std::string& name, Version version = kRails) {
  const auto settings = Settings(pod, version);
  const Setting* found = FindSetting(settings, name);
  return found == nullptr ? "absent" : found->leave ? "left" : found->value;
}

TEST(Nccl, NamesDevicesWithRailAndPlaneFrom230On) {
  Pod pod = GoodPod();
  pod.ports[1].plane = 1;
  EXPECT_EQ(ValueOf(pod, "NCCL_IB_HCA"), "=mlx5_0:1:0:0,mlx5_1:1:1:1");
  EXPECT_EQ(ValueOf(pod, "NCCL_IB_HCA", {2, 29}), "=mlx5_0:1,mlx5_1:1");
  EXPECT_EQ(ValueOf(pod, "NCCL_IB_HCA", {3, 0}), "=mlx5_0:1:0:0,mlx5_1:1:1:1");
}

TEST(Nccl, SetsWhatIsKnownAndLeavesTheRest) {
  Pod pod = GoodPod();
  EXPECT_EQ(ValueOf(pod, "NCCL_CROSS_NIC"), "0");
  EXPECT_EQ(ValueOf(pod, "NCCL_IB_TC"), "106");
  EXPECT_EQ(ValueOf(pod, "NCCL_IB_GID_INDEX"), "left");
  EXPECT_EQ(ValueOf(pod, "NCCL_SOCKET_IFNAME"), "=eth0");
  EXPECT_EQ(ValueOf(pod, "NCCL_IB_MERGE_VFS"), "absent");
  EXPECT_EQ(ValueOf(pod, "NCCL_NET_GDR_LEVEL"), "absent");
  const auto settings = Settings(pod, kRails);
  EXPECT_THAT(FindSetting(settings, "NCCL_IB_GID_INDEX")->reason, HasSubstr("mlx5_0 3, mlx5_1 3"));
}

TEST(Nccl, TrafficClassIsLeftWhereNobodyNamesOneOrTwoAreNamed) {
  Pod pod = GoodPod();
  pod.ports[1].tos = 98;
  EXPECT_EQ(ValueOf(pod, "NCCL_IB_TC"), "left");
  pod.ports[0].tos = pod.ports[1].tos = std::nullopt;
  EXPECT_EQ(ValueOf(pod, "NCCL_IB_TC"), "left");
}

TEST(Nccl, FindsAnotherInterfaceForItsSockets) {
  Pod pod = GoodPod();
  pod.other_links = {"ens5"};
  EXPECT_EQ(ValueOf(pod, "NCCL_SOCKET_IFNAME"), "=ens5");
  pod.other_links = {"a0", "eth0"};
  EXPECT_EQ(ValueOf(pod, "NCCL_SOCKET_IFNAME"), "=eth0");
  pod.other_links.clear();
  EXPECT_EQ(ValueOf(pod, "NCCL_SOCKET_IFNAME"), "=net1");
}

TEST(Nccl, VfsOfOneCardAreNotMerged) {
  Pod pod = GoodPod();
  pod.ports[1].pci_address = "0000:18:01.2";
  EXPECT_EQ(ValueOf(pod, "NCCL_IB_MERGE_VFS"), "0");
  EXPECT_EQ(ValueOf(pod, "NCCL_IB_MERGE_NICS"), "absent");
  // A NIC with two ports: VFs of both PFs behind one device number, of which NCCL looks at no function.
  pod.ports[0].pci_address = "0000:18:00.2";
  pod.ports[1].pci_address = "0000:18:00.6";
  EXPECT_EQ(ValueOf(pod, "NCCL_IB_MERGE_NICS"), "0");
  EXPECT_EQ(ValueOf(pod, "NCCL_IB_MERGE_VFS"), "absent") << "it would change nothing";
  pod.ports[0].pci_address = pod.ports[1].pci_address = "";
  EXPECT_EQ(ValueOf(pod, "NCCL_IB_MERGE_VFS"), "absent") << "no PCI devices";
  EXPECT_EQ(ValueOf(pod, "NCCL_IB_MERGE_NICS"), "absent");
}

TEST(Nccl, PlanesOfOneRailBecomeOneDevice) {
  Pod pod = GoodPod();
  EXPECT_EQ(ValueOf(pod, "NCCL_NET_MERGE_POLICY"), "absent");
  pod.ports[1].rail_index = pod.ports[0].rail_index;
  pod.ports[1].plane = 1;
  pod.ports[1].pci_address = "0000:18:01.2";
  EXPECT_EQ(ValueOf(pod, "NCCL_IB_HCA"), "=mlx5_0:1:0:0,mlx5_1:1:0:1");
  EXPECT_EQ(ValueOf(pod, "NCCL_NET_MERGE_POLICY"), "RAIL");
  EXPECT_EQ(ValueOf(pod, "NCCL_IB_MERGE_VFS"), "absent") << "they are to be one";
  EXPECT_EQ(ValueOf(pod, "NCCL_NET_MERGE_POLICY", {2, 29}), "absent") << "it knows no rails";
}

TEST(Nccl, GpusWithoutNicGetASettingToTry) {
  Pod pod = GoodPod();
  pod.gpus_without_nic = 4;
  EXPECT_EQ(ValueOf(pod, "NCCL_NET_GDR_LEVEL"), "SYS");
}

// NCCL's file has no comments in old versions: a line with '=' is an assignment.
TEST(Nccl, NoReasonLooksLikeAnAssignment) {
  Pod pod = GoodPod();
  pod.gpus_without_nic = 4;
  pod.ports[1].pci_address = "0000:18:01.2";
  for (const Version version : {Version{2, 29}, kRails}) {
    for (const Setting& setting : Settings(pod, version)) {
      EXPECT_THAT(setting.reason, Not(HasSubstr("="))) << setting.name;
      EXPECT_THAT(setting.reason, Not(IsEmpty())) << setting.name;
    }
  }
  pod.ports[0].tos = pod.ports[1].tos = std::nullopt;
  EXPECT_THAT(FindSetting(Settings(pod, kRails), "NCCL_IB_TC")->reason, Not(HasSubstr("=")));
}

TEST(Nccl, SaysWhatIsMissing) {
  Pod pod = GoodPod();
  EXPECT_THAT(Problems(pod), IsEmpty());
  pod.ports[0].rdma = "";
  pod.ports[1].gids.pop_back();
  const auto problems = Problems(pod);
  ASSERT_THAT(problems, SizeIs(2));
  EXPECT_THAT(problems[0], HasSubstr("net1 on rail0 has no RDMA device"));
  EXPECT_THAT(problems[1], HasSubstr("10.1.1.5"));
  EXPECT_EQ(ValueOf(pod, "NCCL_IB_HCA"), "=mlx5_1:1:1:0") << "what is there is named";
}

TEST(Nccl, WritesGidsAsPeopleDo) {
  EXPECT_EQ(GidText("0000:0000:0000:0000:0000:ffff:0a00:0105"), "::ffff:10.0.1.5");
  EXPECT_EQ(GidText("fe80:0000:0000:0000:e0d6:e2ff:fe5b:0f0f"), "fe80::e0d6:e2ff:fe5b:f0f");
  EXPECT_EQ(GidText("0000:0000:0000:0000:0000:0000:0000:0000"), "");
  EXPECT_EQ(GidText("no gid"), "");
}

TEST(Nccl, ReadsVersions) {
  EXPECT_EQ(ParseVersion(""), kRails);
  EXPECT_EQ(ParseVersion("2.29.3"), (Version{2, 29}));
  for (const char* bad : {"2", "two", "2.", "2.x", "2.30b", ".30", "99999999999.1"}) {
    EXPECT_EQ(ParseVersion(bad).error().code, Code::kInvalid) << bad;
  }
}

// An element as NCCL's reader sees it: one space before each attribute, values of 254 characters at most, no declaration, no text.
struct Element {
  std::string name;
  std::map<std::string, std::string> attributes;
  std::vector<Element> children;
};

class Reader {
 public:
  explicit Reader(std::string text) : text_(std::move(text)) {}
  Element Read() {
    Element root = ReadElement();
    Skip();
    EXPECT_EQ(at_, text_.size()) << "something follows the root";
    return root;
  }

 private:
  void Skip() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n')) ++at_;
  }
  std::string Until(std::string_view ends) {
    const size_t end = std::min(text_.find_first_of(ends, at_), text_.size());
    const std::string token = text_.substr(at_, end - at_);
    at_ = end;
    return token;
  }
  char Take() { return at_ < text_.size() ? text_[at_++] : '\0'; }
  Element ReadElement() {
    Skip();
    EXPECT_EQ(Take(), '<');
    Element element{.name = Until(" />"), .attributes = {}, .children = {}};
    while (at_ < text_.size() && text_[at_] == ' ') {
      ++at_;
      const std::string key = Until("= />");
      EXPECT_FALSE(key.empty()) << "two spaces, or one before the end, at " << at_;
      EXPECT_EQ(Take(), '=');
      EXPECT_EQ(Take(), '"');
      const std::string value = Until("\"");
      EXPECT_LE(value.size(), 254U);
      EXPECT_EQ(Take(), '"');
      EXPECT_TRUE(element.attributes.emplace(key, value).second) << key << " twice";
    }
    EXPECT_LE(element.attributes.size(), 16U);
    if (text_[at_] == '/') {
      EXPECT_EQ(text_.substr(at_, 2), "/>");
      at_ += 2;
      return element;
    }
    EXPECT_EQ(Take(), '>');
    for (;;) {
      Skip();
      if (at_ >= text_.size()) {
        ADD_FAILURE() << element.name << " has no end";
        return element;
      }
      if (text_.compare(at_, 2, "</") != 0) {
        element.children.push_back(ReadElement());
        continue;
      }
      at_ += 2;
      EXPECT_EQ(Until(">"), element.name);
      ++at_;
      return element;
    }
  }
  std::string text_;
  size_t at_ = 0;
};

// What may be where, and what NCCL needs there (src/graph/xml.cc: ncclTopoXmlLoad*; src/graph/topo.cc: ncclTopoAddCpu, ...Pci, ...Net).
void CheckSchema(const Element& element) {
  struct Rule {
    std::set<std::string> children;
    std::set<std::string> needed;
    std::set<std::string> others;
  };
  static const std::map<std::string, Rule> rules = {
      {"system", {{"cpu"}, {"version"}, {"name"}}},
      {"cpu",
       {{"pci", "nic"}, {"numaid", "arch"}, {"affinity", "vendor", "familyid", "modelid", "host_hash"}}},
      {"pci",
       {{"pci", "gpu", "nic", "pcilink"},
        {"busid", "class"},
        {"vendor", "device", "subsystem_vendor", "subsystem_device", "link_speed", "link_width"}}},
      {"nic", {{"net"}, {}, {}}},
      {"net",
       {{},
        {"name"},
        {"dev", "speed", "port", "guid", "latency", "maxconn", "gdr", "coll", "rail", "plane", "keep"}}},
  };
  const auto rule = rules.find(element.name);
  ASSERT_NE(rule, rules.end()) << element.name;
  for (const std::string& name : rule->second.needed)
    EXPECT_TRUE(element.attributes.contains(name)) << element.name << " lacks " << name;
  for (const auto& [name, value] : element.attributes) {
    EXPECT_TRUE(rule->second.needed.contains(name) || rule->second.others.contains(name))
        << element.name << ' ' << name;
    EXPECT_NE(value, "") << element.name << ' ' << name;
  }
  for (const Element& child : element.children) {
    EXPECT_TRUE(rule->second.children.contains(child.name)) << child.name << " in " << element.name;
    CheckSchema(child);
  }
}

const Element* FindPci(const Element& element, const std::string& busid) {
  const auto own = element.attributes.find("busid");
  if (own != element.attributes.end() && own->second == busid) return &element;
  for (const Element& child : element.children) {
    if (const Element* found = FindPci(child, busid)) return found;
  }
  return nullptr;
}

Device DeviceAt(const pcie::testing::Tree& tree, const std::string& address, const char* device_class) {
  const auto path = pcie::PathOf(tree.sysfs(), address);
  EXPECT_TRUE(path) << address;
  return {path.value_or(pcie::Path()), {device_class, "0x15b3", "0x101e", "", ""}};
}

TEST(Topology, IsWhatNcclsReaderTakes) {
  const pcie::testing::Tree server(pcie::testing::Tree::File("8-gpus-8-nics"));
  Tree tree{.cpu = {"x86_64", "GenuineIntel", "6", "143"},
            .gpus = {},
            .nics = {},
            .bridges = {},
            .cpumaps = {{0, "ffffffff,00ffffff"}}};
  for (const char* gpu : {"0000:1b:00.0", "0000:43:00.0"})
    tree.gpus.push_back(DeviceAt(server, gpu, "0x030200"));
  for (const char* nic : {"0000:18:00.1", "0000:40:00.1"})
    tree.nics.push_back(DeviceAt(server, nic, "0x020000"));
  for (const char* bridge : {"0000:15:01.0", "0000:16:00.0", "0000:17:00.0", "0000:17:01.0", "0000:37:01.0",
                             "0000:38:00.0", "0000:39:00.0", "0000:39:01.0"}) {
    tree.bridges.push_back(DeviceAt(server, bridge, "0x060400"));
  }
  const std::string xml = Topology(GoodPod(), tree);
  const Element root = Reader(xml).Read();
  EXPECT_EQ(root.name, "system");
  EXPECT_EQ(root.attributes.at("version"), "1");
  CheckSchema(root);
  ASSERT_THAT(root.children, SizeIs(1)) << "both GPUs are of NUMA node 0";
  EXPECT_EQ(root.children[0].attributes.at("affinity"), "ffffffff,00ffffff");
  EXPECT_EQ(root.children[0].attributes.at("modelid"), "143");
  // The switch with GPU 0 and the pod's VF beside it.
  const Element* upstream = FindPci(root, "0000:16:00.0");
  ASSERT_NE(upstream, nullptr);
  EXPECT_NE(FindPci(*upstream, "0000:1b:00.0"), nullptr);
  EXPECT_EQ(FindPci(*upstream, "0000:43:00.0"), nullptr);
  const Element* vf = FindPci(*upstream, "0000:18:00.1");
  ASSERT_NE(vf, nullptr);
  ASSERT_THAT(vf->children, SizeIs(1));
  const Element& net = vf->children[0].children.at(0);
  EXPECT_EQ(net.attributes,
            (std::map<std::string, std::string>{
                {"name", "mlx5_0"}, {"port", "1"}, {"speed", "400000"}, {"rail", "0"}, {"plane", "0"}}));
}

TEST(Topology, OfAPodWithoutPciDevicesIsEmpty) {
  EXPECT_EQ(Topology(GoodPod(), {}), "");
}

TEST(Topology, OneCpuForEachNumaNode) {
  const pcie::testing::Tree server(pcie::testing::Tree::File("8-gpus-8-nics"));
  Tree tree{.cpu = {"arm64", "", "", ""}, .gpus = {}, .nics = {}, .bridges = {}, .cpumaps = {}};
  tree.gpus = {DeviceAt(server, "0000:1b:00.0", "0x030200"), DeviceAt(server, "0000:df:00.0", "0x030200")};
  const Element root = Reader(Topology({}, tree)).Read();
  ASSERT_THAT(root.children, SizeIs(2));
  EXPECT_EQ(root.children[1].attributes.at("numaid"), "1");
}

}  // namespace
}  // namespace rail::libs
