// Words of the fleet's sentences.
//
// Use:      Some(16, "node", "nodes")  // "16 nodes"     ListOf(names)   // "n1, n2, n3 and 13 more"
// Threads:  pure functions
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "rail/v1/node.pb.h"

namespace rail::fabric {

std::string Some(size_t count, std::string_view one, std::string_view many);

// The first three, and how many more.
std::string ListOf(const std::vector<std::string>& names);

// "12:03 UTC", of another day "2026-11-28 12:03 UTC".
std::string TimeText(int64_t unix_ms, int64_t now_ms);
// " since 12:03 UTC"; of 0: "".
std::string SinceText(int64_t unix_ms, int64_t now_ms);

google::protobuf::Timestamp Stamp(int64_t unix_ms);
int64_t UnixMsOf(const google::protobuf::Timestamp& time);

}  // namespace rail::fabric
