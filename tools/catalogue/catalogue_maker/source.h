// The catalogue's text, src/data/catalogue.txt, as its maker writes it
// (docs/how/catalogue-format.md).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "mapping/classes/catalogue/layout.h"

namespace onnx_tag::catalogue {

struct SourceName {  // a parameter or buffer
  std::string name;
  VersionMask versions = 0;
  Optional optional = Optional::kNever;
  bool buffer = false;
};

struct SourceAlternative {
  ClassId target = ClassId{0};
  VersionMask versions = 0;
  VersionMask usual = 0;
  std::uint8_t own = 0;
  Place place = Place::kAnywhere;
};

// A member and what lies below it before the next class: `layer`, `layer.*`.
struct SourceMember {
  std::string name;
  VersionMask versions = 0;
  Optional optional = Optional::kNever;
  std::vector<SourceAlternative> alternatives;
  std::vector<SourceMember> children;

  SourceMember& Child(const std::string& child_name);
};

struct SourceClass {
  std::string name;
  SectionId section = SectionId{0};
  Mark mark = Mark::kNone;
  VersionMask versions = 0;
  std::vector<SourceName> names;
  SourceMember members;
};

struct SourceSection {
  std::string module;
  std::string alias;
  std::string library;
  std::vector<std::string> words;
  std::uint32_t rank = 0;
};

// What classes of one family share: "transformers.models.bert" of
// "transformers.models.bert.modeling_bert"; the module itself where a library
// keeps a family in one file.
std::string FamilyOf(const SourceSection& section);

struct SourceSizes {
  std::string family;
  std::uint32_t vocabulary = 0;
  std::uint32_t positions = 0;
  std::uint32_t types = 0;
};

struct Source {
  std::vector<std::string> versions;  // "transformers 4.30.2", by bit
  std::vector<std::pair<std::string, std::vector<SourceAlternative>>> tables;
  std::vector<SourceSection> sections;
  std::vector<SourceClass> classes;
  std::vector<SourceSizes> sizes;
};

// Throws Error(kInput) with the line's number where the text is malformed.
Source ReadSource(std::string_view text);

// Adds the published sizes of src/data/published_sizes.txt.
void ReadSizes(std::string_view text, Source& source);

// The flat table that `Table` reads.
std::string PackTable(const Source& source);

}  // namespace onnx_tag::catalogue
