// What the file records about a value's type.
#ifndef ONNX_TAG_SIZES_RECORDED_H_
#define ONNX_TAG_SIZES_RECORDED_H_

#include "base/bytes.h"
#include "sizes/numbers.h"

namespace onnx_tag::sizes {

// A dimension that is neither number nor name is unknown. `type` is an encoded
// TypeProto.
Fact ReadRecorded(Formulas& formulas, Bytes type);

// Makes the plain names of dimensions known, so that a formula of them in
// another place is read as one.
void LearnNames(Formulas& formulas, Bytes type);

}  // namespace onnx_tag::sizes

#endif  // ONNX_TAG_SIZES_RECORDED_H_
