// A fleet of railds for tests of railfabric: WatchState and ListRemotes of each node on a socket of its own, with documents that change, and
// faults on command.
//
// Use:      fabric_fleet FOLDER NODES CHANGES-A-SECOND [CA CERT KEY]
//           It writes FOLDER/nodes.json (`nodes` of railfabric.json) and says "ready". Then each line of stdin is a command, and is answered
//           with a line:
//             break LEAF | mend                 the leaf's rails have no session; all is well again
//             away NODE | back NODE             its raild is gone; it is there again
//             lose NODE RAIL                    the rail loses its carrier for a moment; the answer is how often it has
//             unlearn NODE ADDRESS              the node has not learned the address
//             changes NUMBER                    so many documents change each second from now on
//           It ends with stdin. With certificates it serves TCP on ports of 127.0.0.1 that are free, with mutual TLS.
#include <arpa/inet.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "lib/base/clock.h"
#include "lib/base/fd.h"
#include "lib/rpc/tls.h"
#include "test/fabric/fleet_node.h"

namespace rail::fleet {
namespace {

constexpr std::chrono::milliseconds kTick{100};  // between changes

std::string FreePort() {
  const Fd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{
      .sin_family = AF_INET, .sin_port = 0, .sin_addr = {htonl(INADDR_LOOPBACK)}, .sin_zero = {}};
  socklen_t size = sizeof address;
  if (::bind(fd.get(), reinterpret_cast<sockaddr*>(&address), size) != 0 ||
      ::getsockname(fd.get(), reinterpret_cast<sockaddr*>(&address), &size) != 0)
    return "0";
  return std::to_string(ntohs(address.sin_port));
}

class Fleet {
 public:
  Fleet(std::string folder, uint32_t nodes, double changes, rpc::TlsFiles tls)
      : folder_(std::move(folder)), tls_(std::move(tls)), changes_(changes) {
    fabric_.nodes = nodes;
    for (uint32_t i = 0; i < nodes; ++i) {
      nodes_.push_back(std::make_unique<Node>(fabric_, i));
      where_.push_back(tls_.empty() ? "unix:" + folder_ + "/" + fabric_.NameOf(i)
                                    : "127.0.0.1:" + FreePort());
    }
  }

  bool Serve() {
    for (size_t i = 0; i < nodes_.size(); ++i) {
      if (!ServeOne(i)) return false;
    }
    std::ofstream file(folder_ + "/nodes.json");
    for (size_t i = 0; i < nodes_.size(); ++i)
      file << (i == 0 ? "[" : ",\n") << R"({"name": ")" << NameOf(i) << R"(", "raild": ")" << where_[i]
           << "\"}";
    file << "]\n";
    return file.good();
  }

  // Until the end of stdin.
  void Run() {
    Deadline next = Clock::now();
    std::string text;
    for (;;) {
      pollfd in{STDIN_FILENO, POLLIN, 0};
      if (::poll(&in, 1, PollTimeout(next)) > 0) {
        char buffer[4096];
        const ssize_t n = ::read(STDIN_FILENO, buffer, sizeof buffer);
        if (n <= 0) return;
        text.append(buffer, static_cast<size_t>(n));
        for (size_t end = text.find('\n'); end != std::string::npos; end = text.find('\n')) {
          std::cout << Do(text.substr(0, end)) << std::endl;
          text.erase(0, end + 1);
        }
      }
      if (Clock::now() < next) continue;
      next += kTick;
      Change();
    }
  }

 private:
  std::string NameOf(size_t i) const { return fabric_.NameOf(static_cast<uint32_t>(i)); }
  bool ServeOne(size_t i) {
    std::shared_ptr<grpc::ServerCredentials> credentials;
    if (!tls_.empty()) {
      auto made = rpc::ServerTls(tls_);
      if (!made) return false;
      credentials = *made;
    }
    return nodes_[i]->Serve(where_[i], credentials);
  }
  Node* Find(const std::string& name) {
    const size_t number = name.size() > 1 ? std::strtoul(name.c_str() + 1, nullptr, 10) : 0;
    return number == 0 || number > nodes_.size() ? nullptr : nodes_[number - 1].get();
  }
  // So many nodes that in a second as many have changed as was asked for.
  void Change() {
    owed_ += changes_ * 0.1;
    for (; owed_ >= 1; owed_ -= 1) {
      Node& node = *nodes_[random_() % nodes_.size()];
      (void)node.Lose(static_cast<uint32_t>(random_() % fabric_.rails));
    }
  }
  void AllRailsChanged() {
    for (const auto& node : nodes_) node->Changed(v1::WatchStateResponse::RAILS);
  }

  std::string Do(const std::string& line) {
    std::istringstream words(line);
    std::string what;
    std::string whom;
    std::string more;
    words >> what >> whom >> more;
    if (what == "mend") {
      const std::lock_guard lock(fabric_.mutex);
      fabric_.broken.clear();
      fabric_.unlearned.clear();
    } else if (what == "break") {
      const std::lock_guard lock(fabric_.mutex);
      fabric_.broken.insert(whom);
    } else if (what == "changes") {
      changes_ = std::strtod(whom.c_str(), nullptr);
    } else {
      return OfNode(what, whom, more);
    }
    if (what != "changes") AllRailsChanged();
    return "ok";
  }

  std::string OfNode(const std::string& what, const std::string& name, const std::string& more) {
    Node* node = Find(name);
    if (node == nullptr) return "no node " + name;
    if (what == "away") {
      node->End();
    } else if (what == "back") {
      return ServeOne(node->number()) ? "ok" : "cannot serve";
    } else if (what == "lose") {
      return std::to_string(node->Lose(static_cast<uint32_t>(std::strtoul(more.c_str() + 4, nullptr, 10))));
    } else if (what == "unlearn") {
      const std::lock_guard lock(fabric_.mutex);
      fabric_.unlearned.insert({name, more});
    } else {
      return "no command " + what;
    }
    return "ok";
  }

  const std::string folder_;
  const rpc::TlsFiles tls_;
  Fabric fabric_;
  std::vector<std::unique_ptr<Node>> nodes_;
  std::vector<std::string> where_;
  double changes_;  // a second
  double owed_ = 0;
  std::mt19937 random_{17};
};

int Main(const std::vector<std::string>& words) {
  if (words.size() != 3 && words.size() != 6) {
    std::cerr << "usage: fabric_fleet FOLDER NODES CHANGES-A-SECOND [CA CERT KEY]\n";
    return 2;
  }
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
  rpc::TlsFiles tls;
  if (words.size() == 6) tls = {words[3], words[4], words[5]};
  Fleet fleet(words[0], static_cast<uint32_t>(std::strtoul(words[1].c_str(), nullptr, 10)),
              std::strtod(words[2].c_str(), nullptr), tls);
  if (!fleet.Serve()) {
    std::cerr << "fabric_fleet: cannot serve\n";
    return 1;
  }
  std::cout << "ready" << std::endl;
  fleet.Run();
  return 0;
}

}  // namespace
}  // namespace rail::fleet

int main(int argc, char** argv) {
  return rail::fleet::Main({argv + 1, argv + argc});
}
