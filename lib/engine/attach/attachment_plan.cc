// What an attachment needs inside its pod: step kRoutes and the plan of podnet.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "lib/base/strict_json.h"
#include "lib/engine/attach/attachment.h"

namespace rail::engine {
namespace {

using nlohmann::json;
using state::Attachment;
using state::Step;

constexpr uint32_t kFirstMetric = 2000;  // above IPv6's default of 1024: the pod's other interfaces go first
constexpr uint32_t kScopeLink = 253;     // RT_SCOPE_LINK, rtnetlink(7)
constexpr char kRoutesVersion[] = "1.1.0";  // of the CNI result in step kRoutes

}  // namespace

std::vector<podnet::RouteSpec> RoutesOf(const cni::AddResult& result) {
  std::vector<podnet::RouteSpec> routes;
  for (const cni::RouteConfig& route : result.routes) {
    routes.push_back({.destination = route.destination,
                      .gateway = route.gateway,
                      .mtu = route.mtu,
                      .advmss = route.advmss,
                      .priority = route.priority,
                      .table = route.table,
                      .scope = route.scope == kScopeLink ? podnet::Scope::kLink : podnet::Scope::kGlobal});
  }
  return routes;
}

// As a CNI result, which has a printer and a strict reader.
std::string RoutesDetail(const cni::AddResult& result) {
  cni::AddResult routes;
  routes.routes = result.routes;
  return routes.Print(kRoutesVersion);
}

Result<std::vector<podnet::RouteSpec>> RecordedRoutes(const std::vector<Step>& steps) {
  const auto step = std::ranges::find(steps, step::kRoutes, &Step::kind);
  if (step == steps.end()) return std::vector<podnet::RouteSpec>();
  RAIL_ASSIGN(const json document, ParseJson(step->detail));
  RAIL_ASSIGN(const cni::AddResult result, cni::AddResult::Parse(document, kRoutesVersion));
  return RoutesOf(result);
}

uint32_t MetricOf(const config::Rail& rail) {
  return kFirstMetric + rail.index;
}

podnet::Plan PlanOf(const config::Rail& rail, const Attachment& attachment) {
  podnet::Plan plan;
  plan.ifname = attachment.key.ifname;
  plan.mtu = attachment.mtu;
  plan.mac = attachment.mac;
  plan.gateway_mac = rail.GatewayMac();
  plan.addresses = attachment.addresses;
  plan.gateways = attachment.gateways;
  // 0: the numbers of record formats before 4.
  plan.table = attachment.table != 0 ? attachment.table : 100 + rail.index;
  plan.rule = attachment.rule != 0 ? attachment.rule : 1000 + rail.index;
  plan.metric = MetricOf(rail);
  return plan;
}

}  // namespace rail::engine
