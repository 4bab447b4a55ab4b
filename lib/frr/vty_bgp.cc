#include "lib/frr/vty_bgp.h"

#include "lib/frr/base_config.h"
#include "lib/frr/base_removal.h"
#include "lib/frr/frontend_config.h"
#include "lib/frr/running_config.h"
#include "lib/frr/show.h"
#include "lib/frr/zebra.h"

namespace rail::frr {
namespace {

std::string Family(bool v6) {
  return v6 ? "ipv6" : "ipv4";
}

std::vector<ConfigLine> ConfigOf(const std::vector<std::string>& lines) {
  std::vector<ConfigLine> config;
  for (const std::string& line : lines) {
    // What a line removes may be gone by then: a plugin and raild both repair what they find.
    config.push_back({line, line.starts_with("no route-map ") ? OnMissing::kAccept : OnMissing::kFail});
  }
  return config;
}

}  // namespace

Result<std::unique_ptr<VtyBgp>> VtyBgp::Open(Options options, Deadline deadline) {
  auto vty = Vty::Open(options.run_dir + "/bgpd.vty", deadline);
  if (!vty && vty.error().code == Code::kNotFound)
    return Fail(Code::kTransient,
                vty.error().message + ": bgpd does not run, or frr.run_dir names another folder");
  if (!vty) return tl::make_unexpected(vty.error());
  return std::unique_ptr<VtyBgp>(new VtyBgp(std::move(options), std::move(*vty)));
}

Result<RunningConfig> VtyBgp::Running(Deadline deadline) {
  RAIL_ASSIGN(const std::string text, vty_.Show("show running-config", deadline));
  return ParseRunningConfig(text);
}

Result<std::string> VtyBgp::ShowOrEmpty(const std::string& command, Deadline deadline) {
  auto text = vty_.Show(command, deadline);
  if (!text && text.error().code == Code::kNotFound) return std::string("{}");
  return text;
}

Status VtyBgp::Send(const std::vector<std::string>& lines, Deadline deadline) {
  return vty_.Configure(ConfigOf(lines), deadline);
}

Status VtyBgp::AnnounceAll(const std::vector<Announcement>& announcements, Deadline deadline) {
  RAIL_ASSIGN(const RunningConfig running, Running(deadline));
  RAIL_ASSIGN(const auto lines, PlanAnnounce(running, {options_.asn, options_.community_asn}, announcements));
  // A refused line does not make the lines after it announce more: a route-map without its communities announces to nobody.
  return vty_.ConfigureAtOnce(ConfigOf(lines), deadline);
}

Status VtyBgp::WithdrawAll(const std::vector<IpAddress>& addresses, Deadline deadline) {
  RAIL_ASSIGN(const RunningConfig running, Running(deadline));
  std::vector<ConfigLine> lines;
  for (const bool v6 : {false, true}) {
    std::vector<ConfigLine> withdrawn;
    for (const IpAddress& address : addresses) {
      const std::string* route_map = address.is_v6() == v6 ? running.FindNetwork(address) : nullptr;
      if (route_map == nullptr || !IsOurs(*route_map)) continue;
      // Name the route-map too: then bgpd refuses the line if the statement has become somebody else's meanwhile.
      withdrawn.push_back(
          {"no network " + address.ToHostPrefix() + " route-map " + *route_map, OnMissing::kAccept});
    }
    if (withdrawn.empty()) continue;
    lines.push_back({"router bgp " + std::to_string(*running.asn)});
    lines.push_back({"address-family " + Family(v6) + " unicast"});
    lines.insert(lines.end(), withdrawn.begin(), withdrawn.end());
  }
  return vty_.ConfigureAtOnce(lines, deadline);
}

Result<std::vector<Announcement>> VtyBgp::Announced(Deadline deadline) {
  RAIL_ASSIGN(const RunningConfig running, Running(deadline));
  return AnnouncedIn(running, options_.community_asn);
}

Result<bool> VtyBgp::InAdjRibOut(const IpAddress& address, const std::string& interface, Deadline deadline) {
  RAIL_TRY(CheckWord(interface, "the interface"));
  RAIL_ASSIGN(const std::string text, ShowOrEmpty("show bgp " + Family(address.is_v6()) + " unicast " +
                                                      address.ToHostPrefix() + " json",
                                                  deadline));
  return DecodeInAdjRibOut(text, interface);
}

Result<std::string> VtyBgp::SessionState(const std::string& interface, Deadline deadline) {
  RAIL_TRY(CheckWord(interface, "the interface"));
  RAIL_ASSIGN(const std::string text, ShowOrEmpty("show bgp neighbors " + interface + " json", deadline));
  return DecodeState(text, interface);
}

Result<std::vector<Session>> VtyBgp::Sessions(Deadline deadline) {
  RAIL_ASSIGN(const std::string text, ShowOrEmpty("show bgp summary json", deadline));
  RAIL_ASSIGN(auto sessions, DecodeSessions(text));
  for (Session& session : sessions) {
    if (!CheckWord(session.interface, "the interface")) continue;
    RAIL_ASSIGN(const std::string neighbor,
                ShowOrEmpty("show bgp neighbors " + session.interface + " json", deadline));
    RAIL_TRY(DecodeNeighbor(neighbor, session));
  }
  return sessions;
}

Result<uint64_t> VtyBgp::TableVersion(Deadline deadline) {
  RAIL_ASSIGN(const std::string text, ShowOrEmpty("show bgp summary json", deadline));
  return DecodeTableVersion(text);
}

Result<std::vector<std::string>> VtyBgp::EnsureBase(const BaseConfig& config, Deadline deadline) {
  RAIL_ASSIGN(const RunningConfig running, Running(deadline));
  RAIL_ASSIGN(auto lines, PlanBase(running, {options_.asn, options_.community_asn}, config));
  RAIL_TRY(Send(lines, deadline));
  return lines;
}

Result<std::vector<std::string>> VtyBgp::EnsureFrontend(const Frontend& frontend, Deadline deadline) {
  RAIL_ASSIGN(const RunningConfig running, Running(deadline));
  RAIL_ASSIGN(auto lines, PlanFrontend(running, {options_.asn, options_.community_asn}, frontend));
  RAIL_TRY(Send(lines, deadline));
  return lines;
}

Result<std::vector<IpPrefix>> VtyBgp::AdvertisedTo(const std::string& interface, Deadline deadline) {
  RAIL_TRY(CheckWord(interface, "the interface"));
  std::vector<IpPrefix> all;
  for (const bool v6 : {false, true}) {
    RAIL_ASSIGN(const std::string text, ShowOrEmpty("show bgp " + Family(v6) + " unicast neighbors " +
                                                        interface + " advertised-routes json",
                                                    deadline));
    RAIL_ASSIGN(const auto some, DecodeAdvertised(text));
    all.insert(all.end(), some.begin(), some.end());
  }
  return all;
}

Result<BaseBefore> VtyBgp::LookBefore(const std::vector<std::string>& interfaces, Deadline deadline) {
  RAIL_ASSIGN(const RunningConfig running, Running(deadline));
  return frr::LookBefore(running, interfaces);
}

Result<std::vector<std::string>> VtyBgp::RemoveOurs(const std::vector<std::string>& interfaces,
                                                    const Removal& removal, Deadline deadline) {
  RAIL_ASSIGN(const RunningConfig running, Running(deadline));
  std::vector<std::string> lines = PlanRemoval(running, interfaces, removal);
  std::vector<ConfigLine> config;
  for (const std::string& line : lines)
    config.push_back({line, line.starts_with("no ") ? OnMissing::kAccept : OnMissing::kFail});
  // A refused line keeps none of the others: each only removes or restores something.
  RAIL_TRY(vty_.ConfigureAtOnce(config, deadline));
  if (!removal.base) return lines;
  RAIL_ASSIGN(const auto in_zebra, RemoveOursFromZebra(options_.run_dir, deadline));
  lines.insert(lines.end(), in_zebra.begin(), in_zebra.end());
  return lines;
}

Status VtyBgp::ResetSession(const std::string& interface, Deadline deadline) {
  RAIL_TRY(CheckWord(interface, "the interface"));
  const auto said = vty_.Show("clear bgp " + interface, deadline);
  if (!said && said.error().code != Code::kNotFound) return tl::make_unexpected(said.error());
  return {};
}

Result<bool> VtyBgp::EnsureFeed(const std::vector<RailPeer>& rails, uint16_t port, bool manage,
                                Deadline deadline) {
  RAIL_ASSIGN(const RunningConfig running, Running(deadline));
  RAIL_ASSIGN(const FeedPlan plan, PlanFeed(running, {options_.asn, options_.community_asn}, rails, port));
  if (plan.block.empty() && plan.lines.empty()) return false;
  if (!manage) {
    std::string missing;
    for (const std::string& line : plan.lines) missing += (missing.empty() ? "\"" : "; ") + line;
    return Fail(Code::kNotFound, "bgpd is not told to push what it learns; add " + missing + "\"");
  }
  const Status known = Send(plan.block, deadline);
  if (!known && known.error().code == Code::kInvalid &&
      known.error().message.find("Unknown command") != std::string::npos) {
    return Fail(
        Code::kUnsupported,
        "bgpd runs without its BMP module: add `-M bmp` to bgpd_options in /etc/frr/daemons and restart FRR");
  }
  RAIL_TRY(known);
  RAIL_TRY(Send(plan.lines, deadline));
  return true;
}

}  // namespace rail::frr
