#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "cmd/railctl/accept/testing/agents.h"

namespace rail::accept::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST_F(AcceptAgent, RefusesAPerftestOutOfRangeByItsKey) {
  const auto refused = [&](const std::string& key,
                           const std::function<void(v1::RunPerftestRequest&)>& spoil) {
    ExpectRefused(&v1::AcceptAgent::Stub::RunPerftest, Perftest(), key, spoil);
  };
  refused("program", [](auto& request) { request.set_program("sh"); });
  refused("rdma_device", [](auto& request) { request.set_rdma_device("../../net"); });
  refused("rdma_device", [](auto& request) { request.set_rdma_device("--help"); });
  refused("server", [](auto& request) { request.set_server("--output=x"); });
  refused("port", [](auto& request) { request.set_port(1023); });
  refused("port", [](auto& request) { request.set_port(65'536); });
  refused("seconds", [](auto& request) { request.set_seconds(0); });
  refused("seconds", [](auto& request) { request.set_seconds(3601); });
  refused("message_bytes", [](auto& request) { request.set_message_bytes(1); });
  refused("message_bytes", [](auto& request) { request.set_message_bytes((8 << 20) + 1); });
  refused("datagrams", [](auto& request) { request.set_datagrams(true); });
}

TEST_F(AcceptAgent, NamesTheProgramOrTheDeviceThatThePodLacks) {
  AgentProcess without(a_, {.listen = At("w"), .path = "/nowhere"});
  v1::RunPerftestResponse response;
  grpc::Status status = without.Ask(&v1::AcceptAgent::Stub::RunPerftest, Perftest(), response);
  EXPECT_EQ(status.error_code(), StatusCode::FAILED_PRECONDITION);
  EXPECT_THAT(status.error_message(), HasSubstr("ib_write_bw"));

  AgentProcess with = WithProgram("true\n");
  auto request = Perftest();
  request.set_rdma_device("rdma9");
  status = with.Ask(&v1::AcceptAgent::Stub::RunPerftest, request, response);
  EXPECT_EQ(status.error_code(), StatusCode::FAILED_PRECONDITION);
  EXPECT_THAT(status.error_message(), HasSubstr("rdma9"));
}

TEST_F(AcceptAgent, RunsAProgramAndReadsItsReport) {
  AgentProcess agent = WithProgram(
      "echo \"given: $*\"\n"
      "echo ' #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]'\n"
      "echo ' 65536      1869472          0.00               392.06             0.747791'\n");
  v1::RunPerftestResponse response;
  const grpc::Status status = agent.Ask(&v1::AcceptAgent::Stub::RunPerftest, Perftest(), response);
  ASSERT_TRUE(status.ok()) << status.error_message();
  EXPECT_EQ(response.exit_status(), 0);
  EXPECT_EQ(response.gbps(), 392.06);
  EXPECT_EQ(response.command(), "ib_write_bw -d rdma0 -x 0 -p 18515 -F --report_gbits -D 1");
  EXPECT_THAT(response.output(), StartsWith("given: -d rdma0 -x 0 -p 18515 -F --report_gbits -D 1\n"));
}

TEST_F(AcceptAgent, HandsOutTheLastWordsOfAProgramThatFails) {
  AgentProcess agent =
      WithProgram("head -c 200000 /dev/zero | tr '\\0' '\\377'\necho 'no such GID' >&2\nexit 3\n");
  v1::RunPerftestResponse response;
  const grpc::Status status = agent.Ask(&v1::AcceptAgent::Stub::RunPerftest, Perftest(), response);
  ASSERT_TRUE(status.ok()) << status.error_message();
  EXPECT_EQ(response.exit_status(), 3);
  EXPECT_THAT(response.output(), ::testing::EndsWith("no such GID\n"));
  EXPECT_LE(response.output().size(), 3U * (64 << 10)) << "what is not UTF-8 has three bytes";
}

TEST_F(AcceptAgent, KillsTheProgramOfACallerWhoEndsTheCall) {
  AgentProcess agent = WithProgram("sleep 1000 &\necho $! > " + folder_ + "/child.part\nmv " + folder_ +
                                   "/child.part " + folder_ + "/child\nwait\n");
  grpc::ClientContext context;
  std::thread asks([&] {
    v1::RunPerftestResponse response;
    EXPECT_EQ(agent.stub().RunPerftest(&context, Perftest(), &response).error_code(), StatusCode::CANCELLED);
  });
  EXPECT_TRUE(Eventually([&] { return fs::exists(folder_ + "/child"); }));
  std::string child;
  std::ifstream(folder_ + "/child") >> child;
  EXPECT_TRUE(fs::exists("/proc/" + child + "/stat"));
  context.TryCancel();
  asks.join();
  // Whoever adopts it may not have reaped it yet.
  EXPECT_TRUE(Eventually([&] {
    std::ifstream file("/proc/" + child + "/stat");
    const std::string stat(std::istreambuf_iterator<char>(file), {});
    return stat.empty() || stat.find(") Z ") != std::string::npos;
  }));
}

}  // namespace
}  // namespace rail::accept::testing
