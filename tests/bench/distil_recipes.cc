// distil_recipes RECIPES OUT [BOOK]: makes src/data/recipes.txt from a folder
// of exports with known answers, <family>/<recipe>.onnx beside
// <recipe>.truth.tsv, as tools/book/record_recipes.py writes them. With BOOK,
// adds them to that book: recordings of all families take a day.
//
// What comes out depends on the recipes alone. Each is read back from the
// text and compared before it is believed.
#include <fmt/core.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <map>
#include <set>

#include "book_maker/book_source.h"
#include "book_maker/canonical.h"
#include "book_maker/distil.h"
#include "clues/recipes/book/packed_book.h"
#include "folder_book.h"
#include "onnx_tag/error.h"
#include "truth.h"

namespace onnx_tag::bench {
namespace {

using recipes::BookSource;
using recipes::Recipe;

// Exporter and version are told by the text in words of its own.
Recipe Comparable(const Recipe& recipe) {
  Recipe plain = recipes::Canonical(recipe);
  plain.exporter.clear();
  plain.version.clear();
  return plain;
}

// Whether the text gives back every recipe, token by token.
bool IsExact(const BookSource& book,
             const std::map<std::string, Recipe>& made_of) {
  const std::string table = recipes::PackBook(book);
  const recipes::PackedBook packed(table);
  std::size_t wrong = 0;
  std::size_t found = 0;
  for (std::size_t i = 0; i < book.roots.size(); ++i) {
    const Recipe expanded = Comparable(packed.Read(i));
    for (const std::string& maker : book.roots[i].made_by) {
      const auto made = made_of.find(book.roots[i].family + '/' + maker);
      if (made == made_of.end()) continue;  // of the book that it is added to
      ++found;
      if (made->second != expanded) {
        fmt::print(stderr, "{}/{} does not come back\n", book.roots[i].family,
                   maker);
        ++wrong;
      }
    }
  }
  fmt::print("{} bytes packed\n", table.size());
  return wrong == 0 && found == made_of.size();
}

// A recipe that is mostly unknown, or nothing at all, teaches nothing.
bool IsUseful(const Recipe& recipe) {
  const auto known = std::count_if(recipe.tokens.begin(), recipe.tokens.end(),
                                   [](const recipes::RecordedToken& token) {
                                     return token.module != recipes::kNone;
                                   });
  return known > 2 &&
         static_cast<std::size_t>(known) * 2 > recipe.tokens.size();
}

int Make(const std::string& folder, const std::string& out,
         const std::string& known) {
  BookSource book;
  if (!known.empty()) book = recipes::ReadBook(ReadAll(known));
  std::map<std::string, Recipe> made_of;
  std::set<std::string> families;
  std::size_t tokens = 0;
  Shelf shelf;
  shelf.Add(folder, "*");
  for (const Shelf::Entry& entry : shelf.entries()) {
    const Recipe& recipe = entry.recipe;
    if (!IsUseful(recipe)) {
      fmt::print(stderr, "{}: left out, too little is known\n",
                 entry.file.onnx.string());
      continue;
    }
    recipes::Distil(recipe, entry.file.variant, book);
    tokens += recipe.tokens.size();
    families.insert(recipe.family);
    made_of[recipe.family + '/' + entry.file.variant] = Comparable(recipe);
  }
  const std::string text = recipes::PrintBook(book);
  fmt::print(
      "{} families, {} recipes, {} tokens, {} roots, {} programs, "
      "{} bytes\n",
      families.size(), made_of.size(), tokens, book.roots.size(),
      book.programs.size(), text.size());
  if (!IsExact(recipes::ReadBook(text), made_of)) return 1;
  std::ofstream file(out, std::ios::binary);
  file.write(text.data(), static_cast<std::streamsize>(text.size()));
  if (!file.flush()) Fail(ErrorKind::kOutput, "{}: cannot be written", out);
  return 0;
}

}  // namespace
}  // namespace onnx_tag::bench

int main(int argc, char** argv) {
  if (argc != 3 && argc != 4) {
    std::fputs("usage: distil_recipes RECIPES OUT [BOOK]\n", stderr);
    return 2;
  }
  try {
    return onnx_tag::bench::Make(argv[1], argv[2], argc > 3 ? argv[3] : "");
  } catch (const std::exception& error) {
    std::fprintf(stderr, "distil_recipes: %s\n", error.what());
    return 1;
  }
}
