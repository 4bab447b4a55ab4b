// The parts of bgpd's running configuration that we use: the default instance and those of VRFs, their neighbors and networks,
// lists, route-maps.
//
// Use:      RunningConfig config = ParseRunningConfig(text);  config.asn;  config.Of(vrf).FindNetwork(address);
// Threads:  values
// Source:   `show running-config` of FRRouting 8.4 and 10 (bgpd/bgp_vty.c bgp_config_write)
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/address.h"

namespace rail::frr {

struct FamilyConfig {
  std::vector<std::string> lines;             // all except `network`
  std::map<IpAddress, std::string> networks;  // host prefixes -> route-map, "" when there is none
};

using RouteMap = std::map<std::string, std::vector<std::string>>;  // "permit 10" -> its lines

// "router bgp ASN", or "router bgp ASN vrf NAME".
struct InstanceConfig {
  std::optional<uint32_t> asn;     // nullopt: there is no such instance
  std::vector<std::string> lines;  // outside its address families
  FamilyConfig ipv4;
  FamilyConfig ipv6;
  std::vector<std::string> other_families;  // lines of address families other than IPv4 and IPv6 unicast
  std::map<std::string, std::vector<std::string>> bmp_targets;  // name -> the lines of its block

  FamilyConfig& Family(bool v6) { return v6 ? ipv6 : ipv4; }
  const FamilyConfig& Family(bool v6) const { return v6 ? ipv6 : ipv4; }
  // The route-map of the address's `network` statement; nullptr when there is no statement.
  const std::string* FindNetwork(const IpAddress& address) const;
};

// The default instance is the configuration itself. Views are left out.
struct RunningConfig : InstanceConfig {
  std::map<std::string, InstanceConfig> vrfs;  // the instances of VRFs, by the VRF's name
  // "bgp large-community-list ...", "bgp as-path access-list ...", "ip prefix-list ...", "ipv6 prefix-list ..."
  std::vector<std::string> lists;
  std::map<std::string, RouteMap> route_maps;  // by name

  // "": the default instance. One that is not there is empty.
  const InstanceConfig& Of(const std::string& vrf) const;
};

// Never fails: leaves out what it does not understand.
RunningConfig ParseRunningConfig(std::string_view text);

}  // namespace rail::frr
