// The bpf(2) system call: programs and maps of the kernel.
//
// Use:      RAIL_ASSIGN(const Fd map, CreateMap({.name = "rail_seen", .type = BPF_MAP_TYPE_HASH, ...}));
//           RAIL_ASSIGN(const Fd program, LoadXdp("rail_guard_1", code));
// Threads:  any
// Source:   bpf(2); kernel include/uapi/linux/bpf.h
// Errors of every function: kPermission without CAP_BPF (CAP_SYS_ADMIN before Linux 5.8); kUnsupported the kernel has no bpf(2).
#pragma once

#include <linux/bpf.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "lib/base/error.h"
#include "lib/base/fd.h"

namespace rail::guard {

struct MapSpec {
  const char* name;  // at most 15 bytes
  bpf_map_type type;
  uint32_t key_size;    // bytes
  uint32_t value_size;  // bytes
  uint32_t entries;
  uint32_t flags = 0;
  int inner = -1;  // of a map of maps: a map like those that it will hold
};
Result<Fd> CreateMap(const MapSpec& spec);

// Errors: also kInternal the kernel's verifier refuses it; the message ends with its last words.
Result<Fd> LoadXdp(const char* name, std::span<const bpf_insn> code);

// What the kernel knows by its number. Errors: kNotFound it is gone.
Result<Fd> ProgramOf(uint32_t id);
struct ProgramInfo {
  std::string name;
  std::vector<uint32_t> maps;  // numbers
};
Result<ProgramInfo> InfoOf(const Fd& program);
Result<Fd> MapOf(uint32_t id);
Result<std::string> NameOf(const Fd& map);

// Errors: kNotFound there is no such key.
Status Read(const Fd& map, const void* key, void* value);
Status Write(const Fd& map, const void* key, const void* value);
Status Erase(const Fd& map, const void* key);
// Fills `keys` and `values`, which have room for `most`, with entries of a hash map, and returns how many. It is all of them if nobody
// changes the map meanwhile and it has no more than `most`. Take: they are gone from the map then. Source: Linux 5.6
enum class Batch { kRead, kTake };
Result<size_t> ReadMany(const Fd& map, Batch how, void* keys, void* values, size_t most);

}  // namespace rail::guard
