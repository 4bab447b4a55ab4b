#include "lib/printing/words.h"

#include <google/protobuf/descriptor.h>

#include <cctype>

#include "rail/v1/options.pb.h"

namespace rail::printing {

std::string WordOf(const google::protobuf::EnumDescriptor& type, int number) {
  const google::protobuf::EnumValueDescriptor* value = type.FindValueByNumber(number);
  if (value == nullptr) return std::to_string(number);
  if (value->options().HasExtension(v1::word)) return value->options().GetExtension(v1::word);
  if (number == 0) return "";
  std::string word(value->name());
  for (char& c : word) c = c == '_' ? '-' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return word;
}

}  // namespace rail::printing
