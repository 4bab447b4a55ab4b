// The attachments of all nodes, in pages.
//
// Use:      RAIL_ASSIGN(auto page, ListAttachments(fleet, grid, request));
// Threads:  pure functions
// Cost:     a page: what it passes; with a namespace, that namespace's
#pragma once

#include "lib/base/error.h"
#include "lib/fabric/fleet.h"
#include "lib/fabric/grid.h"

namespace rail::fabric {

// Errors: kInvalid: a page_token that no answer has given.
Result<v1::ListFleetAttachmentsResponse> ListAttachments(const Fleet& fleet, const Grid& grid,
                                                         const v1::ListFleetAttachmentsRequest& request);

}  // namespace rail::fabric
