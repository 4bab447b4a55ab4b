#include "lib/kubernetes/client.h"

#include <curl/curl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <mutex>
#include <nlohmann/json.hpp>
#include <utility>

#include "lib/base/strict_json.h"

namespace rail::kubernetes {
namespace {

constexpr std::chrono::seconds kConnect{10};
constexpr int kPoll = 1000;  // ms; Stop wakes it, so this only bounds what nobody expects
// A dead host is noticed 20 + 3 * 10 s after the last byte. A watch may be silent for a minute.
constexpr int kKeepAliveIdle = 20;
constexpr int kKeepAliveInterval = 10;
constexpr int kKeepAliveProbes = 3;
constexpr unsigned int kUserTimeoutMs = 30'000;

struct Transfer {
  CURL* easy = nullptr;
  const Client::Bytes* bytes = nullptr;  // nullptr: no stream
  size_t max_bytes = 0;
  Deadline heard{};  // when the last bytes came
  Answer answer;
  Status failed;
};

size_t OnBody(char* data, size_t, size_t size, void* user) {
  Transfer& transfer = *static_cast<Transfer*>(user);
  transfer.heard = Clock::now();
  curl_easy_getinfo(transfer.easy, CURLINFO_RESPONSE_CODE, &transfer.answer.status);
  if (transfer.bytes != nullptr && transfer.answer.ok()) {
    transfer.failed = (*transfer.bytes)({data, size});
    return transfer.failed ? size : 0;
  }
  if (transfer.answer.body.size() + size > transfer.max_bytes) {
    transfer.failed = Fail(Code::kInvalid, "its answer is longer than the " +
                                               std::to_string(transfer.max_bytes) + " bytes that are read");
    return 0;
  }
  transfer.answer.body.append(data, size);
  return size;
}

// The empty line ends the head of the answer.
size_t OnHeader(char* data, size_t, size_t size, void* user) {
  Transfer& transfer = *static_cast<Transfer*>(user);
  if (transfer.bytes == nullptr || std::string_view(data, size) != "\r\n") return size;
  curl_easy_getinfo(transfer.easy, CURLINFO_RESPONSE_CODE, &transfer.answer.status);
  if (transfer.answer.ok()) transfer.failed = (*transfer.bytes)({});
  return transfer.failed ? size : 0;
}

int OnSocket(void*, curl_socket_t fd, curlsocktype) {
  const auto set = [fd](int option, auto value) {
    (void)::setsockopt(fd, IPPROTO_TCP, option, &value, sizeof value);
  };
  const int on = 1;
  (void)::setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
  set(TCP_KEEPIDLE, kKeepAliveIdle);
  set(TCP_KEEPINTVL, kKeepAliveInterval);
  set(TCP_KEEPCNT, kKeepAliveProbes);
  set(TCP_USER_TIMEOUT, kUserTimeoutMs);
  return CURL_SOCKOPT_OK;
}

class Headers {
 public:
  ~Headers() { curl_slist_free_all(list_); }
  void Add(const std::string& line) { list_ = curl_slist_append(list_, line.c_str()); }
  curl_slist* get() const { return list_; }

 private:
  curl_slist* list_ = nullptr;
};

}  // namespace

struct Client::Parts {
  Endpoint endpoint;
  std::string user_agent;
  CURLM* multi = nullptr;
  CURL* easy = nullptr;
  std::atomic<bool> stopped = false;
  char problem[CURL_ERROR_SIZE] = {};

  Status Prepare(const Request& request, Headers& headers, Transfer& transfer);
  Status Run(const Request& request, const Transfer& transfer);
};

Client::Client(Endpoint endpoint, std::string user_agent) : parts_(std::make_unique<Parts>()) {
  static std::once_flag once;
  std::call_once(once, [] { curl_global_init(CURL_GLOBAL_DEFAULT); });
  parts_->endpoint = std::move(endpoint);
  parts_->user_agent = std::move(user_agent);
  parts_->multi = curl_multi_init();
  parts_->easy = curl_easy_init();
}

Client::~Client() {
  curl_easy_cleanup(parts_->easy);
  curl_multi_cleanup(parts_->multi);
}

Status Client::Parts::Prepare(const Request& request, Headers& headers, Transfer& transfer) {
  if (multi == nullptr || easy == nullptr) return Fail(Code::kInternal, "libcurl gives no handle");
  curl_easy_reset(easy);  // connections stay
  const auto set = [this](CURLoption option, auto value) { curl_easy_setopt(easy, option, value); };
  headers.Add("Accept: " + request.accept);
  headers.Add("Expect:");
  if (!endpoint.token_file.empty()) {
    RAIL_ASSIGN(const std::string token, ReadToken(endpoint.token_file));
    headers.Add("Authorization: Bearer " + token);
  }
  if (!request.body.empty()) {
    headers.Add("Content-Type: " + request.content_type);
    set(CURLOPT_POSTFIELDSIZE, static_cast<long>(request.body.size()));
    set(CURLOPT_POSTFIELDS, request.body.c_str());
  }
  set(CURLOPT_CUSTOMREQUEST, request.method.c_str());
  set(CURLOPT_HTTPHEADER, headers.get());
  set(CURLOPT_URL, (endpoint.url + request.path).c_str());
  set(CURLOPT_USERAGENT, user_agent.c_str());
  set(CURLOPT_PROTOCOLS_STR, "http,https");
  set(CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1));
  set(CURLOPT_ACCEPT_ENCODING, transfer.bytes == nullptr ? "gzip" : nullptr);
  set(CURLOPT_NOSIGNAL, 1L);
  set(CURLOPT_NOPROXY, "*");  // the API server is inside the cluster, whatever the environment says
  set(CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(std::chrono::milliseconds(kConnect).count()));
  set(CURLOPT_TIMEOUT_MS,
      static_cast<long>(std::chrono::ceil<std::chrono::milliseconds>(request.limit).count()));
  set(CURLOPT_SOCKOPTFUNCTION, &OnSocket);
  if (!endpoint.ca_file.empty()) {
    if (::access(endpoint.ca_file.c_str(), R_OK) != 0)
      return FailErrno(errno, "open the authority that the API server is checked against, " +
                                  endpoint.ca_file + " (is the service account mounted?)");
    set(CURLOPT_CAINFO, endpoint.ca_file.c_str());
    set(CURLOPT_CAPATH, nullptr);  // else libcurl believes each authority of the system as well
  }
  set(CURLOPT_WRITEFUNCTION, &OnBody);
  set(CURLOPT_WRITEDATA, static_cast<void*>(&transfer));
  set(CURLOPT_HEADERFUNCTION, &OnHeader);
  set(CURLOPT_HEADERDATA, static_cast<void*>(&transfer));
  problem[0] = '\0';
  set(CURLOPT_ERRORBUFFER, static_cast<char*>(problem));
  return {};
}

Status Client::Parts::Run(const Request& request, const Transfer& transfer) {
  int running = 1;
  while (running > 0) {
    if (stopped) return Fail(Code::kTransient, "raild ends");
    const bool bounded = request.silence > Clock::duration{};
    const Deadline silent = transfer.heard + request.silence;
    if (bounded && Clock::now() >= silent) {
      const auto time = std::chrono::duration_cast<std::chrono::seconds>(request.silence);
      return Fail(Code::kTransient, "nothing has come for " + std::to_string(time.count()) + " s");
    }
    if (const CURLMcode code = curl_multi_perform(multi, &running); code != CURLM_OK)
      return Fail(Code::kInternal, curl_multi_strerror(code));
    if (running > 0)
      curl_multi_poll(multi, nullptr, 0, bounded ? std::min(kPoll, PollTimeout(silent)) : kPoll, nullptr);
  }
  int left = 0;
  const CURLMsg* const message = curl_multi_info_read(multi, &left);
  if (message == nullptr) return Fail(Code::kInternal, "libcurl does not say how the request ended");
  if (message->data.result == CURLE_OK) return {};
  return Fail(Code::kTransient,
              problem[0] != '\0' ? std::string(problem) : curl_easy_strerror(message->data.result));
}

Result<Answer> Client::Ask(const Request& request) {
  return Stream(request, nullptr);
}

Result<Answer> Client::Stream(const Request& request, const Bytes& bytes) {
  const std::string doing = request.method + " " + parts_->endpoint.url + request.path;
  Transfer transfer{.easy = parts_->easy,
                    .bytes = bytes ? &bytes : nullptr,
                    .max_bytes = request.max_bytes,
                    .heard = Clock::now(),
                    .answer = {},
                    .failed = {}};
  Headers headers;
  RAIL_TRY_AS(parts_->Prepare(request, headers, transfer), doing);
  curl_multi_add_handle(parts_->multi, parts_->easy);
  const Status ran = parts_->Run(request, transfer);
  curl_easy_getinfo(parts_->easy, CURLINFO_RESPONSE_CODE, &transfer.answer.status);
  curl_off_t retry_after = 0;
  curl_easy_getinfo(parts_->easy, CURLINFO_RETRY_AFTER, &retry_after);
  if (retry_after > 0) transfer.answer.retry_after = std::chrono::seconds(retry_after);
  curl_multi_remove_handle(parts_->multi, parts_->easy);
  RAIL_TRY_AS(transfer.failed, doing);
  RAIL_TRY_AS(ran, doing);
  return std::move(transfer.answer);
}

void Client::Stop() {
  parts_->stopped = true;
  curl_multi_wakeup(parts_->multi);
}

bool Client::stopped() const {
  return parts_->stopped;
}

std::string Escaped(std::string_view text) {
  constexpr char kHex[] = "0123456789ABCDEF";
  std::string out;
  for (const char c : text) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '-' || c == '_' || c == '.' || c == '~';
    if (plain) {
      out += c;
    } else {
      const auto byte = static_cast<unsigned char>(c);
      out += {'%', kHex[byte >> 4], kHex[byte & 15]};
    }
  }
  return out;
}

Error ErrorOf(const Answer& answer) {
  const auto code = [status = answer.status] {
    if (status == 401 || status == 403) return Code::kPermission;
    if (status == 404) return Code::kNotFound;
    if (status == 409) return Code::kExists;
    if (status == 408 || status == 410 || status == 429 || status >= 500) return Code::kTransient;
    return Code::kInvalid;
  };
  std::string words;
  if (const auto document = ParseJson(answer.body); document && document->is_object()) {
    const auto message = document->find("message");
    if (message != document->end() && message->is_string()) words = message->get<std::string>();
  }
  return {code(),
          "the API server answers " + std::to_string(answer.status) + (words.empty() ? "" : ": ") +
              words.substr(0, 512),
          0};
}

}  // namespace rail::kubernetes
