// The listener over TCP: who is let in, files that change under it, and each limit. Certificates are made by openssl(1).
#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <list>
#include <sstream>
#include <thread>

#include "cmd/railctl/railctl.h"
#include "lib/base/clock.h"
#include "lib/base/fd.h"
#include "lib/inspect/certificate.h"
#include "rail/v1/node.grpc.pb.h"
#include "test/api/served.h"

namespace rail {
namespace {

using grpc::StatusCode;
using testing::HasSubstr;

std::string Slurp(const std::string& path) {
  std::ifstream file(path);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

// A port of 127.0.0.1 that nobody has now.
uint16_t FreePort() {
  const Fd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{
      .sin_family = AF_INET, .sin_port = 0, .sin_addr = {htonl(INADDR_LOOPBACK)}, .sin_zero = {}};
  socklen_t size = sizeof address;
  EXPECT_EQ(::bind(fd.get(), reinterpret_cast<sockaddr*>(&address), size), 0);
  EXPECT_EQ(::getsockname(fd.get(), reinterpret_cast<sockaddr*>(&address), &size), 0);
  return ntohs(address.sin_port);
}

// gRPC looks at the files every 5 s.
template <class F>
bool Eventually(const F& so) {
  const Deadline deadline = After(std::chrono::seconds(40));
  while (!so()) {
    if (Clock::now() >= deadline) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
  }
  return true;
}

// An authority and what it has signed, in a folder.
class Authority {
 public:
  Authority(std::string folder, std::string name) : folder_(std::move(folder)), name_(std::move(name)) {
    Run("openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 30 -subj /CN=" + name_ +
        " -keyout " + Key(name_) + " -out " + Certificate(name_));
  }
  // For 127.0.0.1.
  void Sign(const std::string& who, int days = 30) const {
    Run("openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=" + who + " -keyout " +
        Key(who) + " -out " + folder_ + "/" + who + ".csr");
    std::ofstream(folder_ + "/san") << "subjectAltName=IP:127.0.0.1\n";
    Run("openssl x509 -req -in " + folder_ + "/" + who + ".csr -CA " + Certificate(name_) + " -CAkey " +
        Key(name_) + " -CAcreateserial -days " + std::to_string(days) + " -extfile " + folder_ +
        "/san -out " + Certificate(who));
    ::chmod(Key(who).c_str(), 0600);
  }
  std::string Certificate(const std::string& who) const { return folder_ + "/" + who + ".crt"; }
  std::string Key(const std::string& who) const { return folder_ + "/" + who + ".key"; }

 private:
  static void Run(const std::string& command) {
    ASSERT_EQ(std::system((command + " >/dev/null 2>&1").c_str()), 0) << command;
  }
  std::string folder_;
  std::string name_;
};

class TcpTest : public Served {
 protected:
  void SetUp() override {
    Served::SetUp();
    ca_ = std::make_unique<Authority>(root_, "ca");
    ca_->Sign("server");
    ca_->Sign("client");
    servers_ca_ = Slurp(ca_->Certificate("ca"));
    port_ = FreePort();
    config_.api = {.listen = "127.0.0.1:" + std::to_string(port_),
                   .cert_file = ca_->Certificate("server"),
                   .key_file = ca_->Key("server"),
                   .client_ca_file = ca_->Certificate("ca")};
  }

  // A connection of its own: gRPC would share one among channels that look the same.
  std::unique_ptr<v1::Node::Stub> Connect(const std::string& cert, const std::string& key) {
    grpc::SslCredentialsOptions tls{
        .pem_root_certs = servers_ca_, .pem_private_key = Slurp(key), .pem_cert_chain = Slurp(cert)};
    return Connect(grpc::SslCredentials(tls));
  }
  std::unique_ptr<v1::Node::Stub> Connect(const std::shared_ptr<grpc::ChannelCredentials>& credentials) {
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    return v1::Node::NewStub(grpc::CreateCustomChannel(config_.api.listen, credentials, arguments));
  }
  std::unique_ptr<v1::Node::Stub> AsClient() {
    return Connect(ca_->Certificate("client"), ca_->Key("client"));
  }

  static grpc::Status Ask(v1::Node::Stub& node) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(20));
    v1::ListRailsResponse response;
    return node.ListRails(&context, {}, &response);
  }

  std::unique_ptr<Authority> ca_;
  std::string servers_ca_;  // what clients check raild by
  uint16_t port_ = 0;
};

TEST_F(TcpTest, ServesAClientOfTheAuthority) {
  Start();
  const grpc::Status status = Ask(*AsClient());
  EXPECT_TRUE(status.ok()) << status.error_message();
}

TEST_F(TcpTest, RailctlAsksOverTcp) {
  Start();
  railctl::Flags flags;
  flags.command = railctl::Command::kRails;
  flags.server = config_.api.listen;
  flags.ca_file = ca_->Certificate("ca");
  flags.cert_file = ca_->Certificate("client");
  flags.key_file = ca_->Key("client");
  std::ostringstream out, err;
  EXPECT_EQ(railctl::Run(flags, out, err, [] { return int64_t{0}; }), railctl::kDone) << err.str();
  EXPECT_THAT(out.str(), HasSubstr("br-rail0"));
  flags.ca_file = ca_->Certificate("client");  // did not sign raild's
  EXPECT_EQ(railctl::Run(flags, out, err, [] { return int64_t{0}; }), railctl::kFailed);
  EXPECT_THAT(err.str(), HasSubstr("raild at " + flags.server));
  flags.key_file = root_ + "/nothing";
  EXPECT_EQ(railctl::Run(flags, out, err, [] { return int64_t{0}; }), railctl::kFailed);
  EXPECT_THAT(err.str(), HasSubstr("read " + root_ + "/nothing"));
}

TEST_F(TcpTest, RefusesEveryoneElse) {
  Start();
  Authority other(root_, "other");
  other.Sign("stranger");
  grpc::SslCredentialsOptions nobody{
      .pem_root_certs = Slurp(ca_->Certificate("ca")), .pem_private_key = "", .pem_cert_chain = ""};
  EXPECT_EQ(Ask(*Connect(other.Certificate("stranger"), other.Key("stranger"))).error_code(),
            StatusCode::UNAVAILABLE)
      << "a certificate of another authority";
  EXPECT_EQ(Ask(*Connect(grpc::SslCredentials(nobody))).error_code(), StatusCode::UNAVAILABLE)
      << "no certificate";
  EXPECT_EQ(Ask(*Connect(grpc::InsecureChannelCredentials())).error_code(), StatusCode::UNAVAILABLE)
      << "no TLS";
  EXPECT_TRUE(Ask(*AsClient()).ok());
}

TEST_F(TcpTest, DoesNotStartWithoutEachOfItsFiles) {
  const config::Api right = config_.api;
  const auto why = [&](const config::Api& api) {
    config_.api = api;
    server_.reset();
    const auto server = raild::Server::Start(Sources(), socket_);
    EXPECT_FALSE(server);
    return server ? "" : server.error().message;
  };
  config::Api api = right;
  api.client_ca_file = root_ + "/nothing";
  EXPECT_THAT(why(api),
              HasSubstr("the authority of the other side: read " + root_ + "/nothing: No such file"));
  std::ofstream(root_ + "/empty") << "";
  api.client_ca_file = root_ + "/empty";
  EXPECT_THAT(why(api), HasSubstr("holds no certificate"));
  api = right;
  api.key_file = ca_->Key("client");
  EXPECT_THAT(why(api), HasSubstr("is not that of the certificate"));
  api = right;
  api.cert_file = ca_->Key("server");
  EXPECT_THAT(why(api), HasSubstr("holds no certificate"));
  ::chmod(right.key_file.c_str(), 0644);
  EXPECT_THAT(why(right), HasSubstr("can be used by everybody"));
}

TEST_F(TcpTest, DoesNotShareAPortWithAnotherProcess) {
  Start();
  config::NodeConfig config = config_;
  const auto second =
      raild::Server::Start({views_, config, inspector_, sampler_, nullptr}, root_ + "/second.sock");
  ASSERT_FALSE(second);
  EXPECT_THAT(second.error().message, HasSubstr(config_.api.listen));
}

TEST_F(TcpTest, TakesUpFilesThatHaveChangedWithoutARestart) {
  Start();
  const auto connected = AsClient();
  ASSERT_TRUE(Ask(*connected).ok());
  Authority next(root_, "next");
  next.Sign("server2");
  next.Sign("client2");

  // Half of a renewal: the key belongs to no certificate yet. Nobody is let in, least of all without TLS.
  std::filesystem::copy_file(config_.api.key_file, root_ + "/old.key");
  std::filesystem::rename(next.Key("server2"), config_.api.key_file);
  EXPECT_TRUE(Eventually([&] { return !Ask(*AsClient()).ok(); }));
  EXPECT_FALSE(Ask(*Connect(grpc::InsecureChannelCredentials())).ok());
  EXPECT_FALSE(Ask(*Connect(next.Certificate("client2"), next.Key("client2"))).ok());
  EXPECT_TRUE(Ask(*connected).ok()) << "who is connected stays so";

  std::filesystem::copy_file(config_.api.key_file, next.Key("server2"));
  std::filesystem::rename(root_ + "/old.key", config_.api.key_file);
  EXPECT_TRUE(Eventually([&] { return Ask(*AsClient()).ok(); })) << "taken back";

  std::filesystem::rename(next.Key("server2"), config_.api.key_file);
  std::filesystem::rename(next.Certificate("server2"), config_.api.cert_file);
  std::filesystem::copy_file(next.Certificate("next"), config_.api.client_ca_file,
                             std::filesystem::copy_options::overwrite_existing);
  servers_ca_ = Slurp(next.Certificate("next"));
  EXPECT_TRUE(
      Eventually([&] { return Ask(*Connect(next.Certificate("client2"), next.Key("client2"))).ok(); }));
  EXPECT_FALSE(Ask(*AsClient()).ok()) << "its authority has gone";
  EXPECT_TRUE(Ask(*connected).ok());
}

// A file that says nothing is no authority: neither everybody nor nobody's certificate is taken.
TEST_F(TcpTest, AnAuthorityThatCannotBeReadLetsNobodyNewIn) {
  Start();
  Authority other(root_, "other");
  other.Sign("stranger");
  std::ofstream(config_.api.client_ca_file) << "no certificate";
  EXPECT_TRUE(Eventually([&] { return !Ask(*AsClient()).ok(); }));
  EXPECT_FALSE(Ask(*Connect(other.Certificate("stranger"), other.Key("stranger"))).ok());
  EXPECT_FALSE(Ask(*Connect(grpc::InsecureChannelCredentials())).ok());
}

TEST_F(TcpTest, RefusesAnOversizedRequest) {
  Start();
  const auto node = AsClient();
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(20));
  v1::ListRemotesRequest request;
  request.set_page_token(std::string(1 << 20, 'x'));
  v1::ListRemotesResponse response;
  EXPECT_EQ(node->ListRemotes(&context, request, &response).error_code(), StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_TRUE(Ask(*node).ok());
}

TEST_F(TcpTest, RefusesOversizedHeaders) {
  Start();
  const auto node = AsClient();
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(20));
  context.AddMetadata("x-large", std::string(32 << 10, 'x'));
  v1::ListRailsResponse response;
  EXPECT_FALSE(node->ListRails(&context, {}, &response).ok());
  EXPECT_TRUE(Ask(*AsClient()).ok());
}

// One WatchAttachments.
struct Watcher {
  explicit Watcher(v1::Node::Stub& node) {
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(30));
    reader = node.WatchAttachments(&context, {});
  }
  bool Next() {
    v1::WatchAttachmentsResponse event;
    return reader->Read(&event);
  }
  grpc::ClientContext context;
  std::unique_ptr<grpc::ClientReader<v1::WatchAttachmentsResponse>> reader;
};

TEST_F(TcpTest, WatchersOverTcpLeaveThePlacesOfTheSocketFree) {
  Start();
  const auto node = AsClient();
  std::list<Watcher> watchers;
  for (int i = 0; i < 32; ++i) EXPECT_TRUE(watchers.emplace_back(*node).Next()) << i;
  Watcher refused(*node);
  EXPECT_FALSE(refused.Next());
  EXPECT_EQ(refused.reader->Finish().error_code(), StatusCode::RESOURCE_EXHAUSTED);

  const auto local =
      v1::Node::NewStub(grpc::CreateChannel("unix:" + socket_, grpc::InsecureChannelCredentials()));
  Watcher admitted(*local);
  EXPECT_TRUE(admitted.Next());
  admitted.context.TryCancel();
  for (Watcher& watcher : watchers) watcher.context.TryCancel();
}

TEST_F(TcpTest, NoMoreCallsOfAConnectionThanItsStreams) {
  Start();
  const auto node = AsClient();
  // 32 of them watch; the others end at once and free their streams. A 129th stream waits and is not lost.
  std::list<Watcher> watchers;
  for (int i = 0; i < 200; ++i) watchers.emplace_back(*node);
  EXPECT_TRUE(Ask(*node).ok());
  for (Watcher& watcher : watchers) watcher.context.TryCancel();
}

TEST_F(TcpTest, ASlowWatcherCostsTheEventsOfOneComparison) {
  engine::NodeView view = SampleView();
  view.attachments.resize(1);
  view.attachments[0].attachment.pod_uid = std::string(200000, 'u');
  views_.Publish(view);
  Start();
  const auto node = AsClient();
  Watcher watcher(*node);
  EXPECT_TRUE(watcher.Next());  // ADDED
  EXPECT_TRUE(watcher.Next());  // SYNCED
  constexpr int kViews = 500;
  for (int i = 1; i <= kViews; ++i) {
    view.attachments[0].attachment.ofport = static_cast<uint16_t>(i);
    views_.Publish(view);
  }
  view.attachments.clear();
  views_.Publish(view);
  int told = 0;
  v1::WatchAttachmentsResponse event;
  while (watcher.reader->Read(&event) && event.type() != v1::WatchAttachmentsResponse::DELETED) ++told;
  EXPECT_EQ(event.type(), v1::WatchAttachmentsResponse::DELETED);
  EXPECT_LT(told, kViews / 2);
  watcher.context.TryCancel();
}

TEST_F(TcpTest, HangsUpOnWhoConnectsAndSaysNothing) {
  Start();
  const Fd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const sockaddr_in address{
      .sin_family = AF_INET, .sin_port = htons(port_), .sin_addr = {htonl(INADDR_LOOPBACK)}, .sin_zero = {}};
  ASSERT_EQ(::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  pollfd silent{.fd = fd.get(), .events = POLLIN | POLLRDHUP, .revents = 0};
  ASSERT_EQ(::poll(&silent, 1, 30000), 1) << "it was never hung up on";
  char byte = 0;
  EXPECT_LE(::read(fd.get(), &byte, 1), 0);
}

TEST_F(TcpTest, ACertificateSaysHowLongItIsValid) {
  ca_->Sign("short", 3);
  const auto validity = inspect::ReadValidity(ca_->Certificate("short"));
  ASSERT_TRUE(validity) << validity.error().message;
  EXPECT_EQ(validity->until_ms - validity->from_ms, 3LL * 86400 * 1000);
  EXPECT_THAT(validity->subject, HasSubstr("CN=short"));
  EXPECT_EQ(inspect::ReadValidity(root_ + "/nothing").error().code, Code::kNotFound);
  EXPECT_EQ(inspect::ReadValidity(ca_->Key("short")).error().code, Code::kInvalid);
}

}  // namespace
}  // namespace rail
