#include "lib/rpc/channel.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "grpc/health/v1/health.grpc.pb.h"
#include "lib/rpc/server.h"

namespace rail::rpc {
namespace {

using ::testing::HasSubstr;
using Health = grpc::health::v1::Health;

TEST(Channel, RefusesTcpWithoutTls) {
  const auto channel = Connect("10.0.0.1:9443");
  ASSERT_FALSE(channel);
  EXPECT_EQ(channel.error().code, Code::kInvalid);
  EXPECT_THAT(channel.error().message, HasSubstr("10.0.0.1:9443 is asked over TCP, which needs `tls`"));
  EXPECT_FALSE(Connect("10.0.0.1:9443", Tls{}));
  EXPECT_TRUE(Connect("unix:/nowhere"));
}

TEST(Channel, SaysWhoDoesNotAnswer) {
  const auto stub = Health::NewStub(*Connect("unix:/nowhere/at.all"));
  const auto answer = Ask(*stub, &Health::Stub::Check, {}, "raild of n1", Milliseconds(20'000));
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, Code::kTransient);
  EXPECT_THAT(answer.error().message, HasSubstr("raild of n1: "));
}

TEST(Channel, TakesAnErrorForWhatTheAskerCanDo) {
  const auto code_of = [](grpc::StatusCode code) {
    return ToStatus({code, "because"}, "raild").error().code;
  };
  EXPECT_TRUE(ToStatus(grpc::Status::OK, "raild"));
  EXPECT_EQ(code_of(grpc::StatusCode::INVALID_ARGUMENT), Code::kInvalid);
  EXPECT_EQ(code_of(grpc::StatusCode::UNIMPLEMENTED), Code::kUnsupported);
  EXPECT_EQ(code_of(grpc::StatusCode::FAILED_PRECONDITION), Code::kUnsupported);
  EXPECT_EQ(code_of(grpc::StatusCode::UNAVAILABLE), Code::kTransient);
  EXPECT_EQ(ToStatus({grpc::StatusCode::UNAVAILABLE, "because"}, "raild").error().message, "raild: because");
  EXPECT_EQ(ToStatus({grpc::StatusCode::DEADLINE_EXCEEDED, ""}, "raild").error().message,
            "raild does not answer");
}

// A server takes our errors back to what a client reads as the same.
TEST(Server, SaysWhatTheClientCanDo) {
  for (const Code code : {Code::kInvalid, Code::kUnsupported, Code::kTransient})
    EXPECT_EQ(ToStatus({StatusCodeOf(code), ""}, "raild").error().code, code);
  EXPECT_EQ(StatusCodeOf(Code::kNotFound), grpc::StatusCode::NOT_FOUND);
}

TEST(Server, NamesTheAddressThatItCannotHave) {
  Health::Service service;
  grpc::ServerBuilder builder;
  Limit(builder, {.name = "test"});
  builder.RegisterService(&service);
  builder.AddListeningPort("unix:/nowhere/at.all", grpc::InsecureServerCredentials());
  const auto server = Start(builder, "/nowhere/at.all");
  ASSERT_FALSE(server);
  EXPECT_THAT(server.error().message, HasSubstr("serve gRPC on /nowhere/at.all"));
}

}  // namespace
}  // namespace rail::rpc
