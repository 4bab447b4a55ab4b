#include "cmd/railctl/accept/echo_pair.h"

namespace rail::accept {
namespace {

constexpr uint32_t kPatienceMs = 2000;  // after the last datagram

}  // namespace

Result<v1::EchoResponse> Echo(const Port& from, const Port& to, uint32_t datagrams, uint32_t bytes) {
  const bool v4 = !from.ipv4.is_unspecified() && !to.ipv4.is_unspecified();
  if (!v4 && (from.ipv6.is_unspecified() || to.ipv6.is_unspecified()))
    return Fail(Code::kInvalid,
                from.pod() + " and " + to.pod() + " have no addresses of one family on " + from.rail);
  v1::EchoRequest request;
  request.set_interface(from.ifname);
  request.set_address((v4 ? to.ipv4 : to.ipv6).ToString());
  request.set_port(to.agent->has.echo_port());
  request.set_datagrams(datagrams);
  request.set_bytes(bytes);
  request.set_pause_us(kEchoPauseUs);
  request.set_patience_ms(kPatienceMs);
  return Ask(*from.agent->stub, &v1::AcceptAgent::Stub::Echo, request, from.agent->Whom(),
             Milliseconds{60'000} + Milliseconds{datagrams * kEchoPauseUs / 1000});
}

}  // namespace rail::accept
