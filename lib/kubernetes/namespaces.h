// Reads what the API server says of namespaces: a page of their list, and an event of a watch.
//
// Use:      RAIL_ASSIGN(const Page page, ReadPage(answer.body, label_key));
//           RAIL_ASSIGN(const Event event, ReadEvent(line, label_key));
// Threads:  pure functions
// Source:   Kubernetes, "API Concepts": lists in chunks, watches, bookmarks; meta/v1 PartialObjectMetadataList, WatchEvent, Status
//
// Everything but names, versions and one label is skipped while it is read: 10,000 namespaces are 10 MB of text.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lib/base/error.h"
#include "lib/tenancy/tenant_map.h"

namespace rail::kubernetes {

struct Namespace {
  std::string name;
  tenancy::NamespaceLabel label;
  std::string resource_version;
};

struct Page {
  std::vector<Namespace> namespaces;
  std::string resource_version;
  std::string next;  // "": the last page
};

struct Event {
  enum class Kind { kAdded, kModified, kDeleted, kBookmark, kError } kind = Kind::kError;
  Namespace what;
  long status = 0;      // of kError
  std::string message;  // of kError
};

// Errors: kInvalid: not JSON, nested deeper than 32 levels, no list of namespaces, an item without a name.
Result<Page> ReadPage(std::string_view text, std::string_view label_key);
Result<Event> ReadEvent(std::string_view text, std::string_view label_key);

// "2026-01-02T03:04:05Z" in Unix milliseconds; 0: something else.
int64_t ReadTime(std::string_view text);

}  // namespace rail::kubernetes
