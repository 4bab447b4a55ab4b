#include "lib/kubernetes/resource_slices.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
#include <set>

#include "lib/kubernetes/resource_api.h"

namespace rail::kubernetes {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;
using testing::SizeIs;

Pool PoolOf(std::vector<Device> devices) {
  return {.driver = "rail.railcni.io", .node = "n1", .devices = std::move(devices)};
}

std::vector<Device> Devices(size_t count) {
  std::vector<Device> devices;
  for (size_t i = 0; i < count; ++i) devices.push_back({.name = "d" + std::to_string(i)});
  return devices;
}

std::string Refusal(const Device& device) {
  const Status checked = CheckPool(PoolOf({device}));
  if (checked) return "";
  EXPECT_EQ(checked.error().code, Code::kInvalid);
  return checked.error().message;
}

TEST(DeviceNameOf, MakesALabelOfAPciAddress) {
  EXPECT_EQ(*DeviceNameOf("0000:3b:00.2"), "0000-3b-00-2");
  EXPECT_EQ(*DeviceNameOf("10002:01:1f.0"), "10002-01-1f-0");
  EXPECT_EQ(*DeviceNameOf("ens3f0v2"), "ens3f0v2");
}

TEST(DeviceNameOf, NeverGivesTwoDevicesOneName) {
  std::set<std::string> names;
  for (const char* id :
       {"0000:3b:00.2", "0000:3b:00.3", "0000:3b:02.0", "0001:3b:00.2", "a", "a-b", "a-b-c", "a-b-c-d"})
    EXPECT_TRUE(names.insert(*DeviceNameOf(id)).second) << id;
  for (const char* id :
       {"0000-3b-00-2", "10002-01-00-0", "Ens3", "mlx5_core.sf.2", "a.b", "", "-a", "a/b", "..", "a\n"})
    EXPECT_EQ(DeviceNameOf(id).error().code, Code::kInvalid) << id;
}

TEST(SlicesOf, WriteQuantitiesAsTheServerDoes) {
  const auto written = [](const std::string& quantity) {
    const Pool pool = PoolOf({{.name = "d", .capacity = {{"c", quantity}}}});
    EXPECT_TRUE(CheckPool(pool)) << quantity;
    return TextAt(SlicesOf(pool, "u", 1).begin()->second["spec"]["devices"][0], {"capacity", "c", "value"});
  };
  EXPECT_EQ(written("25000M"), "25G");
  EXPECT_EQ(written("25000000000"), "25G");
  EXPECT_EQ(written("1500M"), "1500M");
  EXPECT_EQ(written("2048Ki"), "2Mi");
  EXPECT_EQ(written("1024"), "1024");
  EXPECT_EQ(written("0G"), "0");
  EXPECT_EQ(written("7000E"), "7000E");
}

TEST(SlicesOf, HaveAllThatADeviceHas) {
  const Pool pool =
      PoolOf({{.name = "0000-3b-00-2",
               .attributes = {{"resource.kubernetes.io/numaNode", 1},
                              {"rail", "rail0"},
                              {"rdma", true},
                              {"firmware", Version{"22.41.1000"}}},
               .capacity = {{"bandwidth", "200000M"}},
               .taints = {{"railcni.io/rail", "down", "NoSchedule"}, {"railcni.io/x", "", "None"}}}});
  ASSERT_TRUE(CheckPool(pool)) << CheckPool(pool).error().message;
  const auto slices = SlicesOf(pool, "uid-n1", 7);
  ASSERT_THAT(slices, SizeIs(1));
  EXPECT_EQ(slices.at("railcni-n1-00"), json::parse(R"({
    "metadata": {"name": "railcni-n1-00", "ownerReferences":
      [{"apiVersion": "v1", "kind": "Node", "name": "n1", "uid": "uid-n1", "controller": true}]},
    "spec": {"driver": "rail.railcni.io", "nodeName": "n1",
      "pool": {"name": "n1", "generation": 7, "resourceSliceCount": 1},
      "devices": [{"name": "0000-3b-00-2",
        "attributes": {"resource.kubernetes.io/numaNode": {"int": 1}, "rail": {"string": "rail0"}, "rdma": {"bool": true},
                       "firmware": {"version": "22.41.1000"}},
        "capacity": {"bandwidth": {"value": "200G"}},
        "taints": [{"key": "railcni.io/rail", "value": "down", "effect": "NoSchedule"},
                   {"key": "railcni.io/x", "effect": "None"}]}]}})"));
}

TEST(SlicesOf, Have64DevicesEach) {
  for (const auto& [devices, sizes] : std::vector<std::pair<size_t, std::vector<size_t>>>{
           {0, {}}, {1, {1}}, {64, {64}}, {65, {64, 1}}, {128, {64, 64}}, {130, {64, 64, 2}}}) {
    const auto slices = SlicesOf(PoolOf(Devices(devices)), "u", 1);
    ASSERT_THAT(slices, SizeIs(sizes.size())) << devices;
    size_t slice = 0;
    size_t device = 0;
    for (const auto& [name, each] : slices) {
      EXPECT_EQ(name, "railcni-n1-0" + std::to_string(slice)) << "by name in the order of the devices";
      EXPECT_EQ(each["metadata"]["name"], name);
      EXPECT_EQ(each["spec"]["devices"].size(), sizes[slice++]) << devices;
      EXPECT_EQ(each["spec"]["pool"]["resourceSliceCount"], sizes.size());
      for (const json& one : each["spec"]["devices"]) EXPECT_EQ(one["name"], "d" + std::to_string(device++));
    }
    EXPECT_EQ(device, devices) << "none is lost";
  }
  EXPECT_EQ(SlicesOf(PoolOf(Devices(size_t{64} * 17)), "u", 1).rbegin()->first, "railcni-n1-10")
      << "hexadecimal";
}

TEST(CheckPool, RefusesWhatTheServerWouldRefuse) {
  const std::string long_name(33, 'a');
  const std::string long_text(65, 'a');
  const auto attribute = [](const std::string& name, Attribute value) {
    return Device{.name = "d", .attributes = {{name, value}}};
  };
  const auto taint = [](const Taint& its) { return Device{.name = "d", .taints = {its}}; };
  EXPECT_THAT(Refusal({.name = "0000:3b:00.2"}),
              AllOf(HasSubstr("device '0000:3b:00.2'"), HasSubstr("1 to 63")));
  EXPECT_THAT(Refusal({.name = std::string(64, 'd')}), HasSubstr("1 to 63"));
  for (const std::string& name :
       {long_name, std::string("1a"), std::string("a-b"), std::string(""), std::string("a/b/c"),
        std::string("/a"), std::string("a/"), std::string(64, 'a') + "/b"})
    EXPECT_THAT(Refusal(attribute(name, true)), HasSubstr("'" + name + "' is no attribute's name")) << name;
  EXPECT_THAT(Refusal(attribute("a", long_text)), HasSubstr("more than 64 bytes"));
  EXPECT_THAT(Refusal(attribute("a", std::string(22, '\xff'))), HasSubstr("more than 64 bytes"))
      << "as they are sent";
  for (const char* version : {"", "1.2", "1.2.3.4", "01.2.3", "1.2.", "1.-2.3", "v1.2.3", "1.2.3 (MT)"})
    EXPECT_THAT(Refusal(attribute("a", Version{version})), HasSubstr("no version like 1.2.3")) << version;
  for (const char* bad : {"", "G", "-1", "1.5G", "25g", "25 G", "1e3", "100m", "99999999999999999999"})
    EXPECT_THAT(Refusal({.name = "d", .capacity = {{"a", bad}}}), HasSubstr("no whole number like 25G"))
        << bad;
  EXPECT_THAT(Refusal({.name = "d", .capacity = {{"a.b", "1"}}}), HasSubstr("'a.b' is no capacity's name"));
  EXPECT_THAT(Refusal(taint({"", "", "NoSchedule"})), HasSubstr("no key and value of a label"));
  EXPECT_THAT(Refusal(taint({"k", "a b", "NoSchedule"})), HasSubstr("no key and value of a label"));
  EXPECT_THAT(Refusal(taint({"k", "v", "PreferNoSchedule"})), HasSubstr("none of the effects"));
}

TEST(CheckPool, AcceptsWhatIsJustWithinTheLimits) {
  Device device{.name = std::string(63, 'd')};
  device.attributes[std::string(63, 'a') + "/" + std::string(32, 'b')] = std::string(64, 'x');
  for (const char* version : {"0.0.0", "22.41.1000"})
    device.attributes["v" + std::to_string(device.attributes.size())] = Version{version};
  while (device.attributes.size() < 16)
    device.attributes["a" + std::to_string(device.attributes.size())] = int64_t{1};
  while (device.capacity.size() < 16) device.capacity["c" + std::to_string(device.capacity.size())] = "1";
  while (device.taints.size() < 16)
    device.taints.push_back({"k" + std::to_string(device.taints.size()), "", "None"});
  EXPECT_EQ(Refusal(device), "");
  Device more = device;
  more.capacity["one"] = "1";
  EXPECT_THAT(Refusal(more), HasSubstr("more than 32"));
  more = device;
  more.taints.push_back({"k", "", "None"});
  EXPECT_THAT(Refusal(more), HasSubstr("more than 16"));
}

TEST(CheckPool, RefusesNamesOfNobody) {
  EXPECT_THAT(CheckPool(PoolOf({{.name = "a"}, {.name = "a"}})).error().message,
              HasSubstr("'a': it is there twice"));
  for (const char* node : {"", "N1", "n1/../n2", "n1?x=1", "n1,spec.driver=x", "n1%2F"}) {
    Pool pool = PoolOf({});
    pool.node = node;
    EXPECT_EQ(CheckPool(pool).error().code, Code::kInvalid) << node;
    std::swap(pool.node, pool.driver);
    pool.node = "n1";
    EXPECT_EQ(CheckPool(pool).error().code, Code::kInvalid) << node;
  }
  Pool pool = PoolOf({});
  pool.node = std::string(241, 'n');
  EXPECT_EQ(CheckPool(pool).error().code, Code::kInvalid);
}

TEST(ToServer, WrapsADeviceInBasicForV1beta1Alone) {
  const json slice = SlicesOf(PoolOf({{.name = "a", .attributes = {{"x", true}}}}), "u", 1).begin()->second;
  for (const char* version : {"v1", "v1beta2", "v1beta1"}) {
    const ResourceApi api{.version = version};
    const json sent = ToServer(api, slice);
    EXPECT_EQ(sent["apiVersion"], "resource.k8s.io/" + api.version);
    EXPECT_EQ(sent["kind"], "ResourceSlice");
    const json device = api.version == "v1beta1"
                            ? json::parse(R"({"name":"a","basic":{"attributes":{"x":{"bool":true}}}})")
                            : json::parse(R"({"name":"a","attributes":{"x":{"bool":true}}})");
    EXPECT_EQ(sent["spec"]["devices"], json::array({device}));
    EXPECT_EQ(At(ContentsOf(sent["spec"]["devices"][0]), {"attributes", "x", "bool"}), true);
  }
}

TEST(At, LeadsToNothingWhereTypesAreOthers) {
  const json value = json::parse(R"({"a":{"b":"c","n":7}})");
  EXPECT_EQ(TextAt(value, {"a", "b"}), "c");
  EXPECT_TRUE(At(value, {"a", "b", "c"}).is_null());
  EXPECT_EQ(TextAt(value, {"a", "n"}), "");
  EXPECT_TRUE(At(json::array({1}), {"a"}).is_null());
  for (const char* odd : {"7", "null", R"({"basic":null})"})
    EXPECT_EQ(ContentsOf(json::parse(odd)), json::parse(odd)) << odd;
}

}  // namespace
}  // namespace rail::kubernetes
