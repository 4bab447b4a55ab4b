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
  return std::unique_ptr<VtyBgp>(
      new VtyBgp(std::make_shared<Shared>(Shared{std::move(options), std::move(*vty)}), ""));
}

Bgp& VtyBgp::Instance(const std::string& vrf) {
  if (vrf == vrf_) return *this;
  std::unique_ptr<VtyBgp>& instance = instances_[vrf];
  if (!instance) instance.reset(new VtyBgp(shared_, vrf));
  return *instance;
}

Result<std::vector<std::string>> VtyBgp::OurInstances(Deadline deadline) {
  RAIL_ASSIGN(const auto running, Running(deadline));
  std::vector<std::string> ours;
  for (const auto& [vrf, instance] : running->vrfs) {
    if (IsOurVrf(vrf)) ours.push_back(vrf);
  }
  return ours;
}

Status VtyBgp::RemoveInstance(const std::string& vrf, Deadline deadline) {
  if (!IsOurVrf(vrf)) return Fail(Code::kInvalid, "the BGP instance of VRF " + vrf + " is not RailCNI's");
  RAIL_ASSIGN(const auto running, Running(deadline));
  const auto found = running->vrfs.find(vrf);
  if (found == running->vrfs.end() || !found->second.asn) return {};
  RAIL_TRY(LetFeedsRest(*running, vrf, deadline));
  return SendAtOnce({{"no " + RouterLine(*found->second.asn, vrf), OnMissing::kAccept}}, deadline);
}

// bgpd 8.4 crashes if a BMP target is removed between the start of an attempt to connect and its next step, which bgpd takes as soon as it
// has done what it is told. So the attempts end first, and a step that was due has been taken when the answer is here.
Status VtyBgp::LetFeedsRest(const RunningConfig& running, const std::optional<std::string>& vrf,
                            Deadline deadline) {
  std::vector<ConfigLine> lines;
  for (const std::string& line : PlanRest(running, vrf)) lines.push_back({line, OnMissing::kAccept});
  return SendAtOnce(lines, deadline);
}

void VtyBgp::ReadOnce(bool on) {
  shared_->read_once = on;
  shared_->read.reset();
}

Result<std::shared_ptr<const RunningConfig>> VtyBgp::Running(Deadline deadline) {
  if (shared_->read) return shared_->read;
  RAIL_ASSIGN(const std::string text, shared_->vty.Show("show running-config", deadline));
  auto read = std::make_shared<const RunningConfig>(ParseRunningConfig(text));
  if (shared_->read_once) shared_->read = read;
  return read;
}

Result<std::string> VtyBgp::ShowOrEmpty(const std::string& command, Deadline deadline) {
  auto text = shared_->vty.Show(command, deadline);
  if (!text && text.error().code == Code::kNotFound) return std::string("{}");
  return text;
}

Result<std::string> VtyBgp::ShowPrefix(bool v6, const std::string& prefix, Deadline deadline) {
  return ShowOrEmpty(Show() + " " + Family(v6) + " unicast " + prefix + " json", deadline);
}

Status VtyBgp::Send(const std::vector<std::string>& lines, Deadline deadline) {
  if (!lines.empty()) shared_->read.reset();
  return shared_->vty.Configure(ConfigOf(lines), deadline);
}

Status VtyBgp::SendAtOnce(const std::vector<ConfigLine>& lines, Deadline deadline) {
  if (!lines.empty()) shared_->read.reset();
  return shared_->vty.ConfigureAtOnce(lines, deadline);
}

Status VtyBgp::AnnounceAll(const std::vector<Announcement>& announcements, Deadline deadline) {
  RAIL_ASSIGN(const auto running, Running(deadline));
  RAIL_ASSIGN(const auto lines, PlanAnnounce(*running, identity(), announcements));
  // A refused line does not make the lines after it announce more: a route-map without its communities announces to nobody.
  return SendAtOnce(ConfigOf(lines), deadline);
}

Status VtyBgp::WithdrawAll(const std::vector<IpAddress>& addresses, Deadline deadline) {
  RAIL_ASSIGN(const auto running, Running(deadline));
  const InstanceConfig& instance = running->Of(vrf_);
  std::vector<ConfigLine> lines;
  for (const bool v6 : {false, true}) {
    std::vector<ConfigLine> withdrawn;
    for (const IpAddress& address : addresses) {
      const std::string* route_map = address.is_v6() == v6 ? instance.FindNetwork(address) : nullptr;
      if (route_map == nullptr || !IsOurs(*route_map)) continue;
      // Name the route-map too: then bgpd refuses the line if the statement has become somebody else's meanwhile.
      withdrawn.push_back(
          {"no network " + address.ToHostPrefix() + " route-map " + *route_map, OnMissing::kAccept});
    }
    if (withdrawn.empty()) continue;
    lines.push_back({RouterLine(*instance.asn, vrf_)});
    lines.push_back({"address-family " + Family(v6) + " unicast"});
    lines.insert(lines.end(), withdrawn.begin(), withdrawn.end());
  }
  return SendAtOnce(lines, deadline);
}

Result<std::vector<Announcement>> VtyBgp::Announced(Deadline deadline) {
  RAIL_ASSIGN(const auto running, Running(deadline));
  return AnnouncedIn(*running, identity());
}

Result<bool> VtyBgp::InAdjRibOut(const IpAddress& address, const std::string& interface, Deadline deadline) {
  RAIL_TRY(CheckWord(interface, "the interface"));
  RAIL_ASSIGN(const std::string text, ShowPrefix(address.is_v6(), address.ToHostPrefix(), deadline));
  return DecodeInAdjRibOut(text, interface);
}

Result<std::optional<std::string>> VtyBgp::AnnouncedElsewhere(const IpAddress& address, Deadline deadline) {
  RAIL_ASSIGN(const std::string text, ShowPrefix(address.is_v6(), address.ToHostPrefix(), deadline));
  return DecodeElsewhere(text);
}

Result<std::set<std::string>> VtyBgp::UsedLinks(const IpPrefix& prefix, Deadline deadline) {
  RAIL_ASSIGN(const std::string text, ShowPrefix(prefix.address.is_v6(), prefix.ToString(), deadline));
  return DecodeUsedLinks(text);
}

Result<std::string> VtyBgp::SessionState(const std::string& interface, Deadline deadline) {
  RAIL_TRY(CheckWord(interface, "the interface"));
  RAIL_ASSIGN(const std::string text, ShowOrEmpty(Show() + " neighbors " + interface + " json", deadline));
  return DecodeState(text, interface);
}

// Two questions, however many instances there are.
Result<std::vector<Session>> VtyBgp::AllSessions(Deadline deadline) {
  RAIL_ASSIGN(const std::string summary, ShowOrEmpty("show bgp vrf all summary json", deadline));
  RAIL_ASSIGN(auto sessions, DecodeAllSessions(summary));
  if (sessions.empty()) return sessions;
  RAIL_ASSIGN(const std::string neighbors, ShowOrEmpty("show bgp vrf all neighbors json", deadline));
  RAIL_TRY(DecodeAllNeighbors(neighbors, sessions));
  return sessions;
}

Result<std::vector<Session>> VtyBgp::Sessions(Deadline deadline) {
  if (vrf_.empty() && shared_->options.vrfs) return AllSessions(deadline);
  RAIL_ASSIGN(const std::string text, ShowOrEmpty(Show() + " summary json", deadline));
  RAIL_ASSIGN(auto sessions, DecodeSessions(text));
  for (Session& session : sessions) {
    if (!IpAddress::Parse(session.interface) && !CheckWord(session.interface, "the interface")) continue;
    RAIL_ASSIGN(const std::string neighbor,
                ShowOrEmpty(Show() + " neighbors " + session.interface + " json", deadline));
    RAIL_TRY(DecodeNeighbor(neighbor, session));
  }
  return sessions;
}

Result<std::optional<IpAddress>> VtyBgp::Identifier(Deadline deadline) {
  RAIL_ASSIGN(const std::string text, ShowOrEmpty(Show() + " summary json", deadline));
  return DecodeIdentifier(text);
}

Result<uint64_t> VtyBgp::TableVersion(Deadline deadline) {
  RAIL_ASSIGN(const std::string text, ShowOrEmpty(Show() + " summary json", deadline));
  return DecodeTableVersion(text);
}

Result<std::vector<std::string>> VtyBgp::EnsureBase(const BaseConfig& config, Deadline deadline) {
  RAIL_ASSIGN(const auto running, Running(deadline));
  BaseConfig base = config;
  const auto says = [](const std::string& line) { return line.starts_with("bgp router-id "); };
  if (running->Of(vrf_).asn && std::ranges::none_of(running->Of(vrf_).lines, says)) {
    RAIL_ASSIGN(const auto identifier, Identifier(deadline));
    base.without_identifier = identifier && identifier->is_unspecified();
  }
  RAIL_ASSIGN(auto lines, PlanBase(*running, identity(), base));
  RAIL_TRY(Send(lines, deadline));
  return lines;
}

Result<std::vector<std::string>> VtyBgp::EnsureFrontend(const Frontend& frontend, Deadline deadline) {
  RAIL_ASSIGN(const auto running, Running(deadline));
  RAIL_ASSIGN(auto lines, PlanFrontend(*running, identity(), frontend));
  RAIL_TRY(Send(lines, deadline));
  return lines;
}

Result<std::vector<IpPrefix>> VtyBgp::AdvertisedTo(const std::string& interface, Deadline deadline) {
  RAIL_TRY(CheckWord(interface, "the interface"));
  std::vector<IpPrefix> all;
  for (const bool v6 : {false, true}) {
    RAIL_ASSIGN(const std::string text, ShowOrEmpty(Show() + " " + Family(v6) + " unicast neighbors " +
                                                        interface + " advertised-routes json",
                                                    deadline));
    RAIL_ASSIGN(const auto some, DecodeAdvertised(text));
    all.insert(all.end(), some.begin(), some.end());
  }
  return all;
}

Result<BaseBefore> VtyBgp::LookBefore(const std::vector<std::string>& interfaces, Deadline deadline) {
  RAIL_ASSIGN(const auto running, Running(deadline));
  return frr::LookBefore(*running, interfaces);
}

Result<std::vector<std::string>> VtyBgp::RemoveOurs(const std::vector<std::string>& interfaces,
                                                    const Removal& removal, Deadline deadline) {
  RAIL_ASSIGN(const auto running, Running(deadline));
  std::vector<std::string> lines = PlanRemoval(*running, interfaces, removal);
  std::vector<ConfigLine> config;
  for (const std::string& line : lines)
    config.push_back({line, line.starts_with("no ") ? OnMissing::kAccept : OnMissing::kFail});
  if (removal.base) RAIL_TRY(LetFeedsRest(*running, std::nullopt, deadline));
  // A refused line keeps none of the others: each only removes or restores something.
  RAIL_TRY(SendAtOnce(config, deadline));
  if (!removal.base) return lines;
  RAIL_ASSIGN(const auto in_zebra,
              RemoveOursFromZebra(shared_->options.run_dir, removal.next_hops, deadline));
  lines.insert(lines.end(), in_zebra.begin(), in_zebra.end());
  return lines;
}

Status VtyBgp::ResetSession(const std::string& interface, Deadline deadline) {
  RAIL_TRY(CheckWord(interface, "the interface"));
  const auto said =
      shared_->vty.Show("clear bgp " + (vrf_.empty() ? "" : "vrf " + vrf_ + " ") + interface, deadline);
  if (!said && said.error().code != Code::kNotFound) return tl::make_unexpected(said.error());
  return {};
}

Result<bool> VtyBgp::EnsureFeed(const std::vector<RailPeer>& rails, const FeedTarget& target, bool manage,
                                Deadline deadline) {
  RAIL_ASSIGN(const auto running, Running(deadline));
  RAIL_ASSIGN(const FeedPlan plan, PlanFeed(*running, identity(), rails, target));
  if (plan.block.empty() && plan.lines.empty()) return false;
  if (!manage) {
    std::string missing;
    for (const std::string& line : plan.lines) missing += (missing.empty() ? "\"" : "; ") + line;
    return Fail(Code::kNotFound, "bgpd is not told to push what it learns; add " + missing + "\"");
  }
  if (!plan.block.empty()) RAIL_TRY(LetFeedsRest(*running, vrf_, deadline));
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
