#include "lib/rpc/tls.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "lib/base/whole_file.h"

namespace rail::rpc {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class TlsFilesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = (std::filesystem::temp_directory_path() / "rail-tls-XXXXXX").string();
    ASSERT_NE(::mkdtemp(folder_.data()), nullptr);
    ASSERT_EQ(
        std::system(
            ("cd " + folder_ +
             " && for n in a b; do openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes "
             "-days 1 -subj /CN=$n -keyout $n.key -out $n.crt 2>/dev/null || exit 1; chmod 0600 $n.key; done")
                .c_str()),
        0);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::string At(const std::string& name) const { return folder_ + "/" + name; }
  TlsFiles Files() const { return {At("a.crt"), At("a.crt"), At("a.key")}; }
  static std::string Why(const TlsFiles& files) {
    const Status checked = CheckTlsFiles(files);
    return checked ? "" : checked.error().message;
  }

  std::string folder_;
};

TEST_F(TlsFilesTest, SaysWhichFileIsNotAsItShouldBe) {
  EXPECT_EQ(Why(Files()), "");
  EXPECT_THAT(Why({At("no"), At("a.crt"), At("a.key")}), HasSubstr("the authority of the other side"));
  EXPECT_THAT(Why({At("a.crt"), At("no"), At("a.key")}), HasSubstr("the certificate: "));
  EXPECT_THAT(Why({At("a.crt"), At("a.crt"), At("b.key")}),
              HasSubstr("b.key is not that of the certificate"));
  EXPECT_THAT(Why({At("a.key"), At("a.crt"), At("a.key")}), HasSubstr("a.key holds no certificate in PEM"));
  ASSERT_TRUE(WriteWhole(At("none.key"), "", 0600));
  EXPECT_THAT(Why({At("a.crt"), At("a.crt"), At("none.key")}), HasSubstr("no private key in PEM"));
  ASSERT_EQ(::chmod(At("a.key").c_str(), 0644), 0);
  EXPECT_THAT(Why(Files()), HasSubstr("can be used by everybody"));
  EXPECT_FALSE(ServerTls(Files()));
  EXPECT_FALSE(ClientTls(Files()));
}

TEST_F(TlsFilesTest, ReadsAllThreeOrSaysWhich) {
  const auto tls = ReadTls({At("a.crt"), At("b.crt"), At("b.key")});
  ASSERT_TRUE(tls);
  EXPECT_EQ(tls->ca, *ReadWhole(At("a.crt")));
  EXPECT_EQ(tls->cert, *ReadWhole(At("b.crt")));
  EXPECT_EQ(tls->key, *ReadWhole(At("b.key")));
  ASSERT_TRUE(WriteWhole(At("b.key"), "", 0600));
  EXPECT_THAT(ReadTls({At("a.crt"), At("b.crt"), At("b.key")}).error().message, HasSubstr("b.key is empty"));
}

std::vector<std::string> ErrorsOf(const char* text, TlsFiles* files = nullptr) {
  JsonErrors errors;
  const nlohmann::json document = nlohmann::json::parse(text);
  JsonObject whole(document, "", errors);
  const TlsFiles read = ReadTlsFiles(whole, "tls", errors);
  if (files != nullptr) *files = read;
  return errors.list();
}

TEST(ReadTlsFiles, TakesAllThreeKeysOrNone) {
  TlsFiles files;
  EXPECT_THAT(ErrorsOf(R"({"tls": {"ca_file": "/a", "cert_file": "/b", "key_file": "/c"}})", &files),
              ElementsAre());
  EXPECT_EQ(files.ca_file + files.cert_file + files.key_file, "/a/b/c");
  EXPECT_FALSE(files.empty());
  EXPECT_THAT(ErrorsOf("{}", &files), ElementsAre());
  EXPECT_TRUE(files.empty());
  EXPECT_THAT(ErrorsOf(R"({"tls": {"ca_file": "/a", "cert_file": "/b"}})"),
              ElementsAre(HasSubstr("tls.key_file")));
  EXPECT_THAT(ErrorsOf(R"({"tls": {"ca_file": "/a", "cert_file": "/b", "key_file": "/c", "ca": ""}})"),
              ElementsAre(HasSubstr("tls.ca")));
}

}  // namespace
}  // namespace rail::rpc
