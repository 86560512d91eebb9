// distil_recipes RECORDINGS OUT: makes data/recipes.txt from a folder of
// exports with known answers, <family>/<recording>.onnx beside
// <recording>.truth.tsv, as tools/record_recipes.py writes them.
//
// What comes out depends on the recordings alone. Each is read back from the
// text and compared before it is believed.
#include <fmt/core.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <map>
#include <set>

#include "book_maker/canonical.h"
#include "book_maker/distil.h"
#include "folder_book.h"
#include "onnx_tag/error.h"
#include "recipes/book/packed_book.h"

namespace onnx_tag::bench {
namespace {

using recipes::BookSource;
using recipes::Recording;

// Exporter and version are told by the text in words of its own.
Recording Comparable(const Recording& recording) {
  Recording plain = recipes::Canonical(recording);
  plain.exporter.clear();
  plain.version.clear();
  return plain;
}

// Whether the text gives back every recording, token by token.
bool IsExact(const BookSource& book,
             const std::map<std::string, Recording>& recordings) {
  const std::string table = recipes::PackBook(book);
  const recipes::PackedBook packed(table);
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < book.roots.size(); ++i) {
    const Recording expanded = Comparable(packed.Read(i));
    for (const std::string& maker : book.roots[i].made_by) {
      const auto made = recordings.find(book.roots[i].family + '/' + maker);
      if (made == recordings.end() || made->second != expanded) {
        fmt::print(stderr, "{}/{} does not come back\n", book.roots[i].family,
                   maker);
        ++wrong;
      }
    }
  }
  fmt::print("{} bytes packed\n", table.size());
  return wrong == 0;
}

// A recording that is mostly unknown, or nothing at all, teaches nothing.
bool IsUseful(const Recording& recording) {
  const auto known =
      std::count_if(recording.tokens.begin(), recording.tokens.end(),
                    [](const recipes::RecordedToken& token) {
                      return token.module != recipes::kNone;
                    });
  return known > 2 &&
         static_cast<std::size_t>(known) * 2 > recording.tokens.size();
}

int Make(const std::string& folder, const std::string& out) {
  BookSource book;
  std::map<std::string, Recording> recordings;
  std::set<std::string> families;
  std::size_t tokens = 0;
  Shelf shelf;
  shelf.Add(folder, "*");
  for (const Shelf::Entry& entry : shelf.entries()) {
    const Recording& recording = entry.recording;
    if (!IsUseful(recording)) {
      fmt::print(stderr, "{}: left out, too little is known\n",
                 entry.file.onnx.string());
      continue;
    }
    recipes::Distil(recording, entry.file.variant, book);
    tokens += recording.tokens.size();
    families.insert(recording.family);
    recordings[recording.family + '/' + entry.file.variant] =
        Comparable(recording);
  }
  const std::string text = recipes::PrintBook(book);
  fmt::print(
      "{} families, {} recordings, {} tokens, {} roots, {} programs, "
      "{} bytes\n",
      families.size(), recordings.size(), tokens, book.roots.size(),
      book.programs.size(), text.size());
  if (!IsExact(recipes::ReadBook(text), recordings)) return 1;
  std::ofstream file(out, std::ios::binary);
  file.write(text.data(), static_cast<std::streamsize>(text.size()));
  if (!file.flush()) Fail(ErrorKind::kOutput, "{}: cannot be written", out);
  return 0;
}

}  // namespace
}  // namespace onnx_tag::bench

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fputs("usage: distil_recipes RECORDINGS OUT\n", stderr);
    return 2;
  }
  try {
    return onnx_tag::bench::Make(argv[1], argv[2]);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "distil_recipes: %s\n", error.what());
    return 1;
  }
}
