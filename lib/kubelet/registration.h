// Tells the kubelet of a device plugin, and names the plugin's socket.
//
// Use:      RAIL_ASSIGN(const auto name, SocketNameFor(folder, "nvidia.com/rail0", pod_uid));
//           ... serve folder + "/" + name, then:
//           RAIL_TRY(Register(folder + "/kubelet.sock", {.endpoint = name, .resource = "nvidia.com/rail0"}, After(10s)));
// Threads:  any thread; Register waits for the kubelet, which calls the plugin before it answers
// Owns:     Register: a connection for the time of the call
// Source:   v1beta1/deviceplugin.proto; unix(7)
#pragma once

#include <string>
#include <string_view>

#include "lib/base/clock.h"
#include "lib/base/error.h"

namespace rail::kubelet {

struct Registration {
  std::string endpoint;  // the name of the plugin's socket, in the folder of the kubelet's
  std::string resource;
  bool preferred = true;  // the plugin answers GetPreferredAllocation
};

// May be repeated. The kubelet forgets all registrations when it starts.
// Errors: kNotFound there is no such socket; kPermission; kTransient no answer in time; kInvalid the kubelet
//         refuses, in its words (also when it could not call the plugin).
Status Register(const std::string& kubelet_socket, const Registration& registration, Deadline until);

// The name of a socket in `folder` for one instance of the plugin of `resource`. Each instance has another name.
// Errors: kInvalid the folder is too long for a socket.
Result<std::string> SocketNameFor(std::string_view folder, std::string_view resource,
                                  std::string_view instance);

}  // namespace rail::kubelet
