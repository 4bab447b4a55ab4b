// Hears what the other end of a link says of itself (LLDP). It sends nothing.
//
// Use:      RAIL_ASSIGN(Listener listener, Listener::Open("ens1f0np0"));
//           loop.Watch(listener.fd(), [&] { if (const auto neighbour = listener.Receive()) ...; });
// Threads:  one
// Owns:     a packet socket that the kernel filters: nothing but frames of LLDP reaches it
// Source:   packet(7), socket(7) SO_ATTACH_FILTER; README.md of this folder
#pragma once

#include <optional>
#include <string>

#include "lib/base/fd.h"
#include "lib/lldp/frame.h"

namespace rail::lldp {

class Listener {
 public:
  // Errors: kNotFound no such link; kPermission without CAP_NET_RAW; what the kernel says.
  static Result<Listener> Open(const std::string& link);

  int fd() const { return fd_.get(); }
  int link_index() const { return link_index_; }

  // What the last of the frames says that have come since the last call and can be read; nothing: none. A frame that cannot be read is
  // nobody's fault here: it is left out. Errors: the link is gone.
  Result<std::optional<Neighbour>> Receive();

 private:
  Listener(Fd fd, int link_index) : fd_(std::move(fd)), link_index_(link_index) {}

  Fd fd_;
  int link_index_ = 0;
};

}  // namespace rail::lldp
