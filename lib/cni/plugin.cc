#include "lib/cni/plugin.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdlib>
#include <exception>
#include <istream>
#include <nlohmann/json.hpp>
#include <ostream>
#include <streambuf>

#include "lib/base/log.h"
#include "lib/base/parse.h"
#include "lib/base/strict_json.h"
#include "lib/base/text.h"
#include "lib/cni/validate.h"

namespace rail::cni {
namespace {

using nlohmann::json;

constexpr size_t kMaxInput = 1 << 20;

std::string Getenv(const Process& process, const char* name) {
  const char* value = process.getenv(name);
  return value == nullptr ? "" : value;
}

std::vector<std::string> SplitPath(const std::string& path) {
  std::vector<std::string> folders;
  for (const std::string_view folder : Split(path, ":")) {
    if (!folder.empty()) folders.emplace_back(folder);
  }
  return folders;
}

bool IsOneOf(const std::string& word, std::initializer_list<const char*> words) {
  return std::ranges::find(words, word) != words.end();
}

// The order is part of the contract: a variable that is set and wrong fails at once; missing variables are reported
// together.
Outcome<Request> ReadEnvironment(const Process& process) {
  Request request;
  request.command = Getenv(process, "CNI_COMMAND");
  const bool of_attachment = IsOneOf(request.command, {"ADD", "CHECK", "DEL"});
  std::string missing;
  const auto read = [&](const char* name, bool required) {
    std::string value = Getenv(process, name);
    if (value.empty() && required) Append(missing, ",", std::string(name));
    return value;
  };

  request.container_id = read("CNI_CONTAINERID", of_attachment);
  if (of_attachment && !request.container_id.empty()) RAIL_TRY(ValidateContainerId(request.container_id));
  request.netns = read("CNI_NETNS", IsOneOf(request.command, {"ADD", "CHECK"}));
  request.ifname = read("CNI_IFNAME", of_attachment);
  // Not for DEL, which must succeed: it looks for what is recorded under the name.
  if (IsOneOf(request.command, {"ADD", "CHECK"}) && !request.ifname.empty())
    RAIL_TRY(ValidateInterfaceName(request.ifname));
  request.args = read("CNI_ARGS", false);
  request.path = SplitPath(read("CNI_PATH", of_attachment || IsOneOf(request.command, {"GC", "STATUS"})));
  if (!missing.empty()) return CniFail(4, "required env variables [" + missing + "] missing");

  const auto args = ParseArgs(request.args);
  const auto arg = [&](const char* key) { return args.contains(key) ? args.at(key) : std::string(); };
  request.pod = {arg("K8S_POD_NAMESPACE"), arg("K8S_POD_NAME"), arg("K8S_POD_UID")};
  return request;
}

Outcome<std::string> ReadInput(std::istream& in) {
  std::string text;
  char buffer[16384];
  do {
    in.read(buffer, sizeof buffer);
    text.append(buffer, static_cast<size_t>(in.gcount()));
  } while (in && text.size() <= kMaxInput);
  if (in.bad()) return CniFail(5, "error reading from stdin");
  return text;
}

// A key's string; "" when absent or null. Errors: code 6.
Outcome<std::string> StringOf(const json& config, const char* key) {
  const auto found = config.find(key);
  if (found == config.end() || found->is_null()) return std::string();
  if (!found->is_string()) {
    return CniFail(6, fmt::format("error unmarshall network config: {} must be a string, not {}", key,
                                  found->type_name()));
  }
  return found->get<std::string>();
}

// Without its key a configuration counts as 0.1.0, as in the reference.
Outcome<void> ReadConfig(Request& request, std::string text) {
  request.config_text = std::move(text);
  auto config = ParseJson(request.config_text, {.max_bytes = kMaxInput});
  if (!config) return CniFail(6, "error unmarshall network config: " + config.error().message);
  if (!config->is_object()) {
    return CniFail(
        6, std::string("error unmarshall network config: it must be an object, not ") + config->type_name());
  }
  request.config = std::make_shared<const json>(std::move(*config));
  RAIL_ASSIGN(const std::string network, StringOf(*request.config, "name"));
  RAIL_TRY(ValidateNetworkName(network));
  request.network = network;
  RAIL_ASSIGN(request.cni_version, StringOf(*request.config, "cniVersion"));
  if (request.cni_version.empty()) request.cni_version = "0.1.0";
  return {};
}

// What to do about a version that we do not speak, for people.
std::string VersionAdvice(const Request& request) {
  const auto version = StringOf(*request.config, "cniVersion");
  return fmt::format(
      R"(the key "cniVersion" of the network's configuration is {}: write "cniVersion": "1.0.0" beside "name" there (in spec.config of a NetworkAttachmentDefinition))",
      version && version->empty() ? "missing" : "wrong");
}

// For the verbs of newer versions: the configuration's version must be `since` or newer.
Outcome<void> CheckVerbVersion(const Request& request, const char* since) {
  const auto version = ParseVersion(request.cni_version);
  if (!version) return CniFail(6, version.error().message, VersionAdvice(request));
  const std::string advice = IsSupported(request.cni_version) ? "" : VersionAdvice(request);
  if (!AtLeast(request.cni_version, since))
    return CniFail(1, "config version does not allow " + request.command, advice);
  if (!AtLeast(SupportedVersions().back(), request.cni_version)) {
    return CniFail(1, "plugin version does not allow " + request.command, advice);
  }
  return {};
}

Outcome<void> CheckVersion(const Request& request) {
  if (request.command == "CHECK") RAIL_TRY(CheckVerbVersion(request, "0.4.0"));
  if (IsOneOf(request.command, {"GC", "STATUS"})) RAIL_TRY(CheckVerbVersion(request, "1.1.0"));
  if (IsSupported(request.cni_version)) return {};
  return CniFail(1, "incompatible CNI versions",
                 fmt::format("config is {}, plugin supports {}; {}", Quote(request.cni_version),
                             QuoteList(SupportedVersions()), VersionAdvice(request)));
}

// A pod's author can write runtimeConfig.deviceID, but never the top-level "deviceID". The first must not name another
// device than the second.
Outcome<void> CheckRuntimeDevice(const json& config, const std::string& device) {
  const auto runtime = config.find("runtimeConfig");
  if (runtime == config.end() || !runtime->is_object()) return {};
  const auto asked = runtime->find("deviceID");
  if (asked == runtime->end() || asked->is_null() || (asked->is_string() && *asked == device)) return {};
  return CniFail(
      7, "the pod asks for a device that was not allocated to it",
      fmt::format(
          "runtimeConfig.deviceID is {} and deviceID is {}: request the resource of the network in the "
          "pod's limits and leave \"deviceID\" out of its networks annotation",
          DumpJson(*asked), Quote(device)));
}

// Refuses CNI_ARGS that contradict the pod's identity: a second namespace would be a way into another tenant, a second name or
// UID a way to pass for another pod.
Outcome<void> CheckPodIdentity(const Request& request) {
  for (const std::string_view arg : Split(request.args, ";")) {
    for (const auto& [key, value] : ParseArgs(std::string(arg))) {
      if (key == "K8S_POD_NAMESPACE" && value != request.pod.pod_namespace) {
        return CniFail(4, "CNI_ARGS names two namespaces",
                       fmt::format("K8S_POD_NAMESPACE is {} and {}: the pod's tenant cannot be told",
                                   Quote(value), Quote(request.pod.pod_namespace)));
      }
      const std::string* known = key == "K8S_POD_NAME"  ? &request.pod.name
                                 : key == "K8S_POD_UID" ? &request.pod.uid
                                                        : nullptr;
      if (known != nullptr && value != *known) {
        return CniFail(4, "CNI_ARGS names two pods",
                       fmt::format("{} is {} and {}: whose interface it is cannot be told", key, Quote(value),
                                   Quote(*known)));
      }
    }
  }
  return {};
}

Outcome<void> ReadDeviceAndResult(Request& request) {
  const json& config = *request.config;
  if (const auto found = config.find("prevResult"); found != config.end() && !found->is_null()) {
    if (!found->is_object()) {
      return CniFail(
          7, std::string("invalid network config: prevResult must be an object, not ") + found->type_name());
    }
    request.prev_result = std::make_shared<const json>(*found);
  }
  if (const auto found = config.find("deviceID"); found != config.end() && !found->is_null()) {
    if (!found->is_string()) {
      return CniFail(
          7, std::string("invalid network config: deviceID must be a string, not ") + found->type_name());
    }
    request.device_id = found->get<std::string>();
  }
  if (!IsOneOf(request.command, {"ADD", "CHECK"})) return {};
  RAIL_TRY(CheckPodIdentity(request));
  return CheckRuntimeDevice(config, request.device_id);
}

// Accepts a path that cannot be read: the verb decides about it.
Outcome<void> CheckNetns(const Process& process, const Request& request) {
  const std::string over = Getenv(process, "CNI_NETNS_OVERRIDE");
  if (IsOneOf(over, {"1", "TRUE", "true", "True"})) return {};
  struct stat theirs{};
  struct stat ours{};
  if (::stat(request.netns.c_str(), &theirs) != 0 || ::stat("/proc/self/ns/net", &ours) != 0) return {};
  if (theirs.st_dev != ours.st_dev || theirs.st_ino != ours.st_ino) return {};
  return CniFail(8, "plugin's netns and netns from CNI_NETNS should not be the same");
}

// Rewords an error of DEL, so that the runtime calls DEL again. If the text contains "no such file or directory", Multus takes
// the attachment as cleaned already; for go-cni the words are "not found" (multus.go, go-cni cni.go Remove). Neither calls
// DEL again.
CniError ToBeRetried(CniError error) {
  const std::pair<std::string_view, std::string_view> words[] = {
      {"no such file or directory", "it is not there"}, {"not found", "missing"}};
  const auto same = [](char a, char b) { return std::tolower(static_cast<unsigned char>(a)) == b; };
  for (std::string* text : {&error.msg, &error.details}) {
    for (const auto& [misread, plain] : words) {
      for (;;) {
        const auto found = std::ranges::search(*text, misread, same);
        if (found.empty()) break;
        text->replace(found.begin(), found.end(), plain);
      }
    }
  }
  return error;
}

// Runs the verb. Returns the text to print; "" nothing.
Outcome<std::string> Dispatch(const Plugin& plugin, const Process& process, const Request& request) {
  const auto quiet = [&](const std::function<Outcome<void>(const Request&)>& verb) -> Outcome<std::string> {
    if (verb) RAIL_TRY(verb(request));
    return std::string();
  };
  if (request.command == "ADD") {
    RAIL_TRY(CheckNetns(process, request));
    return plugin.add ? plugin.add(request) : std::string();
  }
  if (request.command == "DEL") return quiet(plugin.del);
  if (request.command == "CHECK") return quiet(plugin.check);
  if (request.command == "GC") return quiet(plugin.gc);
  return quiet(plugin.status);
}

// Reads the configuration as far as it is there.
Outcome<void> ReadRequest(Request& request, std::istream& in, std::string& version) {
  RAIL_ASSIGN(std::string text, ReadInput(in));
  RAIL_TRY(ReadConfig(request, std::move(text)));
  if (IsSupported(request.cni_version)) version = request.cni_version;
  if (!IsOneOf(request.command, {"ADD", "DEL", "CHECK", "GC", "STATUS"})) {
    return CniFail(4, "unknown CNI_COMMAND: " + request.command);
  }
  RAIL_TRY(CheckVersion(request));
  return ReadDeviceAndResult(request);
}

// DEL goes on whatever is wrong with the configuration: the record knows what there is to undo.
void ReadForDel(Request& request, std::istream& in, std::string& version) {
  const auto read = ReadRequest(request, in, version);
  if (read) return;
  if (!request.config) request.config = std::make_shared<const json>(json::object());
  log::Warning("DEL of container {}, interface {}: what the record says of it is undone, although: {} {}",
               request.container_id, request.ifname, read.error().msg, read.error().details);
}

Outcome<std::string> Answer(const Plugin& plugin, const Process& process, std::string& version) {
  RAIL_ASSIGN(Request request, ReadEnvironment(process));
  if (request.command == "VERSION") {
    return DumpJson({{"cniVersion", SupportedVersions().back()}, {"supportedVersions", SupportedVersions()}});
  }
  if (request.command == "DEL") {
    ReadForDel(request, process.in, version);
  } else {
    RAIL_TRY(ReadRequest(request, process.in, version));
  }
  return Dispatch(plugin, process, request);
}

int Finish(std::ostream& out, std::ostream& err, const std::string& document, int status) {
  if (!document.empty()) out << document + '\n';
  out.flush();
  if (out) return status;
  err << "the answer cannot be written to stdout: " << document << '\n';
  return 1;
}

// A stream on a descriptor, without what <iostream> sets up for the standard streams. Does not buffer writes: the
// protocol writes one document.
class FdStream : public std::streambuf {
 public:
  explicit FdStream(int fd) : fd_(fd) {}

 protected:
  int_type underflow() override {
    ssize_t n = 0;
    do n = ::read(fd_, buffer_, sizeof buffer_);
    while (n < 0 && errno == EINTR);
    if (n < 0) throw std::ios_base::failure("read");  // the stream catches it and is bad() from then on
    if (n == 0) return traits_type::eof();
    setg(buffer_, buffer_, buffer_ + n);
    return traits_type::to_int_type(buffer_[0]);
  }

  std::streamsize xsputn(const char* bytes, std::streamsize count) override {
    std::streamsize done = 0;
    while (done < count) {
      const ssize_t n = ::write(fd_, bytes + done, static_cast<size_t>(count - done));
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) break;
      done += n;
    }
    return done;
  }

  int_type overflow(int_type c) override {
    if (traits_type::eq_int_type(c, traits_type::eof())) return traits_type::not_eof(c);
    const char byte = traits_type::to_char_type(c);
    return xsputn(&byte, 1) == 1 ? c : traits_type::eof();
  }

 private:
  int fd_;
  char buffer_[4096];
};

// Makes sure that descriptors 0, 1 and 2 are open. Otherwise a file that is opened later could get one of these numbers, and
// what is meant for stdout or stderr would be written to it.
void FillStandardDescriptors() {
  int fd = 0;
  do fd = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  while (fd >= 0 && fd <= STDERR_FILENO);
  if (fd >= 0) ::close(fd);
}

}  // namespace

int Run(const Plugin& plugin, const Process& process) {
  if (Getenv(process, "CNI_COMMAND").empty()) {
    process.err << plugin.about << "\nCNI protocol versions supported: "
                << fmt::format("{}", fmt::join(SupportedVersions(), ", ")) << '\n';
    return 0;
  }
  std::string version = SupportedVersions().back();
  auto answer = Answer(plugin, process, version);
  if (!answer && Getenv(process, "CNI_COMMAND") == "DEL") {
    answer = tl::make_unexpected(ToBeRetried(std::move(answer).error()));
  }
  return answer ? Finish(process.out, process.err, *answer, 0)
                : Finish(process.out, process.err, PrintError(answer.error(), version), 1);
}

int CheckConfig(const Plugin& plugin, const Process& process) {
  std::string version = SupportedVersions().back();
  const auto check = [&]() -> Outcome<void> {
    Request request;
    request.command = "ADD";
    RAIL_ASSIGN(std::string text, ReadInput(process.in));
    RAIL_TRY(ReadConfig(request, std::move(text)));
    RAIL_TRY(CheckVersion(request));
    version = request.cni_version;
    RAIL_TRY(ReadDeviceAndResult(request));
    if (plugin.check_config) RAIL_TRY(plugin.check_config(request));
    return {};
  };
  const auto checked = check();
  return checked ? 0 : Finish(process.out, process.err, PrintError(checked.error(), version), 1);
}

namespace {

// Calls `run` with the real process. An exception still ends in an error document.
int WithRealProcess(const Plugin& plugin, const std::function<int(const Process&)>& run) {
  FillStandardDescriptors();
  log::Init(plugin.name, log::Level::kInfo);
  FdStream in_buffer(STDIN_FILENO);
  FdStream out_buffer(STDOUT_FILENO);
  FdStream err_buffer(STDERR_FILENO);
  std::istream in(&in_buffer);
  std::ostream out(&out_buffer);
  std::ostream err(&err_buffer);
  try {
    return run(Process{.getenv = [](const char* name) -> const char* { return std::getenv(name); },
                       .in = in,
                       .out = out,
                       .err = err});
  } catch (const std::exception& e) {
    return Finish(out, err,
                  PrintError(CniError(kFault, plugin.name + " met a fault of its own; report it", e.what()),
                             SupportedVersions().back()),
                  1);
  }
}

}  // namespace

int Main(const Plugin& plugin) {
  return WithRealProcess(plugin, [&](const Process& process) { return Run(plugin, process); });
}

int CheckConfigMain(const Plugin& plugin) {
  return WithRealProcess(plugin, [&](const Process& process) { return CheckConfig(plugin, process); });
}

}  // namespace rail::cni
