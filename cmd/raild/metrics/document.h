// The metrics of a message: one walk over its fields. The options of a field (rail/v1/options.proto) name its metric and the labels on the
// way to it.
//
// Use:      Exposition page;  AddDocument(page, state, UnixMs());  page.Text()
// Threads:  pure functions
#pragma once

#include <google/protobuf/message.h>

#include <cstdint>

#include "cmd/raild/metrics/exposition.h"

namespace rail::metrics {

// `now_ms`: Unix time, from which ages count.
void AddDocument(Exposition& page, const google::protobuf::Message& document, int64_t now_ms);

}  // namespace rail::metrics
