// A part of a model that can be cut out: nodes of the main graph with the
// values that go in and come out, closed so that it runs on its own.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "app/commands/read/nodes.h"

namespace onnx_tag {

struct Cut {
  std::vector<NodeId> nodes;  // of the main graph, in file order
  std::vector<std::string> inputs;
  std::vector<std::string> outputs;
  // What was not asked for and comes along: nodes on a way from the selection
  // back into it, and constants that it reads.
  std::vector<NodeId> between;
  std::vector<NodeId> constants;
  std::vector<Obstacle> obstacles;  // nodes that cannot be cut out
};

// Cuts many parts out of one model: the time for a part depends on the part
// alone.
class PartCutter {
 public:
  // `model` must outlive it.
  explicit PartCutter(const Model& model);
  ~PartCutter();

  // `nodes` are of the main graph. What leaves the part must not come back
  // into it, as with parts that run one after another.
  Cut CutOut(std::vector<NodeId> nodes);

  // Any nodes, with what lies between them. Takes time in nodes and edges.
  Cut CutOutClosed(const std::vector<NodeId>& selected);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// The nodes of the main graph that depend on no input, by place: a part that
// reads them may have them again. Random numbers are not among them.
std::vector<bool> ConstantNodes(const Model& model);

}  // namespace onnx_tag
