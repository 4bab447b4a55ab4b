#include "lib/ovs/shim.h"

#include <config.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "byte-order.h"
#include "jsonrpc.h"
#include "openvswitch/dynamic-string.h"
#include "openvswitch/json.h"
#include "openvswitch/ofp-actions.h"
#include "openvswitch/ofp-bundle.h"
#include "openvswitch/ofp-errors.h"
#include "openvswitch/ofp-flow.h"
#include "openvswitch/ofp-monitor.h"
#include "openvswitch/ofp-msgs.h"
#include "openvswitch/ofp-util.h"
#include "openvswitch/ofpbuf.h"
#include "openvswitch/vlog.h"
#include "util.h"

static const enum ofputil_protocol kProtocol = OFPUTIL_P_OF15_OXM;
static const enum ofp_version kVersion = OFP15_VERSION;

static void TurnLoggingOff(void) {
  vlog_set_levels(NULL, VLF_ANY_DESTINATION, VLL_OFF);
}

/* Turns logging off; called before every call that could log. It is not a constructor, because the library registers its
 * log modules in constructors of its own. */
static void Silence(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, TurnLoggingOff);
}

/* ---- encoding ---- */

static void Finish(struct ofpbuf* message, uint32_t xid, struct rail_bytes* out) {
  ofpmsg_update_length(message);
  ((struct ofp_header*)message->data)->xid = htonl(xid);
  out->size = message->size;
  out->data = xmemdup(message->data, message->size);
  ofpbuf_delete(message);
}

char* rail_encode_hello(uint32_t xid, struct rail_bytes* out) {
  Finish(ofputil_encode_hello(1u << kVersion), xid, out);
  return NULL;
}

char* rail_encode_echo_reply(const void* request, struct rail_bytes* out) {
  const struct ofp_header* header = request;
  Finish(ofputil_encode_echo_reply(header), ntohl(header->xid), out);
  return NULL;
}

char* rail_encode_bundle_control(uint32_t xid, uint32_t bundle, enum rail_bundle_step step,
                                 struct rail_bytes* out) {
  struct ofputil_bundle_ctrl_msg control = {
      .bundle_id = bundle,
      .type = step == RAIL_BUNDLE_OPEN ? OFPBCT_OPEN_REQUEST : OFPBCT_COMMIT_REQUEST,
      .flags = OFPBF_ATOMIC | OFPBF_ORDERED,
  };
  Finish(ofputil_encode_bundle_ctrl_request(kVersion, &control), xid, out);
  return NULL;
}

/* Parses `rule` into a flow_mod. Refuses a match whose text sets something other than the match. */
static char* ParseFlowMod(const struct rail_rule* rule, int command, struct ofputil_flow_mod* mod) {
  /* The parser looks for the first "action", and a later word overrides an earlier one. A match must not exploit
   * that. */
  Silence();
  if (strstr(rule->match, "action")) {
    return xstrdup("a match must not name actions");
  }
  struct ds text = DS_EMPTY_INITIALIZER;
  ds_put_format(&text, "table=%" PRIu8 ",%s", rule->table, rule->match);
  if (command == OFPFC_ADD) {
    ds_put_format(&text, ",priority=%" PRIu16 ",cookie=0x%" PRIx64 ",actions=%s", rule->priority,
                  rule->cookie, rule->actions);
  } else {
    // The mask has all bits except the highest, which is the same in all cookies of ours. With the whole cookie, ovs-vswitchd walks
    // all rules with that cookie for each rule that it removes (30,000 remotes: minutes instead of a second).
    ds_put_format(&text, ",priority=%" PRIu16 ",cookie=0x%" PRIx64 "/0x7fffffffffffffff", rule->priority,
                  rule->cookie);
  }
  enum ofputil_protocol usable;
  char* error = parse_ofp_flow_mod_str(mod, ds_cstr(&text), NULL, NULL, command, &usable);
  ds_destroy(&text);
  if (error) {
    return error;
  }
  if (mod->table_id != rule->table || mod->idle_timeout || mod->hard_timeout || mod->importance ||
      mod->flags || (command == OFPFC_ADD && mod->cookie_mask)) {
    error = xstrdup("a match must not set the table, the cookie, timeouts, importance or flags");
  } else if (!(usable & kProtocol)) {
    error = xstrdup("it cannot be said in OpenFlow 1.5");
  }
  if (error) {
    free(mod->ofpacts);
    minimatch_destroy(&mod->match);
  }
  return error;
}

static char* EncodeFlowMod(const struct rail_rule* rule, int command, struct ofpbuf** out) {
  struct ofputil_flow_mod mod = {.ofpacts = NULL};
  char* error = ParseFlowMod(rule, command, &mod);
  if (error) {
    return error;
  }
  *out = ofputil_encode_flow_mod(&mod, kProtocol);
  ofpmsg_update_length(*out);
  free(mod.ofpacts);
  minimatch_destroy(&mod.match);
  return NULL;
}

/* The message inside a bundle carries the same xid as the one around it. */
static void FinishBundled(uint32_t xid, uint32_t bundle, struct ofpbuf* inner, struct rail_bytes* out) {
  ((struct ofp_header*)inner->data)->xid = htonl(xid);
  struct ofputil_bundle_add_msg add = {.bundle_id = bundle,
                                       .flags = OFPBF_ATOMIC | OFPBF_ORDERED,
                                       .msg = (const struct ofp_header*)inner->data};
  Finish(ofputil_encode_bundle_add(kVersion, &add), xid, out);
  ofpbuf_delete(inner);
}

char* rail_encode_bundle_add(uint32_t xid, uint32_t bundle, const struct rail_rule* rule,
                             struct rail_bytes* out) {
  struct ofpbuf* inner;
  char* error = EncodeFlowMod(rule, OFPFC_ADD, &inner);
  if (!error) {
    FinishBundled(xid, bundle, inner, out);
  }
  return error;
}

char* rail_encode_bundle_remove(uint32_t xid, uint32_t bundle, const struct rail_rule* rule,
                                struct rail_bytes* out) {
  struct ofpbuf* inner;
  char* error = EncodeFlowMod(rule, OFPFC_DELETE_STRICT, &inner);
  if (!error) {
    FinishBundled(xid, bundle, inner, out);
  }
  return error;
}

char* rail_encode_bundle_remove_by_cookie(uint32_t xid, uint32_t bundle, uint64_t cookie, uint64_t mask,
                                          struct rail_bytes* out) {
  struct ofputil_flow_mod mod = {
      .command = OFPFC_DELETE,
      .table_id = OFPTT_ALL,
      .cookie = htonll(cookie),
      .cookie_mask = htonll(mask),
      .new_cookie = OVS_BE64_MAX,
      .buffer_id = UINT32_MAX,
      .out_port = OFPP_ANY,
      .out_group = OFPG_ANY,
  };
  minimatch_init_catchall(&mod.match);
  struct ofpbuf* inner = ofputil_encode_flow_mod(&mod, kProtocol);
  ofpmsg_update_length(inner);
  minimatch_destroy(&mod.match);
  FinishBundled(xid, bundle, inner, out);
  return NULL;
}

static void EncodeStatsRequest(uint32_t xid, bool aggregate, uint64_t cookie, uint64_t mask,
                               struct rail_bytes* out) {
  struct ofputil_flow_stats_request request = {
      .aggregate = aggregate,
      .cookie = htonll(cookie),
      .cookie_mask = htonll(mask),
      .out_port = OFPP_ANY,
      .out_group = OFPG_ANY,
      .table_id = OFPTT_ALL,
  };
  match_init_catchall(&request.match);
  Finish(ofputil_encode_flow_stats_request(&request, kProtocol), xid, out);
}

char* rail_encode_flow_request(uint32_t xid, uint64_t cookie, uint64_t mask, struct rail_bytes* out) {
  EncodeStatsRequest(xid, false, cookie, mask, out);
  return NULL;
}

char* rail_encode_aggregate_request(uint32_t xid, uint64_t cookie, uint64_t mask, struct rail_bytes* out) {
  EncodeStatsRequest(xid, true, cookie, mask, out);
  return NULL;
}

char* rail_encode_flow_monitor(uint32_t xid, struct rail_bytes* out) {
  struct ofputil_flow_monitor_request request = {
      .id = 1,
      .command = OFPFMC_ADD,
      .flags = OFPFMF_ADD | OFPFMF_REMOVED | OFPFMF_MODIFY,
      .out_port = OFPP_NONE,
      .out_group = OFPG_ANY,
      .table_id = OFPTT_ALL,
  };
  match_init_catchall(&request.match);
  struct ofpbuf* message = ofpbuf_new(0);
  ofputil_append_flow_monitor_request(&request, message, kProtocol);
  Finish(message, xid, out);
  return NULL;
}

/* ---- decoding ---- */

static char* FormatMatch(const struct match* match) {
  struct ds text = DS_EMPTY_INITIALIZER;
  match_format(match, NULL, &text, OFP_DEFAULT_PRIORITY);
  return ds_steal_cstr(&text);
}

static char* FormatActions(const struct ofpact* actions, size_t size) {
  struct ds text = DS_EMPTY_INITIALIZER;
  struct ofpact_format_params params = {.s = &text};
  ofpacts_format(actions, size, &params);
  return ds_steal_cstr(&text);
}

char* rail_canonical(const struct rail_rule* rule, char** match, char** actions) {
  struct ofpbuf* message;
  char* text = EncodeFlowMod(rule, OFPFC_ADD, &message);
  if (text) {
    return text;
  }
  struct ofputil_flow_mod mod;
  uint64_t stub[64];
  struct ofpbuf decoded = OFPBUF_STUB_INITIALIZER(stub);
  enum ofperr error =
      ofputil_decode_flow_mod(&mod, message->data, kProtocol, NULL, NULL, &decoded, OFPP_MAX, 254);
  if (error) {
    text = xstrdup(ofperr_get_description(error));
  } else {
    struct match expanded;
    minimatch_expand(&mod.match, &expanded);
    *match = FormatMatch(&expanded);
    *actions = FormatActions(mod.ofpacts, mod.ofpacts_len);
    minimatch_destroy(&mod.match);
  }
  ofpbuf_uninit(&decoded);
  ofpbuf_delete(message);
  return text;
}

enum rail_message rail_message_type(const void* message, size_t size) {
  const struct ofp_header* header = message;
  enum ofptype type;
  Silence();
  if (size < sizeof *header || ntohs(header->length) != size) {
    return RAIL_BAD_MESSAGE;
  }
  /* A switch without OpenFlow 1.5 sends its hello and errors in its own version. */
  if (header->type == 0 /* OFPT_HELLO in every version */) {
    return RAIL_HELLO;
  }
  if (ofptype_decode(&type, header)) {
    return RAIL_BAD_MESSAGE;
  }
  switch ((int)type) {
    case OFPTYPE_ERROR: return RAIL_ERROR;
    case OFPTYPE_ECHO_REQUEST: return RAIL_ECHO_REQUEST;
    case OFPTYPE_BUNDLE_CONTROL: return RAIL_BUNDLE_REPLY;
    case OFPTYPE_FLOW_STATS_REPLY: return RAIL_FLOW_STATS;
    case OFPTYPE_AGGREGATE_STATS_REPLY: return RAIL_AGGREGATE_STATS;
    case OFPTYPE_FLOW_MONITOR_STATS_REPLY: return RAIL_FLOW_UPDATE;
    default: return RAIL_OTHER_MESSAGE;
  }
}

char* rail_error_text(const void* message) {
  struct ofpbuf payload;
  Silence();
  enum ofperr error = ofperr_decode_msg(message, &payload);
  if (!error) {
    return xstrdup("an error that this version does not know");
  }
  char* text = NULL;
  if (error == OFPERR_OFPHFC_INCOMPATIBLE || error == OFPERR_OFPHFC_EPERM) {
    text = xasprintf("%s: %.*s", ofperr_get_name(error), (int)payload.size, (const char*)payload.data);
  } else {
    text = xasprintf("%s: %s", ofperr_get_name(error), ofperr_get_description(error));
  }
  ofpbuf_uninit(&payload);
  return text;
}

char* rail_decode_flow_reply(const void* message, rail_each_rule* each, void* context, bool* more) {
  const struct ofp_header* header = message;
  struct ofpbuf reply = ofpbuf_const_initializer(header, ntohs(header->length));
  uint64_t stub[256];
  struct ofpbuf actions = OFPBUF_STUB_INITIALIZER(stub);
  Silence();
  *more = ofpmp_more(header);
  int error;
  for (;;) {
    struct ofputil_flow_stats stats;
    error = ofputil_decode_flow_stats_reply(&stats, &reply, false, &actions);
    if (error) {
      break;
    }
    char* match_text = FormatMatch(&stats.match);
    char* actions_text = FormatActions(stats.ofpacts, stats.ofpacts_len);
    const struct rail_rule rule = {
        .table = stats.table_id,
        .priority = stats.priority,
        .cookie = ntohll(stats.cookie),
        .match = match_text,
        .actions = actions_text,
    };
    each(context, &rule, stats.packet_count, stats.byte_count);
    free(match_text);
    free(actions_text);
  }
  ofpbuf_uninit(&actions);
  return error == EOF ? NULL : xasprintf("a rule in it cannot be read (%s)", ofperr_to_string(error));
}

char* rail_decode_aggregate_reply(const void* message, uint64_t* rules) {
  struct ofputil_aggregate_stats stats;
  Silence();
  const enum ofperr error = ofputil_decode_aggregate_stats_reply(&stats, message);
  if (error) {
    return xstrdup(ofperr_get_description(error));
  }
  *rules = stats.flow_count;
  return NULL;
}

char* rail_decode_flow_update(const void* message, uint64_t cookie, uint64_t mask, rail_each_change* each,
                              void* context, bool* paused) {
  const struct ofp_header* header = message;
  struct ofpbuf reply = ofpbuf_const_initializer(header, ntohs(header->length));
  uint64_t stub[64];
  struct ofpbuf actions = OFPBUF_STUB_INITIALIZER(stub);
  Silence();
  *paused = false;
  int error;
  for (;;) {
    struct ofputil_flow_update update;
    error = ofputil_decode_flow_update(&update, &reply, &actions);
    if (error) {
      break;
    }
    if (update.event == OFPFME_PAUSED || update.event == OFPFME_RESUMED) {
      *paused = true;
    }
    if (update.event != OFPFME_ADDED && update.event != OFPFME_REMOVED && update.event != OFPFME_MODIFIED) {
      continue; /* short form: our own change */
    }
    struct rail_rule rule = {
        .table = update.table_id,
        .priority = update.priority,
        .cookie = ntohll(update.cookie),
    };
    char* match = (rule.cookie & mask) == (cookie & mask) ? NULL : FormatMatch(&update.match);
    rule.match = match;
    each(context,
         update.event == OFPFME_ADDED     ? RAIL_RULE_ADDED
         : update.event == OFPFME_REMOVED ? RAIL_RULE_REMOVED
                                          : RAIL_RULE_MODIFIED,
         &rule);
    free(match);
  }
  ofpbuf_uninit(&actions);
  return error == EOF ? NULL : xasprintf("a change in it cannot be read (%s)", ofperr_to_string(error));
}

/* ---- JSON-RPC ---- */

static char* ToText(const struct json* json) {
  return json ? json_to_string(json, 0) : NULL;
}

char* rail_rpc_feed(struct json_parser** parser, const char* data, size_t size, size_t* used, bool* done,
                    struct rail_rpc* out) {
  Silence();
  *done = false;
  if (!*parser) {
    *parser = json_parser_create(0);
  }
  *used = json_parser_feed(*parser, data, size);
  if (!json_parser_is_done(*parser)) {
    return NULL;
  }
  struct json* json = json_parser_finish(*parser);
  *parser = NULL;
  if (json->type == JSON_STRING) { /* the parser's error, in place of a document */
    char* error = xstrdup(json_string(json));
    json_destroy(json);
    return error;
  }
  struct jsonrpc_msg* message;
  char* error = jsonrpc_msg_from_json(json, &message);
  if (error) {
    return error;
  }
  out->type = message->type == JSONRPC_REQUEST  ? RAIL_RPC_REQUEST
              : message->type == JSONRPC_NOTIFY ? RAIL_RPC_NOTIFY
              : message->type == JSONRPC_REPLY  ? RAIL_RPC_REPLY
                                                : RAIL_RPC_ERROR;
  out->method = message->method ? xstrdup(message->method) : NULL;
  out->id = ToText(message->id);
  out->body = ToText(message->params ? message->params : message->result ? message->result : message->error);
  jsonrpc_msg_destroy(message);
  *done = true;
  return NULL;
}

void rail_rpc_abort(struct json_parser* parser) {
  json_parser_abort(parser);
}
