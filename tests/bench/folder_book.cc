#include "folder_book.h"

#include <regex>

#include "base/text.h"
#include "book_maker/make_recipe.h"
#include "clues/recipes/book/packed_book.h"

namespace onnx_tag::bench {

std::string FamilyOf(std::string name) {
  static const std::regex kVersion(
      "^(torch\\d+\\.\\d+\\.\\d+|wrapped|retool|optimum|inline)_");
  static const std::regex kHead(
      "_(mlm|qa|seqcls|past|model|cls|lm|encoder|gated|text|group2|proj|hf|"
      "vision|mono|untied|emb|\\d+_eager|\\d+_sdpa|\\d+)$");
  name = std::regex_replace(name, kVersion, "");
  for (;;) {
    std::string shorter = std::regex_replace(name, kHead, "");
    if (shorter == name) return name;
    name = std::move(shorter);
  }
}

void Shelf::Add(const std::filesystem::path& folder,
                const std::string& variants) {
  for (const std::string_view variant : Split(variants, ',')) {
    for (TruthFile& file : FindTruth(folder, "*", std::string(variant))) {
      const std::string bytes = file.Bytes();
      const Model model = ReadModel(bytes);
      const auto rows = ReadTruth(file, model);
      std::vector<std::string> classes;  // what `known` looks at
      for (const TruthRow& row : rows) {
        std::string& path = classes.emplace_back();
        for (const auto& name : row.classes) {
          if (!path.empty()) path += '/';
          path += name;
        }
      }
      std::vector<recipes::KnownModule> known;
      for (std::size_t i = 0; i < rows.size(); ++i) {
        known.push_back({rows[i].node, rows[i].module, classes[i]});
      }
      Entry entry;
      entry.family = FamilyOf(file.model);
      entry.recipe = recipes::MakeRecipe(model, known);
      entry.recipe.family = file.model;
      entry.recipe.exporter = file.variant;
      entry.summary = recipes::Summarize(entry.recipe);
      entry.file = std::move(file);
      entries_.push_back(std::move(entry));
    }
  }
}

void Shelf::AddBuiltIn() {
  const recipes::PackedBook& book = recipes::BuiltInBook();
  for (std::size_t i = 0; i < book.size(); ++i) {
    const recipes::SummaryView summary = book.Summary(i);
    Entry entry;
    entry.recipe = book.Read(i);
    entry.family = FamilyOf(entry.recipe.family);
    entry.summary = {{summary.grams.begin(), summary.grams.end()},
                     {summary.names.begin(), summary.names.end()}};
    entries_.push_back(std::move(entry));
  }
}

std::set<std::string> Shelf::FamiliesOf(const std::string& root_class,
                                        const std::string& name) const {
  std::set<std::string> families = {FamilyOf(name)};
  for (const Entry& entry : entries_) {
    const recipes::Recipe& recipe = entry.recipe;
    if (!root_class.empty() &&
        recipe.texts[recipe.modules[0].class_name] == root_class) {
      families.insert(entry.family);
    }
  }
  return families;
}

FolderBook::FolderBook(const Shelf& shelf,
                       const std::function<bool(const Shelf::Entry&)>& use) {
  for (const Shelf::Entry& entry : shelf.entries()) {
    if (use(entry)) used_.push_back(&entry);
  }
}

}  // namespace onnx_tag::bench
