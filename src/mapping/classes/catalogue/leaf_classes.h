// What the operators of a leaf module say about its class.
#ifndef ONNX_TAG_MAPPING_CLASSES_CATALOGUE_LEAF_CLASSES_H_
#define ONNX_TAG_MAPPING_CLASSES_CATALOGUE_LEAF_CLASSES_H_

#include <cstdint>

#include "core/graph/operators.h"
#include "mapping/classes/catalogue/class_rules.h"

namespace onnx_tag::catalogue {

// A set of the operators that data/class_rules.txt names.
using OperatorSet = std::uint64_t;

// The set of one operator. An operator that the file does not name counts as
// the operator that it is like; the set is empty if that is not named either
// (Constant, Cast, Reshape).
OperatorSet SetOf(Op op);

// 1: a leaf of this kind has such operators; -1: it does not; 0: unknown.
// `complete`: these are all operators of the module.
int Fit(LeafKind kind, OperatorSet seen, bool complete);

}  // namespace onnx_tag::catalogue

#endif  // ONNX_TAG_MAPPING_CLASSES_CATALOGUE_LEAF_CLASSES_H_
