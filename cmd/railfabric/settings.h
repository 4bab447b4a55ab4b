// railfabric's configuration file.
//
// Use:      RAIL_ASSIGN(const Settings settings, ReadSettings("/etc/railcni/railfabric.json"));
// Threads:  values
// Source:   README.md of this folder ("Configuration")
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "lib/base/error.h"
#include "lib/rpc/tls.h"

namespace rail::railfabric {

struct NodeAddress {
  std::string name;
  std::string raild;  // "unix:/path", or "HOST:PORT"
};

struct Settings {
  std::string socket;  // absolute path; "": none
  std::string listen;  // "10.0.0.5:9444"; "": none
  rpc::TlsFiles tls;   // with `listen`
  std::vector<NodeAddress> nodes;
  rpc::TlsFiles raild_tls;  // for those that are asked over TCP
};

// Errors: kInvalid; the message names every key that is wrong.
Result<Settings> ParseSettings(std::string_view text, const std::string& name = "railfabric.json");
// Also looks at the files for TLS. Errors: also kNotFound, kPermission, with the key and the path.
Result<Settings> ReadSettings(const std::string& path);

}  // namespace rail::railfabric
