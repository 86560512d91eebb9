// One source, or one rung of inference, on a small graph. The test gives the
// facts and the nodes placed before.
//
//   OneRung graph;
//   graph.Parameters({"net.0.weight"});
//   graph.Node("Conv", {"x", "net.0.weight"}, "a");
//   graph.Node("Cast", {"a"}, "b");
//   graph.Make();
//   graph.Place("a", "net.0");
//   EXPECT_EQ(graph.Says("conversion", "b"), "net.0 high");
#pragma once

#include <algorithm>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "mapping/ladder/ladder.h"
#include "mapping/ladder/sources.h"
#include "support/hidden_parts.h"
#include "support/model_builder.h"

namespace onnx_tag::test {

class OneRung {
 public:
  OneRung() { Main()->add_input()->set_name("x"); }

  schema::ModelProto& proto() { return proto_; }
  schema::GraphProto* Main() { return proto_.mutable_graph(); }
  schema::NodeProto* Node(const std::string& op, const Names& inputs,
                          const std::string& output,
                          const std::string& name = "") {
    return AddNode(Main(), op, inputs, {output}, name);
  }

  // Weights with names of the state_dict, each read by one module.
  void Parameters(const Names& names, int rank = 2) {
    AddParameters(proto_, names, rank);
    for (const std::string& name : names) parameters_.emplace_back(name, rank);
  }

  // After the last node: evidence with Parameters() and nothing else. The test
  // adds what it needs.
  void Make() {
    ReadBytes();
    graph_.reset(new GraphFacts(*model_));
    evidence_.reset(new Evidence(*graph_));
    ModuleTree& modules = evidence_->modules;
    ParameterFacts& parameters = *evidence_;
    parameters = NoParameters(*model_);
    for (const auto& [name, rank] : parameters_) {
      const std::size_t dot = name.rfind('.');
      const ParameterId id = parameters.parameters.Add(
          {.name = name,
           .module = modules.Add(dot == name.npos ? "" : name.substr(0, dot)),
           .rank = static_cast<std::uint32_t>(rank),
           .uses = 1,
           .trusted = true});
      parameters.value_parameter[ValueOf(name)] = id;
    }
    parameters.module_has_parameter.assign(modules.size(), false);
    for (const Parameter& parameter : parameters.parameters) {
      parameters.module_has_parameter[Index(parameter.module)] = true;
    }
    ScopeFacts& scopes = *evidence_;
    scopes = NoScopes(*model_);
    static_cast<ModuleUses&>(*evidence_) =
        DescribeModules(modules, scopes.scopes, parameters, {});
  }

  // The same with the evidence of the file: for rungs that read names.
  void Gather(const WantedFacts& wanted = {}) {
    ReadBytes();
    // Made in place: it cannot move.
    graph_.reset(new GraphFacts(GatherGraph(*model_)));
    evidence_.reset(new Evidence(GatherEvidence(*graph_, wanted)));
  }

  // For facts that the test makes up.
  Evidence& evidence() { return *evidence_; }
  const Placed& placed() const { return placed_; }
  ModuleId Module(const std::string& path) {
    const ModuleId id = evidence_->modules.Add(path);
    static_cast<ModuleUses&>(*evidence_) = DescribeModules(
        evidence_->modules, evidence_->scopes, *evidence_, evidence_->known);
    return id;
  }

  ValueId ValueOf(const std::string& name) const {
    for (const ValueId value : AllIds<ValueId>(model_->value_count())) {
      if (model_->ValueName(value) == name) return value;
    }
    throw std::logic_error("no value " + name);
  }

  // The node that makes the value.
  NodeId NodeOf(const std::string& value) const {
    for (const NodeId node : model_->Nodes()) {
      for (const ValueId output : model_->Outputs(node)) {
        if (output != kNo<ValueId> && model_->ValueName(output) == value) {
          return node;
        }
      }
    }
    throw std::logic_error("no node makes " + value);
  }

  void Place(const std::string& value, const std::string& module,
             Source source = Source::kScope,
             Confidence confidence = Confidence::kCertain) {
    Accept({NodeOf(value), Module(module), confidence, source, ""},
           EvidenceOf(source, confidence), placed_);
  }

  // "encoder.fc high": the rung's first claim on the node; "-": none.
  std::string Says(std::string_view rung, const std::string& value) const {
    for (const Claim& claim : ClaimsOf(rung)) {
      if (claim.node == NodeOf(value)) return Text(claim);
    }
    return "-";
  }

  // The same for every node that is not placed, by its first output. `whole`:
  // with the source and the reason.
  std::vector<std::pair<std::string, std::string>> SaysOfAll(
      std::string_view rung, bool whole = false) const {
    const std::vector<Claim> claims = ClaimsOf(rung);
    std::vector<std::pair<std::string, std::string>> all;
    for (const NodeId node : model_->Nodes()) {
      if (placed_[node].tagged()) continue;
      const auto claim =
          std::find_if(claims.begin(), claims.end(),
                       [&](const Claim& one) { return one.node == node; });
      std::string text = claim == claims.end() ? "-" : Text(*claim);
      if (claim != claims.end() && whole) {
        text += " " + std::string(claim->because) +
                std::to_string(static_cast<int>(claim->source));
      }
      all.emplace_back(model_->ValueName(model_->Outputs(node)[0]),
                       std::move(text));
    }
    return all;
  }

 private:
  std::vector<Claim> ClaimsOf(std::string_view name) const {
    for (const Rung& known : AllRungs()) {
      if (known.name != name) continue;
      std::vector<Claim> claims = known.propose(*evidence_, placed_);
      for (const Claim& claim : claims) {
        if (claim.confidence <= known.highest) continue;
        throw std::logic_error("above the highest level: " + Text(claim));
      }
      return claims;
    }
    for (std::size_t i = 0; i < AllSources().size(); ++i) {
      if (AllSources()[i].name != name) continue;
      // What is placed is the word of a stronger kind.
      clues_ = Clues(model_->node_count());
      for (const NodeId node : model_->Nodes()) {
        const Tag& tag = placed_[node];
        if (!tag.tagged()) continue;
        clues_.Add(WriterId::kFirstRung, EvidenceKind::kRule,
                   {node, tag.module, tag.confidence, tag.source, ""});
      }
      const auto from = static_cast<WriterId>(i);
      ReadSource(*evidence_, from, clues_);
      std::vector<Claim> claims;
      for (const Clue& clue : clues_.From(from)) {
        claims.push_back(clues_.AsClaim(clue));
      }
      return claims;
    }
    throw std::logic_error("no rung " + std::string(name));
  }
  std::string Text(const Claim& claim) const {
    const std::string path(ShownPath(evidence_->modules.Path(claim.module)));
    return path + " " +
           std::string(
               kConfidenceNames[static_cast<std::size_t>(claim.confidence)]);
  }

  void ReadBytes() {
    bytes_ = proto_.SerializeAsString();
    model_ = std::make_unique<Model>(ReadModel(bytes_));
    placed_ = Placed(model_->node_count());
  }

  schema::ModelProto proto_;
  std::vector<std::pair<std::string, int>> parameters_;
  std::string bytes_;
  std::unique_ptr<Model> model_;
  std::unique_ptr<const GraphFacts> graph_;
  std::unique_ptr<Evidence> evidence_;
  Placed placed_;
  mutable Clues clues_;  // of the source that was asked last
};

}  // namespace onnx_tag::test
