#include "lib/guard/bpf.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

namespace rail::guard {
namespace {

long Call(bpf_cmd command, bpf_attr& attributes) {
  return ::syscall(SYS_bpf, command, &attributes, sizeof attributes);
}

uint64_t Address(const void* pointer) {
  return reinterpret_cast<uint64_t>(pointer);
}

tl::unexpected<Error> Failed(const std::string& doing) {
  Error error = ErrnoError(errno, doing);
  if (error.sys_errno == ENOSYS) error.code = Code::kUnsupported;
  return tl::make_unexpected(std::move(error));
}

Result<Fd> Opened(bpf_cmd command, bpf_attr& attributes, const std::string& doing) {
  Fd fd(static_cast<int>(Call(command, attributes)));
  if (!fd) return Failed(doing);
  return fd;
}

void SetName(char* name, size_t room, const char* text) {
  std::strncpy(name, text, room - 1);
}

Status Access(bpf_cmd command, const Fd& map, const void* key, const void* value, const char* doing) {
  bpf_attr attributes{};
  attributes.map_fd = static_cast<uint32_t>(map.get());
  attributes.key = Address(key);
  attributes.value = Address(value);
  if (Call(command, attributes) == 0) return {};
  return Failed(doing);
}

// The kernel's verifier writes a line for each instruction; the last one says what it does not like.
std::string LastLine(std::string text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == '\0')) text.pop_back();
  const size_t processed = text.rfind("\nprocessed ");
  if (processed != std::string::npos) text.resize(processed);
  const size_t start = text.rfind('\n');
  return start == std::string::npos ? text : text.substr(start + 1);
}

}  // namespace

Result<Fd> CreateMap(const MapSpec& spec) {
  bpf_attr attributes{};
  attributes.map_type = spec.type;
  attributes.key_size = spec.key_size;
  attributes.value_size = spec.value_size;
  attributes.max_entries = spec.entries;
  attributes.map_flags = spec.flags;
  if (spec.inner >= 0) attributes.inner_map_fd = static_cast<uint32_t>(spec.inner);
  SetName(attributes.map_name, sizeof attributes.map_name, spec.name);
  return Opened(BPF_MAP_CREATE, attributes, std::string("make the BPF map ") + spec.name);
}

Result<Fd> LoadXdp(const char* name, std::span<const bpf_insn> code) {
  const std::string doing = std::string("load the BPF program ") + name;
  bpf_attr attributes{};
  attributes.prog_type = BPF_PROG_TYPE_XDP;
  attributes.insns = Address(code.data());
  attributes.insn_cnt = static_cast<uint32_t>(code.size());
  attributes.license = Address("Apache-2.0");
  SetName(attributes.prog_name, sizeof attributes.prog_name, name);
  auto program = Opened(BPF_PROG_LOAD, attributes, doing);
  if (program || program.error().code == Code::kPermission || program.error().code == Code::kUnsupported)
    return program;
  std::string text(1 << 16, '\0');
  attributes.log_buf = Address(text.data());
  attributes.log_size = static_cast<uint32_t>(text.size());
  attributes.log_level = 1;
  program = Opened(BPF_PROG_LOAD, attributes, doing);
  if (!program)
    program.error() = {Code::kInternal, program.error().message + ": " + LastLine(text),
                       program.error().sys_errno};
  return program;
}

Result<Fd> ProgramOf(uint32_t id) {
  bpf_attr attributes{};
  attributes.prog_id = id;
  return Opened(BPF_PROG_GET_FD_BY_ID, attributes, "open BPF program " + std::to_string(id));
}

Result<ProgramInfo> InfoOf(const Fd& program) {
  std::array<uint32_t, 16> maps{};
  bpf_prog_info info{};
  info.nr_map_ids = maps.size();
  info.map_ids = Address(maps.data());
  bpf_attr attributes{};
  attributes.info.bpf_fd = static_cast<uint32_t>(program.get());
  attributes.info.info_len = sizeof info;
  attributes.info.info = Address(&info);
  if (Call(BPF_OBJ_GET_INFO_BY_FD, attributes) != 0) return Failed("ask for a BPF program's maps");
  const size_t count = std::min<size_t>(info.nr_map_ids, maps.size());
  return ProgramInfo{std::string(info.name, strnlen(info.name, sizeof info.name)),
                     std::vector<uint32_t>(maps.begin(), maps.begin() + static_cast<ptrdiff_t>(count))};
}

Result<Fd> MapOf(uint32_t id) {
  bpf_attr attributes{};
  attributes.map_id = id;
  return Opened(BPF_MAP_GET_FD_BY_ID, attributes, "open BPF map " + std::to_string(id));
}

Result<std::string> NameOf(const Fd& map) {
  bpf_map_info info{};
  bpf_attr attributes{};
  attributes.info.bpf_fd = static_cast<uint32_t>(map.get());
  attributes.info.info_len = sizeof info;
  attributes.info.info = Address(&info);
  if (Call(BPF_OBJ_GET_INFO_BY_FD, attributes) != 0) return Failed("ask for a BPF map's name");
  return std::string(info.name, strnlen(info.name, sizeof info.name));
}

Status Read(const Fd& map, const void* key, void* value) {
  return Access(BPF_MAP_LOOKUP_ELEM, map, key, value, "read a BPF map");
}
Status Write(const Fd& map, const void* key, const void* value) {
  return Access(BPF_MAP_UPDATE_ELEM, map, key, value, "write to a BPF map");
}
Status Erase(const Fd& map, const void* key) {
  return Access(BPF_MAP_DELETE_ELEM, map, key, nullptr, "delete from a BPF map");
}
Result<size_t> ReadMany(const Fd& map, Batch how, void* keys, void* values, size_t most) {
  uint64_t last = 0;
  bpf_attr attributes{};
  attributes.batch.out_batch = Address(&last);
  attributes.batch.keys = Address(keys);
  attributes.batch.values = Address(values);
  attributes.batch.count = static_cast<uint32_t>(most);
  attributes.batch.map_fd = static_cast<uint32_t>(map.get());
  const bpf_cmd command = how == Batch::kTake ? BPF_MAP_LOOKUP_AND_DELETE_BATCH : BPF_MAP_LOOKUP_BATCH;
  // ENOENT: these were the last ones.
  if (Call(command, attributes) != 0 && errno != ENOENT) return Failed("read a BPF map");
  return attributes.batch.count;
}

}  // namespace rail::guard
