// Prints what a bridge has in mode `vrf`, a rule a line, as `ovs-ofctl add-flows` reads it.
//
// Use:      print_vlan_rules UPLINK_PORT BRIDGE_MAC GATEWAY_MAC [WORDS...]
//             tenant ID VLAN PORT LEAF_MAC     a tenant: the low half of its id, its VLAN, and the port of the VLAN
//             pod ID PORT MAC ADDRESS          a pod of the last tenant
//             remote ADDRESS                   an address elsewhere of the last tenant
// Threads:  one
#include <fmt/core.h>

#include <charconv>
#include <cstdlib>
#include <iterator>
#include <string>
#include <vector>

#include "lib/engine/attach/pipeline.h"

namespace {

class Words {
 public:
  Words(int count, char** words) : words_(words + 1, words + count) {}
  bool empty() const { return next_ == words_.size(); }
  std::string Text() {
    if (empty()) Refuse("a word is missing at the end");
    return words_[next_++];
  }
  uint16_t Number() {
    const std::string text = Text();
    uint16_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || end != text.data() + text.size()) Refuse("not a number: " + text);
    return number;
  }
  rail::MacAddress Mac() {
    const auto mac = rail::MacAddress::Parse(Text());
    if (!mac) Refuse(mac.error().message);
    return *mac;
  }
  rail::IpAddress Address() {
    const auto address = rail::IpAddress::Parse(Text());
    if (!address) Refuse(address.error().message);
    return *address;
  }
  [[noreturn]] static void Refuse(const std::string& why) {
    fmt::print(stderr, "print_vlan_rules: {}\n", why);
    std::exit(2);
  }

 private:
  std::vector<std::string> words_;
  size_t next_ = 0;
};

}  // namespace

int main(int count, char** arguments) {
  using namespace rail;
  Words words(count, arguments);
  pipeline::BridgeFacts bridge;
  bridge.uplink_port = words.Number();
  bridge.bridge_mac = words.Mac();
  bridge.gateway_mac = words.Mac();
  bridge.vlans.of_tenant = {{"any", 1}};  // the mode has VLANs; which they are the words say
  std::vector<ovs::Rule> rules = pipeline::ControlRules(bridge, config::TenancyMode::kVrf);
  tenancy::TenantId tenant;
  uint16_t vlan = config::kNoVlan;
  while (!words.empty()) {
    const std::string what = words.Text();
    if (what == "tenant") {
      tenant = {0, words.Number()};
      vlan = words.Number();
      const uint16_t port = words.Number();
      pipeline::Append(rules, pipeline::VlanRules(bridge, {vlan, port, words.Mac()}));
      rules.push_back(pipeline::CompareRule(tenant));
    } else if (what == "pod") {
      pipeline::Pod pod;
      pod.id = words.Number();
      pod.port = words.Number();
      pod.mac = words.Mac();
      pod.addresses = {words.Address()};
      pod.vlan = vlan;
      pipeline::Append(rules, pipeline::AdmitRules(bridge, pod));
      pipeline::Append(rules, pipeline::TenantRules(bridge, pod, tenant));
    } else if (what == "remote") {
      rules.push_back(pipeline::RemoteRule(bridge, {words.Address(), vlan}, tenant).value());
    } else {
      Words::Refuse("unknown word " + what);
    }
  }
  for (const ovs::Rule& rule : rules) {
    fmt::print("table={},priority={},cookie={:#x}{}{},actions={}\n", rule.table, rule.priority, rule.cookie,
               rule.match.empty() ? "" : ",", rule.match, rule.actions);
  }
  return 0;
}
