// Laws that hold for the tags of every file, in every strategy.
//
// A parameter that only one module reads is proof of that module. So:
//   owner  a node that reads a parameter of module X has the tag X, or is a
//          fused node with X among its origins, or is below high;
//   layer  no node that reads a parameter of layer j has a tag of layer i;
//   scope  a node whose scope is complete has the tag of that path, and what
//          stands in a complete scope has a tag inside it. A scope is complete
//          if parameters confirm each of its modules, or the module is an index
//          right below its list: `blocks/blocks.1`;
//   class  no tag of a name is above medium if its module has a class of
//          torch.nn that cannot make the operator;
//   path   no module is above medium if no parameter confirms it while the
//          parameters spell another path to the same place.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "onnx_tag/tagging.h"

namespace onnx_tag {

class GraphFacts;       // core/graph/graph_facts.h
struct ParameterFacts;  // mapping/evidence/evidence.h
struct ScopeFacts;      // mapping/evidence/evidence.h

enum class Law : std::uint8_t { kOwner, kLayer, kScope, kPath, kClass };
constexpr std::array<std::string_view, 5> kLawNames = {
    "law-owner", "law-layer", "law-scope", "law-path", "law-class"};

// Why a node that contradicts a parameter breaks no law.
enum class Exemption : std::uint8_t {
  kNone,      // it breaks the law
  kShared,    // several places read the parameter: tied, merged or copied
  kFunction,  // the parent uses the weight of a part that it never calls
  kPart,      // the parent passes its own parameter to a part
  kOperand,   // it also reads a parameter of its own module
};
constexpr std::array<std::string_view, 5> kExemptionNames = {
    "", "shared parameter", "function of the parent", "parameter of a parent",
    "operand beside its own parameter"};

struct LawFinding {
  NodeId node;
  Law law = Law::kOwner;
  Exemption exemption = Exemption::kNone;
  // The module that the parameters or the scope indicate; kNo: no finding.
  ModuleId owner = kNo<ModuleId>;
  bool below = false;  // the owner is a part of the tag's module
  // The parameter, the scope or the operator; "" for kPath.
  std::string said_by = {};

  bool is_breach() const { return exemption == Exemption::kNone; }
};

// By node, at most one finding each; breaches come before exemptions.
std::vector<LawFinding> CheckLaws(const GraphFacts& graph,
                                  const ModuleTree& modules,
                                  const ParameterFacts& parameters,
                                  const ScopeFacts& scopes,
                                  const IdVector<NodeId, Tag>& tags,
                                  const std::vector<Origin>& origins);

// The law of classes, which needs those of the modules; by node.
std::vector<LawFinding> CheckClasses(const GraphFacts& graph,
                                     const Tagging& tagging);

// All laws for any tagging. It adds the modules of the parameters to the
// tagging.
std::vector<LawFinding> CheckLaws(const Model& model, Tagging& tagging);

// Changes the tags of breaches: the level falls to medium. A node with a tag of
// another layer, or of a module around the owner, goes to the owner.
void ObeyLaws(const std::vector<LawFinding>& findings,
              IdVector<NodeId, Tag>& tags);

// One sentence: what the tag says, and what the parameter says.
std::string LawText(const LawFinding& finding, const ModuleTree& modules,
                    const Tag& tag);

}  // namespace onnx_tag
