#include "lib/config/parse_kubernetes.h"

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>
#include <string_view>

#include "lib/base/address.h"

namespace rail::config {
namespace {

bool IsAlnum(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

// A DNS subdomain: labels of a-z, 0-9 and '-' with dots between them.
bool IsDomain(std::string_view text) {
  if (text.empty() || text.size() > 253) return false;
  for (size_t at = 0; at <= text.size();) {
    const size_t dot = std::min(text.find('.', at), text.size());
    const std::string_view label = text.substr(at, dot - at);
    const auto fits = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-'; };
    if (label.empty() || !std::ranges::all_of(label, fits) || label.front() == '-' || label.back() == '-')
      return false;
    at = dot + 1;
  }
  return true;
}

}  // namespace

bool IsLabelValue(std::string_view text) {
  return !text.empty() && text.size() <= 63 && IsAlnum(text.front()) && IsAlnum(text.back()) &&
         std::ranges::all_of(text, [](char c) { return IsAlnum(c) || c == '-' || c == '_' || c == '.'; });
}

// name, or domain/name
bool IsLabelKey(std::string_view text) {
  const size_t slash = text.find('/');
  if (slash == std::string_view::npos) return IsLabelValue(text);
  return IsDomain(text.substr(0, slash)) && IsLabelValue(text.substr(slash + 1));
}

namespace {

// https://host:port. Without TLS only on the loopback: a token goes along, and what comes back decides who reaches whom.
bool IsApi(std::string_view url) {
  const bool tls = url.starts_with("https://");
  if (!tls && !url.starts_with("http://")) return false;
  const std::string_view place = url.substr(tls ? 8 : 7);
  const size_t colon = place.rfind(':');
  if (colon == std::string_view::npos || colon == 0) return false;
  const std::string_view host = place.substr(0, colon);
  const std::string_view port = place.substr(colon + 1);
  uint16_t number = 0;
  const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), number);
  if (error != std::errc() || end != port.data() + port.size() || number == 0) return false;
  if (!tls) return host == "127.0.0.1" || host == "[::1]";
  if (host.size() > 2 && host.front() == '[' && host.back() == ']') {
    const auto address = IpAddress::Parse(host.substr(1, host.size() - 2));
    return address && address->is_v6();
  }
  return IsDomain(host);
}

}  // namespace

void ParseKubernetes(const nlohmann::json* value, NodeConfig& node, JsonErrors& errors) {
  if (value == nullptr) return;
  Kubernetes& kubernetes = node.kubernetes;
  JsonObject object(*value, "kubernetes", errors);
  kubernetes.tenants = object.BoolOr("tenants", false);
  kubernetes.report = object.BoolOr("report", false);
  const std::string label = object.StringOr("tenant_label", kubernetes.tenant_label);
  if (IsLabelKey(label)) {
    kubernetes.tenant_label = label;
  } else {
    errors.AddValue(object.PathOf("tenant_label"),
                    DumpJson(label) + " must be the key of a label, like \"railcni.io/tenant\"");
  }
  kubernetes.api = object.StringOr("api", "");
  if (!kubernetes.api.empty() && !IsApi(kubernetes.api)) {
    errors.AddValue(object.PathOf("api"),
                    DumpJson(kubernetes.api) +
                        " must be \"\" (the API server of the pod's own cluster), \"https://HOST:PORT\", or "
                        "\"http://127.0.0.1:PORT\"");
  }
  if (kubernetes.tenants && node.tenancy.mode == TenancyMode::kOff) {
    errors.Add(object.PathOf("tenants"),
               "true needs tenancy.mode \"namespace\": mode \"off\" has no tenants");
  }
  object.RejectUnknown();
}

}  // namespace rail::config
