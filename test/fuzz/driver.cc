// Runs a fuzz target without libFuzzer, in any build: every seed, then a fixed number of mutations of them, the same ones in
// every run. An input that ends the program is printed, escaped, for a seed to be made of it.
//
// usage: <target> ROUNDS FOLDER...
#include <algorithm>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace {

constexpr size_t kLargest = 1 << 16;

std::string current;  // for the report of a crash

void Report(int signal) {
  std::string text = "the input that ended it (signal " + std::to_string(signal) + "): \"";
  for (const char c : current) {
    char escaped[8];
    const auto byte = static_cast<unsigned char>(c);
    std::snprintf(escaped, sizeof escaped,
                  byte >= 0x20 && byte < 0x7f && c != '"' && c != '\\' ? "%c" : "\\x%02x", byte);
    text += escaped;
  }
  text += "\"\n";
  std::fputs(text.c_str(), stderr);
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

void Try(std::string input) {
  current = std::move(input);
  // A copy of its exact size: a sanitizer sees a read past its end.
  const std::vector<uint8_t> bytes(current.begin(), current.end());
  LLVMFuzzerTestOneInput(bytes.data(), bytes.size());
}

// What is hostile beyond a flipped bit.
const std::vector<std::string>& Words() {
  using namespace std::string_literals;
  static const std::vector<std::string> words = {"\0"s,
                                                 "\xff"s,
                                                 "\xc0\x80"s,
                                                 "\xed\xa0\x80"s,
                                                 "\\u0000"s,
                                                 "\\ud800"s,
                                                 "\n"s,
                                                 "\r\n"s,
                                                 "\t"s,
                                                 "\x1b[2J"s,
                                                 "null"s,
                                                 "true"s,
                                                 "{}"s,
                                                 "[]"s,
                                                 "\"\""s,
                                                 "-1"s,
                                                 "0"s,
                                                 "255"s,
                                                 "256"s,
                                                 "65535"s,
                                                 "65536"s,
                                                 "4294967295"s,
                                                 "4294967296"s,
                                                 "9223372036854775807"s,
                                                 "9223372036854775808"s,
                                                 "18446744073709551615"s,
                                                 "18446744073709551616"s,
                                                 "1e999"s,
                                                 "-0"s,
                                                 "0.5"s,
                                                 "::/0"s,
                                                 "255.255.255.255/32"s,
                                                 "169.254.1.1"s,
                                                 ";"s,
                                                 "="s,
                                                 "/"s,
                                                 ".."s,
                                                 "%s%n"s,
                                                 "\"a\":"s,
                                                 ","s,
                                                 "]"s,
                                                 "}"s};
  return words;
}

class Mutator {
 public:
  explicit Mutator(std::vector<std::string> seeds) : seeds_(std::move(seeds)) {}

  std::string Next() {
    std::string input = seeds_[Below(seeds_.size())];
    for (size_t left = 1 + Below(4); left > 0; --left) Change(input);
    if (input.size() > kLargest) input.resize(kLargest);
    return input;
  }

 private:
  size_t Below(size_t limit) { return limit == 0 ? 0 : static_cast<size_t>(random_() % limit); }

  void Change(std::string& input) {
    const size_t at = Below(input.size() + 1);
    const size_t length = Below(std::min<size_t>(input.size() - at, 64) + 1);
    switch (Below(8)) {
      case 0:
        if (at < input.size()) input[at] = static_cast<char>(input[at] ^ (1 << Below(8)));
        break;
      case 1: input.insert(at, 1, static_cast<char>(Below(256))); break;
      case 2: input.erase(at, length); break;
      case 3: input.insert(at, input.substr(at, length)); break;
      case 4: input.replace(at, length, Words()[Below(Words().size())]); break;
      case 5: {
        const std::string& other = seeds_[Below(seeds_.size())];
        const size_t from = Below(other.size() + 1);
        input = input.substr(0, at) + other.substr(from);
        break;
      }
      case 6: {  // deeper than anybody writes by hand
        const size_t depth = Below(2000);
        input.insert(at, std::string(depth, Below(2) == 0 ? '[' : '{'));
        break;
      }
      default: input.resize(at);
    }
  }

  std::vector<std::string> seeds_;
  std::mt19937_64 random_{20260101};
};

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fprintf(stderr, "usage: %s ROUNDS FOLDER...\n", argv[0]);
    return 2;
  }
  for (const int signal : {SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL}) std::signal(signal, Report);
  std::vector<std::string> seeds;
  for (int i = 2; i < argc; ++i) {
    std::vector<std::filesystem::path> files;
    for (const auto& entry : std::filesystem::directory_iterator(argv[i])) files.push_back(entry.path());
    std::sort(files.begin(), files.end());
    for (const auto& file : files) {
      std::ostringstream text;
      text << std::ifstream(file, std::ios::binary).rdbuf();
      seeds.push_back(text.str());
    }
  }
  if (seeds.empty()) {
    std::fprintf(stderr, "no seeds\n");
    return 2;
  }
  for (const std::string& seed : seeds) Try(seed);
  // By hand: nothing, and the bombs whole.
  for (const std::string& bomb :
       {std::string(), std::string(1, '\0'), std::string(kLargest, '['), std::string(kLargest, '{'),
        "{\"name\":" + std::string(kLargest, '['), std::string(kLargest, 'a'), std::string(kLargest, '\xff'),
        std::string(kLargest, '\0'), std::string(kLargest, ';'), std::string(kLargest, '9')}) {
    Try(bomb);
  }
  Mutator mutator(seeds);
  const long rounds = std::strtol(argv[1], nullptr, 10);
  for (long i = 0; i < rounds; ++i) Try(mutator.Next());
  std::printf("%zu seeds, %ld mutations\n", seeds.size(), rounds);
  return 0;
}
