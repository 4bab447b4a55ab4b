// The tables of the record.
//
// Source:   FORMAT.md (what each table means, and how the format may change)
#pragma once

#include <cstdint>
#include <string_view>

namespace rail::state {

inline constexpr std::string_view kProductVersion = RAIL_VERSION;

// PRAGMA user_version. Every change of kSchema, or of what a step may hold, needs a new number, and statements that convert the old
// format.
inline constexpr int64_t kFormatVersion = 4;

inline constexpr const char* kSchema = R"(
CREATE TABLE meta (written_by TEXT NOT NULL) STRICT;
INSERT INTO meta VALUES (')" RAIL_VERSION R"(');

CREATE TABLE attachment (
  id            INTEGER PRIMARY KEY AUTOINCREMENT,
  network       TEXT NOT NULL,
  container_id  TEXT NOT NULL,
  ifname        TEXT NOT NULL,
  phase         TEXT NOT NULL CHECK (phase IN ('adding', 'ready', 'deleting')),
  rail          TEXT NOT NULL,
  pod_namespace TEXT NOT NULL,
  pod_name      TEXT NOT NULL,
  pod_uid       TEXT NOT NULL,
  netns_path    TEXT NOT NULL,
  netns_device  INTEGER NOT NULL,
  netns_inode   INTEGER NOT NULL,
  device        TEXT NOT NULL,
  representor   TEXT NOT NULL,
  adopted       INTEGER NOT NULL CHECK (adopted IN (0, 1)),
  mac           TEXT NOT NULL,
  mtu           INTEGER NOT NULL,
  addresses     TEXT NOT NULL,
  gateways      TEXT NOT NULL,
  ofport        INTEGER NOT NULL CHECK (ofport BETWEEN 0 AND 65535),
  tenant        TEXT NOT NULL,
  tenant_id     TEXT NOT NULL CHECK (length(tenant_id) IN (0, 28)),
  announced     INTEGER NOT NULL CHECK (announced IN (0, 1)),
  created_ms    INTEGER NOT NULL,
  boot          TEXT NOT NULL DEFAULT '',
  route_table   INTEGER NOT NULL DEFAULT 0,
  route_rule    INTEGER NOT NULL DEFAULT 0,
  leaving       TEXT NOT NULL DEFAULT '' CHECK (length(leaving) IN (0, 28)),
  leaving_ms    INTEGER NOT NULL DEFAULT 0,
  UNIQUE (network, container_id, ifname)
) STRICT;

CREATE TABLE claim (
  kind          TEXT NOT NULL CHECK (kind IN ('device', 'address', 'port')),
  value         TEXT NOT NULL CHECK (value <> ''),
  attachment    INTEGER NOT NULL REFERENCES attachment (id) ON DELETE CASCADE,
  PRIMARY KEY (kind, value)
) STRICT, WITHOUT ROWID;
CREATE INDEX claim_by_attachment ON claim (attachment);

CREATE TABLE step (
  id            INTEGER PRIMARY KEY AUTOINCREMENT,
  attachment    INTEGER NOT NULL REFERENCES attachment (id),
  owner         TEXT NOT NULL,
  kind          TEXT NOT NULL,
  detail        TEXT NOT NULL,
  pending       TEXT NOT NULL DEFAULT ''
) STRICT;
CREATE INDEX step_by_attachment ON step (attachment);

PRAGMA user_version = 4;
)";

// Tenant ids of format 1 had 56 bits. They keep their value, so that pods with the same id stay together (FORMAT.md).
inline constexpr const char* kFromFormat1 = R"(
ALTER TABLE attachment RENAME COLUMN tenant_id TO old_id;
ALTER TABLE attachment ADD COLUMN tenant_id TEXT NOT NULL DEFAULT '' CHECK (length(tenant_id) IN (0, 28));
UPDATE attachment SET tenant_id = printf('%028x', old_id) WHERE old_id <> 0;
ALTER TABLE attachment DROP COLUMN old_id;
PRAGMA user_version = 2;
)";

// Format 3 has the step "routes", and "asked" in the detail of the step "device" (FORMAT.md). Earlier steps need no change.
inline constexpr const char* kFromFormat2 = "PRAGMA user_version = 3;";

// Format 4 has the boot of an attachment, its numbers of routing, the tenant that it is leaving, and in the detail of the step "device" which VF of which PF it was (FORMAT.md).
inline constexpr const char* kFromFormat3 = R"(
ALTER TABLE attachment ADD COLUMN boot TEXT NOT NULL DEFAULT '';
ALTER TABLE attachment ADD COLUMN route_table INTEGER NOT NULL DEFAULT 0;
ALTER TABLE attachment ADD COLUMN route_rule INTEGER NOT NULL DEFAULT 0;
ALTER TABLE attachment ADD COLUMN leaving TEXT NOT NULL DEFAULT '' CHECK (length(leaving) IN (0, 28));
ALTER TABLE attachment ADD COLUMN leaving_ms INTEGER NOT NULL DEFAULT 0;
UPDATE meta SET written_by = ')" RAIL_VERSION R"(';
PRAGMA user_version = 4;
)";

}  // namespace rail::state
