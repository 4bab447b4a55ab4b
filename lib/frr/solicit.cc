#include "lib/frr/solicit.h"

#include <net/if.h>
#include <netinet/icmp6.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>

#include "lib/base/fd.h"

namespace rail::frr {

Status SolicitRouters(const std::string& interface) {
  const auto failed = [&] { return FailErrno(errno, "solicit routers on " + interface); };
  const unsigned index = ::if_nametoindex(interface.c_str());
  if (index == 0) return failed();
  Fd fd(::socket(AF_INET6, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, IPPROTO_ICMPV6));
  if (!fd) return failed();
  icmp6_filter none;
  ICMP6_FILTER_SETBLOCKALL(&none);
  // A receiver accepts it only with hop limit 255, which shows that no router has forwarded it.
  const int hops = 255;
  const int loop = 1;
  const int link = static_cast<int>(index);
  if (::setsockopt(fd.get(), IPPROTO_ICMPV6, ICMP6_FILTER, &none, sizeof none) != 0 ||
      ::setsockopt(fd.get(), IPPROTO_IPV6, IPV6_MULTICAST_HOPS, &hops, sizeof hops) != 0 ||
      ::setsockopt(fd.get(), IPPROTO_IPV6, IPV6_MULTICAST_LOOP, &loop, sizeof loop) != 0 ||
      ::setsockopt(fd.get(), IPPROTO_IPV6, IPV6_MULTICAST_IF, &link, sizeof link) != 0) {
    return failed();
  }
  sockaddr_in6 routers{};
  routers.sin6_family = AF_INET6;
  routers.sin6_scope_id = index;
  routers.sin6_addr.s6_addr[0] = 0xff;  // ff02::2
  routers.sin6_addr.s6_addr[1] = 0x02;
  routers.sin6_addr.s6_addr[15] = 0x02;
  nd_router_solicit message{};
  message.nd_rs_type = ND_ROUTER_SOLICIT;  // the kernel writes the checksum
  if (::sendto(fd.get(), &message, sizeof message, 0, reinterpret_cast<const sockaddr*>(&routers),
               sizeof routers) < 0) {
    return failed();
  }
  return {};
}

}  // namespace rail::frr
