// Any bytes as the stream that bgpd pushes: however it is cut, the same messages come out, and none of them says more than a
// message can hold.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "lib/frr/bmp/message.h"

namespace {

using rail::bmp::Framer;
using rail::bmp::Instance;
using rail::bmp::Message;

// The kinds of the messages of `stream`, fed in pieces of `step` bytes.
std::vector<Message::Kind> Kinds(std::string_view stream, size_t step, Instance from) {
  std::vector<Message::Kind> kinds;
  Framer framer(from);
  for (; !stream.empty(); stream.remove_prefix(std::min(step, stream.size()))) {
    framer.Feed(stream.substr(0, step));
    for (Message message;;) {
      const auto whole = framer.Next(message);
      if (!whole) return kinds;
      if (!*whole) break;
      const rail::bmp::Update& update = message.update;
      if (update.announced.size() + update.withdrawn.size() > rail::bmp::kMaxMessage / 5) std::abort();
      if (update.treated_as_withdraw && !update.announced.empty()) std::abort();
      if (message.kind != Message::Kind::kRoutes && !(update == rail::bmp::Update{})) std::abort();
      kinds.push_back(message.kind);
    }
  }
  return kinds;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view stream(reinterpret_cast<const char*>(data), size);
  for (const Instance from : {Instance::kDefault, Instance::kVrf}) {
    if (Kinds(stream, 7, from) != Kinds(stream, 1 << 16, from)) std::abort();
  }
  (void)rail::bmp::DecodeUpdate(stream);
  (void)rail::bmp::DecodeOpenFamilies(stream);
  return 0;
}
