// Text that protobuf and Prometheus accept. One byte that is not UTF-8 (the text of a kernel or of bgpd, cut short) in a string
// field makes the whole answer unreadable for the client.
//
// Use:      message.set_problem(ValidUtf8(problem));
// Threads:  any thread
// Source:   RFC 3629 (no overlong forms, no surrogates, nothing above U+10FFFF)
#pragma once

#include <string>
#include <string_view>

namespace rail {

// `text` with every byte that belongs to no UTF-8 character replaced by U+FFFD.
std::string ValidUtf8(std::string_view text);

// `text` with `instead` for each control character (U+0000..U+001F, U+007F, U+0080..U+009F): words of a leaf or of a pod's author go to terminals,
// where such a character begins a command.
std::string WithoutControls(std::string_view text, char instead);

}  // namespace rail
