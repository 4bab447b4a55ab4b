// The words of the API's enums.
//
// Use:      WordOf(rail.state())      // "NoCarrier"
// Threads:  pure functions
// Source:   rail/v1/options.proto (the option `word`)
#pragma once

#include <string>

#include "rail/v1/node.pb.h"

namespace rail::printing {

// The word of an enum's value, "same-leaf"; "" of the value 0 that has none. Of a newer raild's value: its number.
std::string WordOf(const google::protobuf::EnumDescriptor& type, int value);
template <class Enum>
std::string WordOf(Enum value) {
  return WordOf(*google::protobuf::GetEnumDescriptor<Enum>(), value);
}

}  // namespace rail::printing
