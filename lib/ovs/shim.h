/* libopenvswitch for C++, which cannot include some of its headers. Takes and returns bytes and text. It has no
 * sockets, and no state except a JSON parser's.
 *
 * Use:      struct rail_bytes bytes = {0};
 *           char *error = rail_encode_hello(1, &bytes);   ... free(error); free(bytes.data);
 * Threads:  any thread; one at a time for each json_parser
 * Logs:     nothing: it turns the library's own logging off, because stdout belongs to CNI
 * Owns:     nothing: the caller frees with free(3) every char * that a function returns or stores, and rail_bytes.data
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

/* ---- OpenFlow 1.5. Functions that return char * return NULL, or an error message. ---- */

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

/* The match and actions of `rule` in the form in which a switch returns them. */
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
/* Asks for a report of every rule that is added, edited or removed from now on, in short form for changes by this connection. */
char* rail_encode_flow_monitor(uint32_t xid, struct rail_bytes* out);

/* `message`: one whole message, as long as its header says, aligned to 8 bytes. */
enum rail_message rail_message_type(const void* message, size_t size);
/* The text of an OFPT_ERROR. */
char* rail_error_text(const void* message);
/* Calls `each` for every rule of one flow-stats reply. The rule and its texts are valid during the call of `each`.
 * `*more`: another part follows. */
typedef void rail_each_rule(void* context, const struct rail_rule* rule, uint64_t packets, uint64_t bytes);
char* rail_decode_flow_reply(const void* message, rail_each_rule* each, void* context, bool* more);
/* `*rules`: the number of rules in an aggregate-stats reply. */
char* rail_decode_aggregate_reply(const void* message, uint64_t* rules);
/* Calls `each` for every change in one flow-monitor message. The rule is valid during the call of `each` and has no actions. Its
 * match is NULL when its cookie & mask equals `cookie` & mask: then it is ours, which is enough, and making the text costs time.
 * `*paused`: the switch has left out changes, because they were not read in time. */
enum rail_rule_change { RAIL_RULE_ADDED, RAIL_RULE_REMOVED, RAIL_RULE_MODIFIED };
typedef void rail_each_change(void* context, enum rail_rule_change change, const struct rail_rule* rule);
char* rail_decode_flow_update(const void* message, uint64_t cookie, uint64_t mask, rail_each_change* each,
                              void* context, bool* paused);

/* ---- JSON-RPC 1.0, for OVSDB and unixctl ---- */

struct json_parser;

enum rail_rpc_type { RAIL_RPC_REQUEST, RAIL_RPC_NOTIFY, RAIL_RPC_REPLY, RAIL_RPC_ERROR };

/* One valid message. `id` and `body` (params, result or error) are JSON texts; NULL where the type has none. */
struct rail_rpc {
  enum rail_rpc_type type;
  char* method;
  char* id;
  char* body;
};

/* Reads the next bytes of a stream of messages. `*parser`: NULL at the beginning of a message. `*used`: how many bytes
 * belonged to the message. `*done`: `out` holds a message. After an error the stream cannot be used. */
char* rail_rpc_feed(struct json_parser** parser, const char* data, size_t size, size_t* used, bool* done,
                    struct rail_rpc* out);
void rail_rpc_abort(struct json_parser* parser);

#ifdef __cplusplus
}
#endif
