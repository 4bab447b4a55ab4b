#include "cmd/railctl/accept/testing/sample.h"

#include <fmt/format.h>

namespace rail::accept {
namespace {

using Report = v1::AcceptReport;

std::string PodOf(int node) {
  return fmt::format("railcni-accept/accept-gpu-{}", node);
}

// Each node to each other on each rail; `value`: of node, node and rail.
template <class Value>
void FillMesh(Report::Check& check, int nodes, int rails, const std::string& unit, const Value& value) {
  for (int rail = 0; rail < rails; ++rail) {
    for (int from = 1; from <= nodes; ++from) {
      for (int to = 1; to <= nodes; ++to) {
        if (from == to) continue;
        const auto [verdict, figure] = value(from, to, rail);
        auto& attempt = AddAttempt(check, verdict, fmt::format("rail{}", rail), PodOf(from), PodOf(to));
        attempt.set_did(
            "ran ib_write_bw -d mlx5_2 -x 3 -s 1048576 -D 5 --report_gbits from 10.0.1.4 to 10.0.2.9");
        attempt.set_seen(
            "vport 3 at the sender 1,204,331 -> 1,998,210 packets, vport 5 at the receiver 881 -> 794,760");
        attempt.set_unit(unit);
        attempt.set_value(figure);
      }
    }
  }
}

void AddNodes(Report& report, int nodes) {
  for (int n = 1; n <= nodes; ++n) {
    Report::Node& node = *report.add_nodes();
    node.set_name(fmt::format("gpu-{}", n));
    node.add_leaves("leaf-1");
    node.add_leaves("");
    (*node.mutable_versions())["raild"] = "0.1.0";
    (*node.mutable_versions())["Open vSwitch"] = "3.1.0";
    (*node.mutable_versions())["kernel"] = n == 2 ? "6.1.0-22" : "6.1.0-21";
  }
}

}  // namespace

Report::Attempt& AddAttempt(Report::Check& check, Report::Verdict verdict, const std::string& rail,
                            const std::string& from, const std::string& to) {
  Report::Attempt& attempt = *check.add_attempts();
  attempt.set_verdict(verdict);
  attempt.set_rail(rail);
  attempt.set_from(from);
  attempt.set_to(to);
  return attempt;
}

Report::Check& AddCheck(Report& report, const std::string& id, Report::Verdict verdict,
                        const std::string& why) {
  Report::Check& check = *report.add_checks();
  check.set_id(id);
  check.set_group(id.substr(0, id.find('.')));
  check.set_verdict(verdict);
  check.set_why(why);
  check.set_seconds(1.5);
  return check;
}

Report Sample() {
  Report report;
  report.set_schema(1);
  report.set_version("0.1.0");
  report.mutable_started()->set_seconds(1'772'334'000);
  report.set_seconds(192);
  AddNodes(report, 4);

  auto& mtu = AddCheck(report, "configuration.mtu", Report::PASS, "4 of 4 nodes have 9000 on both rails");
  mtu.set_title("Each rail has the MTU of its fabric.");
  for (int n = 1; n <= 4; ++n) {
    auto& attempt = AddAttempt(mtu, Report::PASS, "", fmt::format("gpu-{}", n), "");
    attempt.set_did("read the MTU of rail0 and rail1");
    attempt.set_seen("9000 and 9000");
  }

  auto& hardware = AddCheck(
      report, "offload.in-hardware", Report::COULD_NOT_MEASURE,
      "gpu-3: the driver mlx5_core does not count hardware packets of a representor, so neither is known");
  hardware.set_title("Traffic between pods is forwarded by the NIC.");
  auto& unknown = AddAttempt(hardware, Report::COULD_NOT_MEASURE, "rail1", PodOf(3), PodOf(1));
  unknown.set_did("sent 10,000 datagrams from 10.1.0.3 to 10.1.0.1, port 4791");
  unknown.set_seen("10,000 arrived; no counter of hardware");
  AddAttempt(hardware, Report::PASS, "rail0", PodOf(3), PodOf(1)).set_seen("10,000 of 10,000 in hardware");

  auto& forged = AddCheck(report, "isolation.forged-source", Report::FAIL,
                          "rail0: 40 of 40 datagrams with the source of another pod left gpu-2, because the "
                          "rule that drops them is not in "
                          "the bridge br-rail0");
  forged.set_title("A pod cannot send as another.");
  forged.add_requirements("SDN04");
  FillMesh(forged, 4, 2, "", [](int from, int to, int rail) {
    return std::pair(from == 2 && rail == 0 && to != 4 ? Report::FAIL : Report::PASS, 0.0);
  });
  for (auto& attempt : *forged.mutable_attempts()) {
    attempt.set_control("20 of 20 datagrams with the pod's own source arrived before, 20 of 20 after");
  }

  auto& bandwidth =
      AddCheck(report, "speed.bandwidth", Report::PASS, "the slowest pair has 381 Gb/s, and 360 are wanted");
  bandwidth.set_title("Each pair has the bandwidth of its rail.");
  FillMesh(bandwidth, 4, 2, "Gb/s", [](int from, int to, int rail) {
    return std::pair(Report::PASS, 380.0 + from + 2 * to + rail / 3.0);
  });

  auto& hostile = AddCheck(report, "isolation.<b>\"names\"&", Report::FAIL,
                           "a </dl><img src=\"http://192.0.2.1/x\"> in \x1b[31m words\x01");
  auto& attempt = AddAttempt(hostile, Report::FAIL, "rail0\"><script>", "ns/<i>", "ns/\"x\"");
  attempt.set_did("said ]]> and <!-- and \xEF\xBF\xBF");
  attempt.set_seen("'quotes' & <style>*{display:none}</style>");
  return report;
}

Report Mesh(int nodes, int rails) {
  Report report;
  report.set_schema(1);
  report.set_version("0.1.0");
  report.mutable_started()->set_seconds(1'772'334'000);
  report.set_seconds(5000);
  AddNodes(report, nodes);
  const auto fails = [](int from, int to) {
    return (from * 7 + to * 13) % 100 == 0 ? Report::FAIL : Report::PASS;
  };
  FillMesh(AddCheck(report, "reach.every-pair", Report::FAIL, "some pairs do not reach each other"), nodes,
           rails, "", [&](int from, int to, int) { return std::pair(fails(from, to), 0.0); });
  FillMesh(AddCheck(report, "speed.latency", Report::PASS, "as wanted"), nodes, rails, "us",
           [](int from, int to, int rail) {
             return std::pair(Report::PASS, 2.0 + from / 100.0 + to / 50.0 + rail);
           });
  FillMesh(AddCheck(report, "speed.bandwidth", Report::FAIL, "some pairs are slow"), nodes, rails, "Gb/s",
           [&](int from, int to, int rail) {
             return std::pair(fails(from, to), 380 + (from + 3 * to + rail) / 30.0);
           });
  return report;
}

}  // namespace rail::accept
