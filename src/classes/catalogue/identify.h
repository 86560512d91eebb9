// Which model a file was made from, and the class of each of its modules, by
// the names that the file shows.
//
//   Observation seen(tree);  // fill in
//   const Identification found = Identify(BuiltIn(), seen);
//
// Names find the structure; they cannot tell copies of one structure apart
// (RoBERTa, XLM-RoBERTa, CamemBERT). So the answer is a set, and a class is
// certain only where all of the set agree.
#ifndef ONNX_TAG_CLASSES_CATALOGUE_IDENTIFY_H_
#define ONNX_TAG_CLASSES_CATALOGUE_IDENTIFY_H_

#include <string_view>
#include <vector>

#include "classes/catalogue/observation.h"
#include "classes/catalogue/table.h"

namespace onnx_tag::catalogue {

// As Confidence in onnx_tag/tagging.h, which this layer does not know.
enum class Belief : std::uint8_t { kLow, kMedium, kHigh, kCertain };

struct ClassAnswer {
  std::string_view name;  // empty: not known
  Belief belief = Belief::kLow;
  std::vector<std::string_view> candidates;  // others that fit as well

  bool known() const { return !name.empty(); }
};

constexpr std::size_t kMostCandidates = 12;

struct Identification {
  IdVector<ModuleId, ClassAnswer> modules;
  // The family's word of the model, as in "Bert"; empty: not known.
  std::string_view family_word;
  // Of the best answer for the root, accepted or not: for bench/.
  std::string_view nearest;
  double explained = 0;
};

// `hidden`: a family to leave out, as catalogue_leave_out does; "" for none.
Identification Identify(const Table& table, const Observation& observation,
                        std::string_view hidden = {});

}  // namespace onnx_tag::catalogue

#endif  // ONNX_TAG_CLASSES_CATALOGUE_IDENTIFY_H_
