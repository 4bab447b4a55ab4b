// The name of the kernel's VRF, and so of bgpd's instance, that a tenant has on a rail in mode `vrf`: "railcni-<index>-<VLAN>", with every
// index and VLAN at most the 15 bytes of a link's name. The port of a VLAN on the rail's bridge is named in the same way.
//
// Use:      VrfName({rail.index, 101});                       // "railcni-0-101"
//           if (const auto place = PlaceOfVrf(name)) ...       // nothing: the name is somebody else's
// Threads:  pure functions
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace rail::tenancy {

struct RailVlan {
  uint32_t rail = 0;  // its index
  uint16_t vlan = 0;
  bool operator==(const RailVlan&) const = default;
};

std::string VrfName(RailVlan place);       // "railcni-0-101"
std::string VlanPortName(RailVlan place);  // "rcvlan-0-101"

// Nothing: it is no such name. "railcni-mgmt", "railcni-0-0101" and "railcni-100-1" are none.
std::optional<RailVlan> PlaceOfVrf(std::string_view name);
std::optional<RailVlan> PlaceOfVlanPort(std::string_view name);

}  // namespace rail::tenancy
