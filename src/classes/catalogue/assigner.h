// What a root makes of the modules below it.
#ifndef ONNX_TAG_CLASSES_CATALOGUE_ASSIGNER_H_
#define ONNX_TAG_CLASSES_CATALOGUE_ASSIGNER_H_

#include <cstddef>
#include <vector>

#include "classes/catalogue/matcher.h"

namespace onnx_tag::catalogue {

// From this share of the names on, a module is the model within its wrapper.
constexpr double kWholeShare = 0.6;

struct Below {
  ModuleId id;
  std::size_t owner;  // index of its parent in the list
  bool last;          // of its parent's children
};

// What one root makes of a module.
struct Assigned {
  ClassId target = kNo<ClassId>;
  ClassId rival = kNo<ClassId>;
  const MemberRecord* container = nullptr;  // whose members are its own
};
using Assignment = std::vector<Assigned>;  // parallel to a list of modules

class Assigner {
 public:
  Assigner(const Table& table, const Observation& observation,
           const Shapes& shapes, Matcher& matcher);

  // `top` and what lies below it, owners first.
  std::vector<Below> Subtree(ModuleId top) const;

  // A class for each of `modules`, as far as `root` explains them.
  Assignment Assign(ClassId root, const std::vector<Below>& modules);

  // How many names the assignment accounts for.
  double Explained(const std::vector<Below>& modules,
                   const Assignment& places) const;

  // Whether nearly every module shows what its class has, and no operator
  // speaks against a class.
  bool IsExact(const std::vector<Below>& modules, const Assignment& places);

  // Whether no other family comes near: neither for the whole nor for the
  // model within it (`bert` of a head's model). A family that has been copied
  // once may have been copied again, by one that nobody here has heard of.
  bool IsDistinct(const std::vector<Below>& modules, const Assignment& places);

 private:
  // The class that the file records for a module that no member explains.
  ClassId BestRecorded(ShapeId shape);

  const Table& table_;
  const Observation& observation_;
  const ModuleTree& tree_;
  const Shapes& shapes_;
  Matcher& matcher_;
  VersionMask likely_versions_;
};

}  // namespace onnx_tag::catalogue

#endif  // ONNX_TAG_CLASSES_CATALOGUE_ASSIGNER_H_
