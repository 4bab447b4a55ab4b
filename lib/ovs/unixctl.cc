#include "lib/ovs/unixctl.h"

#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <nlohmann/json.hpp>

#include "lib/base/strict_json.h"
#include "lib/ovs/rpc.h"

namespace rail::ovs {

Result<std::string> FindUnixctl(const std::string& run_dir) {
  const std::string path = run_dir + "/ovs-vswitchd.pid";
  errno = 0;
  std::ifstream file(path);
  const int why = errno;
  std::string fixed = run_dir + "/ovs-vswitchd.ctl";
  if (!file && ::access(fixed.c_str(), F_OK) == 0) return fixed;
  if (!file) return FailErrno(why != 0 ? why : ENOENT, "open " + path + " (is ovs-vswitchd running?)");
  long pid = 0;
  if (!(file >> pid) || pid <= 0) return Fail(Code::kInvalid, path + " holds no process id");
  return run_dir + "/ovs-vswitchd." + std::to_string(pid) + ".ctl";
}

Result<std::string> UnixctlCall(const std::string& socket, const std::string& method,
                                const std::vector<std::string>& args, Deadline deadline) {
  const std::string doing = "ask ovs-vswitchd for " + method;
  RAIL_ASSIGN_AS(auto rpc, RpcConnection::Connect(socket, deadline), doing);
  const uint64_t id = rpc.Queue(method, args);
  for (;;) {
    RAIL_ASSIGN_AS(const RpcMessage message, rpc.Receive(deadline), doing);
    if (message.id != id) continue;
    RAIL_ASSIGN_AS(auto text, ParseJson(message.body, {.max_bytes = message.body.size()}), doing);
    if (!text.is_string()) return Fail(Code::kInvalid, doing + ": the answer is not a text");
    if (message.type == RpcMessage::Type::kError)
      return Fail(Code::kInvalid, doing + ": " + text.get<std::string>());
    return std::move(text.get_ref<std::string&>());  // moved: a list of datapath flows may have 25 MB
  }
}

}  // namespace rail::ovs
