// Where the API server is, and with what raild shows who it is.
//
// Use:      RAIL_ASSIGN(Endpoint endpoint, FindEndpoint(config.kubernetes, Environment::OfProcess()));
//           RAIL_ASSIGN(std::string token, ReadToken(endpoint.token_file));   // before each request: the kubelet renews it
// Threads:  pure functions
// Source:   Kubernetes, "Accessing the Kubernetes API from a Pod" (the service account's folder, the two variables)
#pragma once

#include <string>

#include "lib/base/error.h"
#include "lib/config/node_config.h"

namespace rail::kubernetes {

struct Environment {
  std::string host;    // KUBERNETES_SERVICE_HOST
  std::string port;    // KUBERNETES_SERVICE_PORT
  std::string folder;  // RAILCNI_SERVICE_ACCOUNT, else /var/run/secrets/kubernetes.io/serviceaccount
  static Environment OfProcess();
};

struct Endpoint {
  std::string url;         // without a slash at the end
  std::string token_file;  // "": no token is sent
  std::string ca_file;     // the one authority that is believed, which has to be there; "": no TLS
};

// Errors: kInvalid node.json names no API server, and raild is in no pod of a cluster.
Result<Endpoint> FindEndpoint(const config::Kubernetes& config, const Environment& environment);

// Errors: kNotFound, kPermission; kInvalid the file holds something else than one token.
Result<std::string> ReadToken(const std::string& path);

}  // namespace rail::kubernetes
