#include "lib/engine/testing/chain.h"

#include <nlohmann/json.hpp>

#include "lib/cni/testing/request.h"

namespace rail::engine::testing {

using nlohmann::json;

Answer Chain::Run(size_t plugin, const std::string& verb, const PodSpec& pod,
                  const std::string& previous_result) {
  json config = json::parse("{" + more_config + "}");
  config["cniVersion"] = config.value("cniVersion", "1.0.0");
  config["name"] = pod.rail;
  config["type"] = plugins_[plugin].name;
  if (!config.contains("rail")) config["rail"] = pod.rail;
  if (!pod.device.empty()) config["deviceID"] = pod.device;
  if (previous.empty()) config["ipam"] = {{"type", "fake"}};
  if (!previous_result.empty()) config["prevResult"] = json::parse(previous_result);
  std::string args = more_args;
  if (!pod.pod_namespace.empty())
    args += (args.empty() ? "" : ";") + ("K8S_POD_NAMESPACE=" + pod.pod_namespace);
  args += (args.empty() ? "" : ";") + ("K8S_POD_NAME=" + pod.name + ";K8S_POD_UID=uid-" + pod.name);
  const auto ran = cni::testing::RunPlugin(plugins_[plugin],
                                           {{"CNI_COMMAND", verb},
                                            {"CNI_CONTAINERID", pod.container},
                                            {"CNI_NETNS", pod.netns},
                                            {"CNI_IFNAME", pod.ifname},
                                            {"CNI_PATH", "/usr/lib/cni"},
                                            {"CNI_ARGS", args}},
                                           config.dump());
  Answer answer{.code = 0, .text = {}, .plugin = plugins_[plugin].name, .result = ran.out};
  if (ran.status == 0) return answer;
  const json error = json::parse(ran.out);
  answer.code = error["code"];
  answer.text = error["msg"].get<std::string>() + ": " + error.value("details", "");
  return answer;
}

Answer Chain::Add(const PodSpec& pod) {
  Answer answer{.code = 0, .text = {}, .plugin = {}, .result = previous};
  for (size_t i = 0; i < plugins_.size(); ++i) {
    answer = Run(i, "ADD", pod, answer.result);
    if (!answer) return answer;
  }
  results_[pod.container] = answer.result;
  return answer;
}

Answer Chain::Del(const PodSpec& pod) {
  Answer first;
  for (size_t i = plugins_.size(); i-- > 0;) {
    Answer answer = Run(i, "DEL", pod, results_[pod.container]);
    if (first && !answer) first = std::move(answer);
  }
  return first;
}

Answer Chain::Check(const PodSpec& pod) {
  Answer answer;
  for (size_t i = 0; i < plugins_.size() && answer; ++i)
    answer = Run(i, "CHECK", pod, results_[pod.container]);
  return answer;
}

}  // namespace rail::engine::testing
