// Matches a file, or a part of it, with recipes, and the steps of a match.
#pragma once

#include <vector>

#include "clues/recipes/align/candidates.h"
#include "clues/recipes/align/replay.h"
#include "clues/recipes/answer/ask_book.h"

namespace onnx_tag::recipes {

// Whether the activations of transformers were still functions, not modules,
// when the file was exported: before 4.17 in March 2022. Up to torch 1.9, the
// version of the exporter shows it. torch 1.10 was used before and after; an
// opset below 14, which newer attention needs, shows the older code.
bool ActivationsAreFunctions(const Model& model);

// The recipe of the book that fits the file. If none fits, only the nearest.
BookAnswer MatchWhole(const File& file, const Book& book, AtomTable& atoms);

// The roles of a recipe with a similar structure, without comparing names.
BookAnswer MatchRoles(const File& file, const Book& book, AtomTable& atoms);

// The same for a part of a file, which may have more tokens at either end, and
// candidates for this part. Empty if none fits.
BookAnswer MatchPart(const File& file, Candidates candidates, AtomTable& atoms);

// parts.cc: finds known modules in an unknown model: a backbone with a custom
// head, two towers in one model, an encoder that was exported alone.

// The search starts at the root. A module of the file whose parameters have the
// names of a recorded module is matched with that module. No node is in two
// answers.
std::vector<BookAnswer> MatchParts(const File& file, const Book& book,
                                   AtomTable& atoms);

// A module of the file and the names below it.
struct FilePart {
  Path prefix;    // the module's path
  PathSet names;  // generic paths below it, of modules with a parameter
};

// The best first: recipes reduced to the module whose names match the part.
// `file` is the section around the part's parameters.
Candidates RankParts(const File& file, const FilePart& part, const Book& book,
                     AtomTable& atoms, std::size_t limit);

// own_names.cc: for a file whose names are in no recipe: uses the structure of
// a recipe with the names of the file.

// By token. A recorded module with its own operations corresponds to the common
// ancestor of the parameters that were matched below it.
std::vector<Answer> TransferRoles(const File& file, const Match& match);

// fill.cc: places the tokens and side nodes that a replay leaves open, by their
// neighbours.

// `owners`: generic paths of modules that have their own operations in some
// recipe of the architecture.
void FillTokens(const File& file, const PathSet& owners,
                std::vector<Answer>& tokens);

// The answers of all nodes of the main graph, by node of the model.
IdVector<NodeId, Answer> SpreadToNodes(const File& file,
                                       const std::vector<Answer>& tokens,
                                       const Replayed& replayed);

}  // namespace onnx_tag::recipes
