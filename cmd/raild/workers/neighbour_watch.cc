#include "cmd/raild/workers/neighbour_watch.h"

#include <net/if.h>

#include <chrono>

#include "lib/base/log.h"
#include "lib/base/utf8.h"

namespace rail::raild {

void NeighbourWatch::Look(event::Loop& loop) {
  for (const config::Rail& rail : config_.rails) {
    Uplink& uplink = uplinks_[rail.name];
    const auto index = static_cast<int>(::if_nametoindex(rail.pf.c_str()));
    if (uplink.listener && uplink.listener->link_index() != index) Close(loop, uplink);
    if (!uplink.listener && index != 0) Open(loop, rail, uplink);
    // Whatever is plugged in next is another neighbour until it says that it is not.
    if (!uplink.listener || node_status_.UplinkIsDown(rail.name)) Forget(loop, rail.name, uplink);
  }
}

void NeighbourWatch::Open(event::Loop& loop, const config::Rail& rail, Uplink& uplink) {
  auto listener = lldp::Listener::Open(rail.pf);
  Status watched =
      listener
          ? loop.Watch(listener->fd(), [this, &loop, name = rail.name, &uplink] { Hear(loop, name, uplink); })
          : tl::make_unexpected(listener.error());
  const std::string problem = watched ? "" : watched.error().message;
  if (!problem.empty() && problem != uplink.problem)
    log::Warning("the leaf's port on rail {} is not shown: {}", rail.name, problem);
  uplink.problem = problem;
  if (watched) uplink.listener.emplace(std::move(*listener));
}

void NeighbourWatch::Close(event::Loop& loop, Uplink& uplink) {
  loop.Unwatch(uplink.listener->fd());
  uplink.listener.reset();
}

void NeighbourWatch::Hear(event::Loop& loop, const std::string& rail, Uplink& uplink) {
  auto neighbour = uplink.listener->Receive();
  if (!neighbour) {
    Forget(loop, rail, uplink);
    return Close(loop, uplink);  // the next look opens it anew, if the link is there
  }
  if (!*neighbour) return;
  if ((*neighbour)->ttl == 0) return Forget(loop, rail, uplink);
  loop.Cancel(uplink.expires);
  uplink.expires = loop.After(std::chrono::seconds((*neighbour)->ttl),
                              [this, &loop, rail, &uplink] { Forget(loop, rail, uplink); });
  const auto show = [&](v1::Rail& seen) {
    v1::LldpNeighbour& shown = *seen.mutable_lldp();
    shown.set_chassis(ValidUtf8((*neighbour)->chassis));
    shown.set_port(ValidUtf8((*neighbour)->port));
    shown.set_port_description(ValidUtf8((*neighbour)->port_description));
    shown.set_system_name(ValidUtf8((*neighbour)->system_name));
  };
  if (node_status_.ChangeRail(rail, show)) node_status_.Changed();
}

void NeighbourWatch::Forget(event::Loop& loop, const std::string& rail, Uplink& uplink) {
  loop.Cancel(std::exchange(uplink.expires, 0));
  if (node_status_.ChangeRail(rail, [](v1::Rail& seen) { seen.clear_lldp(); })) node_status_.Changed();
}

}  // namespace rail::raild
