// The answer of the recipe book: the recipe that fits a file, and the
// modules of its nodes.
//
//   const BookAnswer answer = AskBook(TokenGraph(facts), book);
//   for (const NodeAnswer& node : answer.nodes) Use(node.node, node.path);
#pragma once

#include <string>
#include <vector>

#include "clues/recipes/align/replay.h"
#include "clues/recipes/book/recipe.h"
#include "clues/recipes/tokens/tokens.h"

namespace onnx_tag::recipes {

struct NodeAnswer {
  NodeId node;
  std::string path;
  Confidence confidence = Confidence::kLow;
  std::string_view because;  // what its module does: "runs this operation"
  bool cut = false;          // shortened at a list whose index is unknown
  bool tied = false;         // recipes that fit equally well disagree
  bool confirmed = false;    // a parameter of this file is in the module
  bool in_list = false;      // its path has an index
  bool activation = false;
};

// A module of the file, and its classes in the recipes that fit, the best
// recipe first.
struct ModuleAnswer {
  std::string path;
  std::vector<std::string> classes;
};

struct BookAnswer {
  std::string recipe;       // the recipe's family and exporter; "": none fits
  double fit = 0;           // 1: the same program
  double names = 0;         // 1: the same names
  std::size_t anchors = 0;  // parameters that confirm the alignment
  std::size_t foreign = 0;  // parameters that the recipe does not know
  std::size_t beyond = 0;   // nodes in items that the recipe's lists lack; 0
                            // where these may repeat
  // The nearest recipe, if none fits.
  std::string nearest;
  double nearest_fit = 0;
  // The file has no names, or it is convolutional with very few names. Then
  // many recipes may fit.
  bool nameless = false;
  bool roles_only = false;  // its structure fits, its names do not
  // Plain torch.nn code that belongs to no library: authors choose the names of
  // modules without parameters.
  bool one_of_many = false;
  std::vector<NodeAnswer> nodes;
  std::vector<ModuleAnswer> modules;  // of `nodes`, and their ancestors
  // If no recipe fits the whole file: the answers for its parts. They are
  // more certain than `nodes`.
  std::vector<BookAnswer> parts;
};

BookAnswer AskBook(const TokenGraph& graph, const Book& book);

}  // namespace onnx_tag::recipes
