#include "lib/kubelet/cdi.h"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "lib/kubelet/testing/claims.h"
#include "lib/kubelet/testing/test_folder.h"

namespace rail::kubelet {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::ReadText;
using testing::RefusalOf;
using ::testing::UnorderedElementsAre;

const Allocation kEdits{.envs = {{"A", "1,2"}, {"B", ""}},
                        .mounts = {{.container_path = "/in", .host_path = "/out"},
                                   {.container_path = "/w", .host_path = "/w", .read_only = false}},
                        .nodes = {{.container_path = "/dev/a", .host_path = "/dev/b", .permissions = "r"}}};

std::string FileOf(const std::string& uid) {
  return "/railcni.io_rail_" + uid + ".json";
}

TEST(CdiNames, AreNoPathsButThemselves) {
  for (const std::string name : {"a", "0", "a-b", "0f1d-22"}) EXPECT_TRUE(IsName(name, "-")) << name;
  EXPECT_TRUE(IsName(std::string(253, 'x'), "-"));
  for (const std::string& name :
       {std::string(), std::string(254, 'x'), std::string("."), std::string(".."), std::string("../x"),
        std::string("a/b"), std::string("a/../b"), std::string("-a"), std::string("a-"), std::string("a.b"),
        std::string("a b"), std::string("a\0b", 3), std::string("a\n"), std::string("\xc3\xa9"),
        std::string("a_b")})
    EXPECT_FALSE(IsName(name, "-")) << name;
  EXPECT_TRUE(IsName("a.b", "-."));
  EXPECT_FALSE(IsName("..", "-."));
  EXPECT_FALSE(IsName(".a", "-."));
}

TEST(CdiSpec, IsWhatARuntimeReads) {
  json spec;
  const auto names = AddCdiDevice(spec, "uid-1", "rail0", kEdits);
  ASSERT_TRUE(names) << names.error().message;
  EXPECT_THAT(*names, ElementsAre("railcni.io/rail=uid-1-rail0"));
  EXPECT_EQ(spec, json::parse(R"({"cdiVersion": "0.5.0", "kind": "railcni.io/rail", "devices": [
    {"name": "uid-1-rail0", "containerEdits": {
      "env": ["A=1,2", "B="],
      "deviceNodes": [{"path": "/dev/a", "hostPath": "/dev/b", "permissions": "r"}],
      "mounts": [{"hostPath": "/out", "containerPath": "/in", "options": ["ro", "bind"]},
                 {"hostPath": "/w", "containerPath": "/w", "options": ["rw", "bind"]}]}}]})"));
  EXPECT_EQ(RefusalOf(spec.dump()), "");
}

TEST(CdiSpec, HasADeviceForEachRequest) {
  json spec;
  ASSERT_TRUE(AddCdiDevice(spec, "uid", "rail0", kEdits));
  const auto names =
      AddCdiDevice(spec, "uid", "fast/first", {.envs = {{"A", "3"}}, .cdi_names = {"other.io/x=1"}});
  ASSERT_TRUE(names) << names.error().message;
  EXPECT_THAT(*names, ElementsAre("other.io/x=1", "railcni.io/rail=uid-fast.first"));
  ASSERT_EQ(spec["devices"].size(), 2U);
  EXPECT_EQ(spec["devices"][1]["name"], "uid-fast.first");
  EXPECT_EQ(spec["devices"][1]["containerEdits"], json({{"env", {"A=3"}}}));
  EXPECT_EQ(RefusalOf(spec.dump()), "");
}

TEST(CdiSpec, HasNoDeviceForARequestWithoutEdits) {
  json spec;
  const auto names = AddCdiDevice(spec, "uid", "rail0", {.cdi_names = {"other.io/x=1"}});
  ASSERT_TRUE(names) << names.error().message;
  EXPECT_THAT(*names, ElementsAre("other.io/x=1"));
  EXPECT_TRUE(spec.is_null());
}

TEST(CdiSpec, RefusesWhatItCannotExpress) {
  const std::vector<Allocation> wrong = {
      {.envs = {{"", "x"}}},
      {.envs = {{"A=B", "x"}}},
      {.mounts = {{.container_path = "in", .host_path = "/out"}}},
      {.mounts = {{.container_path = "/in", .host_path = ""}}},
      {.nodes = {{.container_path = "dev/a", .host_path = "/dev/a"}}},
      {.nodes = {{.container_path = "/dev/a", .host_path = "a"}}},
      {.nodes = {{.container_path = "/dev/a", .host_path = "/dev/a", .permissions = ""}}},
      {.nodes = {{.container_path = "/dev/a", .host_path = "/dev/a", .permissions = "rx"}}},
      {.annotations = {{"a", "b"}}}};
  for (size_t i = 0; i < wrong.size(); ++i) {
    json spec;
    const auto names = AddCdiDevice(spec, "uid", "rail0", wrong[i]);
    ASSERT_FALSE(names) << i;
    EXPECT_EQ(names.error().code, Code::kInvalid) << i;
    EXPECT_THAT(names.error().message, HasSubstr("request rail0")) << i;
    EXPECT_TRUE(spec.is_null()) << i;
  }
}

class CdiFiles : public ::testing::Test {
 protected:
  struct stat Status(const std::string& uid) const {
    struct stat status{};
    EXPECT_EQ(::stat((folder_.path() + FileOf(uid)).c_str(), &status), 0) << uid;
    return status;
  }
  json Spec(const std::string& uid) {
    json spec;
    EXPECT_TRUE(AddCdiDevice(spec, uid, "rail0", kEdits));
    return spec;
  }
  const testing::TestFolder folder_;
};

TEST_F(CdiFiles, EveryUserMayReadThemWhateverTheUmask) {
  const mode_t before = ::umask(0077);
  const rail::Status put = PutCdi(folder_.path(), "u1", Spec("u1"));
  ::umask(before);
  ASSERT_TRUE(put) << put.error().message;
  EXPECT_EQ(Status("u1").st_mode & 07777, 0644U);
  EXPECT_EQ(json::parse(ReadText(folder_.path() + FileOf("u1"))), Spec("u1"));
}

TEST_F(CdiFiles, AreWrittenOnlyWhenTheyAreNotSoAlready) {
  ASSERT_TRUE(PutCdi(folder_.path(), "u1", Spec("u1")));
  const ino_t first = Status("u1").st_ino;
  ASSERT_TRUE(PutCdi(folder_.path(), "u1", Spec("u1")));
  EXPECT_EQ(Status("u1").st_ino, first);
  std::ofstream(folder_.path() + FileOf("u1")) << "{";
  ASSERT_TRUE(PutCdi(folder_.path(), "u1", Spec("u1")));
  EXPECT_EQ(json::parse(ReadText(folder_.path() + FileOf("u1"))), Spec("u1"));
}

TEST_F(CdiFiles, GoWithoutASpec) {
  ASSERT_TRUE(PutCdi(folder_.path(), "u1", Spec("u1")));
  ASSERT_TRUE(PutCdi(folder_.path(), "u1", json()));
  EXPECT_THAT(folder_.Names(""), IsEmpty());
  EXPECT_TRUE(PutCdi(folder_.path(), "u1", json())) << "may be repeated";
}

TEST_F(CdiFiles, OfOtherClaimsGoAndThoseOfOthersStay) {
  for (const std::string uid : {"u1", "u2", "u3"}) ASSERT_TRUE(PutCdi(folder_.path(), uid, Spec(uid)));
  for (const std::string name :
       {".railcni.io_rail_u2.json.railcni-AbCdEf", "nvidia.json", ".other.json.railcni-AbCdEf",
        "railcni.io_rail_u9.yaml", "railcni.io_other_u9.json"})
    std::ofstream(folder_.path() + "/" + name) << "{}";
  const rail::Status kept = KeepCdiOf(folder_.path(), {"u2", "u7"});
  ASSERT_TRUE(kept) << kept.error().message;
  EXPECT_THAT(folder_.Names(""),
              UnorderedElementsAre("railcni.io_rail_u2.json", "nvidia.json", ".other.json.railcni-AbCdEf",
                                   "railcni.io_rail_u9.yaml", "railcni.io_other_u9.json"));
}

TEST_F(CdiFiles, AFolderThatIsNotThereIsNamed) {
  const rail::Status kept = KeepCdiOf(folder_.path() + "/gone", {});
  ASSERT_FALSE(kept);
  EXPECT_EQ(kept.error().code, Code::kNotFound);
  EXPECT_THAT(kept.error().message, HasSubstr(folder_.path() + "/gone"));
  EXPECT_THAT(PutCdi(folder_.path() + "/gone", "u1", Spec("u1")).error().message,
              HasSubstr(folder_.path() + "/gone"));
}

}  // namespace
}  // namespace rail::kubelet
