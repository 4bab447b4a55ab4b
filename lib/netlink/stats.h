// Counters of links: bytes and packets, what went through the CPU instead of the NIC's switch, PFC pauses, and an RDMA device's own.
//
// Use:      RAIL_ASSIGN(auto stats, Stats::Open());                  // of the calling thread's namespace, for good
//           RAIL_TRY(stats->Links(Stats::Detail::kAll, indexes, [&](const LinkStats& link) { ... }));
// Threads:  one at a time
// Owns:     its sockets
// Source:   kernel include/uapi/linux/if_link.h (IFLA_STATS_LINK_64, IFLA_OFFLOAD_XSTATS_CPU_HIT), dcbnl.h (struct ieee_pfc),
//           ethtool.h (ETHTOOL_GLINKSETTINGS)
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/clock.h"
#include "lib/base/error.h"
#include "lib/netlink/rdma_stats.h"
#include "lib/netlink/socket.h"

namespace rail::netlink {

// Counts since the link exists, as the link sees them: what the host receives from it is `rx`. On mlx5 a representor's are those of the
// hardware port, RDMA included.
struct LinkStats {
  int index = 0;
  uint64_t rx_bytes = 0, tx_bytes = 0;
  uint64_t rx_packets = 0, tx_packets = 0;
  uint64_t rx_dropped = 0, tx_dropped = 0;
  uint64_t rx_errors = 0, tx_errors = 0;
  // The part that the CPU has forwarded, because no flow of the NIC's switch knew it. nullopt: the driver does not count it.
  std::optional<uint64_t> slow_rx_packets, slow_tx_packets;
};

// Priority flow control (IEEE 802.1Qbb) by priority 0..7.
struct PfcStats {
  uint8_t enabled = 0;                    // a bit for each priority
  std::array<uint64_t, 8> requests{};     // pause frames sent
  std::array<uint64_t, 8> indications{};  // pause frames received
};

class Stats {
 public:
  // Errors: kPermission, kTransient.
  static Result<std::unique_ptr<Stats>> Open();

  // kTraffic leaves out the slow path, which costs the driver more than the rest.
  enum class Detail { kTraffic, kAll };
  // The links with these indexes, in order; those that do not exist are left out. Few among many links are asked for one by one in a
  // datagram, else it is one dump. `of` may be told of a link twice when the list changes meanwhile.
  Status Links(Detail detail, std::span<const int> links, const std::function<void(const LinkStats&)>& of);
  // Errors: kUnsupported the link's driver has no DCB; kNotFound no such link.
  Result<PfcStats> Pfc(const std::string& link);
  // Of the RDMA device of a link of this namespace. `device`: which it is likely to be, or ""; then which it was. Errors: as RdmaStats.
  Result<std::vector<RdmaCounter>> RdmaOf(const std::string& link, std::string& device);
  // Bytes per second; nullopt: the driver does not say, or the link has no carrier.
  static std::optional<uint64_t> LineRate(const std::string& link);
  // 0: there is none in this namespace.
  static int IndexOf(const std::string& link);

 private:
  explicit Stats(Socket route) : route_(std::move(route)) {}
  Status Dump(uint32_t filter, std::span<const int> links, const std::function<void(const LinkStats&)>& of);
  Status OneByOne(uint32_t filter, std::span<const int> links,
                  const std::function<void(const LinkStats&)>& of);

  Socket route_;
  size_t all_links_ = 0;  // of the namespace, in the last dump
  Clock::time_point dumped_;
  std::vector<char> requests_;
  std::optional<RdmaStats> rdma_;  // opened when it is first needed
};

// These functions decode a message of the kernel; nothing when it is another message. Pure.
std::optional<LinkStats> DecodeLinkStats(std::string_view message);
std::optional<PfcStats> DecodePfc(std::string_view message);

}  // namespace rail::netlink
