#include "cmd/railctl/accept/describe.h"

#include <ifaddrs.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <fstream>
#include <map>
#include <memory>
#include <utility>

#include "lib/base/address.h"
#include "lib/base/fd.h"
#include "lib/base/folder.h"
#include "lib/base/parse.h"

namespace rail::accept {
namespace {

using Interface = v1::DescribeAgentResponse::Interface;
using RdmaDevice = v1::DescribeAgentResponse::RdmaDevice;

constexpr std::string_view kMappedIpv4("\0\0\0\0\0\0\0\0\0\0\xff\xff", 12);  // RFC 4291 2.5.5.2

void AddAddress(const sockaddr* from, Interface& to) {
  std::string_view bytes;
  if (from->sa_family == AF_PACKET) {
    const auto* link = reinterpret_cast<const sockaddr_ll*>(from);
    MacAddress mac;
    if (link->sll_halen == mac.bytes.size()) {
      std::copy_n(link->sll_addr, mac.bytes.size(), mac.bytes.begin());
      to.set_mac(mac.ToString());
    }
  } else if (from->sa_family == AF_INET) {
    bytes = {reinterpret_cast<const char*>(&reinterpret_cast<const sockaddr_in*>(from)->sin_addr), 4};
  } else if (from->sa_family == AF_INET6) {
    bytes = {reinterpret_cast<const char*>(&reinterpret_cast<const sockaddr_in6*>(from)->sin6_addr), 16};
  }
  if (bytes.empty()) return;
  const auto address = IpAddress::FromBytes(bytes);
  if (address && address->is_routed_unicast()) to.add_addresses(address->ToString());
}

uint32_t MtuOf(const Fd& socket, const std::string& name) {
  ifreq request{};
  name.copy(request.ifr_name, IFNAMSIZ - 1);
  return ::ioctl(socket.get(), SIOCGIFMTU, &request) == 0 ? static_cast<uint32_t>(request.ifr_mtu) : 0;
}

// The first line of an attribute; empty: it has no value (an unused place of a table cannot be read).
std::string Line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

bool IsIpv4Of(const std::string& gid, const Interface& interface) {
  const std::string end = gid.size() == 39 ? gid.substr(30) : "";
  const std::string digits = end.empty() ? "" : end.substr(0, 4) + end.substr(5);
  const auto number = Number<uint32_t>(digits, 16);
  if (!number || !gid.starts_with("0000:0000:0000:0000:0000:ffff:")) return false;
  const std::array<char, 4> bytes = {static_cast<char>(*number >> 24), static_cast<char>(*number >> 16),
                                     static_cast<char>(*number >> 8), static_cast<char>(*number)};
  const auto address = IpAddress::FromBytes({bytes.data(), bytes.size()});
  return address &&
         std::ranges::find(interface.addresses(), address->ToString()) != interface.addresses().end();
}

RdmaDevice Look(const std::string& port, const std::string& name, const std::vector<Interface>& interfaces) {
  RdmaDevice device;
  device.set_name(name);
  device.set_gid_index(-1);
  std::vector<uint32_t> places;
  for (const std::string& place : NamesIn(port + "/gid_attrs/ndevs").value_or(std::vector<std::string>()))
    places.push_back(Number<uint32_t>(place).value_or(0));
  std::ranges::sort(places);
  for (const uint32_t place : places) {
    const std::string file = "/" + std::to_string(place);
    const std::string ndev = Line(port + "/gid_attrs/ndevs" + file);
    const auto ours = std::ranges::find(interfaces, ndev, &Interface::name);
    if (ours == interfaces.end()) continue;
    device.set_interface(ndev);
    if (Line(port + "/gid_attrs/types" + file) != "RoCE v2" || !IsIpv4Of(Line(port + "/gids" + file), *ours))
      continue;
    device.set_gid_index(static_cast<int32_t>(place));
    break;
  }
  return device;
}

}  // namespace

Result<std::vector<Interface>> ListInterfaces() {
  ifaddrs* list = nullptr;
  if (::getifaddrs(&list) != 0) return FailErrno(errno, "list the pod's interfaces");
  const std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> owner(list, ::freeifaddrs);
  const Fd socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  std::map<std::string, Interface> interfaces;
  for (const ifaddrs* each = list; each != nullptr; each = each->ifa_next) {
    if ((each->ifa_flags & IFF_LOOPBACK) != 0) continue;
    Interface& interface = interfaces[each->ifa_name];
    interface.set_name(each->ifa_name);
    interface.set_mtu(MtuOf(socket, each->ifa_name));
    if (each->ifa_addr != nullptr) AddAddress(each->ifa_addr, interface);
  }
  std::vector<Interface> all;
  for (auto& [name, interface] : interfaces) all.push_back(std::move(interface));
  return all;
}

Result<std::vector<RdmaDevice>> ListRdmaDevices(const std::string& sysfs,
                                                const std::vector<Interface>& interfaces) {
  const std::string folder = sysfs + "/class/infiniband";
  auto names = NamesIn(folder);
  if (!names && names.error().code == Code::kNotFound) return std::vector<RdmaDevice>();
  RAIL_ASSIGN(const std::vector<std::string> devices, std::move(names));
  std::vector<RdmaDevice> all;
  for (const std::string& name : devices)
    all.push_back(Look(folder + "/" + name + "/ports/1", name, interfaces));
  return all;
}

}  // namespace rail::accept
