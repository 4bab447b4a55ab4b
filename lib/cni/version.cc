#include "lib/cni/version.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace rail::cni {

const std::vector<std::string>& SupportedVersions() {
  static const std::vector<std::string> versions = {"0.3.0", "0.3.1", "0.4.0", "1.0.0", "1.1.0"};
  return versions;
}

bool IsSupported(const std::string& version) {
  return std::ranges::find(SupportedVersions(), version) != SupportedVersions().end();
}

std::string Quote(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (byte < 0x20 || byte == 0x7f) {
      out += fmt::format("\\x{:02x}", byte);
    } else {
      out += c;
    }
  }
  return out + "\"";
}

std::string QuoteList(const std::vector<std::string>& texts) {
  std::string out = "[";
  for (const std::string& text : texts) out += (out.size() == 1 ? "" : " ") + Quote(text);
  return out + "]";
}

Result<std::array<int, 3>> ParseVersion(const std::string& version) {
  static constexpr std::array<const char*, 3> kParts = {"major", "minor", "micro"};
  std::array<int, 3> numbers{};
  if (std::ranges::count(version, '.') > 2) {
    return Fail(Code::kInvalid, "invalid version " + Quote(version) + ": too many parts");
  }
  size_t start = 0;
  for (size_t part = 0; part < numbers.size() && start <= version.size(); ++part) {
    const size_t end = std::min(version.find('.', start), version.size());
    const std::string text = version.substr(start, end - start);
    const char* digits = text.data() + (text.starts_with('+') ? 1 : 0);
    const auto [rest, error] = std::from_chars(digits, text.data() + text.size(), numbers[part]);
    if (error != std::errc() || rest != text.data() + text.size() || text.starts_with("+-")) {
      const char* why = error == std::errc::result_out_of_range ? "value out of range" : "invalid syntax";
      return Fail(Code::kInvalid,
                  fmt::format("failed to convert {} version part {}: strconv.Atoi: parsing {}: {}",
                              kParts[part], Quote(text), Quote(text), why));
    }
    start = end + 1;
  }
  return numbers;
}

bool AtLeast(const std::string& version, const std::string& other) {
  const auto a = ParseVersion(version);
  const auto b = ParseVersion(other);
  return a && (!b || *a >= *b);
}

}  // namespace rail::cni
