// A node of two rails and three pods for the tests of traces, and the switch's answers as text.
#pragma once

#include <fmt/core.h>
#include <gmock/gmock.h>

#include <map>
#include <set>
#include <string>
#include <vector>

#include "lib/inspect/trace/trace.h"

namespace rail::inspect {

using testing::HasSubstr;

inline constexpr tenancy::TenantId kRed{0x7ed, 0xaa}, kBlue{0xb1e0, 0xbb};

inline IpAddress Ip(const char* text) {
  return *IpAddress::Parse(text);
}

inline std::string Step(int table, const char* match, int priority, uint64_t cookie,
                        const std::string& actions) {
  return fmt::format(" {}. {}priority {}, cookie {:#x}\n    {}\n", table,
                     *match == '\0' ? "" : fmt::format("{}, ", match), priority, cookie, actions);
}
inline std::string Text(const std::string& steps, const std::string& datapath = "drop") {
  return "bridge(\"br-rail0\")\n----\n" + steps +
         "\nFinal flow: unchanged\nMegaflow: m\nDatapath actions: " + datapath + "\n";
}

inline constexpr uint64_t kMiss = 0x5241494c01000000;
inline const std::string kAdmit = Step(0, "in_port=2", 100, 0x5241494c02000001, "resubmit(,1)");
inline const std::string kSourceRed =
    Step(1, "in_port=2", 100, 0x5241494c03000001, "set_field:0x7ed000000000000aa->xxreg0\n    resubmit(,2)");
// What table 7 says of the address that the packet goes to.
inline std::string Remote(const std::string& match, int priority, uint64_t cookie,
                          const std::string& actions) {
  return Step(
      2, "ip", 10, kMiss,
      fmt::format("push:NXM_OF_IP_SRC[]\n    move:NXM_OF_IP_DST[]->NXM_OF_IP_SRC[]\n"
                  "     -> NXM_OF_IP_SRC[] is now 10.0.9.1\n    resubmit(,7)\n"
                  "     7. {}priority {}, cookie {:#x}\n            {}\n"
                  "    pop:NXM_OF_IP_SRC[]\n     -> NXM_OF_IP_SRC[] is now 10.0.0.1\n    resubmit(,3)",
                  match, priority, cookie, actions));
}
inline const std::string kToRed =
    Remote("ip,nw_src=d, ", 100, 0x5241494c80000000, "set_field:0x7ed000000000000aa->xxreg1");
inline const std::string kToNobody =
    Remote("", 0, kMiss, "drop") + Step(3, "reg4=0,reg5=0,reg6=0,reg7=0", 200, kMiss, "drop");
inline const std::string kToBlue =
    Step(2, "d", 100, 0x5241494c03000003, "set_field:0xb1e0000000000000bb->xxreg1\n    resubmit(,3)");
inline const std::string kSame = Step(3, "s", 100, 0x5241494c040000aa, "resubmit(,4)");
inline const std::string kLeaf =
    Step(4, "ip", 10, 0x5241494c06000000, "set_field:0:0:0:0:0:1->eth_src\n    output:1");
inline const std::string kToPod2 = Step(4, "ip", 100, 0x5241494c02000002, "output:3");
inline const std::string kToPod1 = Step(4, "ip", 100, 0x5241494c02000001, "output:2");
inline std::string Miss(int table) {
  return Step(table, "", 0, kMiss, "drop");
}

class TraceTest : public testing::Test {
 protected:
  TraceTest() {
    config::Rail rail0{.name = "rail0", .index = 0, .pf = "pf0", .bridge = "br-rail0", .mtu = 4200};
    config::Rail rail1{.name = "rail1", .index = 1, .pf = "pf1", .bridge = "br-rail1", .mtu = 4200};
    config.rails = {rail0, rail1};
    for (const config::Rail& rail : config.rails) {
      engine::RailView& shown = view.rails.emplace_back();
      shown.rail = rail;
      shown.seen.set_bridge_present(true);
      shown.seen.set_carrier(true);
      shown.seen.set_leaf_mac("02:00:00:00:0f:00");
      shown.seen.set_bridge_mac("02:00:00:00:0e:00");
      shown.seen.set_bgp_state("Established");
    }
    view.hostname = "n1";
    AddPod(1, "ns", "a", "rail0", "10.0.0.1", kRed, 2);
    AddPod(2, "ns", "b", "rail0", "10.0.0.2", kRed, 3);
    AddPod(3, "other", "c", "rail0", "10.0.0.3", kBlue, 4);
    AddRemote("10.0.9.1", kRed, 0);
    AddRemote("10.0.9.2", kBlue, 0);
    question.source.pod = "a";
    forward = Text(kAdmit + kSourceRed + kToRed + kSame + kLeaf, "set(eth()),1");
    back = Text(kAdmit + kSourceRed + kToRed + kSame + kToPod1, "2");
  }

  void AddPod(int64_t id, const char* ns, const char* name, const char* rail, const char* address,
              tenancy::TenantId tenant, uint16_t port) {
    engine::AttachmentView& shown = view.attachments.emplace_back();
    shown.rules_in_place = true;
    state::Attachment& a = shown.attachment;
    a.id = id;
    a.key = {"net", std::string("c-") + name, std::string(rail) == "rail0" ? "net1" : "net2"};
    a.phase = state::Phase::kReady;
    a.rail = rail;
    a.pod_namespace = ns;
    a.pod_name = name;
    a.representor = "rep" + std::to_string(port);
    a.mac = *MacAddress::Parse("02:00:00:00:00:01");
    a.addresses = {Ip(address)};
    a.ofport = port;
    a.tenant = tenant == kRed ? "red" : "blue";
    a.tenant_id = tenant;
    a.announced = true;
  }
  void AddRemote(const char* address, tenancy::TenantId tenant, uint32_t rail) {
    engine::RemoteView& remote = view.remotes.own().emplace_back();
    remote.remote = {Ip(address), tenant, rail, "br-rail0"};
    remote.tenant = tenant == kRed ? "red" : "blue";
  }

  Result<Answer> Ask(const char* destination) {
    question.destination = Ip(destination);
    packets.clear();
    return Trace(question,
                 {.view = view,
                  .config = config,
                  .ports = [this](const std::string&) { return ports; },
                  .inside = [this](const state::Attachment& pod) { return inside[pod.id]; },
                  .link = [this](const std::string& name) -> Result<netlink::Link> {
                    netlink::Link link;
                    link.name = name;
                    link.up = !down.contains(name);
                    link.carrier = !silent.contains(name);
                    return link;
                  }},
                 [&](const std::string& bridge, const std::string& packet) -> Result<std::string> {
                   EXPECT_EQ(bridge, "br-rail0");
                   packets.push_back(packet);
                   return packets.size() == 1 ? forward : back;
                 });
  }
  Answer Must(const char* destination) {
    auto answer = Ask(destination);
    EXPECT_TRUE(answer) << answer.error().message;
    return answer ? *answer : Answer();
  }
  void Dropped(const char* destination, Answer::Reason reason, const std::string& words) {
    const Answer answer = Must(destination);
    EXPECT_EQ(answer.verdict(), Answer::DROPPED);
    EXPECT_EQ(answer.reason(), reason) << answer.sentence();
    EXPECT_THAT(answer.sentence(), HasSubstr(words));
    EXPECT_FALSE(answer.has_back());
  }

  config::NodeConfig config;
  engine::NodeView view;
  std::set<std::string> down;    // links that are set down
  std::set<std::string> silent;  // links without a carrier
  std::map<std::string, int64_t> ports = {
      {"pf0", 1}, {"br-rail0", 65534}, {"rep2", 2}, {"rep3", 3}, {"rep4", 4}};
  std::map<int64_t, std::vector<podnet::Deviation>> inside;  // of pods, by id
  Question question;
  std::string forward, back;
  std::vector<std::string> packets;
};

}  // namespace rail::inspect
