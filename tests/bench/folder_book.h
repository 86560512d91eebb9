// A part of the built-in recipe book, or a book made on the spot from a folder
// of exports with known answers: FOLDER/<family>/<recipe>.onnx beside
// FOLDER/<family>/<recipe>.truth.tsv.
#pragma once

#include <functional>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "clues/recipes/book/recipe.h"
#include "truth.h"

namespace onnx_tag::bench {

// The recipes that a book is taken from, made once.
class Shelf {
 public:
  struct Entry {
    std::string family;
    TruthFile file;
    recipes::Recipe recipe;
    recipes::Summary summary;
  };

  // Adds the recipes of `folder` whose name fits one of the comma-separated
  // globs.
  void Add(const std::filesystem::path& folder, const std::string& variants);

  // Adds the recipes of the built-in book.
  void AddBuiltIn();

  const std::vector<Entry>& entries() const { return entries_; }

  // The families with a recipe of that root class, or of that name.
  std::set<std::string> FamiliesOf(const std::string& root_class,
                                   const std::string& name) const;

 private:
  std::vector<Entry> entries_;
};

// Those of a shelf's recipes that a test may use.
class FolderBook : public recipes::Book {
 public:
  FolderBook(const Shelf& shelf,
             const std::function<bool(const Shelf::Entry&)>& use);

  std::size_t size() const override { return used_.size(); }
  recipes::SummaryView Summary(std::size_t index) const override {
    return used_[index]->summary.view();
  }
  recipes::Recipe Read(std::size_t index) const override {
    return used_[index]->recipe;
  }
  bool HasPaddleNames(std::size_t index) const override {
    return used_[index]->recipe.paddle_names;
  }

 private:
  std::vector<const Shelf::Entry*> used_;
};

// The family of a model of the truth set: its name without a version in front
// and the words for heads behind.
std::string FamilyOf(std::string name);

}  // namespace onnx_tag::bench
