// The recipe book's answer: which recording a file's program is a copy of, and
// what follows for its nodes.
//
//   const BookAnswer answer = AskBook(TokenGraph(model), book);
//   for (const NodeAnswer& node : answer.nodes) Use(node.node, node.path);
#ifndef ONNX_TAG_RECIPES_ANSWER_MATCH_H_
#define ONNX_TAG_RECIPES_ANSWER_MATCH_H_

#include <string>
#include <vector>

#include "recipes/align/replay.h"
#include "recipes/book/book.h"
#include "recipes/tokens/tokens.h"

namespace onnx_tag::recipes {

struct NodeAnswer {
  NodeId node;
  std::string path;
  How how = How::kNothing;
  bool cut = false;        // at a list whose index is not known
  bool tied = false;       // recordings that fit as well say something else
  bool confirmed = false;  // a parameter of this file is of the module
  bool in_list = false;    // its path has an index
  bool activation = false;
};

// A module of the file, and the classes it has in the recordings that fit: the
// best one's first.
struct ModuleAnswer {
  std::string path;
  std::vector<std::string> classes;
};

struct BookAnswer {
  std::string recipe;  // the recording's family and exporter; "": none fits
  double fit = 0;      // 1: the same program
  double names = 0;    // 1: the same names
  std::size_t anchors = 0;  // parameters that the alignment hangs on
  std::size_t foreign = 0;  // parameters outside what the recording knows
  // Where no recording fits: the nearest.
  std::string nearest;
  double nearest_fit = 0;
  // Not a name, or convolutions with hardly one: what fits may be one of many.
  bool nameless = false;
  bool roles_only = false;  // its structure fits, its names do not
  // Plain torch.nn code of no library: modules without parameters are called
  // what their author called them.
  bool one_of_many = false;
  std::vector<NodeAnswer> nodes;
  std::vector<ModuleAnswer> modules;  // those of `nodes` and those around them
  // Where no recording fits the whole: what is known of its parts. They are
  // surer than `nodes`.
  std::vector<BookAnswer> parts;
};

BookAnswer AskBook(const TokenGraph& graph, const Book& book);

}  // namespace onnx_tag::recipes

#endif  // ONNX_TAG_RECIPES_ANSWER_MATCH_H_
