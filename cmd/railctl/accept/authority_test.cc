// The certificates of a run between real ends, and raild's answers through an agent.
#include "cmd/railctl/accept/authority.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>

#include "cmd/railctl/accept/stage.h"
#include "cmd/railctl/accept/testing/agents.h"
#include "rail/v1/node.grpc.pb.h"

namespace rail::accept::testing {
namespace {

using ::testing::HasSubstr;

class AcceptInKubernetes : public AcceptAgent {
 protected:
  AcceptInKubernetes() : made_(*MakeCertificates(std::chrono::hours(1))) {
    Write("ca", made_.ca);
    Write("cert", made_.agents.cert);
    Write("key", made_.agents.key);
  }
  void Write(const std::string& name, const std::string& text) {
    std::ofstream(folder_ + "/" + name) << text;
  }
  Tls Asker() const { return {made_.ca, made_.asker.cert, made_.asker.key, kAgentName}; }
  // In the namespace of this process, in which its client is.
  AgentProcess Agent(const std::string& listen, const std::string& raild = "") {
    const auto here = netns::Netns::Current();
    return {
        *here,
        {.listen = listen, .raild = raild, .tls = {folder_ + "/ca", folder_ + "/cert", folder_ + "/key"}}};
  }
  static Status Describe(const std::string& target, const Tls& tls) {
    RAIL_ASSIGN(const auto channel, Connect(target, tls));
    const auto stub = v1::AcceptAgent::NewStub(channel);
    RAIL_TRY(Ask(*stub, &v1::AcceptAgent::Stub::DescribeAgent, {}, "the agent", seconds(10)));
    return {};
  }

  const Certificates made_;
};

TEST_F(AcceptInKubernetes, AgentAnswersTheAskerOfItsRunAndNobodyElse) {
  const std::string where = "127.0.0.1:47921";
  AgentProcess agent = Agent(where);
  EXPECT_EQ(agent.said(), "listening on " + where + "\n");
  const Status asked = Describe(where, Asker());
  EXPECT_TRUE(asked) << asked.error().message;
  const Tls other_pod{made_.ca, made_.agents.cert, made_.agents.key, kAgentName};
  EXPECT_FALSE(Describe(where, other_pod)) << "the key of a pod asks no agent";
  const Certificates other = *MakeCertificates(std::chrono::hours(1));
  EXPECT_FALSE(Describe(where, {made_.ca, other.asker.cert, other.asker.key, kAgentName})) << "another run's";
  EXPECT_FALSE(Describe(where, {other.ca, made_.asker.cert, made_.asker.key, kAgentName}))
      << "the asker knows its agents, too";
  Tls by_address = Asker();
  by_address.name.clear();
  EXPECT_FALSE(Describe(where, by_address));
  EXPECT_TRUE(Describe(where, Asker()));
}

TEST_F(AcceptInKubernetes, CertificatesEndWithTheirTime) {
  const Certificates old = *MakeCertificates(std::chrono::seconds(-1));
  Write("cert", old.agents.cert);
  Write("key", old.agents.key);
  AgentProcess agent = Agent("127.0.0.1:47922");
  EXPECT_FALSE(Describe("127.0.0.1:47922", {old.ca, made_.asker.cert, made_.asker.key, kAgentName}));
}

// raild, as far as these tests need one.
class Raild final : public v1::Node::Service {
 public:
  grpc::Status ListRails(grpc::ServerContext* context, const v1::ListRailsRequest*,
                         v1::ListRailsResponse* response) override {
    left_ = context->deadline() - std::chrono::system_clock::now();
    response->add_rails()->set_name("rail7");
    return grpc::Status::OK;
  }
  grpc::Status Doctor(grpc::ServerContext*, const v1::DoctorRequest*, v1::DoctorResponse*) override {
    return {StatusCode::INVALID_ARGUMENT, "no such rail"};
  }
  // Two views; then until nobody reads any more.
  grpc::Status WatchNode(grpc::ServerContext* context, const v1::WatchNodeRequest*,
                         grpc::ServerWriter<v1::WatchNodeResponse>* writer) override {
    v1::WatchNodeResponse response;
    for (const uint64_t view : {7U, 8U}) {
      response.set_view(view);
      writer->Write(response);
    }
    ended_ = Eventually([&] { return context->IsCancelled(); });
    return grpc::Status::OK;
  }
  std::chrono::system_clock::duration left_{};
  std::atomic<bool> ended_ = false;
};

TEST_F(AcceptInKubernetes, AgentPassesOnWhatIsAskedOfRaild) {
  Raild raild;
  grpc::ServerBuilder builder;
  builder.AddListeningPort(At("raild"), grpc::InsecureServerCredentials());
  builder.RegisterService(&raild);
  const auto server = builder.BuildAndStart();
  const std::string where = "127.0.0.1:47923";
  AgentProcess agent = Agent(where, At("raild"));
  const auto node = v1::Node::NewStub(*Connect(where, Asker()));
  const auto rails = Ask(*node, &v1::Node::Stub::ListRails, {}, "raild", seconds(10));
  ASSERT_TRUE(rails) << rails.error().message;
  EXPECT_EQ(rails->rails(0).name(), "rail7");
  EXPECT_LE(raild.left_, seconds(10)) << "the deadline is passed on";
  const auto doctor = Ask(*node, &v1::Node::Stub::Doctor, {}, "raild", seconds(10));
  ASSERT_FALSE(doctor);
  EXPECT_EQ(doctor.error().code, Code::kInvalid);
  EXPECT_THAT(doctor.error().message, HasSubstr("no such rail"));
  grpc::ClientContext context;
  const auto watch = node->WatchNode(&context, {});
  v1::WatchNodeResponse view;
  ASSERT_TRUE(watch->Read(&view) && watch->Read(&view));
  EXPECT_EQ(view.view(), 8U);
  context.TryCancel();
  EXPECT_FALSE(watch->Read(&view));
  EXPECT_EQ(watch->Finish().error_code(), StatusCode::CANCELLED);
  EXPECT_TRUE(Eventually([&] { return raild.ended_.load(); })) << "raild's call ends with the caller's";
  const auto tenants = Ask(*node, &v1::Node::Stub::ListTenants, {}, "raild", seconds(10));
  ASSERT_FALSE(tenants) << "what no check needs is not passed on";
  EXPECT_EQ(tenants.error().code, Code::kUnsupported);
  server->Shutdown();
}

TEST_F(AcceptInKubernetes, AgentTakesAnAddressAsKubernetesWritesIt) {
  AgentProcess agent = Agent("::1:47924");
  const Status asked = Describe("[::1]:47924", Asker());
  EXPECT_TRUE(asked) << asked.error().message;
}

}  // namespace
}  // namespace rail::accept::testing
