// Optional inputs for low-rank adapters, at products with a weight:
//
//   y = x W + b    becomes    y = (x W + b) + (x A) B
//
// A and B are inputs of the graph, [in, rank] and [rank, out]. Initializers of
// rank 0 are their defaults: x A has no columns then, and its product with B is
// 0. The sum is behind the bias, because runtimes fuse a product with its bias
// and then round it in another way.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "onnx_tag/model.h"
#include "uses/edit/graph_edit.h"

namespace onnx_tag::edit {

// Overridable initializers came with this version of the format.
inline constexpr std::int64_t kLeastIrOfSlots = 4;

struct Slot {
  // Where a module computes; several if it is called more than once.
  struct Site {
    NodeId product;  // MatMul or Gemm of the main graph, with x as input 0
    NodeId last;     // the Add of its bias, or the product itself
  };

  std::string module;
  std::vector<Site> sites;
  std::int64_t in = 0;
  std::int64_t out = 0;
  std::int32_t type = 0;  // of the weight

  // "encoder.layer.0.query.lora_A.weight": PEFT's name without its prefix.
  std::string Input(std::string_view which) const;
};

// The Add that gives a product its bias; else the product.
NodeId LastOfProduct(const Model& model, NodeId product);

// Keeps the file and adds the slots. `rank`: the highest rank of an adapter,
// which the names of the inputs' dimensions mention; 0: any. New nodes have the
// metadata of the product. REQUIRES: IR version 4, and inputs with new names.
void AddSlots(const Model& model, const std::vector<Slot>& slots,
              std::uint64_t rank, GraphEdit& edit, const Release& release);

}  // namespace onnx_tag::edit
