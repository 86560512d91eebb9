// Models whose answers are known: <model>/<form>.onnx beside
// <model>/<form>.truth.tsv, which has a row for each node that is certain:
//
//   graph  index  module  accept      other modules that count as exact, by |
//
// Classes are those of hierarchy.json or recording.json beside them. forms.txt
// in the folder of the models lists forms that have no file: they are made of
// another form of the same model, and have its rows.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "onnx_tag/model.h"
#include "support/lost_names.h"

namespace onnx_tag::test {

struct TruthFile {
  std::string model;
  std::string variant;
  LostNames::What lost = LostNames::What::kNothing;  // of what is in `onnx`
  std::filesystem::path onnx;
  std::filesystem::path truth;
  std::filesystem::path hierarchy;  // empty: none beside it

  std::string Bytes() const;
  std::string Name() const { return model + "/" + variant; }
};

// "own" of own_tcn, "glued" of glued_siamese; others are "known".
std::string_view GroupOf(std::string_view model);

// In order of model and variant; the patterns are shell globs.
std::vector<TruthFile> FindTruth(const std::filesystem::path& folder,
                                 const std::string& model = "*",
                                 const std::string& variant = "*");

// "bert/ts-anon" of tests/truth, whether it has a file or is made.
TruthFile OneTruth(const std::string& name);

struct TruthRow {
  NodeId node;
  std::string op;
  std::string module;
  std::vector<std::string> accept;  // other modules that count as exact
  // Of the root and each module down to `module`; empty: not known.
  std::vector<std::string> classes;
};

// The rows whose nodes the model has.
std::vector<TruthRow> ReadTruth(const TruthFile& file, const Model& model);

// Whether `module` is the row's or accepted there.
bool IsExact(std::string_view module, const TruthRow& row);

}  // namespace onnx_tag::test
