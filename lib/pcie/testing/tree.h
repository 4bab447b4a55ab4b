// A server's PCIe tree as a folder, from a description in a few lines (*.txt beside this file).
//
// Use:      Tree tree(Tree::File("8-gpus-8-nics"));   pcie::Look(tree.sysfs(), tree.nvidia(), tree.Rails());
// Threads:  one at a time
// Owns:     the folder, which goes with it
// Source:   a line is "socket N node M cpus A-B", "root pci0000:15 node M", or a device, indented by two spaces for each bridge above it:
//           "ADDRESS bridge", "ADDRESS gpu UUID", "ADDRESS nic NETDEV RDMA VFS", "ADDRESS vga"; '#' begins a comment
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "lib/pcie/pcie.h"

namespace rail::pcie::testing {

class Tree {
 public:
  explicit Tree(const std::string& description);
  ~Tree();
  Tree(const Tree&) = delete;
  Tree& operator=(const Tree&) = delete;

  // The text of testing/<name>.txt.
  static std::string File(const std::string& name);

  sriov::Sysfs sysfs() const { return sriov::Sysfs(root_ + "/sys"); }
  std::string sysfs_root() const { return root_ + "/sys"; }
  std::string nvidia() const { return root_ + "/nvidia"; }
  // One rail for each NIC, in the order of the description: rail0 ...
  const std::vector<std::pair<std::string, std::string>>& Rails() const { return rails_; }
  Machine machine() const { return Look(sysfs(), nvidia(), rails_); }

  void Write(const std::string& path, const std::string& text) const;  // below the root

 private:
  void AddDevice(const std::string& folder, const std::vector<std::string>& words, const std::string& node);
  void Link(const std::string& path, const std::string& target) const;

  std::string root_;
  unsigned gpus_ = 0;  // the next one's minor number
  std::vector<std::pair<std::string, std::string>> rails_;
};

}  // namespace rail::pcie::testing
