/* libopenvswitch for C++: some of its headers cannot be included there. Bytes and text in and out; no
 * sockets, no state but a JSON parser's.
 *
 * Use:      struct rail_bytes bytes = {0};
 *           char *error = rail_encode_hello(1, &bytes);   ... free(error); free(bytes.data);
 * Threads:  any thread; one at a time for each json_parser
 * Logs:     nothing: the library's own logging is off, stdout belongs to CNI
 * Owns:     nothing: every char * that is returned or stored, and rail_bytes.data, is the caller's to free(3)
 * Source:   OpenFlow 1.5.1; RFC 7047 section 4; the headers of openvswitch-source
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct rail_bytes {
  char* data;
  size_t size;
};

/* ---- OpenFlow 1.5. Functions that return char * return NULL, or an error for people. ---- */

struct rail_rule {
  uint8_t table;
  uint16_t priority;
  uint64_t cookie;
  const char* match;
  const char* actions;
};

enum rail_bundle_step { RAIL_BUNDLE_OPEN, RAIL_BUNDLE_COMMIT };

enum rail_message {
  RAIL_HELLO,
  RAIL_ERROR,
  RAIL_ECHO_REQUEST,
  RAIL_BUNDLE_REPLY,
  RAIL_FLOW_STATS,
  RAIL_AGGREGATE_STATS,
  RAIL_FLOW_UPDATE,
  RAIL_OTHER_MESSAGE,
  RAIL_BAD_MESSAGE
};

/* The match and actions of `rule` as a switch gives them back. */
char* rail_canonical(const struct rail_rule* rule, char** match, char** actions);

char* rail_encode_hello(uint32_t xid, struct rail_bytes* out);
char* rail_encode_echo_reply(const void* request, struct rail_bytes* out);
/* An atomic, ordered bundle. */
char* rail_encode_bundle_control(uint32_t xid, uint32_t bundle, enum rail_bundle_step step,
                                 struct rail_bytes* out);
char* rail_encode_bundle_add(uint32_t xid, uint32_t bundle, const struct rail_rule* rule,
                             struct rail_bytes* out);
/* Strict: the rule of this table, priority, match and cookie. */
char* rail_encode_bundle_remove(uint32_t xid, uint32_t bundle, const struct rail_rule* rule,
                                struct rail_bytes* out);
char* rail_encode_bundle_remove_by_cookie(uint32_t xid, uint32_t bundle, uint64_t cookie, uint64_t mask,
                                          struct rail_bytes* out);
char* rail_encode_flow_request(uint32_t xid, uint64_t cookie, uint64_t mask, struct rail_bytes* out);
char* rail_encode_aggregate_request(uint32_t xid, uint64_t cookie, uint64_t mask, struct rail_bytes* out);
/* From now on: every rule that is added, edited or removed; what this very connection does only in short. */
char* rail_encode_flow_monitor(uint32_t xid, struct rail_bytes* out);

/* `message`: one whole message, as long as its header says, aligned to 8 bytes. */
enum rail_message rail_message_type(const void* message, size_t size);
/* What an OFPT_ERROR says, as text. */
char* rail_error_text(const void* message);
/* Calls `each` for every rule of one flow-stats reply; rule and its texts live for the call. `*more`: another
 * part follows. */
typedef void rail_each_rule(void* context, const struct rail_rule* rule, uint64_t packets, uint64_t bytes);
char* rail_decode_flow_reply(const void* message, rail_each_rule* each, void* context, bool* more);
/* `*rules`: how many an aggregate-stats reply has counted. */
char* rail_decode_aggregate_reply(const void* message, uint64_t* rules);
/* Calls `each` for every change that one flow-monitor message tells of; the rule lives for the call and has no actions. Its
 * match is NULL when its cookie & mask is value & mask: that it is ours says enough, and the text is what costs time.
 * `*paused`: the switch left changes out, as nobody took them in time. */
enum rail_rule_change { RAIL_RULE_ADDED, RAIL_RULE_REMOVED, RAIL_RULE_MODIFIED };
typedef void rail_each_change(void* context, enum rail_rule_change change, const struct rail_rule* rule);
char* rail_decode_flow_update(const void* message, uint64_t cookie, uint64_t mask, rail_each_change* each,
                              void* context, bool* paused);

/* ---- JSON-RPC 1.0, as OVSDB and unixctl speak it ---- */

struct json_parser;

enum rail_rpc_type { RAIL_RPC_REQUEST, RAIL_RPC_NOTIFY, RAIL_RPC_REPLY, RAIL_RPC_ERROR };

/* One valid message. `id` and `body` (params, result or error) are JSON texts; NULL where the type has none.
 */
struct rail_rpc {
  enum rail_rpc_type type;
  char* method;
  char* id;
  char* body;
};

/* Reads on in a stream of messages. `*parser`: NULL at a message's begin. `*used`: the bytes that belonged to
 * it.
 * `*done`: `out` holds a message. After an error the stream cannot be used. */
char* rail_rpc_feed(struct json_parser** parser, const char* data, size_t size, size_t* used, bool* done,
                    struct rail_rpc* out);
void rail_rpc_abort(struct json_parser* parser);

#ifdef __cplusplus
}
#endif
