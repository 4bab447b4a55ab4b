// Whom the client believes over TLS. Certificates and the server are openssl(1)'s; the authorities of the system are this test's, by a mount
// that its thread alone sees.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <thread>

#include "lib/base/fd.h"
#include "lib/kubernetes/client.h"

namespace rail::kubernetes {
namespace {

using ::testing::HasSubstr;

constexpr char kSystemsAuthorities[] = "/etc/ssl/certs";  // libcurl's of Debian

class ClientTls : public ::testing::Test {
 protected:
  ClientTls() {
    char name[] = "/tmp/railcni-tls-XXXXXX";
    folder_ = ::mkdtemp(name);
    for (const char* authority : {"cluster", "other"}) {
      Run("openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 3 -subj /CN=" +
          std::string(authority) + " -addext subjectAltName=IP:127.0.0.1 -keyout " + File(authority, ".key") +
          " -out " + File(authority, ".crt") + " 2> " + folder_ + "/words");
    }
    std::filesystem::create_directory(folder_ + "/system");
    for (const char* each : {"other.crt", "ca-certificates.crt"})  // by its hash, and as the file of all
      std::filesystem::copy(File("other", ".crt"), folder_ + "/system/" + each);
    Run("openssl rehash " + folder_ + "/system");
  }
  ~ClientTls() override {
    if (server_ > 0) {
      ::kill(server_, SIGKILL);
      ::waitpid(server_, nullptr, 0);
    }
    std::filesystem::remove_all(folder_);
  }
  static void Run(const std::string& command) { ASSERT_EQ(std::system(command.c_str()), 0) << command; }
  std::string File(const std::string& name, const char* kind) const { return folder_ + "/" + name + kind; }

  // With the certificate of this authority; returns its URL.
  std::string Serve(const std::string& name) {
    int ends[2];
    if (::pipe(ends) != 0) return "";
    server_ = ::fork();
    if (server_ == 0) {
      ::dup2(ends[1], STDOUT_FILENO);
      ::execlp("openssl", "openssl", "s_server", "-accept", "127.0.0.1:0", "-www", "-cert",
               File(name, ".crt").c_str(), "-key", File(name, ".key").c_str(), nullptr);
      ::_exit(127);
    }
    ::close(ends[1]);
    const Fd said(ends[0]);
    std::string words;  // "ACCEPT 127.0.0.1:40123 PID=7"
    for (char c = 0; ::read(said.get(), &c, 1) == 1 && !(c == '\n' && words.find("ACCEPT") != words.npos);)
      words += c;
    const size_t at = words.find("127.0.0.1:");
    return at == words.npos ? "" : "https://" + words.substr(at, words.find(' ', at) - at);
  }
  // `ca_file`: "" is what the system has.
  Result<Answer> Ask(const std::string& url, const std::string& ca_file) {
    Result<Answer> answer = Fail(Code::kInternal, "not asked");
    std::thread([&] {
      if (::unshare(CLONE_NEWNS) != 0 || ::mount("", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
          ::mount((folder_ + "/system").c_str(), kSystemsAuthorities, nullptr, MS_BIND, nullptr) != 0)
        return;
      Client client({.url = url, .token_file = {}, .ca_file = ca_file}, "test");
      answer = client.Ask({.path = "/"});
    }).join();
    return answer;
  }

  std::string folder_;
  pid_t server_ = 0;
};

TEST_F(ClientTls, BelievesTheGivenAuthorityAndNoneOfTheSystem) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can mount authorities over the system's";
  const std::string url = Serve("other");
  ASSERT_NE(url, "");
  const auto of_the_system = Ask(url, "");
  ASSERT_TRUE(of_the_system) << of_the_system.error().message << ": the test's authority is not the system's";
  const auto refused = Ask(url, File("cluster", ".crt"));
  ASSERT_FALSE(refused) << "an authority of the system is believed beside the given one";
  EXPECT_EQ(refused.error().code, Code::kTransient);
  EXPECT_THAT(refused.error().message, HasSubstr("certificate"));
  EXPECT_TRUE(Ask(url, File("other", ".crt")));
}

TEST_F(ClientTls, AnAuthorityThatIsNotThereIsAnErrorThatNamesIt) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can mount authorities over the system's";
  const std::string url = Serve("other");
  const auto refused = Ask(url, File("none", ".crt"));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kNotFound);
  EXPECT_THAT(refused.error().message,
              HasSubstr("the authority that the API server is checked against, " + File("none", ".crt")));
}

}  // namespace
}  // namespace rail::kubernetes
