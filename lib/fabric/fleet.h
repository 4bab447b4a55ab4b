// The documents of all nodes: what each raild said last, since when those that are away are, and indices by address and pod that follow
// each change. All other files of this folder are questions to it.
//
// Use:      Fleet fleet;   fleet.Expect("n1");
//           RAIL_TRY(fleet.Apply("n1", std::move(response), UnixMs()));    // each response of WatchState
//           fleet.SetAway("n1", UnixMs(), "connect to 10.0.0.1:9443: timed out");
//           if (fleet.Number(v1::FLEET_RAILS) > last) ...                  // WatchFleet
// Threads:  one at a time; references hold until the next change
// Owns:     the documents
// Cost:     a section: its own size; an attachment: O(log of all); memory: README.md
// Source:   rail/v1/state.proto (WatchStateResponse)
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "lib/base/error.h"
#include "lib/fabric/names.h"
#include "rail/v1/fabric.pb.h"
#include "rail/v1/state.pb.h"

namespace rail::fabric {

struct Node {
  std::string name;
  v1::NodeState state;                            // without attachments
  std::map<int64_t, v1::Attachment> attachments;  // by id
  // By rail: since when it is Ready, or is not; 0: it was so in the first document.
  std::map<std::string, int64_t, std::less<>> since_ms;
  bool heard = false;      // a document has come
  int64_t away_ms = 0;     // since when it is away; 0: it is not
  std::string away_why;    // of one that is away
  int64_t applied_ms = 0;  // when it last said something

  // Whether its document is of now.
  bool IsSeen() const { return heard && away_ms == 0; }
};

// An attachment, and where it is. Both live as long as nothing changes.
struct Placed {
  const Node* node = nullptr;
  const v1::Attachment* attachment = nullptr;
};

// The order of ListFleetAttachments. Its texts are those of the attachment and the node.
struct AttachmentKey {
  std::string_view ns;
  std::string_view pod;
  std::string_view node;
  int64_t id = 0;

  bool operator<(const AttachmentKey& other) const;  // names by IsBefore
};

class Fleet {
 public:
  using Nodes = std::map<std::string, Node, NaturalLess>;
  using Attachments = std::map<AttachmentKey, Placed>;

  Fleet() = default;
  Fleet(const Fleet&) = delete;
  Fleet& operator=(const Fleet&) = delete;

  // The node is one of the fleet, whether it answers or not. Nothing, if it is known.
  void Expect(const std::string& node);
  // What the node's WatchState has sent. It is away no longer, and known if it was not. Errors: kInvalid: a section before the first ALL (the
  // stream is to be opened anew). A section of a newer raild that this program does not know is left out.
  Status Apply(const std::string& node, v1::WatchStateResponse response, int64_t now_ms);
  // The node does not answer. Its document stays; a node that is away already keeps its time, and takes the reason.
  void SetAway(const std::string& node, int64_t since_ms, std::string why);
  // It is none of the fleet any more.
  void Remove(const std::string& node);

  const Nodes& nodes() const { return nodes_; }
  const Node* Find(std::string_view node) const;
  const Attachments& attachments() const { return attachments_; }
  // Those with the address, by node and id.
  std::vector<Placed> OfAddress(const std::string& address) const;
  // Addresses with more than one attachment, and with how many; sorted.
  const std::map<std::string, size_t>& shared_addresses() const { return shared_; }

  // The number of the last change of the part: it grows. Of FLEET_CAUSES: of what causes are made of.
  uint64_t Number(v1::FleetPart part) const { return numbers_.at(static_cast<size_t>(part)); }
  // Of the last change of any part.
  uint64_t Number() const { return number_; }

 private:
  Node& Known(const std::string& node);
  void Changed(std::initializer_list<v1::FleetPart> parts);
  void ReplaceSection(Node& node, int section, v1::NodeState& state, bool is_first, int64_t now_ms);
  void Put(Node& node, v1::Attachment&& attachment);
  void Drop(Node& node, int64_t id);
  void DropAll(Node& node);
  void Index(const Node& node, const v1::Attachment& attachment);
  void Unindex(const Node& node, const v1::Attachment& attachment);

  Nodes nodes_;
  Attachments attachments_;
  std::unordered_multimap<std::string, Placed> by_address_;
  std::map<std::string, size_t> shared_;
  std::array<uint64_t, v1::FleetPart_ARRAYSIZE> numbers_{};  // by FleetPart
  uint64_t number_ = 0;
};

}  // namespace rail::fabric
