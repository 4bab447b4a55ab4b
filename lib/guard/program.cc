#include "lib/guard/program.h"

#include <arpa/inet.h>
#include <linux/if_ether.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <map>
#include <utility>

#include "lib/guard/bpf.h"

namespace rail::guard {
namespace {

// Registers. R6 to R9 keep their values across the kernel's functions.
constexpr uint8_t kResult = BPF_REG_0;
constexpr uint8_t kStack = BPF_REG_10;
constexpr uint8_t kA = BPF_REG_2;
constexpr uint8_t kB = BPF_REG_3;
constexpr uint8_t kFacts = BPF_REG_6;
constexpr uint8_t kFrame = BPF_REG_7;
constexpr uint8_t kEnd = BPF_REG_8;
constexpr uint8_t kKept = BPF_REG_9;

// On the stack, below R10.
constexpr int16_t kKey = -16;   // 16 bytes: the destination
constexpr int16_t kTime = -24;  // 8 bytes
constexpr int16_t kLink = -28;  // 4 bytes: the index of the link

// In the frame.
constexpr int16_t kEtherType = 12;
constexpr int16_t kV4Header = 14, kV4Source = 26, kV4Destination = 30, kV4Length = 34;
constexpr int16_t kV6Header = 14, kV6Source = 22, kV6Destination = 38, kV6Length = 54;

// Writes instructions, and lets a jump name a place that comes later.
class Assembler {
 public:
  using Label = int;

  Label NewLabel() { return next_label_++; }
  void Here(Label label) { places_[label] = code_.size(); }

  void Move(uint8_t to, uint8_t from) { Add(BPF_ALU64 | BPF_MOV | BPF_X, to, from, 0, 0); }
  void Set(uint8_t to, int32_t value) { Add(BPF_ALU64 | BPF_MOV | BPF_K, to, 0, 0, value); }
  // BPF_K is 0, as BPF_ADD is.
  void Plus(uint8_t to, int32_t value) { Add(BPF_ALU64 | BPF_ADD, to, 0, 0, value); }
  void PlusOf(uint8_t to, uint8_t from) { Add(BPF_ALU64 | BPF_ADD | BPF_X, to, from, 0, 0); }
  void Or(uint8_t to, uint8_t from) { Add(BPF_ALU64 | BPF_OR | BPF_X, to, from, 0, 0); }
  void ShiftRight(uint8_t to, int32_t bits) { Add(BPF_ALU64 | BPF_RSH | BPF_K, to, 0, 0, bits); }
  // `size`: BPF_B, BPF_H, BPF_W or BPF_DW
  void Load(uint8_t size, uint8_t to, uint8_t from, int16_t at) {
    Add(BPF_LDX | BPF_MEM | size, to, from, at, 0);
  }
  void Store(uint8_t size, uint8_t to, int16_t at, uint8_t from) {
    Add(BPF_STX | BPF_MEM | size, to, from, at, 0);
  }
  void StoreValue(uint8_t size, uint8_t to, int16_t at, int32_t value) {
    Add(BPF_ST | BPF_MEM | size, to, 0, at, value);
  }
  // Eight bytes, at once: other CPUs may do the same.
  void AddTo(uint8_t to, int16_t at, uint8_t from) {
    Add(BPF_STX | BPF_ATOMIC | BPF_DW, to, from, at, BPF_ADD);
  }
  void LoadMap(uint8_t to, int fd) {
    Add(BPF_LD | BPF_IMM | BPF_DW, to, BPF_PSEUDO_MAP_FD, 0, fd);
    Add(0, 0, 0, 0, 0);
  }
  void Call(int32_t function) { Add(BPF_JMP | BPF_CALL, 0, 0, 0, function); }
  void Exit() { Add(BPF_JMP | BPF_EXIT, 0, 0, 0, 0); }

  void Jump(Label to) { AddJump(BPF_JMP | BPF_JA, 0, 0, 0, to); }
  // `how`: BPF_JEQ, BPF_JNE, BPF_JGT, BPF_JLT
  void JumpIf(uint8_t how, uint8_t one, int32_t value, Label to) {
    AddJump(static_cast<uint8_t>(BPF_JMP | how | BPF_K), one, 0, value, to);
  }
  void JumpIfOf(uint8_t how, uint8_t one, uint8_t other, Label to) {
    AddJump(static_cast<uint8_t>(BPF_JMP | how | BPF_X), one, other, 0, to);
  }

  std::vector<bpf_insn> Finish() {
    for (const auto& [at, label] : jumps_) code_[at].off = static_cast<int16_t>(places_.at(label) - at - 1);
    return std::move(code_);
  }

 private:
  void Add(int code, uint8_t to, uint8_t from, int16_t offset, int32_t value) {
    bpf_insn one{};
    one.code = static_cast<uint8_t>(code);
    one.dst_reg = to & 0xf;
    one.src_reg = from & 0xf;
    one.off = offset;
    one.imm = value;
    code_.push_back(one);
  }
  void AddJump(uint8_t code, uint8_t one, uint8_t other, int32_t value, Label to) {
    jumps_.emplace_back(code_.size(), to);
    Add(code, one, other, 0, value);
  }

  std::vector<bpf_insn> code_;
  std::vector<std::pair<size_t, Label>> jumps_;
  std::map<Label, size_t> places_;
  int next_label_ = 0;
};

class Writer {
 public:
  explicit Writer(const Maps& maps) : maps_(maps) {
    for (Assembler::Label& label : refuse_) label = a_.NewLabel();
  }

  std::vector<bpf_insn> Write() {
    const Assembler::Label v4 = a_.NewLabel();
    const Assembler::Label v6 = a_.NewLabel();
    a_.Load(BPF_W, kFrame, BPF_REG_1, offsetof(xdp_md, data));
    a_.Load(BPF_W, kEnd, BPF_REG_1, offsetof(xdp_md, data_end));
    a_.Load(BPF_W, kA, BPF_REG_1, offsetof(xdp_md, ingress_ifindex));
    a_.Store(BPF_W, kStack, kLink, kA);
    LookUp(maps_.facts, To(Reason::kAddress));
    a_.Move(kFacts, kResult);
    a_.Load(BPF_W, kA, kFacts, offsetof(Facts, open));
    a_.JumpIf(BPF_JNE, kA, 0, pass_);
    Need(ETH_HLEN);
    a_.Load(BPF_H, kA, kFrame, kEtherType);
    a_.Move(kKept, kA);
    for (const int tag : {ETH_P_8021Q, ETH_P_8021AD})
      a_.JumpIf(BPF_JEQ, kA, Network(tag), To(Reason::kTagged));
    const Assembler::Label known = a_.NewLabel();
    for (const int type : {ETH_P_IP, ETH_P_IPV6}) a_.JumpIf(BPF_JEQ, kA, Network(type), known);
    a_.Jump(To(Reason::kEtherType));
    a_.Here(known);
    SameMac(0, offsetof(Facts, gateway), Reason::kGateway);
    SameMac(ETH_ALEN, offsetof(Facts, mac), Reason::kMac);
    a_.JumpIf(BPF_JEQ, kKept, Network(ETH_P_IPV6), v6);
    a_.Here(v4);
    V4();
    a_.Here(v6);
    V6();
    a_.Here(seen_);
    Seen();
    Refuse();
    return a_.Finish();
  }

 private:
  static int32_t Network(int type) { return htons(static_cast<uint16_t>(type)); }
  Assembler::Label To(Reason reason) const { return refuse_.at(static_cast<size_t>(reason)); }

  // At least so many bytes: the kernel's verifier asks for it before it lets them be read.
  void Need(int32_t bytes) {
    a_.Move(kA, kFrame);
    a_.Plus(kA, bytes);
    a_.JumpIfOf(BPF_JGT, kA, kEnd, To(Reason::kMalformed));
  }

  // R0: what the map has of the link.
  void LookUp(const Fd& map, Assembler::Label otherwise) {
    a_.LoadMap(BPF_REG_1, map.get());
    Point(BPF_REG_2, kLink);
    a_.Call(BPF_FUNC_map_lookup_elem);
    a_.JumpIf(BPF_JEQ, kResult, 0, otherwise);
  }

  // Two bytes at a time: neither place need be a multiple of four.
  void SameMac(int16_t in_frame, int16_t in_facts, Reason otherwise) {
    for (int16_t at = 0; at < ETH_ALEN; at += 2) {
      a_.Load(BPF_H, kA, kFrame, static_cast<int16_t>(in_frame + at));
      a_.Load(BPF_H, kB, kFacts, static_cast<int16_t>(in_facts + at));
      a_.JumpIfOf(BPF_JNE, kA, kB, To(otherwise));
    }
  }

  void V4() {
    Need(kV4Length);
    const Assembler::Label own = a_.NewLabel();
    a_.Load(BPF_B, kA, kFrame, kV4Header);  // version, and the header's length in words
    a_.JumpIf(BPF_JLT, kA, 0x45, To(Reason::kMalformed));
    a_.JumpIf(BPF_JGT, kA, 0x4f, To(Reason::kMalformed));
    a_.Load(BPF_W, kA, kFrame, kV4Source);
    a_.JumpIf(BPF_JEQ, kA, 0, To(Reason::kAddress));
    for (size_t i = 0; i < kMostAddresses; ++i) {
      a_.Load(BPF_W, kB, kFacts, static_cast<int16_t>(offsetof(Facts, v4) + i * 4));
      a_.JumpIfOf(BPF_JEQ, kA, kB, own);
    }
    a_.Jump(To(Reason::kAddress));
    a_.Here(own);
    a_.StoreValue(BPF_DW, kStack, kKey, 0);
    a_.StoreValue(BPF_H, kStack, kKey + 8, 0);
    a_.StoreValue(BPF_H, kStack, kKey + 10, 0xffff);
    a_.Load(BPF_W, kA, kFrame, kV4Destination);
    a_.Store(BPF_W, kStack, kKey + 12, kA);
    a_.Jump(seen_);
  }

  void V6() {
    Need(kV6Length);
    const Assembler::Label own = a_.NewLabel();
    a_.Load(BPF_B, kA, kFrame, kV6Header);
    a_.ShiftRight(kA, 4);
    a_.JumpIf(BPF_JNE, kA, 6, To(Reason::kMalformed));
    a_.Load(BPF_W, kB, kFrame, kV6Source);
    for (int16_t word = 4; word < 16; word += 4) {
      a_.Load(BPF_W, kA, kFrame, static_cast<int16_t>(kV6Source + word));
      a_.Or(kB, kA);
    }
    a_.JumpIf(BPF_JEQ, kB, 0, To(Reason::kAddress));
    for (size_t i = 0; i < kMostAddresses; ++i) {
      const Assembler::Label next = a_.NewLabel();
      for (int16_t word = 0; word < 16; word += 4) {
        a_.Load(BPF_W, kA, kFrame, static_cast<int16_t>(kV6Source + word));
        a_.Load(BPF_W, kB, kFacts,
                static_cast<int16_t>(offsetof(Facts, v6) + i * 16 + static_cast<size_t>(word)));
        a_.JumpIfOf(BPF_JNE, kA, kB, next);
      }
      a_.Jump(own);
      a_.Here(next);
    }
    a_.Jump(To(Reason::kAddress));
    a_.Here(own);
    for (int16_t word = 0; word < 16; word += 4) {
      a_.Load(BPF_W, kA, kFrame, static_cast<int16_t>(kV6Destination + word));
      a_.Store(BPF_W, kStack, static_cast<int16_t>(kKey + word), kA);
    }
  }

  // Lets frames to those pass who were spoken to before, and to as many new ones as there is room for.
  void Seen() {
    const Assembler::Label fresh = a_.NewLabel();
    a_.Call(BPF_FUNC_ktime_get_ns);
    a_.Store(BPF_DW, kStack, kTime, kResult);
    LookUp(maps_.seen, To(Reason::kDestinations));
    a_.Move(kKept, kResult);
    a_.Move(BPF_REG_1, kKept);
    Point(BPF_REG_2, kKey);
    a_.Call(BPF_FUNC_map_lookup_elem);
    a_.JumpIf(BPF_JEQ, kResult, 0, fresh);
    a_.Load(BPF_DW, kA, kStack, kTime);
    a_.Store(BPF_DW, kResult, 0, kA);
    a_.Here(pass_);
    a_.Set(kResult, XDP_PASS);
    a_.Exit();
    a_.Here(fresh);
    a_.Move(BPF_REG_1, kKept);
    Point(BPF_REG_2, kKey);
    Point(BPF_REG_3, kTime);
    a_.Set(BPF_REG_4, BPF_ANY);
    a_.Call(BPF_FUNC_map_update_elem);
    a_.JumpIf(BPF_JEQ, kResult, 0, pass_);
    a_.Jump(To(Reason::kDestinations));
  }

  void Point(uint8_t to, int32_t on_stack) {
    a_.Move(to, kStack);
    a_.Plus(to, on_stack);
  }

  void Refuse() {
    const Assembler::Label count = a_.NewLabel();
    const Assembler::Label drop = a_.NewLabel();
    for (size_t reason = 0; reason < kReasons; ++reason) {
      a_.Here(refuse_.at(reason));
      a_.Set(kKept, static_cast<int32_t>(reason * sizeof(uint64_t)));
      a_.Jump(count);
    }
    a_.Here(count);
    LookUp(maps_.refused, drop);
    a_.PlusOf(kResult, kKept);
    a_.Set(kA, 1);
    a_.AddTo(kResult, 0, kA);
    a_.Here(drop);
    a_.Set(kResult, XDP_DROP);
    a_.Exit();
  }

  const Maps& maps_;
  Assembler a_;
  std::array<Assembler::Label, kReasons> refuse_{};
  Assembler::Label seen_ = a_.NewLabel();
  Assembler::Label pass_ = a_.NewLabel();
};

}  // namespace

const char* Name(Reason reason) {
  static constexpr std::array<const char*, kReasons> kNames = {
      "malformed", "tagged", "ethertype", "gateway", "mac", "address", "destinations"};
  return kNames.at(static_cast<size_t>(reason));
}

Result<Facts> FactsOf(const Allowed& allowed) {
  Facts facts{.mac = allowed.mac.bytes, .gateway = allowed.gateway.bytes, .v4 = {}, .v6 = {}};
  size_t v4 = 0;
  size_t v6 = 0;
  for (const IpAddress& address : allowed.addresses) {
    size_t& used = address.is_v6() ? v6 : v4;
    if (used == kMostAddresses) {
      return Fail(Code::kInvalid, "an interface has at most " + std::to_string(kMostAddresses) +
                                      " addresses of a family, this one has more");
    }
    uint8_t* into = address.is_v6() ? facts.v6[used].data() : facts.v4[used].data();
    std::memcpy(into, address.bytes().data(), address.bytes().size());
    ++used;
  }
  return facts;
}

Result<Fd> NewDestinations() {
  return CreateMap({.name = kSeenMap,
                    .type = BPF_MAP_TYPE_HASH,
                    .key_size = sizeof(Destination),
                    .value_size = sizeof(uint64_t),
                    .entries = kMostDestinations,
                    .flags = BPF_F_NO_PREALLOC});
}

Result<Maps> NewMaps() {
  const auto of_links = [](const char* name, uint32_t size) {
    return CreateMap({.name = name,
                      .type = BPF_MAP_TYPE_HASH,
                      .key_size = sizeof(uint32_t),
                      .value_size = size,
                      .entries = kMostLinks,
                      .flags = BPF_F_NO_PREALLOC});
  };
  Maps maps;
  RAIL_ASSIGN(maps.facts, of_links(kFactsMap, sizeof(Facts)));
  RAIL_ASSIGN(maps.refused, of_links(kRefusedMap, sizeof(Refused)));
  RAIL_ASSIGN(const Fd inner, NewDestinations());
  RAIL_ASSIGN(maps.seen, CreateMap({.name = kSeenMap,
                                    .type = BPF_MAP_TYPE_HASH_OF_MAPS,
                                    .key_size = sizeof(uint32_t),
                                    .value_size = sizeof(uint32_t),
                                    .entries = kMostLinks,
                                    .flags = BPF_F_NO_PREALLOC,
                                    .inner = inner.get()}));
  return maps;
}

std::vector<bpf_insn> Program(const Maps& maps) {
  return Writer(maps).Write();
}

}  // namespace rail::guard
