#include <algorithm>
#include <nlohmann/json.hpp>

#include "lib/config/keys.h"
#include "lib/config/values.h"

namespace rail::config {
namespace {

using enum Takes;

// Adds what an item says to `values`; an error if it is there already.
template <class T>
void AddOnce(Section& in, const Item& item, const T& value, std::vector<T>& values) {
  if (std::ranges::find(values, value) != values.end()) in.Add(item.at, item.shown + " is there twice");
  values.push_back(value);
}

void ReadLinks(Section& in, const Key& key, std::vector<std::string>& links) {
  for (const Item& item : in.Texts(key.name, key.rule.least, key.rule.most)) {
    for (const Rail& rail : in.file.node.rails) {
      if (rail.pf == item.text || rail.bridge == item.text)
        in.Add(item.at, item.shown + " belongs to rail " + rail.name +
                            ": what is announced on one must never go out on the other");
    }
    if (!IsBgpLink(item.text))
      in.AddValue(item.at, item.shown + " must be a link's name: 1 to 15 of letters, digits, '.', '_', '-'");
    AddOnce(in, item, item.text, links);
  }
}

// Rails and front end share no address.
void NotOfARail(Section& in, const Item& item, const IpPrefix& prefix) {
  const auto overlap = [](const IpPrefix& a, const IpPrefix& b) {
    return a.Contains(b.address) || b.Contains(a.address);
  };
  for (const Rail& rail : in.file.node.rails) {
    for (const IpPrefix& of_rail : rail.accept) {
      if (of_rail.length > 0 && overlap(prefix, of_rail))
        in.Add(item.at, prefix.ToString() + " overlaps with " + of_rail.ToString() + " of rails[" +
                            rail.name + "].accept: rails and front end share no address");
    }
  }
}

void ReadAddresses(Section& in, const Key& key, std::vector<IpAddress>& addresses) {
  for (const Item& item : in.Texts(key.name, key.rule.least, key.rule.most)) {
    const auto prefix = IpPrefix::Parse(item.text);
    if (prefix && prefix->is_host() && prefix->address.is_routed_unicast()) {
      NotOfARail(in, item, *prefix);
      AddOnce(in, item, prefix->address, addresses);
    } else {
      in.AddValue(item.at,
                  item.shown + " must be an address of this node, as /32 or /128: \"192.0.2.11/32\"");
    }
  }
}

void ReadAccept(Section& in, const Key& key, std::vector<IpPrefix>& accept) {
  for (const Item& item : in.Texts(key.name, key.rule.least, key.rule.most)) {
    const auto prefix = IpPrefix::Parse(item.text);
    if (prefix && prefix->HasNoHostBits()) {
      if (prefix->length > 0) NotOfARail(in, item, *prefix);
      AddOnce(in, item, *prefix, accept);
    } else {
      in.AddValue(item.at, item.shown + " must be a prefix without host bits, like \"10.1.0.0/16\"");
    }
  }
}

// Taken without a restart of the process: raild removes what the section no longer names.
constexpr Key kRows[] = {
    Row<&Frontend::links>(
        "links", kRequired, kAtOnce, ReadBy<ReadLinks>(Range(2, 8)),
        "links (letters, digits, `.`, `_`, `-`), none a rail's, each with a leaf, BGP unnumbered. You "
        "set them up, with a link-local address; raild does not touch them"),
    Row<&Frontend::addresses>("addresses", kRequired, kAtOnce, ReadBy<ReadAddresses>(Range(1, 16)),
                              "addresses as /32 or /128, in no rail's `accept`: put on the loopback, "
                              "announced to each leaf. An override or rule sets each node's"),
    Row<&Frontend::accept>("accept", R"(["0.0.0.0/0", "::/0"])", kAtOnce, ReadBy<ReadAccept>(Range(1, 64)),
                           "prefixes without host bits, outside the rails' `accept`: what may come in. "
                           "Length 0 is the default route alone, any other the prefix and all within it"),
    Row<&Frontend::bfd>("bfd", "false", kAtOnce, {}, "`true`: BFD on these sessions, once bfdd runs"),
};

}  // namespace

const KeyTable kFrontendKeys{kRows};

}  // namespace rail::config
