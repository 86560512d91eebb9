// Tested by tests/app/commands/filt_test.cc.
#include "app/commands/filt/annotate_text.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/hash.h"
#include "core/graph/operators.h"
#include "core/hierarchy/name_parts.h"

namespace onnx_tag {
namespace {

// A longer line is treated in parts. Words are cut only if they are as long.
constexpr std::size_t kLongestLine = std::size_t{1} << 20;
// A longer name is not searched for: nobody reads it in a log.
constexpr std::size_t kLongestName = 4096;
constexpr std::size_t kMostPhrases = 16;  // with one first word
constexpr std::size_t kKnownWords = std::size_t{1} << 13;
constexpr std::size_t kLongestKnown = 256;

// The kinds of bytes that words have. 0: a byte between words.
enum ByteKind : unsigned {
  kLetter = 1,
  kDigit = 2,
  kBar = 4,
  kDot = 8,
  kColon = 16,
  kDash = 32,
  kSlash = 64,
  kOther = 128,  // UTF-8
};

constexpr std::array<std::uint8_t, 256> MakeKinds() {
  std::array<std::uint8_t, 256> kinds = {};
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    const char c = static_cast<char>(i);
    if (hierarchy::IsLower(c) || hierarchy::IsUpper(c)) kinds[i] = kLetter;
    if (hierarchy::IsDigit(c)) kinds[i] = kDigit;
    if (i >= 0x80) kinds[i] = kOther;
  }
  kinds['_'] = kBar;
  kinds['.'] = kDot;
  kinds[':'] = kColon;
  kinds['-'] = kDash;
  kinds['/'] = kSlash;
  return kinds;
}
constexpr std::array<std::uint8_t, 256> kKinds = MakeKinds();

unsigned KindOf(char c) { return kKinds[static_cast<unsigned char>(c)]; }

std::size_t WordEnd(std::string_view text, std::size_t at) {
  while (at < text.size() && KindOf(text[at]) != 0) ++at;
  return at;
}

std::uint64_t HashWord(std::string_view word) {
  std::uint64_t hash = word.size();
  std::uint64_t part = 0;
  while (word.size() >= sizeof part) {
    std::memcpy(&part, word.data(), sizeof part);
    hash = HashMix(hash, part);
    word.remove_prefix(sizeof part);
  }
  part = 0;
  std::memcpy(&part, word.data(), word.size());
  return HashMix(hash, part);
}

constexpr std::size_t kStart = 4;

std::size_t StartHash(std::string_view word) {
  std::uint32_t start = 0;
  std::memcpy(&start, word.data(), kStart);
  return (start * 0x9e3779b1u) >> 16;
}

// "\x1b[1;31m": where a terminal's escape sequence ends that begins at `at`.
std::size_t EscapeEnd(std::string_view text, std::size_t at) {
  ++at;
  if (at >= text.size() || text[at] != '[') return at;
  ++at;
  while (at < text.size() && text[at] >= 0x20 && text[at] < 0x40) ++at;
  return std::min(at + 1, text.size());
}

bool IsLoose(char c) { return c == '.' || c == ':' || c == '-'; }

bool IsQuote(char c) { return c == '\'' || c == '"' || c == '`'; }

// "Name:'Add'", "name=\"Add\"": whether what precedes the quotation mark at
// `quote` says that a name follows.
bool IsAfterName(std::string_view text, std::size_t quote) {
  std::string_view before = text.substr(0, quote);
  const auto drop = [&](std::string_view bytes) {
    const std::size_t last = before.find_last_not_of(bytes);
    before = before.substr(0, last == before.npos ? 0 : last + 1);
  };
  if (before.size() > 32) before.remove_prefix(before.size() - 32);
  drop(" :=\"'");
  return before.ends_with("ame");
}

}  // namespace

// ---------------------------------------------------------------- NameFilter
// Words that tools put before names (clues/exporters/tools/original_name.cc).
NameFilter::NameFilter() {
  for (const std::string_view prefix :
       {"_inlfunc_", "_if_", "node_of_", "InsertedPrecisionFreeCast_",
        "FusedBack_"}) {
    AddStart(prefix);
  }
  for (const Op op :
       {Op::kConv, Op::kMatMul, Op::kGemm, Op::kLoop, Op::kScan}) {
    AddStart(Describe(op).name);
  }
  for (char digit = '0'; digit <= '9'; ++digit) {
    AddStart(std::string("If_") + digit);
  }
}

void NameFilter::AddStart(std::string_view name) {
  if (name.empty()) return;
  if (name.size() < kStart) {
    short_[static_cast<unsigned char>(name[0])] = true;
  } else {
    starts_.set(StartHash(name));
  }
}

void NameFilter::Add(std::string_view name) {
  if (name.empty() || name.size() > kLongestName) return;
  std::size_t word = 0;
  while (word < name.size() && KindOf(name[word]) == 0) ++word;
  const std::size_t end = WordEnd(name, word);
  if (word == end) return;
  unsigned kinds = 0;
  for (const char c : name.substr(word, end - word)) kinds |= KindOf(c);
  without_letters_ |= (kinds & (kLetter | kOther)) == 0;
  if (word != 0 || end != name.size()) {
    std::vector<Phrase>& phrases = phrases_[name.substr(word, end - word)];
    if (phrases.size() < kMostPhrases) phrases.push_back({name, word});
    AddStart(name.substr(word));
    return;
  }
  AddStart(name);
  // As a name in C, with or without a bar for the first slash.
  if (name.size() > kStart) {
    std::string plain(name.substr(0, kStart + 1));
    for (char& c : plain) {
      if (!hierarchy::IsWordChar(c)) c = '_';
    }
    AddStart(plain);
    if (plain[0] == '_') AddStart(std::string_view(plain).substr(1));
  }
}

bool NameFilter::CouldBe(std::string_view word) const {
  if (word.empty()) return false;
  if (short_[static_cast<unsigned char>(word[0])]) return true;
  return word.size() >= kStart && starts_[StartHash(word)];
}

const std::vector<NameFilter::Phrase>* NameFilter::Phrases(
    std::string_view word) const {
  if (phrases_.empty()) return nullptr;
  const auto at = phrases_.find(word);
  return at == phrases_.end() ? nullptr : &at->second;
}

// ------------------------------------------------------------- TextAnnotator
TextAnnotator::TextAnnotator(const NameFilter& filter, FindNote find,
                             Options options, Sink out)
    : filter_(filter),
      find_(std::move(find)),
      options_(std::move(options)),
      out_(std::move(out)),
      known_(kKnownWords) {}

void TextAnnotator::Add(std::string_view text) {
  // Whole lines go in one piece, unless something is asked of each line.
  const bool apart = options_.only || options_.each;
  while (!text.empty()) {
    const bool alone = apart || !rest_.empty();
    const std::size_t newline = alone ? text.find('\n') : text.rfind('\n');
    const std::size_t size = newline == text.npos ? text.size() : newline + 1;
    if (newline != text.npos && rest_.empty()) {
      Lines(text.substr(0, size));
    } else {
      rest_.append(text.substr(0, size));
      if (newline != text.npos) {
        Lines(rest_);
        rest_.clear();
      }
    }
    text.remove_prefix(size);
  }
  if (rest_.size() < kLongestLine) return;
  std::size_t cut = rest_.size();
  while (cut > 0 && KindOf(rest_[cut - 1]) != 0) --cut;
  const bool one_word = cut == 0;
  if (one_word) cut = rest_.size();
  Lines(std::string_view(rest_).substr(0, cut));
  rest_.erase(0, cut);
  within_run_ = one_word;
}

void TextAnnotator::Finish() {
  if (!rest_.empty()) Lines(rest_);
  rest_.clear();
}

// Whether a name may begin in the word, where a word or a part of it begins.
bool TextAnnotator::IsPromising(std::string_view word, unsigned kinds) const {
  if (filter_.CouldBe(word)) return true;
  if ((kinds & (kDot | kColon | kDash)) == 0) return false;
  std::size_t first = 0;
  while (first < word.size() && IsLoose(word[first])) ++first;
  if (first > 0 && filter_.CouldBe(word.substr(first))) return true;
  for (std::size_t i = first; i < word.size(); ++i) {
    if (!IsLoose(word[i])) continue;
    while (i + 1 < word.size() && IsLoose(word[i + 1])) ++i;
    if (word[i] != '-' && filter_.CouldBe(word.substr(i + 1))) return true;
  }
  return false;
}

void TextAnnotator::Lines(std::string_view text) {
  copied_ = 0;
  any_ = false;
  written_.clear();
  std::size_t at = 0;
  if (std::exchange(within_run_, false)) at = WordEnd(text, 0);
  const bool plain_words = filter_.has_phrases();
  while (at < text.size()) {
    unsigned kind = KindOf(text[at]);
    if (kind == 0) {
      if (text[at] == '\x1b') {
        at = EscapeEnd(text, at);
      } else if (text[at] == '\\' && at + 1 < text.size() &&
                 (text[at + 1] == 'n' || text[at + 1] == 't' ||
                  text[at + 1] == 'r')) {
        at += 2;  // a line break as Python and JSON write it
      } else {
        ++at;
      }
      continue;
    }
    const std::size_t begin = at;
    unsigned kinds = 0;
    do {
      kinds |= kind;
      ++at;
    } while (at < text.size() && (kind = KindOf(text[at])) != 0);
    // Nearly all words end here. A word of letters, and a number, are names
    // only where the text says so: `input`, `add` and `12` are values, too.
    if ((kinds & ~kLetter) == 0 || (kinds & ~kDigit) == 0) {
      if (begin > 0 && IsQuote(text[begin - 1])) {
        if (filter_.CouldBe(text.substr(begin, at - begin))) {
          Quoted(text, begin, at);
        }
      } else if (plain_words) {
        Phrase(text, begin, at);
      }
    } else if ((kinds & (kLetter | kOther)) != 0 || filter_.without_letters()) {
      if (!IsPromising(text.substr(begin, at - begin), kinds)) continue;
      Run(text, begin, at, kinds);
    }
    // A name with blanks may end further on.
    at = std::max(at, copied_);
  }
  if (!options_.each && (any_ || !options_.only)) {
    if (any_) {
      written_.append(text.substr(copied_));
      out_(written_);
    } else {
      out_(text);
    }
  }
  const bool ends = text.ends_with('\n');
  column_ = ends ? 0 : column_ + text.size();
  line_ += ends ? 1 : 0;
  if (ends) noted_line_ = false;
}

// TensorRT writes "{ForeignNode[first...last]}".
void TextAnnotator::Run(std::string_view line, std::size_t begin,
                        std::size_t end, unsigned kinds) {
  constexpr std::string_view kDots = "...";
  if ((kinds & kDot) != 0) {
    for (;;) {
      const std::size_t dots = line.substr(0, end).find(kDots, begin);
      if (dots == line.npos) break;
      Piece(line, begin, dots, kinds);
      begin = dots;
      while (begin < end && line[begin] == '.') ++begin;
    }
  }
  Piece(line, begin, end, kinds);
}

// A word of letters or digits after a quotation mark.
void TextAnnotator::Quoted(std::string_view line, std::size_t begin,
                           std::size_t end) {
  const char quote = line[begin - 1];
  if (end == line.size() || line[end] != quote) return;
  // A key of JSON.
  const std::size_t next = line.find_first_not_of(' ', end + 1);
  if (quote == '"' && next != line.npos && line[next] == ':') return;
  if (!IsAfterName(line, begin - 1) &&
      filter_.IsOperator(line.substr(begin, end - begin))) {
    return;
  }
  Word(line, begin, end);
}

void TextAnnotator::Piece(std::string_view line, std::size_t begin,
                          std::size_t end, unsigned kinds) {
  if (Word(line, begin, end)) return;
  const std::size_t whole = end - begin;
  while (begin < end && IsLoose(line[begin])) ++begin;
  while (begin < end && IsLoose(line[end - 1])) --end;
  if (begin == end) return;
  if (end - begin != whole && Word(line, begin, end)) return;
  if ((kinds & kColon) == 0) return;
  // "node:/x/MatMul", "/x/MatMul:0", but not "onnx::MatMul_3".
  std::size_t part = begin;
  for (std::size_t i = begin; i <= end; ++i) {
    const bool splits = i == end || (line[i] == ':' && line[i - 1] != ':' &&
                                     line[i + 1] != ':');
    if (!splits) continue;
    const std::string_view text = line.substr(part, i - part);
    const bool plain = hierarchy::IsNumeric(text) ||
                       std::all_of(text.begin(), text.end(),
                                   [](char c) { return KindOf(c) == kLetter; });
    if (!plain && (part != begin || i != end)) Word(line, part, i);
    part = i + 1;
  }
}

bool TextAnnotator::Word(std::string_view line, std::size_t begin,
                         std::size_t end) {
  const std::string_view word = line.substr(begin, end - begin);
  if (word.size() > kLongestName || !filter_.CouldBe(word)) return false;
  if (Phrase(line, begin, end)) return true;
  const NameNote* const note = Note(word);
  if (note == nullptr) return false;
  Insert(line, begin, end, *note);
  return true;
}

bool TextAnnotator::Phrase(std::string_view line, std::size_t begin,
                           std::size_t end) {
  const auto* const phrases = filter_.Phrases(line.substr(begin, end - begin));
  if (phrases == nullptr) return false;
  const NameFilter::Phrase* best = nullptr;
  for (const NameFilter::Phrase& phrase : *phrases) {
    if (phrase.word > begin || begin - phrase.word < copied_) continue;
    if (best != nullptr && best->text.size() >= phrase.text.size()) continue;
    if (line.substr(begin - phrase.word, phrase.text.size()) != phrase.text) {
      continue;
    }
    best = &phrase;
  }
  if (best == nullptr) return false;
  const std::size_t first = begin - best->word;
  const std::size_t last = first + best->text.size();
  if (last < line.size() && KindOf(line[last]) != 0 &&
      KindOf(line[last - 1]) != 0) {
    return false;
  }
  const NameNote* const note = Note(best->text);
  if (note == nullptr) return false;
  Insert(line, first, last, *note);
  return true;
}

const NameNote* TextAnnotator::Note(std::string_view word) {
  if (word.size() > kLongestKnown) return find_(word);
  Known& known = known_[HashWord(word) % kKnownWords];
  if (known.word != word) {
    known.note = find_(word);
    known.word = word;
  }
  return known.note;
}

void TextAnnotator::Insert(std::string_view line, std::size_t begin,
                           std::size_t end, const NameNote& note) {
  ++names_;
  any_ = true;
  if (line.substr(copied_, begin - copied_).find('\n') != line.npos) {
    noted_line_ = false;
  }
  if (!std::exchange(noted_line_, true)) ++lines_;
  if (options_.each) {
    options_.each(
        {line_, column_ + begin + 1, line.substr(begin, end - begin), &note});
    copied_ = end;
    return;
  }
  written_.append(line.substr(copied_, end - copied_));
  written_.append(note.text);
  copied_ = end;
}

}  // namespace onnx_tag
