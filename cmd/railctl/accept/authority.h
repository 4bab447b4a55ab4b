// Certificates of one run in Kubernetes: an authority whose key nobody keeps, one for all agents and one for whoever asks them.
//
// Use:      RAIL_ASSIGN(const Certificates certificates, MakeCertificates(std::chrono::hours(24)));
// Threads:  pure functions
// Source:   RFC 5280 (4.2.1.12: who may be a server, who a client), X509_sign(3)
#pragma once

#include <chrono>
#include <string>

#include "lib/base/error.h"

namespace rail::accept {

// The name that the agents' certificate has in place of addresses, which nobody knows before the pods run.
constexpr const char* kAgentName = "agent.accept.railcni.io";

// All as PEM. An agent's certificate is none by which an agent can be asked: whoever reads a pod's key gains that pod alone.
struct Certificates {
  struct Pair {
    std::string cert;
    std::string key;
  };
  std::string ca;
  Pair agents;
  Pair asker;
};

// `valid`: from an hour ago, as clocks differ, and so long from now on. Errors: kInternal, with OpenSSL's words.
Result<Certificates> MakeCertificates(std::chrono::seconds valid);

}  // namespace rail::accept
