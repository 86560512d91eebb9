// Numbers that dynamo_export and torchlib put into node names, and the calls
// of torchlib's functions that they show.
#ifndef ONNX_TAG_EXPORTERS_FUNCTIONS_HELPER_CALLS_H_
#define ONNX_TAG_EXPORTERS_FUNCTIONS_HELPER_CALLS_H_

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace onnx_tag {

struct BodyName {
  enum Kind : std::uint8_t {
    kOther,
    kOwn,        // `Transpose_5`, `aten_expand_32_n2`: the item's number
    kRewritten,  // `node_MatMul_0`: made by an optimizer
    kHelper,     // `n3`: a node of one of torchlib's functions
  };
  Kind kind = kOther;
  std::size_t number = 0;
};

// Numbers that only keep names apart (`n3_6`) are passed over.
BodyName ParseBodyName(std::string_view name, std::string_view op_type);

// Puts the nodes of torchlib's functions, which call each other, together into
// outermost calls.
class HelperCalls {
 public:
  void Add(std::size_t number, std::size_t position);

  // Where each call begins, in order; forgets them.
  std::vector<std::size_t> Take();

 private:
  struct Call {
    std::size_t begin;
    std::size_t next;  // the number of its next item
  };
  std::vector<Call> calls_;
};

}  // namespace onnx_tag

#endif  // ONNX_TAG_EXPORTERS_FUNCTIONS_HELPER_CALLS_H_
