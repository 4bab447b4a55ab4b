#include "lib/ovs/rpc.h"

#include <gmock/gmock.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>

namespace rail::ovs {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::HasSubstr;

// A connection, and the other end of it in the test's hand.
class RpcTest : public ::testing::Test {
 protected:
  void SetUp() override {
    dir_ = (std::filesystem::temp_directory_path() / "rail-rpc-XXXXXX").string();
    ASSERT_NE(::mkdtemp(dir_.data()), nullptr);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, (dir_ + "/s").c_str(), sizeof address.sun_path - 1);
    const Fd listener(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    ASSERT_EQ(::bind(listener.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    ASSERT_EQ(::listen(listener.get(), 1), 0);
    auto rpc = RpcConnection::Connect(dir_ + "/s", After(seconds(5)));
    ASSERT_TRUE(rpc) << rpc.error().message;
    rpc_ = std::make_unique<RpcConnection>(std::move(*rpc));
    peer_.Reset(::accept(listener.get(), nullptr, nullptr));
    ASSERT_TRUE(peer_);
  }
  void TearDown() override { std::filesystem::remove_all(dir_); }

  void Say(const std::string& text) {
    ASSERT_EQ(::send(peer_.get(), text.data(), text.size(), 0), ssize_t(text.size()));
  }
  std::string Heard() {
    std::string text(4096, '\0');
    const ssize_t n = ::recv(peer_.get(), text.data(), text.size(), 0);
    text.resize(n > 0 ? static_cast<size_t>(n) : 0);
    return text;
  }
  Result<RpcMessage> Receive() { return rpc_->Receive(After(seconds(5))); }

  std::string dir_;
  Fd peer_;
  std::unique_ptr<RpcConnection> rpc_;
};

TEST_F(RpcTest, PairsAnAnswerWithItsCall) {
  const uint64_t id = rpc_->Queue("transact", {"db", 1});
  Say(R"({"id":1,"result":["a"],"error":null})");
  const auto answer = Receive();
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(Heard(), R"({"id":1,"method":"transact","params":["db",1]})");
  EXPECT_EQ(answer->id, id);
  EXPECT_EQ(answer->body, R"(["a"])");
}

TEST_F(RpcTest, AnswersAnEchoWhenItComesInBetween) {
  Say(R"({"id":"x","method":"echo","params":[1,"two"]} {"id":null,"method":"update","params":[]})");
  const auto update = Receive();
  ASSERT_TRUE(update) << update.error().message;
  EXPECT_EQ(update->method, "update");
  EXPECT_EQ(update->type, RpcMessage::Type::kNotify);
  ASSERT_TRUE(rpc_->TryReceive());
  EXPECT_EQ(nlohmann::json::parse(Heard()),
            nlohmann::json::parse(R"({"id":"x","result":[1,"two"],"error":null})"));
}

TEST_F(RpcTest, PutsAMessageTogetherWhenItComesInPieces) {
  const std::string text = R"({"id":7,"result":"{\"}","error":null})";
  for (size_t i = 0; i + 1 < text.size(); ++i) {
    Say(text.substr(i, 1));
    const auto none = rpc_->TryReceive();
    ASSERT_TRUE(none) << none.error().message;
    ASSERT_FALSE(none->has_value());
  }
  Say("}");
  const auto whole = rpc_->TryReceive();
  ASSERT_TRUE(whole && whole->has_value());
  EXPECT_EQ((*whole)->body, R"("{\"}")");
}

TEST_F(RpcTest, RefusesWhatIsNotJsonRpc) {
  Say(R"({"id":7,"surprise":1})");
  const auto answer = Receive();
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, Code::kInvalid);
  EXPECT_THAT(answer.error().message, HasSubstr("not JSON-RPC"));
}

TEST_F(RpcTest, RefusesWhatIsNotJson) {
  Say("SSH-2.0-OpenSSH_9.2\r\n");
  EXPECT_EQ(Receive().error().code, Code::kInvalid);
}

TEST_F(RpcTest, RefusesADocumentThatIsNestedTooDeep) {
  Say(R"({"id":7,"error":null,"result":)" + std::string(5000, '['));
  EXPECT_EQ(Receive().error().code, Code::kInvalid);
}

TEST_F(RpcTest, IsTransientWhenNothingComesInTime) {
  EXPECT_EQ(rpc_->Receive(After(milliseconds(20))).error().code, Code::kTransient);
}

TEST_F(RpcTest, IsTransientWhenTheOtherEndGoes) {
  Say(R"({"id":)");
  peer_.Reset();
  const auto answer = Receive();
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, Code::kTransient);
}

}  // namespace
}  // namespace rail::ovs
