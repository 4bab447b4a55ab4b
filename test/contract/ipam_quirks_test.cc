// What the IPAM plugins of the field do that the specification does not say, each as a script that behaves as it is documented
// (reference: nv-ipam pkg/cni/plugin/plugin.go, whereabouts cmd/whereabouts.go, plugins/ipam/host-local), called by the real
// delegation. host-local and static themselves: ipam_contract_test.cc.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "lib/cni/ipam.h"
#include "lib/cni/testing/request.h"

namespace rail::cni {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using testing::MakeRequest;
using ::testing::Not;

Deadline Soon() {
  return After(std::chrono::seconds(20));
}

class IpamQuirks : public ::testing::Test {
 protected:
  IpamQuirks() {
    char name[] = "/tmp/railcni-ipam-quirks-XXXXXX";
    folder_ = ::mkdtemp(name);
  }
  ~IpamQuirks() override { std::filesystem::remove_all(folder_); }

  void Install(const std::string& name, const std::string& body) {
    const std::string file = folder_ + "/" + name;
    std::ofstream(file) << "#!/bin/sh\necho \"$CNI_COMMAND\" >> " << folder_ << "/calls\ncat > " << folder_
                        << "/in.$CNI_COMMAND\nfolder=" << folder_ << "\n"
                        << body << "\n";
    ::chmod(file.c_str(), 0755);
  }
  std::string Read(const std::string& name) const {
    std::ostringstream text;
    text << std::ifstream(folder_ + "/" + name).rdbuf();
    return text.str();
  }
  Request Make(const std::string& command, const std::string& version, const json& ipam,
               const std::string& args = "IgnoreUnknown=1;K8S_POD_NAMESPACE=ns;K8S_POD_NAME=p;K8S_POD_UID=u",
               json more = json::object()) const {
    more.update({{"cniVersion", version}, {"name", "rail0"}, {"ipam", ipam}});
    return MakeRequest(command, more.dump(), {{"CNI_PATH", folder_}, {"CNI_ARGS", args}});
  }

  // Wants the pod's name and namespace in every verb; its daemon may be away; it answers a repeated ADD with an error.
  void InstallNvIpam() {
    Install("nv-ipam", R"(
case "$CNI_ARGS" in *K8S_POD_NAME=*) ;; *) echo '{"code": 999, "msg": "CNI_ARGS: K8S_POD_NAME is not provided"}'; exit 1;; esac
case "$CNI_ARGS" in *K8S_POD_NAMESPACE=*) ;; *) echo '{"code": 999, "msg": "CNI_ARGS: K8S_POD_NAMESPACE is not provided"}'; exit 1;; esac
if [ -e "$folder/daemon-is-away" ] && [ $CNI_COMMAND != VERSION ]; then
  echo '{"code": 999, "msg": "grpc call failed: code: Unavailable, message: connection error"}'; exit 1; fi
case $CNI_COMMAND in
  VERSION) echo '{"cniVersion": "1.0.0", "supportedVersions": ["0.1.0","0.2.0","0.3.0","0.3.1","0.4.0","1.0.0"]}';;
  ADD) [ -e "$folder/held" ] && { echo '{"code": 999, "msg": "grpc call failed: code: AlreadyExists, message: allocation already exist"}'; exit 1; }
       : > "$folder/held"
       echo '{"cniVersion": "1.0.0", "ips": [{"address": "172.16.0.3/31", "gateway": "172.16.0.2"}], "routes": [{"dst": "172.16.0.0/12", "gw": "172.16.0.2"}], "dns": {}}';;
  CHECK) [ -e "$folder/held" ] || { echo '{"code": 999, "msg": "grpc call failed: code: NotFound"}'; exit 1; };;
  DEL) rm -f "$folder/held";;
esac)");
  }

  std::string folder_;
  ExecIpam ipam_;
};

const json kNvIpam = {{"type", "nv-ipam"}, {"poolName", "rail0"}, {"poolType", "cidrpool"}};

TEST_F(IpamQuirks, B03_NvIpamGetsThePodsNameInEveryVerbAndFromTheRecordToo) {
  InstallNvIpam();
  const Request request = Make("ADD", "1.1.0", kNvIpam);
  const auto given = ipam_.Add(request, Soon());
  ASSERT_TRUE(given) << given.error().msg;
  EXPECT_EQ(given->ips[0].address.ToString(), "172.16.0.3/31");
  EXPECT_EQ(given->routes[0].gateway->ToString(), "172.16.0.2");
  ASSERT_TRUE(ipam_.Check(Make("CHECK", "1.1.0", kNvIpam), Soon()));
  const auto call = IpamCall::FromJson(MakeIpamCall(request).ToJson());
  ASSERT_TRUE(call);
  ASSERT_TRUE(Release(*call, Soon()));
  EXPECT_FALSE(std::filesystem::exists(folder_ + "/held"));
}

TEST_F(IpamQuirks, B03_NvIpamIsCalledInTheNewestVersionThatBothSpeak) {
  InstallNvIpam();
  ASSERT_TRUE(ipam_.Add(Make("ADD", "1.1.0", kNvIpam), Soon()));
  EXPECT_EQ(Read("calls"), "VERSION\nADD\n");
  EXPECT_EQ(json::parse(Read("in.ADD"))["cniVersion"], "1.0.0");
  EXPECT_EQ(json::parse(Read("in.ADD"))["ipam"], kNvIpam);
  EXPECT_TRUE(ipam_.Forward(Make("STATUS", "1.1.0", kNvIpam), Soon()))
      << "it does not speak 1.1.0: nothing is asked";
  EXPECT_TRUE(ipam_.Forward(Make("GC", "1.1.0", kNvIpam), Soon()));
  EXPECT_THAT(Read("calls"), Not(HasSubstr("STATUS")));
}

TEST_F(IpamQuirks, B03_NvIpamsDaemonThatIsAwayIsToldInItsOwnWordsAndDelIsForTheRecordToRepeat) {
  InstallNvIpam();
  std::ofstream(folder_ + "/daemon-is-away") << "";
  const auto failed = ipam_.Add(Make("ADD", "1.0.0", kNvIpam), Soon());
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code, 999U);
  EXPECT_EQ(failed.error().msg,
            "ipam nv-ipam: grpc call failed: code: Unavailable, message: connection error");
  EXPECT_EQ(Read("calls"), "ADD\nDEL\n");
  const auto deleted = Release(MakeIpamCall(Make("DEL", "1.0.0", kNvIpam)), Soon());
  ASSERT_FALSE(deleted) << "so that the step stays pending";
  std::filesystem::remove(folder_ + "/daemon-is-away");
  EXPECT_TRUE(Release(MakeIpamCall(Make("DEL", "1.0.0", kNvIpam)), Soon()));
}

TEST_F(IpamQuirks, B03_NvIpamWithoutAPodsNameSaysSo) {
  InstallNvIpam();
  const auto failed =
      ipam_.Add(Make("ADD", "1.0.0", kNvIpam, "IgnoreUnknown=1;K8S_POD_NAMESPACE=ns"), Soon());
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().msg, "ipam nv-ipam: CNI_ARGS: K8S_POD_NAME is not provided");
}

TEST_F(IpamQuirks, B03_ArgsAreHandedOnAsTheyCameAndAPanicIsAnErrorWithItsStatus) {
  // nv-ipam dereferences args.cni whenever there is an "args": it is never us who makes one.
  Install("nv-ipam",
          "if grep -q '\"args\":{}' $folder/in.$CNI_COMMAND; then echo 'panic: nil pointer' >&2; exit 2; fi; "
          R"(echo '{"ips": [{"address": "172.16.0.3/31"}]}')");
  ASSERT_TRUE(ipam_.Add(Make("ADD", "1.0.0", kNvIpam), Soon()));
  EXPECT_FALSE(json::parse(Read("in.ADD")).contains("args"));
  const auto failed = ipam_.Add(Make("ADD", "1.0.0", kNvIpam, "A=1", {{"args", json::object()}}), Soon());
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().msg, "ipam nv-ipam: it failed with status 2 and without an error document");
}

TEST_F(IpamQuirks, B03_WhereaboutsCheckThatIsNotImplementedIsNoFailure) {
  Install("whereabouts", R"(case $CNI_COMMAND in
    VERSION) echo '{"cniVersion": "1.0.0", "supportedVersions": ["0.3.1","0.4.0","1.0.0"]}';;
    CHECK) echo '{"code": 999, "msg": "CNI CHECK method is not implemented"}'; exit 1;; esac)");
  const json ipam = {{"type", "whereabouts"}, {"range", "10.9.0.0/24"}};
  EXPECT_TRUE(ipam_.Check(Make("CHECK", "1.0.0", ipam), Soon()));
  EXPECT_TRUE(ipam_.Check(Make("CHECK", "1.1.0", ipam), Soon()));
  Install("whereabouts", R"(echo '{"code": 999, "msg": "the address is not reserved"}'; exit 1)");
  EXPECT_FALSE(ipam_.Check(Make("CHECK", "1.0.0", ipam), Soon())) << "another failure is one";
}

TEST_F(IpamQuirks, B03_WhereaboutsDelThatFailsForItsApiIsToldAndMayBeRepeated) {
  Install(
      "whereabouts",
      R"([ -e $folder/api ] || { echo '{"code": 999, "msg": "error instantiating the Kubernetes client"}'; exit 1; })");
  const json ipam = {{"type", "whereabouts"}, {"range", "10.9.0.0/24"}};
  const auto failed = ipam_.Del(Make("DEL", "1.0.0", ipam), Soon());
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().msg, "ipam whereabouts: error instantiating the Kubernetes client");
  std::ofstream(folder_ + "/api") << "";
  EXPECT_TRUE(ipam_.Del(Make("DEL", "1.0.0", ipam), Soon()));
}

TEST_F(IpamQuirks, B03_ARepeatedAddIsRefusedInHostLocalsWords) {
  Install(
      "host-local",
      R"([ $CNI_COMMAND = ADD ] && { echo '{"code": 999, "msg": "10.9.0.2 has been allocated to c1, duplicate allocation is not allowed"}'; exit 1; }; true)");
  const auto failed = ipam_.Add(Make("ADD", "1.0.0", {{"type", "host-local"}}), Soon());
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code, 999U);
  EXPECT_THAT(failed.error().msg, HasSubstr("duplicate allocation is not allowed"));
}

TEST_F(IpamQuirks, B03_TheDelegateSeesTheWholeConfigurationAndEnvironment) {
  Install(
      "x",
      R"(env > $folder/env; [ $CNI_COMMAND = ADD ] && echo '{"ips": [{"address": "10.9.0.2/24"}]}'; true)");
  const json more = {{"runtimeConfig", {{"ips", {"10.9.0.2/24"}}}},
                     {"args", {{"cni", {{"ips", {"10.9.0.2"}}}}}},
                     {"prevResult", {{"cniVersion", "1.0.0"}}}};
  const Request request = Make("ADD", "1.0.0", {{"type", "x"}}, "IP=10.9.0.2;K8S_POD_NAME=p", more);
  ::setenv("CNI_NETNS_OVERRIDE", "1", 1);
  ::setenv("RAILCNI_TEST_PROXY", "http://proxy", 1);
  const auto given = ipam_.Add(request, Soon());
  ::unsetenv("CNI_NETNS_OVERRIDE");
  ::unsetenv("RAILCNI_TEST_PROXY");
  ASSERT_TRUE(given) << given.error().msg;
  EXPECT_EQ(Read("in.ADD"), request.config_text) << "byte for byte";
  const std::string env = "\n" + Read("env");
  for (const char* line : {"\nCNI_COMMAND=ADD\n", "\nCNI_ARGS=IP=10.9.0.2;K8S_POD_NAME=p\n",
                           "\nCNI_NETNS_OVERRIDE=1\n", "\nRAILCNI_TEST_PROXY=http://proxy\n"})
    EXPECT_THAT(env, HasSubstr(line));
}

TEST_F(IpamQuirks, B03_DebiansHostLocalIsAskedInItsOwnVersionAndStatusIsKeptFromIt) {
  const json ipam = {
      {"type", "host-local"}, {"dataDir", folder_}, {"ranges", {{{{"subnet", "10.9.0.0/29"}}}}}};
  const auto request = [&](const std::string& verb) {
    return MakeRequest(verb, json{{"cniVersion", "1.1.0"}, {"name", "rail0"}, {"ipam", ipam}}.dump(),
                       {{"CNI_PATH", "/usr/lib/cni"}});
  };
  const auto given = ipam_.Add(request("ADD"), Soon());
  ASSERT_TRUE(given) << given.error().msg << given.error().details;
  EXPECT_TRUE(ipam_.Forward(request("STATUS"), Soon())) << "it would say: missing containerID, code 3";
  EXPECT_TRUE(ipam_.Del(request("DEL"), Soon()));
}

}  // namespace
}  // namespace rail::cni
