// Finds the names of a model in any text, as c++filt finds those of a linker.
//
//   TextAnnotator annotator(names, {}, [&](std::string_view text) { ... });
//   annotator.Add(piece);  // as the text comes
//   annotator.Finish();
//
// Only insertions change the text. Time is linear in the text; memory is that
// of one line, 1 MiB at most.
#pragma once

#include <array>
#include <bitset>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "onnx_tag/model.h"

namespace onnx_tag {

// What is said of a name.
struct NameNote {
  std::string text;           // inserted behind it
  std::vector<NodeId> nodes;  // that it may mean
};

// Null: the name is not one of the model. Results stay valid.
using FindNote = std::function<const NameNote*(std::string_view name)>;

// The names that a text may have, so that other words cost nothing.
//
// The names given to it must outlive it.
class NameFilter {
 public:
  NameFilter();

  void Add(std::string_view name);
  // Words that begin as `name` does.
  void AddStart(std::string_view name);
  // A word that is an operator's type, too, needs more than quotation marks.
  void AddOperator(std::string_view op) { operators_.emplace(op); }

  // False for words that do not begin as a name does.
  bool CouldBe(std::string_view word) const;
  bool IsOperator(std::string_view word) const {
    return operators_.find(word) != operators_.end();
  }
  // The names with blanks, brackets or commas whose first word this is, with
  // the place of that word in each.
  struct Phrase {
    std::string_view text;
    std::size_t word;  // where it begins
  };
  const std::vector<Phrase>* Phrases(std::string_view word) const;
  bool has_phrases() const { return !phrases_.empty(); }
  // Whether a name has no letter, but more than digits.
  bool without_letters() const { return without_letters_; }

 private:
  std::bitset<1 << 16> starts_;       // hashes of the first four bytes
  std::array<bool, 256> short_ = {};  // first bytes of names of up to three
  std::unordered_set<std::string_view> operators_;
  std::unordered_map<std::string_view, std::vector<Phrase>> phrases_;
  bool without_letters_ = false;
};

class TextAnnotator {
 public:
  struct Found {
    std::uint64_t line;    // from 1
    std::uint64_t column;  // in bytes, from 1
    std::string_view name;
    const NameNote* note;
  };
  struct Options {
    bool only = false;  // lines with a name alone
    // Called for each name instead of printing the text; may be empty.
    std::function<void(const Found&)> each;
  };
  using Sink = std::function<void(std::string_view)>;

  // `filter` must outlive it.
  TextAnnotator(const NameFilter& filter, FindNote find, Options options,
                Sink out);

  // Hands all whole lines over.
  void Add(std::string_view text);
  void Finish();

  std::uint64_t names() const { return names_; }
  std::uint64_t lines() const { return lines_; }

 private:
  // What a word was found to be. Logs repeat their words.
  struct Known {
    std::string word;
    const NameNote* note = nullptr;
  };

  void Lines(std::string_view text);
  bool IsPromising(std::string_view word, unsigned kinds) const;
  void Quoted(std::string_view line, std::size_t begin, std::size_t end);
  void Run(std::string_view line, std::size_t begin, std::size_t end,
           unsigned kinds);
  void Piece(std::string_view line, std::size_t begin, std::size_t end,
             unsigned kinds);
  bool Word(std::string_view line, std::size_t begin, std::size_t end);
  bool Phrase(std::string_view line, std::size_t begin, std::size_t end);
  const NameNote* Note(std::string_view word);
  void Insert(std::string_view line, std::size_t begin, std::size_t end,
              const NameNote& note);

  const NameFilter& filter_;
  const FindNote find_;
  const Options options_;
  const Sink out_;
  std::vector<Known> known_;
  std::string rest_;         // the line that has not ended
  bool within_run_ = false;  // `rest_` goes on with a word that was cut
  std::uint64_t line_ = 1;
  std::uint64_t column_ = 0;  // bytes of the line that were handed over
  std::uint64_t names_ = 0;
  std::uint64_t lines_ = 0;
  std::string written_;     // of the line at hand
  std::size_t copied_ = 0;  // bytes of it that are in `written_`
  bool any_ = false;
  bool noted_line_ = false;  // the line at hand counts in `lines_`
};

}  // namespace onnx_tag
