// Any bytes as a frame of LLDP: what is read of it is bounded and can be printed, and what is refused is refused in a sentence.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "lib/lldp/frame.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string frame(reinterpret_cast<const char*>(data), size);
  const auto neighbour = rail::lldp::Parse(frame);
  if (!neighbour) {
    if (neighbour.error().message.size() > 200) std::abort();
    return 0;
  }
  for (const std::string* text :
       {&neighbour->chassis, &neighbour->port, &neighbour->port_description, &neighbour->system_name}) {
    if (text->size() > 765) std::abort();  // 255 bytes in hexadecimal, with colons at most
    if (std::ranges::any_of(*text, [](char c) { return static_cast<uint8_t>(c) < 0x20 || c == 0x7f; }))
      std::abort();
  }
  return 0;
}
