// Assigns classes to the modules below a root class.
#ifndef ONNX_TAG_MAPPING_CLASSES_CATALOGUE_ASSIGNER_H_
#define ONNX_TAG_MAPPING_CLASSES_CATALOGUE_ASSIGNER_H_

#include <cstddef>
#include <vector>

#include "mapping/classes/catalogue/matcher.h"

namespace onnx_tag::catalogue {

// A module with at least this share of the names is the model inside a wrapper.
constexpr double kWholeShare = 0.6;

struct Below {
  ModuleId id;
  std::uint32_t owner;  // index of its parent in the list
  bool last;            // of its parent's children
};

// The class of a module under one root class.
struct Assigned {
  ClassId target = kNo<ClassId>;
  ClassId rival = kNo<ClassId>;
  const MemberRecord* container = nullptr;  // the record with its members
};
using Assignment = std::vector<Assigned>;  // parallel to a list of modules

class Assigner {
 public:
  Assigner(const Table& table, const Observation& observation,
           const Shapes& shapes, Matcher& matcher);

  // `top` and all modules below it, parents first.
  std::vector<Below> Subtree(ModuleId top) const;

  // A class for each of `modules`, as far as `root` explains them.
  Assignment Assign(ClassId root, const std::vector<Below>& modules);

  // The number of names that the assignment explains.
  double Explained(const std::vector<Below>& modules,
                   const Assignment& places) const;

  // Whether nearly every module has exactly the members of its class, and no
  // operator contradicts a class.
  bool IsExact(const std::vector<Below>& modules, const Assignment& places);

  // Whether no other family is similar, neither for the whole model nor for the
  // model inside it (`bert` in a model with a head). A family that was copied
  // once may have been copied again by a family that is not in the catalogue.
  bool IsDistinct(const std::vector<Below>& modules, const Assignment& places);

 private:
  // The class that the file records for a module that no member explains.
  ClassId BestRecorded(ShapeId shape);

  const Table& table_;
  const ModuleTree& tree_;
  const Shapes& shapes_;
  Matcher& matcher_;
  VersionMask likely_versions_;
};

}  // namespace onnx_tag::catalogue

#endif  // ONNX_TAG_MAPPING_CLASSES_CATALOGUE_ASSIGNER_H_
