#include "lib/inspect/megaflow.h"

#include <algorithm>
#include <array>

#include "lib/base/parse.h"
#include "lib/base/text.h"
#include "lib/inspect/text.h"

namespace rail::inspect {
namespace {

bool IsZero(std::string_view mask) {
  if (mask.starts_with("0x")) mask.remove_prefix(2);
  return mask.find_first_not_of("0:.") == std::string_view::npos;
}

// Whether the flow matches on the field: "src=10.0.0.1" yes, "tclass=0/0" no. A prefix length "/0" is a mask of zero.
bool LooksAt(std::string_view field) {
  const size_t slash = field.rfind('/');
  return slash == std::string_view::npos || !IsZero(field.substr(slash + 1));
}

// "ipv4(src=10.0.1.3,proto=1/0,frag=no)" -> "ipv4(src=10.0.1.3,frag=no)"; "" when nothing is left. Fields behind a VLAN tag stand
// within another: "encap(eth_type(0x0800),ipv4(...))".
std::string Seen(std::string_view field, bool inner = false) {
  const size_t open = field.find('(');
  if (open == std::string_view::npos || !field.ends_with(')')) return std::string(field);
  const std::string_view name = field.substr(0, open);
  if (name == "recirc_id" && field == "recirc_id(0)") return {};
  if (name == "packet_type" || name == "dp_hash") return {};
  std::string seen;
  for (const std::string_view part : SplitOutside(field.substr(open + 1, field.size() - open - 2))) {
    const bool is_field = !inner && name == "encap" && part.find('(') != std::string_view::npos;
    const std::string shown = is_field ? Seen(part, true) : LooksAt(part) ? std::string(part) : "";
    if (!shown.empty()) Append(seen, ",", shown);
  }
  if (seen.empty()) return {};
  return std::string(name) + "(" + seen + ")";
}

// "ipv4(src=10.0.0.0/255.0.0.0,frag=no)" -> "ipv4(src/255.0.0.0,frag)", "eth_type(0x0800)" -> "eth_type".
std::string WithoutValues(std::string_view fields) {
  std::string mask;
  for (const std::string_view field : SplitOutside(fields)) {
    const size_t open = field.find('(');
    if (open != std::string_view::npos && field.ends_with(')')) {
      const std::string inside = WithoutValues(field.substr(open + 1, field.size() - open - 2));
      Append(mask, ",", std::string(field.substr(0, open)) + (inside.empty() ? "" : "(" + inside + ")"));
      continue;
    }
    const size_t equals = field.find('=');
    const size_t slash = field.rfind('/');
    const std::string bits = slash == std::string_view::npos ? "" : std::string(field.substr(slash));
    if (equals != std::string_view::npos)
      Append(mask, ",", std::string(field.substr(0, equals)) + bits);
    else if (!bits.empty())
      Append(mask, ",", bits);
  }
  return mask;
}

// Splits "key:value": if `piece` begins with `key`, sets `value`.
bool Take(std::string_view piece, std::string_view key, std::string_view& value) {
  if (!piece.starts_with(key)) return false;
  value = piece.substr(key.size());
  return true;
}

}  // namespace

void ForEachMegaflow(std::string_view text, const std::function<void(Megaflow&&)>& each) {
  for (std::string_view line : Split(text, "\n")) {
    const size_t actions = line.find(", actions:");
    const size_t counters = line.find(", packets:");
    if (actions == std::string_view::npos || counters == std::string_view::npos || counters > actions)
      continue;
    Megaflow flow;
    for (const std::string_view piece : SplitOutside(line.substr(0, counters))) {
      if (piece.starts_with("ufid:")) continue;
      if (piece.starts_with("in_port(") && piece.ends_with(')')) {
        flow.in_port = piece.substr(8, piece.size() - 9);
      }
      if (const std::string seen = Seen(piece); !seen.empty()) {
        flow.match += (flow.match.empty() ? "" : ",") + seen;
      }
    }
    bool in_tc = false;
    bool in_hardware = false;
    for (const std::string_view piece : SplitOutside(line.substr(counters + 2, actions - counters - 2))) {
      std::string_view value;
      if (Take(piece, "packets:", value)) flow.packets = Number<uint64_t>(value).value_or(0);
      if (Take(piece, "bytes:", value)) flow.bytes = Number<uint64_t>(value).value_or(0);
      if (Take(piece, "used:", value)) flow.used = value;
      if (Take(piece, "dp:", value)) in_tc = value == "tc";
      if (Take(piece, "offloaded:", value)) in_hardware = value == "yes";
    }
    flow.place = in_hardware ? v1::Megaflow::HARDWARE : in_tc ? v1::Megaflow::TC : v1::Megaflow::SOFTWARE;
    std::string_view done = line.substr(actions + 10);
    done = done.substr(0, done.find(", dp-extra-info:"));
    flow.actions = done;
    for (const std::string_view action : SplitOutside(done)) {
      if (action.find('(') == std::string_view::npos && action != "drop" && action != "pop_vlan")
        flow.outputs.emplace(action);
    }
    each(std::move(flow));
  }
}

const char* FamilyOf(const Megaflow& flow) {
  if (flow.match.find("ipv4(") != std::string::npos) return "ipv4";
  return flow.match.find("ipv6(") != std::string::npos ? "ipv6" : "other";
}

std::string MaskOf(const Megaflow& flow) {
  return WithoutValues(flow.match);
}

std::map<std::string, size_t> Masks::Counts() const {
  std::map<std::string, size_t> counts;
  for (const auto& [family, masks] : of_) counts[family] = masks.size();
  return counts;
}

size_t Masks::Count() const {
  size_t count = 0;
  for (const auto& [family, masks] : of_) count += masks.size();
  return count;
}

std::pair<std::string, size_t> Masks::Most(const std::string& family) const {
  std::map<std::string, size_t> of_port;
  if (const auto masks = of_.find(family); masks != of_.end()) {
    for (const auto& [mask, ports] : masks->second) {
      for (const std::string& port : ports) ++of_port[port];
    }
  }
  const auto most = std::ranges::max_element(of_port, {}, [](const auto& one) { return one.second; });
  if (most == of_port.end()) return {};
  return {most->first, most->second};
}

std::string WhyNotInHardware(const Megaflow& flow, const Datapath& datapath) {
  if (flow.place == v1::Megaflow::HARDWARE) return {};
  if (!datapath.kernel)
    return "it is of the userspace datapath, whose flows no NIC takes from links of the kernel";
  if (!datapath.hw_offload) return "other_config:hw-offload is not true";
  if (flow.place == v1::Megaflow::TC) {
    return "tc has it and the NIC has not: `tc -s filter show dev " + flow.in_port +
           " ingress` says not_in_hw; the driver's reason is in the kernel's log";
  }
  // Datapath actions that tc does not support. One of them keeps the whole flow in software.
  for (const std::string_view name : {"userspace(", "sample(", "hash(", "recirc(", "lb_output(", "clone(",
                                      "trunc(", "dec_ttl", "tnl_push(", "tnl_pop(", "set(arp(", "set(nd("}) {
    if (flow.actions.find(name) != std::string::npos) {
      return "the action " + std::string(name.substr(0, name.find('('))) + " is none that tc can do";
    }
  }
  return "tc has refused it: `ovs-appctl vlog/set netdev_offload_tc:dbg` makes ovs-vswitchd log why";
}

}  // namespace rail::inspect
