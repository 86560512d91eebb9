// Tested by tests/file/json/reader_test.cc.
#include "file/json/reader.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <functional>
#include <iterator>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/parse_number.h"
#include "base/text.h"

namespace onnx_tag::json {
namespace {

enum class Mark : std::uint8_t {
  kBeginObject,
  kEndObject,
  kBeginArray,
  kEndArray,
  kKey,
  kDecodedKey,  // not as it is in the text: the decoded form is kept
  kString,
  kDecodedString,
  kNumber,
  kBool,
  kNull,
  kCut,  // the text ended too soon
};

bool HasLength(Mark mark) { return mark >= Mark::kKey && mark <= Mark::kNull; }

bool IsDecoded(Mark mark) {
  return mark == Mark::kDecodedKey || mark == Mark::kDecodedString;
}

// Gives the text to the parser and tells the handler how far it has come. A
// string of printable ASCII without escapes is given as "": the parser has
// nothing to check in it, and takes ten times as long for a byte. Spaces behind
// a comma or a colon are left out for the same reason.
class CountingIterator {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  struct State {
    const char* at;
    const char* stop;  // end of the text, or of the longest token from here
    const char* last = nullptr;  // the byte that was given last
    bool ended = false;          // the parser asked for more

    // Of the last string that began.
    const char* quote = nullptr;
    bool is_plain = false;  // given as ""
    bool is_open = false;
    bool is_escaped = false;  // the next byte is

    void Advance() {
      last = at++;
      const char c = *last;
      if (!is_open) {
        if (c == '"') {
          BeginString();
        } else if (c == ',' || c == ':') {
          while (at != stop && *at == ' ') ++at;
        }
      } else if (is_escaped) {
        is_escaped = false;
      } else {
        is_open = c != '"';
        is_escaped = c == '\\';
      }
    }

    void BeginString() {
      is_open = true;
      quote = last;
      const char* end = at;
      while (end != stop && *end >= ' ' && *end <= '~' && *end != '"' &&
             *end != '\\') {
        ++end;
      }
      is_plain = end != stop && *end == '"';
      if (is_plain) at = end;
    }
  };

  explicit CountingIterator(State& state) : state_(&state) {}

  reference operator*() const { return *state_->at; }
  CountingIterator& operator++() {
    state_->Advance();
    return *this;
  }
  // The parser compares with the end before each byte.
  bool operator!=(const CountingIterator&) const {
    if (state_->at != state_->stop) return true;
    state_->ended = true;
    return false;
  }

 private:
  State* state_;
};

// "\udc80" to "\udcff" without a high surrogate before it, which strict parsers
// refuse, as "\uef80" to "\uefff". Both have the same length: places stay.
bool ReplaceLoneSurrogates(std::string_view text, std::string& replaced) {
  const auto is_escape = [&](std::size_t at) {  // not an escaped backslash
    std::size_t first = at;
    while (first > 0 && text[first - 1] == '\\') --first;
    return (at - first) % 2 == 0;
  };
  const auto is = [&](std::size_t at, std::string_view any) {
    return at < text.size() && any.find(text[at]) != std::string_view::npos;
  };
  for (std::size_t at = text.find("\\u"); at != std::string_view::npos;
       at = text.find("\\u", at + 2)) {
    if (!is(at + 2, "dD") || !is(at + 3, "cC") ||
        !is(at + 4, "89abcdefABCDEF") || !is_escape(at)) {
      continue;
    }
    if (at >= 6 && text[at - 6] == '\\' && text[at - 5] == 'u' &&
        is(at - 4, "dD") && is(at - 3, "89abAB") && is_escape(at - 6)) {
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

std::size_t NumberAt(const std::string& tape, std::size_t& at) {
  std::size_t number = 0;
  for (int shift = 0;; shift += 7) {
    const auto byte = static_cast<unsigned char>(tape[at++]);
    number |= static_cast<std::size_t>(byte & 0x7f) << shift;
    if (byte < 0x80) return number;
  }
}

void AppendNumber(std::string& tape, std::size_t number) {
  for (; number >= 0x80; number >>= 7) {
    tape += static_cast<char>(number | 0x80);
  }
  tape += static_cast<char>(number);
}

// The gap before a token is most often 0 to 2 bytes.
constexpr std::size_t kLongGap = 15;

}  // namespace

std::string_view KindName(Kind kind) {
  switch (kind) {
    case Kind::kObject:
      return "an object";
    case Kind::kArray:
      return "a list";
    case Kind::kString:
      return "a string";
    case Kind::kNumber:
      return "a number";
    case Kind::kBool:
      return "true or false";
    case Kind::kNull:
      break;
  }
  return "null";
}

// What the parser found, in the order of the document. For each token: a byte
// with its mark and the gap between it and the token before (15: a number
// follows), then, for what has one, its length.
class Tape {
 public:
  Tape(std::string_view text, ErrorKind kind, Ending ending)
      : text_(ReplaceLoneSurrogates(text, replaced_) ? replaced_ : text),
        kind_(kind),
        state_{text_.data(), text_.data()} {
    if (text_.size() > UINT32_MAX) {
      Fail(kind, "JSON of more than 4 GiB is not read");
    }
    // Not touched before it is used, so that it costs no memory.
    bytes_.reserve(text_.size() / 2);
    SetLimit();
    const bool good = nlohmann::json::sax_parse(CountingIterator(state_),
                                                CountingIterator(state_), this);
    if (good) return;
    if (state_.ended && state_.stop != text_.data() + text_.size()) {
      FailAt(end_, "a string, a number or white space of more than 16 MiB");
    }
    if (!state_.ended || ending != Ending::kMayBeCutOff) {
      FailAt(error_at_, "{}", error_);
    }
    Add(Mark::kCut, text_.size(), 0);
  }

  const std::string& bytes() const { return bytes_; }
  std::string_view text() const { return text_; }
  const std::string& decoded() const { return decoded_; }

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

  // What nlohmann_json calls.
  bool null() { return Literal(Mark::kNull, 4); }
  bool boolean(bool value) { return Literal(Mark::kBool, value ? 4 : 5); }
  bool number_integer(std::int64_t) { return Number(); }
  bool number_unsigned(std::uint64_t) { return Number(); }
  bool number_float(double, const std::string&) { return Number(); }
  bool string(std::string& text) {
    Text(Mark::kString, text);
    return true;
  }
  bool binary(nlohmann::json::binary_t&) { return false; }
  bool start_object(std::size_t) { return Open(Mark::kBeginObject); }
  bool key(std::string& text) {
    const std::string_view key = Text(Mark::kKey, text);
    keys_.push_back(std::uint64_t{std::hash<std::string_view>()(key)} << 32 |
                    static_cast<std::size_t>(state_.quote - text_.data()));
    return true;
  }
  bool end_object() {
    RefuseRepeatedKeys();
    return Close(Mark::kEndObject);
  }
  bool start_array(std::size_t) { return Open(Mark::kBeginArray); }
  bool end_array() { return Close(Mark::kEndArray); }
  bool parse_error(std::size_t, const std::string&,
                   const nlohmann::json::exception& error) {
    error_at_ = static_cast<std::size_t>(
        (state_.ended ? state_.at : state_.last) - text_.data());
    // "[json.exception.parse_error.101] parse error at line 1, column 2: ..."
    std::string_view what = error.what();
    for (const std::string_view cut : {"] ", ": "}) {
      if (what.find(cut) != std::string_view::npos) {
        what.remove_prefix(what.find(cut) + cut.size());
      }
    }
    error_ = what;
    return false;
  }

 private:
  template <typename... Args>
  [[noreturn]] void FailAt(
      std::size_t place, message::Format<std::type_identity_t<Args>...> format,
      const Args&... args) const {
    throw Error(kind_, Where(place) + ": " + Message(format, args...));
  }

  std::size_t Position() const {
    return static_cast<std::size_t>(state_.at - text_.data());
  }

  void SetLimit() {
    const std::size_t rest = text_.size() - Position();
    state_.stop = state_.at + std::min(rest, Reader::kMaxToken);
  }

  void Add(Mark mark, std::size_t start, std::size_t length) {
    const std::size_t gap = start - end_;
    bytes_ += static_cast<char>(static_cast<std::size_t>(mark) << 4 |
                                std::min(gap, kLongGap));
    if (gap >= kLongGap) AppendNumber(bytes_, gap);
    if (HasLength(mark)) AppendNumber(bytes_, length);
    end_ = start + length;
    SetLimit();
  }

  // The parser has just read the last byte of these.
  bool Literal(Mark mark, std::size_t length) {
    Add(mark, Position() - length, length);
    return true;
  }

  // The parser has read the byte behind the number, too, unless there is none.
  bool Number() {
    constexpr std::string_view kBytes = "0123456789+-.eE";
    std::size_t end = Position();
    while (kBytes.find(text_[end - 1]) == std::string_view::npos) --end;
    std::size_t start = end;
    while (start > end_ &&
           kBytes.find(text_[start - 1]) != std::string_view::npos) {
      --start;
    }
    Add(Mark::kNumber, start, end - start);
    return true;
  }

  // Of the string that the parser has just read as `text`; returns what it
  // says.
  std::string_view Text(Mark mark, std::string& text) {
    const auto start = static_cast<std::size_t>(state_.quote - text_.data());
    const std::size_t length = Position() - start;
    // Escapes make the text longer than what it says.
    const bool escaped = text.size() + 2 != length;
    if (state_.is_plain || !(RestoreBytes(text) || escaped)) {
      Add(mark, start, length);
      return text_.substr(start + 1, length - 2);
    }
    Add(mark == Mark::kKey ? Mark::kDecodedKey : Mark::kDecodedString, start,
        length);
    AppendNumber(decoded_, text.size());
    decoded_ += text;
    return text;
  }

  bool Open(Mark mark) {
    if (levels_.size() == Reader::kMaxDepth) {
      FailAt(Position() - 1, "nested more than {} levels deep",
             Reader::kMaxDepth);
    }
    levels_.push_back(keys_.size());
    return Punctuation(mark);
  }

  bool Close(Mark mark) {
    keys_.resize(levels_.back());
    levels_.pop_back();
    return Punctuation(mark);
  }

  bool Punctuation(Mark mark) {
    // A bracket is 1 byte, though no length is written.
    Add(mark, Position() - 1, 0);
    end_ = Position();
    return true;
  }

  // Of the object that ends. Sorted by hash, so that equal keys meet.
  void RefuseRepeatedKeys() {
    const auto first =
        keys_.begin() + static_cast<std::ptrdiff_t>(levels_.back());
    std::sort(first, keys_.end());
    const auto same_hash = [](std::uint64_t a, std::uint64_t b) {
      return a >> 32 == b >> 32;
    };
    std::vector<std::pair<std::string, std::size_t>> keys;
    for (auto at = std::adjacent_find(first, keys_.end(), same_hash);
         at != keys_.end();
         at = std::adjacent_find(at, keys_.end(), same_hash)) {
      const std::uint64_t hash = *at >> 32;
      keys.clear();
      for (; at != keys_.end() && *at >> 32 == hash; ++at) {
        const std::size_t start = *at & UINT32_MAX;
        keys.emplace_back(KeyAt(start), start);
      }
      std::sort(keys.begin(), keys.end());
      for (std::size_t i = 1; i < keys.size(); ++i) {
        if (keys[i].first != keys[i - 1].first) continue;
        FailAt(keys[i].second, "the key \"{}\" occurs a second time",
               keys[i].first);
      }
    }
  }

  std::string KeyAt(std::size_t start) const {
    std::size_t end = start + 1;
    while (text_[end] != '"') end += text_[end] == '\\' ? std::size_t{2} : 1;
    std::string key =
        nlohmann::json::parse(text_.substr(start, end + 1 - start));
    RestoreBytes(key);
    return key;
  }

  std::string replaced_;
  std::string_view text_;
  ErrorKind kind_;
  CountingIterator::State state_;
  std::string bytes_;
  std::string decoded_;
  std::size_t end_ = 0;              // of the last token, in the text
  std::vector<std::uint64_t> keys_;  // of open objects: hash, place
  std::vector<std::size_t> levels_;  // first key of each
  std::string error_;
  std::size_t error_at_ = 0;
};

struct Reader::Token {
  Mark mark;
  std::size_t start;   // in the text
  std::size_t length;  // with the quotes of a string
  std::size_t next;    // in the tape

  std::size_t end() const { return start + length; }
  Kind kind() const;
};

Reader::Reader(std::string_view text, ErrorKind kind, Ending ending)
    : tape_(std::make_shared<const Tape>(text, kind, ending)), kind_(kind) {}

Reader::Token Reader::Look() const {
  const std::string& bytes = tape_->bytes();
  std::size_t at = at_.tape;
  const auto byte = static_cast<unsigned char>(bytes[at++]);
  const auto mark = static_cast<Mark>(byte >> 4);
  std::size_t gap = byte & 15;
  if (gap == kLongGap) gap = NumberAt(bytes, at);
  const std::size_t length = HasLength(mark)      ? NumberAt(bytes, at)
                             : mark == Mark::kCut ? 0
                                                  : 1;
  return {mark, at_.text + gap, length, at};
}

void Reader::Take(const Token& token) {
  at_.tape = token.next;
  at_.text = token.end();
}

Kind Reader::Peek() const { return Look().kind(); }

Kind Reader::Token::kind() const {
  switch (mark) {
    case Mark::kBeginObject:
      return Kind::kObject;
    case Mark::kBeginArray:
      return Kind::kArray;
    case Mark::kString:
    case Mark::kDecodedString:
      return Kind::kString;
    case Mark::kNumber:
      return Kind::kNumber;
    case Mark::kBool:
      return Kind::kBool;
    default:
      return Kind::kNull;
  }
}

Place Reader::Here() const { return Place{Look().start}; }

std::string Reader::Where(Place place) const {
  return tape_->Where(static_cast<std::size_t>(place));
}

Reader::Token Reader::Expect(Kind kind) {
  const Token token = Look();
  if (token.kind() != kind) {
    FailAt(Place{token.start}, "{} where {} should be", KindName(token.kind()),
           KindName(kind));
  }
  Take(token);
  return token;
}

void Reader::BeginObject() { Expect(Kind::kObject); }

void Reader::BeginArray() { Expect(Kind::kArray); }

// The end of the text ends everything and is not passed.
bool Reader::AtEnd(const Token& token) {
  cut_off_ = cut_off_ || token.mark == Mark::kCut;
  return cut_off_;
}

bool Reader::NextMember(std::string_view& key) {
  const Token token = Look();
  if (AtEnd(token)) return false;
  Take(token);
  if (token.mark == Mark::kEndObject) return false;
  key_start_ = token.start;
  key = Text(token);
  return !AtEnd(Look());
}

bool Reader::NextItem() {
  const Token token = Look();
  if (AtEnd(token)) return false;
  if (token.mark != Mark::kEndArray) return true;
  Take(token);
  return false;
}

// Of a key or string that was just taken.
std::string_view Reader::Text(const Token& token) {
  if (!IsDecoded(token.mark)) {
    return tape_->text().substr(token.start + 1, token.length - 2);
  }
  const std::string_view decoded = tape_->decoded();
  const std::size_t size = NumberAt(tape_->decoded(), at_.decoded);
  at_.decoded += size;
  return decoded.substr(at_.decoded - size, size);
}

std::string_view Reader::StringView() { return Text(Expect(Kind::kString)); }

double Reader::Number() {
  const Token token = Expect(Kind::kNumber);
  return ParseDouble(tape_->text().substr(token.start, token.length));
}

std::uint64_t Reader::Whole(std::uint64_t most) {
  const Place place = Here();
  const Token token = Expect(Kind::kNumber);
  const std::string_view text = tape_->text().substr(token.start, token.length);
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
  BeginArray();
  while (NextItem()) texts.push_back(String());
  return texts;
}

std::string Reader::StringOrNull() {
  if (Peek() != Kind::kNull) return String();
  Null();
  return "";
}

bool Reader::Bool() { return Expect(Kind::kBool).length == 4; }

void Reader::Null() { Expect(Kind::kNull); }

std::string_view Reader::Skip() {
  const std::size_t start = Look().start;
  std::size_t depth = 0;
  do {
    const Token token = Look();
    if (AtEnd(token)) break;
    Take(token);
    if (IsDecoded(token.mark)) Text(token);
    if (token.mark == Mark::kBeginObject || token.mark == Mark::kBeginArray) {
      ++depth;
    }
    if (token.mark == Mark::kEndObject || token.mark == Mark::kEndArray) {
      --depth;
    }
    // A key is followed by its value: the first token is never one.
  } while (depth > 0);
  return tape_->text().substr(start, at_.text - start);
}

}  // namespace onnx_tag::json
