#include "cmd/railctl/accept/agent.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <csignal>
#include <iostream>
#include <sstream>
#include <thread>

#include "cmd/railctl/accept/testing/agents.h"

namespace rail::accept::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST_F(AcceptAgent, DescribesThePod) {
  Shell(a_, "ip link set net1 mtu 4200 address 02:00:5e:10:00:01");
  fs::create_directories(folder_ + "/sys/class/infiniband/rdma0/ports/1");
  AgentProcess agent(a_, {.listen = At("a"), .sysfs = folder_ + "/sys", .path = "/nowhere:" + folder_});
  std::ofstream(folder_ + "/ib_read_lat") << "#!/bin/sh\n";
  ::chmod((folder_ + "/ib_read_lat").c_str(), 0755);
  v1::DescribeAgentResponse pod;
  ASSERT_TRUE(agent.Ask(&v1::AcceptAgent::Stub::DescribeAgent, {}, pod).ok());
  ASSERT_EQ(pod.interfaces_size(), 1);
  EXPECT_EQ(pod.interfaces(0).name(), "net1");
  EXPECT_EQ(pod.interfaces(0).mac(), "02:00:5e:10:00:01");
  EXPECT_THAT(pod.interfaces(0).addresses(), ElementsAre("10.0.0.1", "fd00::1"));
  EXPECT_EQ(pod.interfaces(0).mtu(), 4200U);
  ASSERT_EQ(pod.rdma_devices_size(), 1);
  EXPECT_EQ(pod.rdma_devices(0).name(), "rdma0");
  EXPECT_EQ(pod.rdma_devices(0).gid_index(), -1);
  EXPECT_THAT(pod.programs(), ElementsAre("ib_read_lat"));
  EXPECT_EQ(pod.echo_port(), 4792U);
  EXPECT_THAT(pod.version(), ::testing::ContainsRegex("^[0-9]+\\.[0-9]+"));
  EXPECT_NE(pod.kernel(), "");
}

TEST_F(AcceptAgent, CountsAFrameOfAnotherPodByItsMarkOnce) {
  Watch watch(B(), {kMark, kOtherMark});
  const auto first = watch.Next();
  ASSERT_EQ(first.counts_size(), 2) << "the first answer comes before any frame";
  EXPECT_EQ(first.counts(0).frames() + first.counts(1).frames(), 0U);

  const std::string marked = Frame("before " + kMark + std::string(200, '.'));
  EXPECT_EQ(Send(A(), {Frame("no mark at all"), marked}), 2U);
  const auto counted = watch.Until(0, 1);
  ASSERT_EQ(counted.counts_size(), 2);
  EXPECT_EQ(counted.counts(0).newest(), marked.substr(0, 128));
  EXPECT_EQ(counted.counts(0).interface(), "net1");

  // Frames keep their order: when this one has come, the others would have.
  EXPECT_EQ(Send(A(), {Frame(kOtherMark)}, 3), 3U);
  const auto last = watch.Until(1, 3);
  ASSERT_EQ(last.counts_size(), 2);
  EXPECT_EQ(last.counts(0).frames(), 1U);
  EXPECT_EQ(last.counts(1).frames(), 3U);
  EXPECT_EQ(last.counts(1).newest(), Frame(kOtherMark));
  watch.End();
}

TEST_F(AcceptAgent, DoesNotCountWhatThePodItselfSends) {
  Watch watch(A(), {kMark, kOtherMark});
  watch.Next();
  Send(A(), {Frame(kMark)});
  Send(B(), {Frame(kOtherMark)});
  const auto last = watch.Until(1, 1);
  ASSERT_EQ(last.counts_size(), 2);
  EXPECT_EQ(last.counts(0).frames(), 0U);
  watch.End();
}

TEST_F(AcceptAgent, CountsManyFramesWithoutLosingOne) {
  Watch watch(B(), {kMark});
  watch.Next();
  const std::vector<std::string> frames(1000, Frame(kMark));
  EXPECT_EQ(Send(A(), frames, 10), 10'000U);
  EXPECT_EQ(watch.Until(0, 10'000).counts(0).frames(), 10'000U);
  watch.End();
}

TEST_F(AcceptAgent, EndsTheWatchOfACallerWhoEndsIt) {
  Watch watch(B(), {kMark});
  watch.Next();
  EXPECT_EQ(B().Sockets("packet"), 1);
  EXPECT_EQ(watch.End().error_code(), StatusCode::CANCELLED);
  EXPECT_TRUE(Eventually([&] { return B().Sockets("packet") == 0; }));
  Watch second(B(), {kMark});
  EXPECT_EQ(second.Next().counts_size(), 1);
  second.End();
}

TEST_F(AcceptAgent, EndsWithAWatchAndAnEchoUnderWay) {
  Watch watch(B(), {kMark});
  watch.Next();
  auto request = EchoTo("10.0.0.1");
  request.set_datagrams(100'000);
  request.set_pause_us(1'000'000);
  grpc::Status echo;
  std::thread asks([&] {
    v1::EchoResponse response;
    grpc::ClientContext context;
    echo = B().stub().Echo(&context, request, &response);
  });
  EXPECT_TRUE(Eventually([&] { return B().Sockets("udp") == 2; })) << "the echo's, and the call's";
  EXPECT_EQ(B().Stop(SIGTERM), 0);
  asks.join();
  EXPECT_FALSE(echo.ok());
  EXPECT_FALSE(watch.Finish().ok());
  EXPECT_FALSE(fs::exists(folder_ + "/b")) << "the socket file goes with the agent";
  b_agent_.reset();
}

TEST_F(AcceptAgent, RefusesFramesThatAreNoneByTheirKey) {
  v1::SendFramesRequest good;
  good.set_interface("net1");
  good.add_frames(Frame(kMark));
  const auto refused = [&](const std::string& key, const std::function<void(v1::SendFramesRequest&)>& spoil) {
    ExpectRefused(&v1::AcceptAgent::Stub::SendFrames, good, key, spoil);
  };
  refused("interface", [](auto& request) { request.set_interface("net9"); });
  refused("frames", [](auto& request) { request.clear_frames(); });
  refused("frames", [](auto& request) { request.add_frames(std::string(13, 'x')); });
  refused("frames", [](auto& request) { request.add_frames(std::string(9701, 'x')); });
  refused("frames", [](auto& request) { request.add_frames(std::string(9700, 'x')); });
  refused("frames", [](auto& request) {
    for (int i = 0; i < 10'000; ++i) request.add_frames(Frame(kMark));
  });
  refused("rounds", [](auto& request) { request.set_rounds(1001); });

  const auto watch = [&](const std::string& key, const std::vector<std::string>& marks,
                         const std::string& interface) {
    v1::WatchFramesRequest request;
    if (!interface.empty()) request.add_interfaces(interface);
    for (const std::string& mark : marks) request.add_marks(mark);
    grpc::ClientContext context;
    const auto reader = A().stub().WatchFrames(&context, request);
    v1::WatchFramesResponse response;
    EXPECT_FALSE(reader->Read(&response));
    const grpc::Status status = reader->Finish();
    EXPECT_EQ(status.error_code(), StatusCode::INVALID_ARGUMENT);
    EXPECT_THAT(status.error_message(), StartsWith(key));
  };
  watch("interfaces", {kMark}, "net9");
  watch("interfaces", {kMark}, "");
  watch("marks", {}, "net1");
  watch("marks", {"7 bytes"}, "net1");
  watch("marks", {std::string(65, 'x')}, "net1");
  watch("marks", std::vector<std::string>(65, kMark), "net1");
}

TEST_F(AcceptAgent, ServesOnASocketOfItsOwnUserAlone) {
  EXPECT_EQ(A().said(), "listening on " + At("a") + "\n");
  struct stat info{};
  ASSERT_EQ(::stat((folder_ + "/a").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777U, 0600U);
  EXPECT_EQ(A().Stop(SIGINT), 0);
  a_agent_.reset();
  EXPECT_FALSE(fs::exists(folder_ + "/a"));
}

TEST_F(AcceptAgent, RefusesTcpWithoutEachFileOfMutualTls) {
  for (int without = 0; without < 3; ++without) {
    AgentOptions options{.listen = "127.0.0.1:0", .ca_file = "ca", .cert_file = "cert", .key_file = "key"};
    (without == 0 ? options.ca_file : without == 1 ? options.cert_file : options.key_file).clear();
    std::ostringstream out;
    const auto served = ServeAgent(options, out);
    ASSERT_FALSE(served);
    EXPECT_EQ(served.error().code, Code::kInvalid);
    EXPECT_THAT(served.error().message, HasSubstr("any frame"));
    EXPECT_EQ(out.str(), "");
  }
}

TEST_F(AcceptAgent, LetsInByTcpWhoHasACertificateOfTheAuthority) {
  Shell(a_, "cd " + folder_ +
                " && exec 2>/dev/null && openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 "
                "-nodes -days 2 -subj /CN=agent "
                "-addext subjectAltName=DNS:agent -keyout key -out cert");
  const auto slurp = [&](const std::string& name) {
    std::ifstream file(folder_ + "/" + name);
    return std::string(std::istreambuf_iterator<char>(file), {});
  };
  // The namespace of this process, in which its client is.
  const auto here = netns::Netns::Current();
  ASSERT_TRUE(here);
  const std::string cert = folder_ + "/cert";
  AgentProcess agent(*here, {.listen = "127.0.0.1:47920", .tls = {cert, cert, folder_ + "/key"}});
  EXPECT_EQ(agent.said(), "listening on 127.0.0.1:47920\n");
  v1::DescribeAgentResponse response;
  agent.Connect(
      grpc::SslCredentials({.pem_root_certs = slurp("cert"), .pem_private_key = "", .pem_cert_chain = ""}));
  EXPECT_EQ(agent.Ask(&v1::AcceptAgent::Stub::DescribeAgent, {}, response).error_code(),
            StatusCode::UNAVAILABLE);
  agent.Connect(grpc::SslCredentials(
      {.pem_root_certs = slurp("cert"), .pem_private_key = slurp("key"), .pem_cert_chain = slurp("cert")}));
  const grpc::Status status = agent.Ask(&v1::AcceptAgent::Stub::DescribeAgent, {}, response);
  EXPECT_TRUE(status.ok()) << status.error_message();
}

}  // namespace
}  // namespace rail::accept::testing

int main(int argc, char** argv) {
  if (argc >= 4 && std::string_view(argv[1]) == "--agent") {
    rail::accept::AgentOptions options{
        .listen = argv[2], .ca_file = "", .cert_file = "", .key_file = "", .sysfs = argv[3]};
    if (argc >= 7) {
      options.ca_file = argv[4];
      options.cert_file = argv[5];
      options.key_file = argv[6];
      if (argc == 8) options.raild = argv[7];
    }
    const auto served = rail::accept::ServeAgent(options, std::cout);
    if (!served) std::cout << served.error().message << std::endl;
    return served ? *served : 1;
  }
  ::testing::InitGoogleMock(&argc, argv);
  return RUN_ALL_TESTS();
}
