#include "lib/netlink/stats.h"

#include <linux/dcbnl.h>
#include <linux/ethtool.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "lib/base/fd.h"
#include "lib/netlink/attributes.h"
#include "lib/netlink/builder.h"
#include "lib/netlink/decode.h"

namespace rail::netlink {
namespace {

constexpr uint64_t kBytesPerMbit = 125'000;
constexpr std::string_view kReadLinks = "read the counters of links";
// One link by itself costs the kernel as much as four in a dump.
constexpr size_t kLinksOfADump = 4;
constexpr std::chrono::minutes kCountAgain{1};  // the links of the namespace

// The link of an answer; 0: it is none.
int IndexIn(std::string_view message) {
  if_stats_msg body{};
  if (message.size() < NLMSG_HDRLEN + sizeof body) return 0;
  std::memcpy(&body, message.data() + NLMSG_HDRLEN, sizeof body);
  return static_cast<int>(body.ifindex);
}

constexpr size_t kLeastStats = offsetof(rtnl_link_stats64, multicast);

}  // namespace

std::optional<LinkStats> DecodeLinkStats(std::string_view message) {
  Attributes<IFLA_STATS_MAX> attributes;
  const auto* body = Parse<if_stats_msg>(message, RTM_NEWSTATS, attributes);
  if (body == nullptr) return std::nullopt;
  const auto all = attributes.Struct<rtnl_link_stats64>(IFLA_STATS_LINK_64, kLeastStats);
  if (!all) return std::nullopt;
  LinkStats stats{.index = static_cast<int>(body->ifindex),
                  .rx_bytes = all->rx_bytes,
                  .tx_bytes = all->tx_bytes,
                  .rx_packets = all->rx_packets,
                  .tx_packets = all->tx_packets,
                  .rx_dropped = all->rx_dropped,
                  .tx_dropped = all->tx_dropped,
                  .rx_errors = all->rx_errors,
                  .tx_errors = all->tx_errors};
  if (!attributes.Has(IFLA_STATS_LINK_OFFLOAD_XSTATS)) return stats;
  const auto offload = attributes.Nested<IFLA_OFFLOAD_XSTATS_MAX>(IFLA_STATS_LINK_OFFLOAD_XSTATS);
  if (const auto slow = offload.Struct<rtnl_link_stats64>(IFLA_OFFLOAD_XSTATS_CPU_HIT, kLeastStats)) {
    stats.slow_rx_packets = slow->rx_packets;
    stats.slow_tx_packets = slow->tx_packets;
  }
  return stats;
}

std::optional<PfcStats> DecodePfc(std::string_view message) {
  Attributes<DCB_ATTR_MAX> attributes;
  if (Parse<dcbmsg>(message, RTM_GETDCB, attributes) == nullptr) return std::nullopt;
  const auto ieee = attributes.Nested<DCB_ATTR_IEEE_MAX>(DCB_ATTR_IEEE);
  const auto pfc = ieee.Struct<ieee_pfc>(DCB_ATTR_IEEE_PFC);
  if (!pfc) return std::nullopt;
  PfcStats stats{.enabled = pfc->pfc_en};
  std::ranges::copy(pfc->requests, stats.requests.begin());
  std::ranges::copy(pfc->indications, stats.indications.begin());
  return stats;
}

Result<std::unique_ptr<Stats>> Stats::Open() {
  RAIL_ASSIGN_AS(Socket route, Socket::Open(), "read the counters of links");
  return std::unique_ptr<Stats>(new Stats(std::move(route)));
}

Status Stats::Links(Detail detail, std::span<const int> links,
                    const std::function<void(const LinkStats&)>& of) {
  uint32_t filter = IFLA_STATS_FILTER_BIT(IFLA_STATS_LINK_64);
  if (detail == Detail::kAll) filter |= IFLA_STATS_FILTER_BIT(IFLA_STATS_LINK_OFFLOAD_XSTATS);
  const bool few = links.size() * kLinksOfADump < all_links_ && Clock::now() - dumped_ < kCountAgain;
  return few ? OneByOne(filter, links, of) : Dump(filter, links, of);
}

Status Stats::Dump(uint32_t filter, std::span<const int> links,
                   const std::function<void(const LinkStats&)>& of) {
  if_stats_msg body{};
  body.filter_mask = filter;
  const Builder message(RTM_GETSTATS, 0, body);
  RAIL_TRY(message.Check(kReadLinks));
  all_links_ = 0;
  dumped_ = Clock::now();
  return route_.Dump(
      message.get(), kReadLinks,
      [&](std::string_view bytes) {
        ++all_links_;
        if (!std::ranges::binary_search(links, IndexIn(bytes))) return;
        if (const auto link = DecodeLinkStats(bytes)) of(*link);
      },
      [this] { all_links_ = 0; });
}

Status Stats::OneByOne(uint32_t filter, std::span<const int> links,
                       const std::function<void(const LinkStats&)>& of) {
  struct Ask {
    nlmsghdr header;
    if_stats_msg body;
  };
  static_assert(sizeof(Ask) == NLMSG_SPACE(sizeof(if_stats_msg)));
  std::optional<Status> refused;
  for (; !links.empty(); links = links.subspan(std::min(links.size(), Socket::kMostInBatch))) {
    const auto now = links.first(std::min(links.size(), Socket::kMostInBatch));
    requests_.resize(now.size() * sizeof(Ask));
    for (size_t i = 0; i < now.size(); ++i) {
      Ask ask{};
      ask.header = {.nlmsg_len = sizeof ask, .nlmsg_type = RTM_GETSTATS, .nlmsg_flags = NLM_F_REQUEST};
      ask.body.ifindex = static_cast<uint32_t>(now[i]);
      ask.body.filter_mask = filter;
      std::memcpy(requests_.data() + i * sizeof ask, &ask, sizeof ask);
    }
    RAIL_TRY(route_.Batch(requests_, now.size(), kReadLinks, [&](std::string_view bytes) {
      if (const auto link = DecodeLinkStats(bytes)) return of(*link);
      const auto verdict = DecodeVerdict(bytes);
      if (verdict && verdict->sys_errno != 0 && verdict->sys_errno != ENODEV && !refused)
        refused = FailErrno(verdict->sys_errno, kReadLinks);
    }));
  }
  return refused.value_or(Status{});
}

Result<PfcStats> Stats::Pfc(const std::string& link) {
  const std::string doing = "read the PFC counters of " + link;
  Builder message(RTM_GETDCB, 0, dcbmsg{.cmd = DCB_CMD_IEEE_GET});
  message.String(DCB_ATTR_IFNAME, link);
  RAIL_ASSIGN(const std::optional<PfcStats> stats, Ask(route_, message, doing, DecodePfc));
  if (!stats) return Fail(Code::kUnsupported, doing + ": its driver does not tell them");
  return *stats;
}

Result<std::vector<RdmaCounter>> Stats::RdmaOf(const std::string& link, std::string& device) {
  if (!rdma_) {
    RAIL_ASSIGN(auto opened, RdmaStats::Open());
    rdma_.emplace(std::move(opened));
  }
  if (!device.empty()) {
    auto counters = rdma_->Of(device);
    if (counters) return counters;
  }
  RAIL_ASSIGN(device, rdma_->DeviceOf(link, ""));
  return rdma_->Of(device);
}

int Stats::IndexOf(const std::string& link) {
  return static_cast<int>(::if_nametoindex(link.c_str()));
}

std::optional<uint64_t> Stats::LineRate(const std::string& link) {
  const Fd fd(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!fd || link.size() >= IFNAMSIZ) return std::nullopt;
  // The first call says how many words the masks of modes have; the second one fills them.
  constexpr size_t kMasks = sizeof(uint32_t) * 3 * 127;
  alignas(ethtool_link_settings) std::array<char, sizeof(ethtool_link_settings) + kMasks> answer{};
  auto& settings = *reinterpret_cast<ethtool_link_settings*>(answer.data());
  ifreq request{};
  link.copy(request.ifr_name, IFNAMSIZ - 1);
  request.ifr_data = answer.data();
  settings.cmd = ETHTOOL_GLINKSETTINGS;
  if (::ioctl(fd.get(), SIOCETHTOOL, &request) != 0 || settings.link_mode_masks_nwords >= 0)
    return std::nullopt;
  settings.link_mode_masks_nwords = static_cast<int8_t>(-settings.link_mode_masks_nwords);
  settings.cmd = ETHTOOL_GLINKSETTINGS;
  if (::ioctl(fd.get(), SIOCETHTOOL, &request) != 0) return std::nullopt;
  const uint32_t mbit = settings.speed;
  if (mbit == 0 || mbit == static_cast<uint32_t>(SPEED_UNKNOWN)) return std::nullopt;
  return mbit * kBytesPerMbit;
}

}  // namespace rail::netlink
