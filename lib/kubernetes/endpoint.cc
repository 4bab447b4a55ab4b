#include "lib/kubernetes/endpoint.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>

#include "lib/base/fd.h"

namespace rail::kubernetes {
namespace {

constexpr size_t kMaxToken = 16384;

std::string Variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::string IfThere(const std::string& path) {
  return ::access(path.c_str(), F_OK) == 0 ? path : "";
}

}  // namespace

Environment Environment::OfProcess() {
  Environment environment{Variable("KUBERNETES_SERVICE_HOST"), Variable("KUBERNETES_SERVICE_PORT"),
                          Variable("RAILCNI_SERVICE_ACCOUNT")};
  if (environment.folder.empty()) environment.folder = "/var/run/secrets/kubernetes.io/serviceaccount";
  return environment;
}

Result<Endpoint> FindEndpoint(const config::Kubernetes& config, const Environment& environment) {
  const std::string token = environment.folder + "/token";
  const std::string authority = environment.folder + "/ca.crt";
  // A token or an authority that is not there now may be mounted later, so its absence is an error of each request.
  if (config.api.starts_with("https:")) return Endpoint{config.api, token, authority};
  if (!config.api.empty()) return Endpoint{config.api, IfThere(token), ""};
  if (environment.host.empty() || environment.port.empty()) {
    return Fail(
        Code::kInvalid,
        "node.json asks for the API server of the pod's cluster (kubernetes.api is \"\"), and raild is in "
        "no pod (KUBERNETES_SERVICE_HOST is not set): name the server in kubernetes.api");
  }
  const bool v6 = environment.host.find(':') != std::string::npos;
  const std::string host = v6 ? "[" + environment.host + "]" : environment.host;
  return Endpoint{"https://" + host + ":" + environment.port, token, authority};
}

Result<std::string> ReadToken(const std::string& path) {
  const Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) return FailErrno(errno, "open the service account's token " + path);
  std::string token(kMaxToken + 1, '\0');
  const ssize_t n = ::read(fd.get(), token.data(), token.size());
  if (n < 0) return FailErrno(errno, "read the service account's token " + path);
  token.resize(static_cast<size_t>(n));
  while (!token.empty() && (token.back() == '\n' || token.back() == '\r')) token.pop_back();
  // It becomes a line of the request.
  const auto printable = [](char c) { return c > ' ' && c <= '~'; };
  if (token.empty() || token.size() > kMaxToken || !std::ranges::all_of(token, printable))
    return Fail(Code::kInvalid, path + " does not hold a token");
  return token;
}

}  // namespace rail::kubernetes
