#include "lib/kubelet/claim_metadata.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>

#include "lib/base/fd.h"
#include "lib/base/file_lock.h"
#include "lib/base/parse.h"
#include "lib/kubelet/testing/claims.h"
#include "lib/kubelet/testing/test_folder.h"

namespace rail::kubelet {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::kLong;
using testing::ReadText;
using testing::Vf;

const std::string kName = "rail.railcni.io-metadata.json";
const NetworkData kNetwork{.interface = "net1",
                           .ips = {*IpPrefix::Parse("10.0.3.7/32"), *IpPrefix::Parse("2001:db8::7/64")},
                           .mac = *MacAddress::Parse("02:00:5E:10:00:01")};

class Metadata : public ::testing::Test {
 protected:
  std::string Path(const std::string& request = "rail0") const {
    return folder_.path() + "/" + request + "/" + kName;
  }
  DescribedDevice Device(int64_t value = 3) const {
    return {.device = Vf(1),
            .attributes = {{"rail", value},
                           {"rdma", true},
                           {"resource.kubernetes.io/pciBusID", std::string("0000:3b:00.2")},
                           {"firmware", SemanticVersion{"28.39.1002"}}}};
  }
  Status Write(const std::vector<DescribedDevice>& devices, const std::string& request = "rail0") const {
    return WriteMetadata(folder_.path(), claim_, request, devices, After(kLong));
  }
  // The objects of the file, newest version first.
  static std::vector<json> Objects(const std::string& text) {
    std::vector<json> objects;
    for (const std::string_view line : Split(text, "\n"))
      if (!line.empty()) objects.push_back(json::parse(line, nullptr, false));
    return objects;
  }
  const testing::TestFolder folder_;
  DescribedClaim claim_{.claim = testing::Claim("a"), .driver = "rail.railcni.io"};
};

TEST_F(Metadata, IsWhereContainersLookForIt) {
  const auto mount = MetadataMount("/claims/uid-a", claim_, "rail0");
  ASSERT_TRUE(mount) << mount.error().message;
  EXPECT_EQ(mount->container_path,
            "/var/run/kubernetes.io/dra-device-attributes/resourceclaims/claim-a/rail0");
  EXPECT_EQ(mount->host_path, "/claims/uid-a/rail0");
  EXPECT_TRUE(mount->read_only);
  claim_.claim.pod_claim = "rails";
  EXPECT_EQ(MetadataMount("/claims/uid-a", claim_, "fast/second")->container_path,
            "/var/run/kubernetes.io/dra-device-attributes/resourceclaimtemplates/rails/fast");
  EXPECT_EQ(MetadataMount("/claims/uid-a", claim_, "fast/second")->host_path, "/claims/uid-a/fast");
}

TEST_F(Metadata, SaysTheSameInEachVersion) {
  claim_.claim.pod_claim = "rails";
  const Status written = Write({Device()}, "fast/second");
  ASSERT_TRUE(written) << written.error().message;
  const auto objects = Objects(ReadText(Path("fast")));
  json wanted = json::parse(R"({"kind": "DeviceMetadata", "apiVersion": "metadata.resource.k8s.io/v1beta1",
    "metadata": {"name": "claim-a", "namespace": "team-a", "uid": "uid-a", "generation": 1},
    "podClaimName": "rails",
    "requests": [{"name": "fast/second", "devices": [
      {"driver": "rail.railcni.io", "pool": "node1", "name": "vf1", "attributes": {
        "rail": {"int": 3}, "rdma": {"bool": true}, "firmware": {"version": "28.39.1002"},
        "resource.kubernetes.io/pciBusID": {"string": "0000:3b:00.2"}}}]}]})");
  ASSERT_EQ(objects.size(), 2U);
  EXPECT_EQ(objects[0], wanted);
  wanted["apiVersion"] = "metadata.resource.k8s.io/v1alpha1";
  EXPECT_EQ(objects[1], wanted);
}

TEST_F(Metadata, HasNoNameOfThePodWithoutATemplate) {
  ASSERT_TRUE(Write({Device()}));
  EXPECT_FALSE(Objects(ReadText(Path())).at(0).contains("podClaimName"));
}

// A bind mount shows the folder, as a descriptor of it does.
TEST_F(Metadata, AContainerThatRunsSeesTheNetworkData) {
  ASSERT_TRUE(Write({Device()}));
  const Fd mounted(::open((folder_.path() + "/rail0").c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  ASSERT_TRUE(mounted);
  DescribedDevice device = Device();
  device.network = kNetwork;
  const Status written = Write({device});
  ASSERT_TRUE(written) << written.error().message;
  const Fd file(::openat(mounted.get(), kName.c_str(), O_RDONLY | O_CLOEXEC));
  ASSERT_TRUE(file);
  char text[4096];
  const ssize_t size = ::read(file.get(), text, sizeof text);
  ASSERT_GT(size, 0);
  const auto objects = Objects(std::string(text, static_cast<size_t>(size)));
  ASSERT_EQ(objects.size(), 2U);
  EXPECT_EQ(objects[0]["metadata"]["generation"], 2);
  EXPECT_EQ(objects[0]["requests"][0]["devices"][0]["networkData"],
            json::parse(R"({"interfaceName": "net1", "ips": ["10.0.3.7/32", "2001:db8::7/64"],
                            "hardwareAddress": "02:00:5e:10:00:01"})"));
  EXPECT_EQ(objects[0]["requests"][0]["devices"][0]["attributes"]["rail"]["int"], 3);
}

TEST_F(Metadata, EveryUserMayReadItWhateverTheUmask) {
  const mode_t before = ::umask(0077);
  const Status written = Write({Device()});
  ::umask(before);
  ASSERT_TRUE(written) << written.error().message;
  struct stat status{};
  ASSERT_EQ(::stat(Path().c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777, 0644U);
  ASSERT_EQ(::stat((folder_.path() + "/rail0").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777, 0755U);
}

TEST_F(Metadata, IsNotWrittenWhenItIsSoAlready) {
  ASSERT_TRUE(Write({Device()}));
  struct stat first{}, second{};
  ASSERT_EQ(::stat(Path().c_str(), &first), 0);
  ASSERT_TRUE(Write({Device()}));
  ASSERT_EQ(::stat(Path().c_str(), &second), 0);
  EXPECT_EQ(first.st_ino, second.st_ino);
  EXPECT_EQ(Objects(ReadText(Path())).at(0)["metadata"]["generation"], 1);
  ASSERT_TRUE(Write({Device(4)}));
  EXPECT_EQ(Objects(ReadText(Path())).at(0)["metadata"]["generation"], 2);
}

TEST_F(Metadata, WhatIsDamagedIsWrittenAnew) {
  for (const std::string text :
       {"", "{", "[]", "7", R"({"metadata": 1})", R"({"metadata": {"generation": "x"}})"}) {
    std::filesystem::create_directories(folder_.path() + "/rail0");
    std::ofstream(Path()) << text;
    const Status written = Write({Device()});
    ASSERT_TRUE(written) << text << written.error().message;
    EXPECT_EQ(Objects(ReadText(Path())).size(), 2U) << text;
    EXPECT_EQ(Objects(ReadText(Path())).at(1)["metadata"]["generation"], 1) << text;
  }
}

TEST_F(Metadata, AClaimThatIsNotPreparedGetsNone) {
  const std::string gone = folder_.path() + "/gone";
  const Status written = WriteMetadata(gone, claim_, "rail0", {Device()}, After(kLong));
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().code, Code::kNotFound);
  EXPECT_THAT(written.error().message, HasSubstr("request rail0 of claim claim-a"));
  EXPECT_THAT(folder_.Names(""), IsEmpty());
}

TEST_F(Metadata, NamesThatLeadElsewhereAreRefused) {
  for (const std::string bad : {"..", "../x", ".", "", "a/../../b", "/etc"}) {
    DescribedClaim by_name = claim_, by_driver = claim_;
    by_name.claim.name = bad;
    by_driver.driver = bad;
    for (const auto& [claim, request] :
         {std::pair{by_name, std::string("rail0")}, {by_driver, "rail0"}, {claim_, bad}}) {
      const Status written = WriteMetadata(folder_.path(), claim, request, {Device()}, After(kLong));
      ASSERT_FALSE(written) << bad;
      EXPECT_EQ(written.error().code, Code::kInvalid) << bad;
    }
    claim_.claim.pod_claim = bad.empty() ? ".." : bad;
    EXPECT_FALSE(MetadataMount(folder_.path(), claim_, "rail0")) << bad;
    claim_.claim.pod_claim = "";
  }
  EXPECT_THAT(folder_.Names(""), IsEmpty());
}

TEST_F(Metadata, WhoeverHasTheLockIsWaitedForUntilTheDeadline) {
  const auto lock = FileLock::Get(folder_.path() + "/.lock", FileLock::Kind::kAlone);
  ASSERT_TRUE(lock);
  const Status written = WriteMetadata(folder_.path(), claim_, "rail0", {Device()}, Clock::now());
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().code, Code::kBusy);
  EXPECT_THAT(folder_.Names(""), ElementsAre(".lock"));
}

TEST_F(Metadata, TwoWritersCountEachGenerationAndReadersSeeItWhole) {
  constexpr int kEach = 40;
  ASSERT_TRUE(Write({Device(0)}));
  std::atomic<bool> written{false};
  std::atomic<int> torn{0};
  std::thread reader([&] {
    while (!written) {
      const auto objects = Objects(ReadText(Path()));
      if (objects.size() != 2 || objects[1]["requests"] != objects[0]["requests"]) ++torn;
    }
  });
  std::vector<std::thread> writers;
  for (int64_t writer = 1; writer <= 2; ++writer)
    writers.emplace_back([&, writer] {
      for (int64_t i = 0; i < kEach; ++i) EXPECT_TRUE(Write({Device(writer * 1000 + i)}));
    });
  for (std::thread& each : writers) each.join();
  written = true;
  reader.join();
  EXPECT_EQ(torn, 0);
  EXPECT_EQ(Objects(ReadText(Path())).at(0)["metadata"]["generation"], 1 + 2 * kEach);
}

}  // namespace
}  // namespace rail::kubelet
