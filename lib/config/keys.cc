#include "lib/config/keys.h"

#include <nlohmann/json.hpp>

#include "lib/config/values.h"

namespace rail::config {
namespace {

using enum Takes;

constexpr uint32_t kRails = kLastRailIndex + 1;

constexpr Rule kClusterName = Text(OrNone<IsLabel>,
                                   "a name of your own for this cluster, which no other cluster on its "
                                   "fabric has: 1 to 63 of a-z, 0-9 and '-', with no '-' at either end",
                                   "a cluster has each name once");

// A cluster without a name is what clusters were before names: it is let through only as a step on the way to one.
void ReadAliases(Section& in, const Key& key, std::vector<std::string>& aliases) {
  for (const auto& [alias, at, shown] : in.Texts(key.name)) {
    if (OrNone<IsLabel>(alias)) {
      in.file.TakeOnce(shown, at, kClusterName.once);
    } else {
      in.AddValue(
          at, shown + " must be a name of this cluster: " + std::string(kLabelRule) + ", or \"\" for none");
    }
    aliases.push_back(alias);
  }
  if (aliases.empty() && in.file.document.value("cluster", nlohmann::json()) == "")
    in.AddValue("cluster", "\"\" must be " + kClusterName.Says());
}

constexpr Rule kRouterId = Text(
    [](std::string_view text) {
      const auto address = IpAddress::Parse(text);
      return address && !address->is_v6() && !address->is_unspecified();
    },
    "an IPv4 address other than 0.0.0.0");

void ReadRouterId(Section& in, const Key& key, IpAddress& address) {
  std::string text;
  if (in.Text(key, text)) address = *IpAddress::Parse(text);
}

// The longest socket in a run folder is <run_dir>/<bridge>.mgmt: 21 bytes of the 107 in sockaddr_un.
constexpr Rule kRunDir =
    Text([](std::string_view text) { return IsPath(text, 86); }, "an absolute path of at most 86 bytes");
constexpr Rule kFile =
    Text([](std::string_view text) { return IsPath(text, 4095); }, "an absolute path of at most 4095 bytes");
constexpr std::string_view kUnix = "unix:";
constexpr Rule kOvsSocket = Text(
    [](std::string_view text) { return text.starts_with(kUnix) && IsPath(text.substr(kUnix.size()), 107); },
    "\"unix:\" and an absolute path of at most 107 bytes");

void ReadOvsSocket(Section& in, const Key& key, std::string& path) {
  std::string text;
  if (in.Text(key, text)) path = text.substr(kUnix.size());
}

void ReadIpam(Section& in, const Key& key, std::vector<std::string>& plugins) {
  constexpr char kNone[] =
      "must name at least one plugin (without the key, every IPAM plugin may give addresses)";
  for (Item& item : in.Texts(key.name, 1, SIZE_MAX, kNone)) plugins.push_back(std::move(item.text));
}

void CheckPods(Section& in, const Key&, Pods& pods) {
  if (pods.first_table <= 255 && pods.first_table + kLastRailIndex >= 253)
    in.Add("first_table", "must leave out the kernel's own tables, 253 to 255: 1 to 153, or 256 and more");
}

void CheckLabels(Section& in, const Key&, TopologyLabels& labels) {
  if (labels.unit == labels.leaf || labels.unit == labels.tier || labels.leaf == labels.tier)
    in.file.errors.Add(in.path, "unit, leaf and tier must differ");
}

constexpr Key kBgpRows[] = {
    Row<&Bgp::manage>(
        "manage", "true", kRestart, {},
        "raild keeps bgpd's base configuration; mode `\"vrf\"` needs it. `false`: somebody else does"),
    Row<&Bgp::asn>("asn", kRequired, kRestart, Range(1, UINT32_MAX), ""),
    Row<&Bgp::router_id>("router_id", kRequired, kRestart, ReadBy<ReadRouterId>(kRouterId), ""),
    Row<&Bgp::community_asn>("community_asn", kRequired, kRestart, Range(1, UINT32_MAX),
                             "the same on every node: first word of our large communities, part of every "
                             "[tenant id](../tenancy/README.md)"),
    Row<&Bgp::bmp_port>("bmp_port", "11019", kRestart, Range(1, UINT16_MAX),
                        "of 127.0.0.1 in the node's network namespace, for BMP"),
    Row<&Bgp::max_prefixes>("max_prefixes", "256000", kAtOnce, Range(1, UINT32_MAX),
                            "of one family from a leaf. Above it bgpd (`maximum-prefix N warning-only`), "
                            "health and doctor warn; the session stays ([why](../frr/README.md))"),
};
constexpr KeyTable kBgpKeys{kBgpRows};

// Pods that run keep what their ADD has recorded.
constexpr Key kPodsRows[] = {
    Row<&Pods::first_table>(
        "first_table", "524100", kAtOnce, Range(1, UINT32_MAX - kLastRailIndex),
        "not 154..255: a rail's routing table in a pod is this + `index` "
        "([why](../podnet/README.md#decisions)). Pods do not start where another plugin uses these"),
    Row<&Pods::ipam>(
        "ipam", "every plugin", kAtOnce, ReadBy<ReadIpam>(),
        "types of IPAM plugins that networks may name, such as `[\"nv-ipam\"]`; ADD fails for others. "
        "`host-local` and `static` give any address to whoever may write a network in a namespace"),
    // Looked at before the rules of main and default, 32766 and 32767.
    Row<&Pods::first_rule>("first_rule", "700", kAtOnce, Range(1, 32766 - 2 * kRails),
                           "priorities of policy rules in a pod are this + `index` and this + 100 + `index`"),
};
constexpr KeyTable kPodsKeys{kPodsRows, By<CheckPods>()};

constexpr std::string_view kDatapaths[] = {"system", "netdev"};
constexpr Key kOvsRows[] = {
    Row<&Ovs::db_socket>("db", "\"unix:/run/openvswitch/db.sock\"", kRestart,
                         ReadBy<ReadOvsSocket>(kOvsSocket), ""),
    Row<&Ovs::run_dir>("run_dir", "\"/run/openvswitch\"", kRestart, kRunDir,
                       "`<run_dir>/<bridge>.mgmt` must fit a socket's address"),
    Row<&Ovs::manage_bridges>("manage_bridges", "true", kRestart, {},
                              "RailCNI makes and keeps bridges and uplinks"),
    Row<&Ovs::remove_foreign_flows>("remove_foreign_flows",
                                    "`true` for bridges that raild made, `false` for others", kAtOnce, {},
                                    "raild removes and logs others' OpenFlow rules on the rails' bridges "
                                    "([why](../engine/repair/README.md#rules-of-others)); `false`: doctor, "
                                    "metrics and `railctl get rails` name them"),
    Row<&Ovs::datapath>("datapath", "\"system\"", kRestart, OneOf(kDatapaths), "kernel or userspace"),
};
constexpr KeyTable kOvsKeys{kOvsRows};

// Every key is required: there is no listener without TLS, and none that accepts every client.
constexpr Key kApiRows[] = {
    Row<&Api::listen>("listen", kRequired, kAtOnce,
                      Text(IsListenAddress,
                           R"(an IP address and a port: "10.0.0.5:9443", "[2001:db8::5]:9443", "[::]:9443")"),
                      ""),
    Row<&Api::cert_file>("cert_file", kRequired, kAtOnce, kFile, "PEM, read again on change"),
    Row<&Api::key_file>("key_file", kRequired, kAtOnce, kFile,
                        "PEM, read again on change; must not be readable by everybody"),
    Row<&Api::client_ca_file>("client_ca_file", kRequired, kAtOnce, kFile,
                              "PEM: the authority of those who may ask"),
};
constexpr KeyTable kApiKeys{kApiRows};

constexpr Key kMetricsRows[] = {
    Row<&Metrics::listen>("listen", "\"\"", kAtOnce,
                          Text(OrNone<IsListenAddress>,
                               R"(an IP address and a port: "127.0.0.1:9477", "[::1]:9477"; "" for nowhere)"),
                          "Metrics and `/healthz` over HTTP for all who can reach it: "
                          "[cmd/raild/metrics](../../cmd/raild/metrics/README.md)"),
    Row<&Metrics::pods>("pods", "false", kAtOnce, {},
                        "also byte counters of pods (at most 1,000 interfaces), labelled by name"),
};
constexpr KeyTable kMetricsKeys{kMetricsRows};

// A driver's counters are not renewed more often, and a second has at least one sample.
constexpr Key kBurstsRows[] = {
    Row<&Bursts::every_ms>("every_ms", kRequired, kAtOnce, Range(5, 1000), "ms: one tick"),
    Row<&Bursts::line_rate_mbit>("line_rate_mbit", "the uplink's driver's", kAtOnce, Range(1, 4'000'000),
                                 "Mbit/s, of every rail, where the driver is silent or wrong"),
};
constexpr KeyTable kBurstsKeys{kBurstsRows};

constexpr Rule kLabelKey = Text(IsLabelKey, "the key of a label, like \"example.com/rack\"");
bool IsLabelStart(std::string_view text) {
  return IsLabelKey(std::string(text) +
                    "123456789012345");  // longer than any rail's name and any tier's number
}
constexpr Rule kLabelStart = Text(
    IsLabelStart, "the key of a label, like \"example.com/rack\", to which up to 15 characters are added");

constexpr Key kKubernetesRows[] = {
    Row<&Kubernetes::tenants>("tenants", "false", kAtOnce, {},
                              "a namespace's label names its tenant ([rules](../tenancy/README.md)); needs "
                              "`tenancy.mode` `\"namespace\"`, and the same value on every node"),
    Row<&Kubernetes::tenant_label>("tenant_label", "\"railcni.io/tenant\"", kAtOnce, kLabelKey, ""),
    Row<&Kubernetes::report>(
        "report", "false", kAtOnce, {},
        "raild reports rails, and pods not attached, to the cluster. Needs NODE_NAME in raild's environment"),
    Row<&Kubernetes::api>(
        "api", "\"\"", kAtOnce,
        Text(
            OrNone<IsApiServer>,
            R"("" (the API server of the pod's own cluster), "https://HOST:PORT", or "http://127.0.0.1:PORT")"),
        "the last is a proxy on the node"),
};
constexpr KeyTable kKubernetesKeys{kKubernetesRows};

// What the kubelet takes for an extended resource (Kubernetes, pkg/apis/core/v1/helper, IsExtendedResourceName), whatever the rail is.
bool IsResourceOfRails(std::string_view text) {
  constexpr size_t kLongestDomain =
      253 - std::string_view("requests.").size();  // a quota puts that before it
  Rail longest;
  longest.name.assign(15, 'x');
  longest.index = kLastRailIndex;
  const std::string name = Kubelet{.resource = std::string(text)}.ResourceOf(longest);
  const size_t slash = name.find('/');
  if (slash > kLongestDomain || !IsLabelKey(name)) return false;  // also without a slash
  return !name.substr(0, slash).ends_with("kubernetes.io") && !name.starts_with("requests.");
}

constexpr Key kKubeletRows[] = {
    Row<&Kubelet::device_plugin>("device_plugin", "false", kAtOnce, {},
                                 "raild offers the rails' devices to the kubelet "
                                 "([how](../kubelet/README.md)); no other device plugin may offer them"),
    Row<&Kubelet::dra>("dra", "false", kAtOnce, {},
                       "raild is the node's DRA driver `rail.railcni.io` instead, for claims "
                       "([how](../kubelet/README.md))"),
    Row<&Kubelet::resource>("resource", "\"nvidia.com/rail{index}\"", kAtOnce,
                            Text(IsResourceOfRails,
                                 "the name of an extended resource, DOMAIN/NAME, in which \"{index}\" and "
                                 "\"{rail}\" stand for the rail's index and name"),
                            "each rail has its own"),
    Row<&Kubelet::grace_s>("grace_s", "15", kAtOnce, Range(1, 3600),
                           "s: what is wrong with a rail or device for less is no news for the kubelet"),
    Row<&Kubelet::folder>(
        "folder", "\"/var/lib/kubelet/device-plugins\"", kAtOnce,
        Text([](std::string_view text) { return IsPath(text, 70); }, "an absolute path of at most 70 bytes"),
        "with the kubelet's socket"),
    Row<&Kubelet::libraries>(
        "libraries", "true", kAtOnce, {},
        "containers with a device find NCCL and UCX configured "
        "([how](../pcie/LIBS.md)); what the pod or its image sets in the environment wins"),
};
constexpr KeyTable kKubeletKeys{kKubeletRows};

constexpr Key kLabelsRows[] = {
    Row<&TopologyLabels::unit>("unit", "\"railcni.io/su\"", kAtOnce, kLabelKey, "of the scalable unit"),
    Row<&TopologyLabels::leaf>("leaf", "\"railcni.io/leaf-\"", kAtOnce, kLabelStart,
                               "a rail's name, for the label of its leaf"),
    Row<&TopologyLabels::tier>(
        "tier", "\"\"", kAtOnce, Text(OrNone<IsLabelStart>, kLabelStart.says),
        "0 for the first rail's leaf, 1 for the unit; `\"fabric.topograph.run/tier-\"` for Topograph's "
        "readers. `\"\"`: none. Others' tiers stay"),
};
constexpr KeyTable kLabelsKeys{kLabelsRows, By<CheckLabels>()};

constexpr Key kTopologyRows[] = {
    Row<&Topology::labels>(
        "labels", "no labels", kAtOnce, Of(kLabelsKeys),
        "raild labels its Node object [for schedulers](../kubernetes/README.md#labels-for-schedulers). Needs "
        "NODE_NAME in raild's environment, and the right to patch nodes. `{}`: the defaults below"),
    Row<&Topology::unit>("unit", "\"\"", kAtOnce,
                         Text(OrNone<IsLabelValue>,
                              "1 to 63 of A-Z, a-z, 0-9, '-', '_' and '.', with a letter or digit at either "
                              "end: it can be the value of a label then"),
                         "`\"\"`: made of the leaves ([how](../engine/learned/README.md#leaf-and-unit))"),
};
constexpr KeyTable kTopologyKeys{kTopologyRows};

constexpr Key kFrrRows[] = {
    Row<&Frr::run_dir>("run_dir", "\"/run/frr\"", kRestart, kRunDir, "holds `bgpd.vty`"),
};
constexpr KeyTable kFrrKeys{kFrrRows};

constexpr Key kNodeRows[] = {
    Row<&NodeConfig::cluster, &Cluster::name>(
        "cluster", "required: give this cluster a name that no other cluster on its fabric has", kAtOnce,
        kClusterName,
        "the same on every node, part of every [tenant id](../tenancy/README.md). `\"\"`: none; only with "
        "`cluster_aliases`"),
    Row<&NodeConfig::cluster, &Cluster::aliases>(
        "cluster_aliases", "[]", kAtOnce, ReadBy<ReadAliases>(),
        "[other names](../tenancy/README.md#a-cluster-gets-another-name) (or `\"\"`) that nodes of this "
        "cluster announce"),
    Row<&NodeConfig::rails>("rails", "at least one is required", kAtOnce, Of(kRailKeys, "[]"),
                            "A new rail is taken at once. All links and devices of the file differ, and are "
                            "neither `all` nor `default`"),
    // The rails have it.
    {.name = "lossless",
     .absent = "nothing is checked",
     .takes = kAtOnce,
     .rule = Of(kLosslessKeys),
     .words = "how uplinks treat RoCE ([lib/qos](../qos/README.md))",
     .read = [](Section& in, const Key& key, void*) { (void)in.object.Object(key.name); }},
    Row<&NodeConfig::rates>("rates", "no limits", kAtOnce, Of(kRatesKeys),
                            "what a tenant's pods may send together on a NIC "
                            "([how](../engine/repair/README.md#shares-and-limits)). Each tenant with a pod "
                            "on a rail has a share. Not with `tenancy.mode` `\"off\"`"),
    Part<&NodeConfig::tenancy>("tenancy", "{}", kTenancyKeys),
    Part<&NodeConfig::bgp>("bgp", kRequired, kBgpKeys),
    Part<&NodeConfig::pods>("pods", "{}", kPodsKeys),
    Part<&NodeConfig::ovs>("ovs", "{}", kOvsKeys),
    Part<&NodeConfig::api>("api", "the unix socket alone", kApiKeys,
                           "also gRPC over TCP, with mutual TLS only"),
    Part<&NodeConfig::metrics>("metrics", "{}", kMetricsKeys),
    Part<&NodeConfig::bursts>("bursts", "off", kBurstsKeys,
                              "byte counters at each tick ([lib/counters](../counters/README.md))"),
    Part<&NodeConfig::kubernetes>("kubernetes", "no API server", kKubernetesKeys,
                                  "[lib/kubernetes](../kubernetes/README.md)"),
    Part<&NodeConfig::kubelet>("kubelet", "{}", kKubeletKeys),
    Part<&NodeConfig::frontend>(
        "frontend", "none", kFrontendKeys,
        "BGP on the management links ([the front end](../frr/README.md#the-front-end)); needs `bgp.manage`"),
    Part<&NodeConfig::topology>("topology", "{}", kTopologyKeys),
    Part<&NodeConfig::frr>("frr", "{}", kFrrKeys),
};

}  // namespace

const KeyTable kNodeKeys{kNodeRows, By<CheckNode>()};

}  // namespace rail::config
