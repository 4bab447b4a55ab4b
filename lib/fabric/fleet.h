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
#include <compare>
#include <cstdint>
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

// A rail as its state makes it: green, or red since.
struct RailHistory {
  v1::Rail::State state = v1::Rail::STATE_UNSPECIFIED;
  int64_t since_ms = 0;  // 0: it was so in the first document
};

struct Node {
  std::string name;
  v1::NodeState state;                            // without attachments
  std::map<int64_t, v1::Attachment> attachments;  // by id
  std::map<std::string, RailHistory> history;     // by rail
  bool heard = false;                             // a document has come
  int64_t away_ms = 0;                            // since when it is away; 0: it is not
  std::string away_why;                           // of one that is away
  int64_t applied_ms = 0;                         // when it last said something

  // Whether its document is of now.
  bool IsSeen() const { return heard && away_ms == 0; }
};

// An attachment, and where it is. Both live as long as nothing changes.
struct Placed {
  const Node* node = nullptr;
  const v1::Attachment* attachment = nullptr;
};

// The order of ListFleetAttachments.
struct AttachmentKey {
  std::string ns;
  std::string pod;
  std::string node;
  int64_t id = 0;

  bool operator==(const AttachmentKey&) const = default;
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
  // stream is to be opened anew); a section that is not known is left out, without an error.
  Status Apply(const std::string& node, v1::WatchStateResponse response, int64_t now_ms);
  // The node does not answer. Its document stays; a node that is away already keeps its time, and takes the reason.
  void SetAway(const std::string& node, int64_t since_ms, std::string why);
  // It is none of the fleet any more.
  void Remove(const std::string& node);

  const Nodes& nodes() const { return nodes_; }
  const Node* Find(std::string_view node) const;
  const Attachments& attachments() const { return attachments_; }
  // Those with the address, in no order.
  std::vector<Placed> OfAddress(const std::string& address) const;
  // Addresses with more than one attachment, sorted.
  std::vector<std::string> AddressesOfSeveral() const;

  // The number of the last change of the part, and of any: they grow with each change. FLEET_CAUSES: changes with what causes are
  // made of.
  uint64_t Number(v1::FleetPart part) const { return numbers_.at(static_cast<size_t>(part)); }
  uint64_t Number() const { return number_; }

 private:
  void Changed(std::initializer_list<v1::FleetPart> parts);
  void ReplaceAll(Node& node, v1::NodeState state, int64_t now_ms);
  void ReplaceSection(Node& node, int section, v1::NodeState state, int64_t now_ms);
  void NoteRails(Node& node, bool is_first, int64_t now_ms);
  void Put(Node& node, v1::Attachment attachment);
  void Drop(Node& node, int64_t id);
  void DropAll(Node& node);
  void Index(const Node& node, const v1::Attachment& attachment);
  void Unindex(const Node& node, const v1::Attachment& attachment);

  Nodes nodes_;
  Attachments attachments_;
  std::unordered_multimap<std::string, Placed> by_address_;
  std::map<std::string, size_t> of_several_;  // addresses with more than one attachment
  std::array<uint64_t, 5> numbers_{};         // by FleetPart
  uint64_t number_ = 0;
};

}  // namespace rail::fabric
