// Tested by tests/file/json/reader_test.cc.
#include "file/json/reader.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <deque>
#include <functional>
#include <iterator>
#include <nlohmann/json.hpp>

#include "base/letters.h"
#include "base/parse_number.h"
#include "base/text.h"

namespace onnx_tag::json {
namespace {

// Gives the text to nlohmann_json and notes how far that has come.
class WatchedIterator {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  struct State {
    const char* at;
    const char* end;
    bool ended = false;  // the parser asked for more
  };

  explicit WatchedIterator(State& state) : state_(&state) {}

  reference operator*() const { return *state_->at; }
  WatchedIterator& operator++() {
    ++state_->at;
    return *this;
  }
  // The parser compares with the end before each byte.
  bool operator!=(const WatchedIterator&) const {
    state_->ended = state_->at == state_->end;
    return !state_->ended;
  }

 private:
  State* state_;
};

// What is wrong with a text, in the words of nlohmann_json.
struct Fault {
  explicit Fault(std::string_view text) {
    using nlohmann::json;
    const auto forget = [](int, json::parse_event_t, json&) { return false; };
    WatchedIterator::State state{text.data(), text.data() + text.size()};
    try {
      [[maybe_unused]] const json forgotten =
          json::parse(WatchedIterator(state), WatchedIterator(state), forget);
    } catch (const json::exception& error) {
      ended = state.ended;
      place = static_cast<std::size_t>(state.at - text.data()) -
              (state.ended ? 0 : 1);
      // "[json.exception.parse_error.101] parse error at line 1, column 2: ..."
      std::string_view what = error.what();
      for (const std::string_view cut : {"] ", ": "}) {
        if (what.find(cut) != std::string_view::npos) {
          what.remove_prefix(what.find(cut) + cut.size());
        }
      }
      words = what;
    }
  }

  bool ended = false;  // the text is the start of a document
  std::size_t place = 0;
  std::string words;
};

// Whether an odd number of backslashes stands before it.
bool IsEscaped(std::string_view text, std::size_t at) {
  std::size_t first = at;
  while (first > 0 && text[first - 1] == '\\') --first;
  return (at - first) % 2 == 1;
}

// "\udc80" to "\udcff" without a high surrogate before it, which strict parsers
// refuse, as "\uef80" to "\uefff". Both have the same length: places stay.
bool ReplaceLoneSurrogates(std::string_view text, std::string& replaced) {
  const auto is = [&](std::size_t at, std::string_view any) {
    return at < text.size() && any.find(text[at]) != std::string_view::npos;
  };
  for (std::size_t at = text.find("\\u"); at != std::string_view::npos;
       at = text.find("\\u", at + 2)) {
    if (!is(at + 2, "dD") || !is(at + 3, "cC") ||
        !is(at + 4, "89abcdefABCDEF") || IsEscaped(text, at)) {
      continue;
    }
    if (at >= 6 && text[at - 6] == '\\' && text[at - 5] == 'u' &&
        is(at - 4, "dD") && is(at - 3, "89abAB") && !IsEscaped(text, at - 6)) {
      continue;
    }
    if (replaced.empty()) replaced = text;
    replaced[at + 2] = 'e';
    replaced[at + 3] = 'f';
  }
  return !replaced.empty();
}

// U+EF80 to U+EFFF become the bytes that they stand for. They are
// EE BE 80 to EE BF BF in UTF-8.
bool RestoreBytes(std::string& text) {
  std::size_t from = text.find('\xEE');
  if (from == std::string::npos) return false;
  std::size_t to = from;
  while (from < text.size()) {
    if (text[from] == '\xEE' && from + 2 < text.size() &&
        (text[from + 1] == '\xBE' || text[from + 1] == '\xBF')) {
      const bool upper = text[from + 1] == '\xBF';
      text[to++] = static_cast<char>(text[from + 2] | (upper ? '\x40' : '\0'));
      from += 3;
    } else {
      text[to++] = text[from++];
    }
  }
  const bool changed = to != text.size();
  text.resize(to);
  return changed;
}

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

bool IsBlank(char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }

bool IsInWord(char c) {
  return IsDigit(c) || IsLetter(c) || c == '-' || c == '+' || c == '.';
}

}  // namespace

std::string_view KindName(Kind kind) {
  constexpr std::array<std::string_view, 6> kNames = {
      "an object", "a list", "a string", "a number", "true or false", "null"};
  return kNames[static_cast<std::size_t>(kind)];
}

// A document whose syntax is known to be good.
class Document {
 public:
  Document(std::string_view text, ErrorKind kind, Ending ending)
      : text_(ReplaceLoneSurrogates(text, replaced_) ? replaced_ : text),
        kind_(kind),
        at_(text_.starts_with(kByteOrderMark) ? kByteOrderMark.size() : 0) {
    if (text_.size() > UINT32_MAX) {
      Fail(kind, "JSON of more than 4 GiB is not read");
    }
    if (Check()) return;
    if (ending == Ending::kMayBeCutOff && Fault(text_.substr(at_)).ended) {
      return;
    }
    const Fault fault(text_);
    RefuseLongToken(fault.place);
    FailAt(fault.place, "{}", fault.words);
  }

  std::string_view text() const { return text_; }
  // Of the last token that is whole.
  std::size_t end() const { return end_; }

  // The text of a string, which starts and ends here.
  std::string_view StringAt(std::size_t start, std::size_t end) const {
    const std::string_view inside = text_.substr(start + 1, end - start - 2);
    // Escapes, and what RestoreBytes() looks for.
    if (inside.find('\\') == inside.npos &&
        inside.find('\xEE') == inside.npos) {
      return inside;
    }
    std::string decoded =
        nlohmann::json::parse(text_.substr(start, end - start));
    RestoreBytes(decoded);
    return decoded_.emplace_back(std::move(decoded));
  }

  // npos: it does not end.
  std::size_t EndOfString(std::size_t start) const {
    std::size_t quote = text_.find('"', start + 1);
    while (quote != text_.npos && IsEscaped(text_, quote)) {
      quote = text_.find('"', quote + 1);
    }
    return quote == text_.npos ? quote : quote + 1;
  }

  std::string Where(std::size_t place) const {
    const std::string_view before = text_.substr(0, place);
    const auto line = 1 + std::count(before.begin(), before.end(), '\n');
    const std::size_t start =
        before.empty() ? 0 : before.rfind('\n') + 1;  // npos + 1 is 0
    // Columns are characters, as editors count them.
    std::size_t column = 1;
    for (const char c : before.substr(start)) {
      if ((static_cast<unsigned char>(c) & 0xC0) != 0x80) ++column;
    }
    return fmt::format("line {}, column {}", line, column);
  }

 private:
  // An object or list that is open.
  struct Level {
    char close;
    std::size_t first_key;
  };

  template <typename... Args>
  [[noreturn]] void FailAt(
      std::size_t place, message::Format<std::type_identity_t<Args>...> format,
      const Args&... args) const {
    throw Error(kind_, Where(place) + ": " + Message(format, args...));
  }

  void RefuseLongToken(std::size_t end) const {
    if (end - end_ > Reader::kMaxToken) {
      FailAt(end_, "a string, a number or white space of more than 16 MiB");
    }
  }

  // False at the first token that is none, or not whole.
  bool Check() {
    for (;;) {
      const char open = Next();
      const char close = open == '{' ? '}' : open == '[' ? ']' : '\0';
      if (close != '\0') Open(close);
      // An empty object or list is whole, as is a value of another kind.
      if (close != '\0' ? Next() != close : !PassScalar()) {
        if (close == '\0' || (open == '{' && !PassKey())) return false;
        continue;
      }
      while (!levels_.empty() && Next() == levels_.back().close) Close();
      if (levels_.empty()) return Next() == '\0';
      if (Next() != ',') return false;
      ++at_;
      if (levels_.back().close == '}' && !PassKey()) return false;
    }
  }

  char Here() const { return at_ < text_.size() ? text_[at_] : '\0'; }

  // Behind white space.
  char Next() {
    while (IsBlank(Here())) ++at_;
    return Here();
  }

  void EndToken(std::size_t end) {
    RefuseLongToken(end);
    at_ = end_ = end;
  }

  bool PassScalar() {
    const char first = Here();
    if (first == '"') return PassString();
    std::size_t end = at_;
    while (end < text_.size() && IsInWord(text_[end])) ++end;
    const std::string_view word = text_.substr(at_, end - at_);
    const bool plain = IsOneOf(word, {"true", "false", "null", "0"}) ||
                       (!word.empty() && word.size() < 16 && first != '0' &&
                        std::all_of(word.begin(), word.end(), IsDigit));
    if (!plain && !nlohmann::json::accept(word)) return false;
    EndToken(end);
    return true;
  }

  bool PassString() {
    const std::size_t end = EndOfString(at_);
    if (end > text_.size()) return false;
    const std::string_view string = text_.substr(at_, end - at_);
    bool plain = true;
    for (const char c : string) {
      plain &= c >= ' ' && c <= '~' && c != '\\';
    }
    if (!plain && !nlohmann::json::accept(string)) return false;
    EndToken(end);
    return true;
  }

  // And the colon behind it.
  bool PassKey() {
    if (Next() != '"') return false;
    const std::size_t start = at_;
    if (!PassString()) return false;
    const std::string_view key = StringAt(start, at_);
    keys_.push_back(std::uint64_t{std::hash<std::string_view>()(key)} << 32 |
                    start);
    if (Next() != ':') return false;
    ++at_;
    return true;
  }

  void Open(char close) {
    if (levels_.size() == Reader::kMaxDepth) {
      FailAt(at_, "nested more than {} levels deep", Reader::kMaxDepth);
    }
    levels_.push_back({close, keys_.size()});
    EndToken(at_ + 1);
  }

  void Close() {
    RefuseRepeatedKeys();
    keys_.resize(levels_.back().first_key);
    levels_.pop_back();
    EndToken(at_ + 1);
  }

  // Of the object that ends. Sorted by hash, so that equal keys meet.
  void RefuseRepeatedKeys() {
    const auto first =
        keys_.begin() + static_cast<std::ptrdiff_t>(levels_.back().first_key);
    std::sort(first, keys_.end());
    const auto same_hash = [](std::uint64_t a, std::uint64_t b) {
      return a >> 32 == b >> 32;
    };
    std::vector<std::pair<std::string_view, std::size_t>> keys;
    for (auto at = std::adjacent_find(first, keys_.end(), same_hash);
         at != keys_.end();
         at = std::adjacent_find(at, keys_.end(), same_hash)) {
      const std::uint64_t hash = *at >> 32;
      keys.clear();
      for (; at != keys_.end() && *at >> 32 == hash; ++at) {
        const std::size_t start = *at & UINT32_MAX;
        keys.emplace_back(StringAt(start, EndOfString(start)), start);
      }
      std::sort(keys.begin(), keys.end());
      for (std::size_t i = 1; i < keys.size(); ++i) {
        if (keys[i].first != keys[i - 1].first) continue;
        FailAt(keys[i].second, "the key \"{}\" occurs a second time",
               keys[i].first);
      }
    }
  }

  std::string replaced_;
  const std::string_view text_;
  const ErrorKind kind_;
  std::size_t at_;
  std::size_t end_ = 0;
  std::vector<std::uint64_t> keys_;  // of open objects: hash, place
  std::vector<Level> levels_;
  mutable std::deque<std::string> decoded_;
};

struct Reader::Token {
  char first;  // '\0': none, the text ended too soon
  std::size_t start;
  std::size_t end;

  Kind kind() const;
};

Reader::Reader(std::string_view text, ErrorKind kind, Ending ending)
    : document_(std::make_shared<const Document>(text, kind, ending)),
      kind_(kind) {
  if (document_->text().starts_with(kByteOrderMark)) {
    at_ = kByteOrderMark.size();
  }
}

// Where the next token starts.
std::size_t Reader::Next() const {
  const std::string_view text = document_->text();
  std::size_t at = at_;
  while (at < document_->end() &&
         (IsBlank(text[at]) || text[at] == ',' || text[at] == ':')) {
    ++at;
  }
  return at;
}

Reader::Token Reader::Look() const {
  const std::string_view text = document_->text();
  const std::size_t start = Next();
  if (start >= document_->end()) return {'\0', start, start};
  std::size_t end = start;
  if (text[start] == '"') {
    end = document_->EndOfString(start);
  } else if (IsInWord(text[start])) {
    while (end < document_->end() && IsInWord(text[end])) ++end;
  } else {
    ++end;
  }
  return {text[start], start, end};
}

Kind Reader::Peek() const {
  const std::size_t at = Next();
  return Token{at < document_->end() ? document_->text()[at] : '\0', at, at}
      .kind();
}

Kind Reader::Token::kind() const {
  switch (first) {
    case '{':
      return Kind::kObject;
    case '[':
      return Kind::kArray;
    case '"':
      return Kind::kString;
    case 't':
    case 'f':
      return Kind::kBool;
    default:
      return IsDigit(first) || first == '-' ? Kind::kNumber : Kind::kNull;
  }
}

Place Reader::Here() const { return Place{Next()}; }

std::string Reader::Where(Place place) const {
  return document_->Where(static_cast<std::size_t>(place));
}

Reader::Token Reader::Expect(Kind kind) {
  const Token token = Look();
  if (token.kind() != kind) {
    FailAt(Place{token.start}, "{} where {} should be", KindName(token.kind()),
           KindName(kind));
  }
  at_ = token.end;
  return token;
}

void Reader::BeginObject() { Expect(Kind::kObject); }

void Reader::BeginArray() { Expect(Kind::kArray); }

// The end of the text ends everything and is not passed.
bool Reader::AtEnd() {
  cut_off_ = cut_off_ || Next() >= document_->end();
  return cut_off_;
}

bool Reader::NextMember(std::string_view& key) {
  if (AtEnd()) return false;
  const Token token = Look();
  at_ = token.end;
  if (token.first == '}') return false;
  key_start_ = token.start;
  key = document_->StringAt(token.start, token.end);
  return !AtEnd();
}

bool Reader::NextItem() {
  if (AtEnd()) return false;
  const std::size_t at = Next();
  if (document_->text()[at] != ']') return true;
  at_ = at + 1;
  return false;
}

std::string_view Reader::Text(Kind kind) {
  const Token token = Expect(kind);
  return kind == Kind::kString
             ? document_->StringAt(token.start, token.end)
             : document_->text().substr(token.start, token.end - token.start);
}

std::string_view Reader::StringView() { return Text(Kind::kString); }

double Reader::Number() { return ParseDouble(Text(Kind::kNumber)); }

std::uint64_t Reader::Whole(std::uint64_t most) {
  const Place place = Here();
  const std::string_view text = Text(Kind::kNumber);
  std::uint64_t number = 0;
  const char* const end = text.data() + text.size();
  if (std::from_chars(text.data(), end, number).ptr != end) {
    // "-0", "1.0" and "1e3" are whole, too.
    const double rounded = ParseDouble(text);
    const bool whole =
        rounded >= 0 && rounded < 9e15 && rounded == std::floor(rounded);
    number = whole ? static_cast<std::uint64_t>(rounded) : UINT64_MAX;
    if (!whole) most = std::min(most, UINT64_MAX - 1);
  }
  if (number > most) {
    FailAt(place, "a whole number from 0 to {} should be here", most);
  }
  return number;
}

std::vector<std::string> Reader::Strings() {
  std::vector<std::string> texts;
  ForEachItem([&] { texts.push_back(String()); });
  return texts;
}

std::string Reader::StringOrNull() {
  if (Peek() != Kind::kNull) return String();
  Null();
  return "";
}

bool Reader::Bool() { return Expect(Kind::kBool).first == 't'; }

void Reader::Null() { Expect(Kind::kNull); }

std::string_view Reader::Skip() {
  const std::size_t start = Next();
  std::size_t depth = 0;
  do {
    if (AtEnd()) break;
    const Token token = Look();
    at_ = token.end;
    if (token.first == '{' || token.first == '[') ++depth;
    if (token.first == '}' || token.first == ']') --depth;
    // A key is followed by its value: the first token is never one.
  } while (depth > 0);
  return document_->text().substr(start, at_ - start);
}

}  // namespace onnx_tag::json
