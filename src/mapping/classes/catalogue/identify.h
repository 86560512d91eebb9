// Finds the model class of a file and the class of each module from the names
// in the file.
//
//   Observation seen(tree);  // fill in
//   const ClassAnswers found = Identify(BuiltIn(), seen);
//
// Names identify the structure, but not which copy of the structure it is
// (RoBERTa, XLM-RoBERTa, CamemBERT). So the answer is a set, and a class is
// certain only if all members of the set agree.
#pragma once

#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "mapping/classes/catalogue/observation.h"
#include "mapping/classes/catalogue/table.h"
#include "onnx_tag/tagging.h"

namespace onnx_tag::catalogue {

// Other classes that fit equally well. Nearly all modules have none, and a
// model may have a module for each node: one pointer then.
class OtherClasses {
 public:
  OtherClasses() = default;
  OtherClasses(const OtherClasses& other) {
    for (const std::string_view name : other.names()) Add(name);
  }
  OtherClasses(OtherClasses&&) noexcept = default;
  OtherClasses& operator=(OtherClasses other) noexcept {
    names_ = std::move(other.names_);
    return *this;
  }
  ~OtherClasses() = default;

  void Add(std::string_view name) {
    if (names_ == nullptr) names_ = std::make_unique<Names>();
    names_->push_back(name);
  }
  bool empty() const { return names_ == nullptr; }
  std::span<const std::string_view> names() const {
    return names_ == nullptr ? std::span<const std::string_view>()
                             : std::span<const std::string_view>(*names_);
  }

 private:
  using Names = std::vector<std::string_view>;
  std::unique_ptr<Names> names_;
};

struct ClassAnswer {
  std::string_view name;  // empty: not known
  Confidence confidence = Confidence::kLow;
  OtherClasses candidates;

  bool known() const { return !name.empty(); }
};

constexpr std::size_t kMostCandidates = 12;

using ClassAnswers = IdVector<ModuleId, ClassAnswer>;

// `hidden`: a family to ignore, as in catalogue_leave_out; "" for none.
ClassAnswers Identify(const Table& table, const Observation& observation,
                      std::string_view hidden = {});

// Whether a module without children cannot be of the class of torch.nn: an
// operator of the module, or a parameter, speaks against it. A Gemm is no ReLU.
bool Contradicts(const SeenModule& module, std::string_view class_name);

// The torch.nn class of a module that the catalogue does not explain, if its
// operators and parameters allow only one.

// `module` has no children. The answer is never certain, because another class
// may compute the same.
ClassAnswer GuessLeafClass(const SeenModule& module);

// How much a name says about whose model a file is: an attribute with the
// attribute of its owner, `self.query`, or `.norm` in a model itself; `*` is
// any index. The rarity over the libraries of the catalogue: ln(libraries /
// libraries that have it). A name that plain networks use says nothing: 0.
double WeightOf(std::string_view owner, std::string_view name);

}  // namespace onnx_tag::catalogue
