// The attributes of a node that shapes depend on, and small tensors.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "file/model/attributes.h"
#include "file/model/tensor_data.h"
#include "onnx_tag/bytes.h"
#include "uses/sizes/numbers.h"

namespace onnx_tag::sizes {

using Ints = std::vector<std::int64_t>;

// The call of a local function: nodes of the body may have its attributes. A
// body may have as many such nodes as the call has attributes, so these are
// looked up, not searched.
class Call {
 public:
  // `function`: the encoded FunctionProto. `outside`: the call around it, or
  // null.
  Call(Bytes node, Bytes function, const Call* outside)
      : node_(node), function_(function), outside_(outside) {}

  std::optional<Attribute> Given(std::string_view name) const;
  std::optional<Attribute> Default(std::string_view name) const;
  const Call* outside() const { return outside_; }

 private:
  using ByName = std::optional<std::unordered_map<std::string_view, Bytes>>;

  Bytes node_;
  Bytes function_;
  const Call* outside_;
  mutable ByName given_, defaults_;  // read when they are asked for
};

// Reads one node's attributes again at each question: most nodes are asked
// once or never.
class Attributes {
 public:
  explicit Attributes(Bytes node, const Call* call = nullptr)
      : node_(node), call_(call) {}

  bool Has(std::string_view name) const { return Find(name).has_value(); }
  std::optional<Ints> IntList(std::string_view name) const;
  std::int64_t Int(std::string_view name, std::int64_t otherwise) const;
  // The whole attribute; an empty one if there is none.
  Attribute Get(std::string_view name) const {
    return Find(name).value_or(Attribute());
  }

 private:
  // Of the node, or what the call of its function gives for it.
  std::optional<Attribute> Find(std::string_view name) const;

  Bytes node_;
  const Call* call_;
};

struct SmallTensor : TensorType {
  // Only where there are at most kMostElements, and they are in the file.
  std::optional<Numbers> numbers;
};

SmallTensor ReadSmallTensor(Bytes tensor);

}  // namespace onnx_tag::sizes
