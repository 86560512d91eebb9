// The layout of the catalogue in the program: arrays of fixed-width records,
// one after the other. They need no parsing and no additional memory.
//
// make_table (tools/catalogue_maker) writes them at build time on the machine
// that compiles, in its byte order; Table (table.h) reads them.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <tuple>

namespace onnx_tag::catalogue {

enum class TextId : std::uint32_t {};
enum class SectionId : std::uint32_t {};
enum class ClassId : std::uint32_t {};
enum class MemberId : std::uint32_t {};

// One bit for each recorded version of the library.
using VersionMask = std::uint16_t;

enum class Mark : std::uint8_t {
  kNone,
  kModel,   // a model that is not in a public list
  kListed,  // in the library's public list of models (an auto mapping)
};

// How often a member or parameter is missing.
enum class Optional : std::uint8_t {
  kNever,
  kInChanged,  // only in changed configurations
  kInDefault,  // in some default configuration
};

// Whether an alternative has weight and bias, if its class does not determine
// it.
enum OwnBits : std::uint8_t { kOwnWeight = 1, kOwnBias = 2, kOwnSaid = 4 };

// Where in its list an alternative was seen.
enum class Place : std::uint8_t { kAnywhere, kFirst, kLast };

struct SectionRecord {
  TextId module;   // "transformers.models.bert.modeling_bert"
  TextId library;  // "transformers"
  TextId family;  // common to classes of one family: "transformers.models.bert"
  std::uint32_t first_word;
  std::uint32_t word_count;
  std::uint32_t rank;  // by popularity, 1 is first; 0: not ranked
};

struct ClassRecord {
  TextId name;
  SectionId section;
  std::uint32_t first_parameter;
  std::uint32_t first_member;
  std::uint16_t parameter_count;
  std::uint16_t member_count;  // direct members; each may have members
  VersionMask versions;
  Mark mark;
  std::uint8_t kind;  // LeafKind
};

struct ParameterRecord {
  TextId name;
  VersionMask versions;
  Optional optional;
  bool buffer;
};

struct MemberRecord {
  TextId name;  // "*" for the members of a list
  std::uint32_t first_alternative;
  std::uint32_t first_child;
  std::uint16_t alternative_count;
  std::uint16_t child_count;
  VersionMask versions;
  Optional optional;
  std::uint8_t unused;
};

struct AlternativeRecord {
  ClassId target;  // at or above kFirstTable: a table of alternatives
  VersionMask versions;
  VersionMask
      usual;         // versions where it is the most frequent, though not first
  std::uint8_t own;  // OwnBits
  Place place;
  std::uint16_t unused = 0;  // so that every byte of the table is defined
};
constexpr ClassId kFirstTable = ClassId{0xf0000000};
// The child can be any model, because the configuration chooses it.
constexpr ClassId kAnyModel = ClassId{0xfffffffe};

struct TableRecord {
  TextId name;
  std::uint32_t first;
  std::uint32_t count;
};

// A published checkpoint's embedding sizes.
struct SizesRecord {
  TextId family;
  std::uint32_t vocabulary;
  std::uint32_t positions;
  std::uint32_t types;
};
constexpr std::uint32_t kNoRows = 0;  // there is no such embedding
constexpr std::uint32_t kRowsNotStated = 0xffffffff;

// The attribute of torch.nn.utils.parametrize with the original weights.
// Exporters fold it.
constexpr std::string_view kParametrizations = "parametrizations";

// The arrays of the table, in order. The writer has Parts<std::vector>, the
// reader has views of the same.
template <template <typename> typename List>
struct Parts {
  List<char> text_bytes;
  List<std::uint32_t> text_ends;   // by text: its end in the bytes
  List<std::uint32_t> text_slots;  // a hash table with open addressing: text +
                                   // 1, 0 is empty
  List<SectionRecord> sections;
  List<TextId> words;
  List<TextId> versions;  // by bit: "transformers 4.45.2"
  List<ClassRecord> classes;
  List<ParameterRecord> parameters;
  List<MemberRecord> members;
  List<AlternativeRecord> alternatives;
  List<TableRecord> tables;
  List<AlternativeRecord> table_entries;
  List<SizesRecord> sizes;
  List<std::uint32_t> owners_first;     // by text: its first entry in ...
  List<ClassId> owners;                 // ... these: the classes with such a
                                        // member or parameter
  List<std::uint32_t> namesakes_first;  // by text: its first entry in ...
  List<ClassId> namesakes;              // ... these: the classes of that name

  template <typename Visit>
  void ForEach(Visit visit) {
    std::apply([&](auto&... lists) { (visit(lists), ...); },
               std::tie(text_bytes, text_ends, text_slots, sections, words,
                        versions, classes, parameters, members, alternatives,
                        tables, table_entries, sizes, owners_first, owners,
                        namesakes_first, namesakes));
  }
};
constexpr std::size_t kPartCount = 17;

struct PartRange {
  std::uint32_t offset;
  std::uint32_t count;
};

struct Header {
  std::array<char, 8> magic;
  std::array<PartRange, kPartCount> parts;
};
constexpr std::array<char, 8> kMagic = {'o', 'n', 'x', 't', 'c', 'a', 't', '1'};

}  // namespace onnx_tag::catalogue
