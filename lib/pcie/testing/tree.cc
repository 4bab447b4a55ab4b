#include "lib/pcie/testing/tree.h"

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace rail::pcie::testing {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> WordsOf(const std::string& line) {
  std::istringstream in(line.substr(0, line.find('#')));
  std::vector<std::string> words;
  for (std::string word; in >> word;) words.push_back(word);
  return words;
}

// VF `index` of the PF: behind it on its bus, as routing IDs go on.
std::string VfAddress(const std::string& pf, unsigned index) {
  const unsigned function = static_cast<unsigned>(pf.back() - '0') + 1 + index;
  char text[32];
  std::snprintf(text, sizeof text, "%s%02x.%u", pf.substr(0, pf.rfind(':') + 1).c_str(), function / 8,
                function % 8);
  return text;
}

}  // namespace

std::string Tree::File(const std::string& name) {
  std::ifstream in(std::string(RAILCNI_PCIE_TREES) + "/" + name + ".txt");
  std::ostringstream text;
  text << in.rdbuf();
  if (text.str().empty()) {
    std::fprintf(stderr, "there is no description of a server %s\n", name.c_str());
    std::abort();
  }
  return text.str();
}

Tree::Tree(const std::string& description) {
  std::string pattern = (fs::temp_directory_path() / "railcni-pcie-XXXXXX").string();
  if (::mkdtemp(pattern.data()) == nullptr) {
    std::perror("make a folder for a test");
    std::abort();
  }
  root_ = fs::canonical(pattern).string();
  fs::create_directories(root_ + "/sys/bus/pci/devices");
  std::istringstream lines(description);
  std::string node = "-1";
  std::string root;
  std::vector<std::string> above;
  for (std::string line; std::getline(lines, line);) {
    const std::vector<std::string> words = WordsOf(line);
    if (words.empty()) continue;
    if (words[0] == "socket") {
      const std::string first = words[5].substr(0, words[5].find('-'));
      Write("sys/devices/system/node/node" + words[3] + "/cpulist", words[5]);
      Write("sys/devices/system/cpu/cpu" + first + "/topology/physical_package_id", words[1]);
    } else if (words[0] == "root") {
      root = "sys/devices/" + words[1];
      node = words[3];
    } else {
      above.resize(line.find_first_not_of(' ') / 2 - 1);
      std::string folder = root;
      for (const std::string& bridge : above) folder += "/" + bridge;
      folder += "/" + words[0];
      AddDevice(folder, words, node);
      above.push_back(words[0]);
    }
  }
}

Tree::~Tree() {
  std::error_code ignored;
  fs::remove_all(root_, ignored);
}

void Tree::Write(const std::string& path, const std::string& text) const {
  fs::create_directories(fs::path(root_ + "/" + path).parent_path());
  std::ofstream(root_ + "/" + path) << text << "\n";
}

void Tree::Link(const std::string& path, const std::string& target) const {
  fs::create_directories(fs::path(root_ + "/" + path).parent_path());
  fs::create_symlink(root_ + "/" + target, root_ + "/" + path);
}

void Tree::AddDevice(const std::string& folder, const std::vector<std::string>& words,
                     const std::string& node) {
  const std::string& address = words[0];
  const std::string& kind = words[1];
  const std::string vendor = kind == "gpu" ? "0x10de" : kind == "vga" ? "0x1a03" : "0x15b3";
  Write(folder + "/class", kind == "gpu"      ? "0x030200"
                           : kind == "vga"    ? "0x030000"
                           : kind == "bridge" ? "0x060400"
                                              : "0x020000");
  Write(folder + "/vendor", kind == "bridge" ? "0x1000" : vendor);
  Write(folder + "/device", kind == "gpu" ? "0x2330" : kind == "bridge" ? "0xc030" : "0x1021");
  Write(folder + "/subsystem_vendor", vendor);
  Write(folder + "/subsystem_device", "0x16c1");
  Write(folder + "/numa_node", node);
  Write(folder + "/current_link_speed", "32.0 GT/s PCIe");
  Write(folder + "/current_link_width", "16");
  Link("sys/bus/pci/devices/" + address, folder);
  if (kind == "gpu") {
    Write("nvidia/gpus/" + address + "/information",
          "Model: \t\t NVIDIA H100 80GB HBM3\nIRQ:   \t\t 189\nGPU UUID: \t " + words[2] +
              "\nVideo BIOS: \t 96.00.61.00.01\nBus Type: \t PCIe\nBus Location: \t " + address +
              "\nDevice Minor: \t " + std::to_string(gpus_++) + "\nGPU Excluded:\t No");
  }
  if (kind != "nic") return;
  rails_.emplace_back("rail" + std::to_string(rails_.size()), words[2]);
  Write(folder + "/net/" + words[2] + "/uevent", "INTERFACE=" + words[2]);
  Link(folder + "/net/" + words[2] + "/device", folder);
  Link("sys/class/net/" + words[2], folder + "/net/" + words[2]);
  Write(folder + "/infiniband/" + words[3] + "/uevent", "NAME=" + words[3]);
  for (unsigned i = 0; i < std::stoul(words[4]); ++i) {
    const std::string vf = VfAddress(address, i);
    const std::string beside = fs::path(folder).parent_path().string() + "/" + vf;
    Write(beside + "/class", "0x020000");
    Write(beside + "/vendor", vendor);
    Write(beside + "/device", "0x101e");
    Write(beside + "/numa_node", node);
    Write(beside + "/current_link_speed", "Unknown");
    Write(beside + "/current_link_width", "0");
    Link(beside + "/physfn", folder);
    Link(folder + "/virtfn" + std::to_string(i), beside);
    Link("sys/bus/pci/devices/" + vf, beside);
  }
}

}  // namespace rail::pcie::testing
