// Modules found in the graph alone, without any name.
//
//   const Structure found = FindStructure(model);
//   found.Path(found.ModuleOf(node));  // "layers.3.attention.linear2"
//
// Names are invented; which nodes are together is found. Four steps: an order
// of the nodes that does not depend on the file's (flow.h), the smallest
// modules (atoms.h), closed regions and units (regions.h, units.h), repeats of
// units (repeats.cc). Then every range of atoms gets a name (arrange.h).
// docs/how/structure.md has the figures.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/graph/graph_facts.h"
#include "onnx_tag/model.h"

namespace onnx_tag {

enum class FoundId : std::uint32_t {};

// What a found module is. The word is also its name.
enum class FoundKind : std::uint8_t {
  kLayers,  // lists of copies: of blocks with attention,
  kBlocks,  // of others,
  kBlock,   // of the blocks of a stage
  kStem,
  kBody,
  kHead,
  kAttention,
  kFeedForward,
  kBranch,
  kUnit,  // a convolution with its norm and activation, a squeeze-excite
  kConv,
  kLinear,
  kRecurrent,
  kNorm,
  kActivation,
  kPool,
  kEmbedding,
  kCall,  // what a Loop, Scan or If runs; the body of a function
  kCopy,  // one of a list; its name is its index
};
constexpr std::size_t kFoundKinds = 19;
std::string_view WordOf(FoundKind kind);

// How a copy differs from the first copy of its list.
enum class CopyKind : std::uint8_t {
  kEqual,
  kOtherWidth,  // the same operators
  kAlike,
};

struct FoundModule {
  FoundId parent = kNo<FoundId>;  // kNo: the root
  FoundKind kind = FoundKind::kBody;
  // Of a copy: its index. Of others: 0, or 2, 3, ... for the second, third, ...
  // of its kind in its parent.
  std::uint32_t number = 0;
  std::uint32_t nodes = 0;  // of the modules below, too
  // Of a convolution or a recurrent layer: its operator, and the dimensions of
  // a convolution's kernel.
  NodeId core = kNo<NodeId>;
  std::uint8_t kernel_rank = 0;
  // Of a copy.
  std::uint32_t copies = 0;          // in its list
  CopyKind like = CopyKind::kEqual;  // the first copy
};

class Structure {
 public:
  const FoundModule& operator[](FoundId id) const { return modules_[id]; }
  std::size_t size() const { return modules_.size(); }
  AllIds<FoundId> Modules() const { return AllIds<FoundId>(modules_.size()); }

  // kNo for nodes that belong to no module. Nodes that carry data, and what
  // computes shapes for them, always have one.
  FoundId ModuleOf(NodeId node) const { return module_of_[node]; }

  // The last atom of the path: "attention", "linear2", "3".
  std::string Name(FoundId id) const;
  std::string Path(FoundId id) const;

 private:
  friend class StructureFinder;
  friend class FoundTree;

  IdVector<FoundId, FoundModule> modules_;
  IdVector<NodeId, FoundId> module_of_;
};

Structure FindStructure(const GraphFacts& graph);

}  // namespace onnx_tag
