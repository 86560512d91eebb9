// Tested by tests/uses/edit/private_text_test.cc.
#include "generated/private_words.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "base/letters.h"
#include "base/lists.h"
#include "base/parse_number.h"
#include "base/text.h"
#include "base/word_list.h"
#include "uses/edit/private_text.h"

namespace onnx_tag::edit {
namespace {

bool IsWord(char c) { return IsLetter(c) || IsDigit(c) || c == '_'; }

// A byte of a path that needs no quotation marks.
bool IsPathByte(char c) {
  return IsWord(c) || c == '/' || c == '\\' || c == '.' || c == '-' ||
         c == '+' || c == '~' || c == '@' || c == '%' || c == '#' ||
         static_cast<unsigned char>(c) >= 0x80;
}

// The end of the bytes from `at` on that `is` takes.
template <typename Is>
std::size_t EndOf(std::string_view text, std::size_t at, const Is& is) {
  while (at < text.size() && is(text[at])) ++at;
  return at;
}

struct PrivateWords {
  WordList top_folders{kPrivateWords, "topFolder"};
  WordList data_folders{kPrivateWords, "dataFolder"};
  WordList endings{kPrivateWords, "ending"};
  WordList accounts{kPrivateWords, "account"};
  WordList private_ends{kPrivateWords, "privateEnd"};
  WordList account_ends{kPrivateWords, "accountEnd"};
};
const PrivateWords& Words() {
  static const PrivateWords words;
  return words;
}

// "/home/me/x.py" at the start of `text`; 0 if it is no path.
std::size_t UnixPath(std::string_view text) {
  if (text.size() < 3 || text[0] != '/' || !IsPathByte(text[1])) return 0;
  const std::size_t end = EndOf(text, 1, IsPathByte);
  const std::string_view path = text.substr(0, end);
  const std::size_t slash = path.find('/', 1);
  if (slash == path.npos) return 0;
  const std::string_view top = path.substr(1, slash - 1);
  if (slash + 1 < path.size() && Words().top_folders.Has(top)) return end;
  const std::size_t last = path.rfind('/');
  // A scope ends with an operator: "/data/embed/MatMul".
  if (Words().data_folders.Has(top) && last > slash && last + 1 < path.size() &&
      !(path[last + 1] >= 'A' && path[last + 1] <= 'Z')) {
    return end;
  }
  const std::size_t dot = path.rfind('.');
  if (dot == path.npos || dot < last) return 0;
  const std::size_t after = EndOf(path, dot + 1, IsWord);
  return Words().endings.Has(path.substr(dot + 1, after - dot - 1)) ? after : 0;
}

// "C:\Users\me\x.py", "\\server\share"
std::size_t WindowsPath(std::string_view text) {
  const bool drive = text.size() > 3 && IsLetter(text[0]) && text[1] == ':' &&
                     (text[2] == '\\' || text[2] == '/') && IsWord(text[3]);
  const bool share = text.size() > 5 && text.starts_with("\\\\") &&
                     IsLetter(text[2]) &&
                     text.substr(3, 64).find('\\') != text.npos;
  if (!drive && !share) return 0;
  return EndOf(text, 3, IsPathByte);
}

// "~/models", "~me/models", "~me"
std::size_t HomePath(std::string_view text) {
  if (text.size() < 3 || text[0] != '~') return 0;
  const std::size_t at = EndOf(text, 1, IsWord);
  const bool named = at > 2 && IsLetter(text[1]);
  if (at == text.size() || !IsPathByte(text[at])) return named ? at : 0;
  if (at + 1 >= text.size() || text[at] != '/' || !IsWord(text[at + 1])) {
    return 0;
  }
  return EndOf(text, at, IsPathByte);
}

// "\/home\/me" in JSON, "%2Fhome%2Fme" in an address, "\\\\server\\share" in
// a string of a program.
std::string Unescaped(std::string_view run) {
  std::string plain;
  for (std::size_t i = 0; i < run.size(); ++i) {
    const std::string_view rest = run.substr(i);
    if (rest.starts_with("%2F") || rest.starts_with("%2f")) {
      plain += '/';
      i += 2;
    } else if (rest.starts_with("\\/") || rest.starts_with("\\\\")) {
      plain += rest[1];
      ++i;
    } else {
      plain += rest[0];
    }
  }
  return plain;
}

// The path in a run of path bytes. `before`: the text before it.
std::string PathInRun(std::string_view run, std::string_view before) {
  std::string plain;
  if (run.find("\\/") != run.npos || run.starts_with("\\\\\\\\") ||
      run.find("%2") != run.npos) {
    plain = Unescaped(run);
    run = plain;
  }
  // "..\..\Users\me", "\Users\me": as paths of Unix.
  if (run.starts_with("..\\") ||
      (run.starts_with('\\') && !run.starts_with("\\\\"))) {
    if (plain.empty()) plain = run;
    std::replace(plain.begin(), plain.end(), '\\', '/');
    run = plain;
  }
  if (before.ends_with(':') && run.starts_with("//")) {
    // "file:///home/me", "file://host/home/me"; others are addresses.
    if (!before.ends_with("file:")) return "";
    run.remove_prefix(std::min(run.find('/', 2), run.size()));
  } else if (run.starts_with('-')) {
    run.remove_prefix(std::min(run.find('/'), run.size()));  // -I/home/me
  }
  while (run.starts_with("../")) {
    run.remove_prefix(run.substr(3).starts_with("..") ? 3 : 2);
  }
  while (run.starts_with("//")) run.remove_prefix(1);
  return std::string(run.substr(0, run.starts_with('~')    ? HomePath(run)
                                   : run.starts_with('\\') ? WindowsPath(run)
                                                           : UnixPath(run)));
}

bool IsTelling(std::string_view user) {
  constexpr std::size_t kShortest = 3;
  return user.size() >= kShortest && !Words().accounts.Has(user);
}

}  // namespace

// A path begins where a run of its bytes begins, so each byte is read once.
void ForEachPath(std::string_view text,
                 const std::function<void(const std::string& path)>& use) {
  for (std::size_t at = 0; at < text.size();) {
    if (!IsPathByte(text[at])) {
      ++at;
      continue;
    }
    std::size_t end = EndOf(text, at, IsPathByte);
    std::string path;
    if (end == at + 1 && end < text.size() && text[end] == ':') {
      path = text.substr(at, WindowsPath(text.substr(at)));
      end = std::max(end, at + path.size());
    } else {
      path = PathInRun(text.substr(at, end - at), text.substr(0, at));
    }
    if (!path.empty()) use(path);
    at = end;
  }
}

std::string FindPath(std::string_view text) {
  std::string first;
  ForEachPath(text, [&](const std::string& path) {
    if (first.empty()) first = path;
  });
  return first;
}

std::string UserOf(std::string_view path) {
  if (path.starts_with('~')) {
    return InSmallLetters(path.substr(1, path.find('/') - 1));
  }
  for (const std::string_view home :
       {"/home/", "/Users/", "/users/", ":\\Users\\", ":\\\\Users\\\\"}) {
    const std::size_t at = path.find(home);
    if (at == path.npos) continue;
    const std::string_view rest = path.substr(at + home.size());
    return InSmallLetters(rest.substr(0, rest.find_first_of("/\\")));
  }
  return "";
}

std::string_view FindUser(std::string_view text,
                          const std::set<std::string>& users) {
  if (users.empty()) return {};
  // Names of users may have these.
  const auto is_part = [](char c) { return IsWord(c) || c == '-' || c == '.'; };
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = EndOf(text, at, IsWord);
    const std::string_view word = text.substr(at, end - at);
    if (IsTelling(word) && users.contains(InSmallLetters(word))) return word;
    if (at == 0 || !is_part(text[at - 1])) {  // "ann.lee"
      const std::string_view whole =
          text.substr(at, EndOf(text, end, is_part) - at);
      if (whole.size() > word.size() && IsTelling(whole) &&
          users.contains(InSmallLetters(whole))) {
        return whole;
      }
    }
    at = end + 1;
  }
  return {};
}

std::string_view FindFrame(std::string_view text) {
  // File "models.py", line 258, in forward
  constexpr std::string_view kFile = "File \"";
  for (std::size_t at = text.find(kFile); at != text.npos;
       at = text.find(kFile, at + 1)) {
    const std::size_t quote = text.find('"', at + kFile.size());
    if (quote == text.npos) break;
    const std::string_view rest = text.substr(quote);
    if (rest.starts_with("\", line ") && rest.size() > 8 && IsDigit(rest[8])) {
      return text.substr(at, std::min(text.find('\n', at), text.size()) - at);
    }
    at = quote;
  }
  // models.py(258): forward
  constexpr std::string_view kPython = ".py(";
  for (std::size_t at = text.find(kPython); at != text.npos;
       at = text.find(kPython, at + 1)) {
    const std::size_t end = EndOf(text, at + kPython.size(), IsDigit);
    if (end == at + kPython.size() || !text.substr(end).starts_with("): ")) {
      continue;
    }
    const std::size_t line = text.rfind('\n', at);
    const std::size_t begin = line == text.npos ? 0 : line + 1;
    return text.substr(begin,
                       std::min(text.find('\n', at), text.size()) - begin);
  }
  return {};
}

std::string_view FindEmail(std::string_view text) {
  for (std::size_t at = text.find('@'); at != text.npos;
       at = text.find('@', at + 1)) {
    std::size_t begin = at;
    while (begin > 0 && (IsWord(text[begin - 1]) || text[begin - 1] == '.' ||
                         text[begin - 1] == '-' || text[begin - 1] == '+')) {
      --begin;
    }
    std::size_t end = EndOf(
        text, at + 1, [](char c) { return IsWord(c) || c == '.' || c == '-'; });
    while (end > at && (text[end - 1] == '.' || text[end - 1] == '-')) --end;
    const std::string_view host = text.substr(at + 1, end - at - 1);
    const std::size_t dot = host.rfind('.');
    if (begin == at || dot == host.npos || dot == 0) continue;
    const std::string_view last = host.substr(dot + 1);
    if (last.size() >= 2 && last.size() <= 10 && AllIn(last, IsLetter)) {
      return text.substr(begin, end - begin);
    }
  }
  return {};
}

namespace {

bool IsHostByte(char c) {
  return IsLetter(c) || IsDigit(c) || c == '.' || c == '-';
}

// Of a private network. Dots separate modules, too: "block.0.internal".
bool IsPrivateHost(std::string_view host, bool in_address) {
  const std::vector<std::string_view> labels = Split(host, '.');
  const bool may_be_module =
      labels.size() < 3 || AnyIn(labels, [](std::string_view label) {
        return AllIn(label, IsDigit);
      });
  if (host.size() > 1 && Words().private_ends.HasEndOf(host.substr(1))) {
    return in_address || !may_be_module;
  }
  std::array<std::uint32_t, 4> parts = {};
  std::size_t count = 0;
  for (const std::string_view part : labels) {
    const auto number = ParseWhole<std::uint32_t>(part);
    if (!number || *number > 255 || count == parts.size()) return false;
    parts[count++] = *number;
  }
  if (count != parts.size()) return false;
  return (parts[0] == 192 && parts[1] == 168) ||
         (parts[0] == 172 && parts[1] >= 16 && parts[1] < 32) ||
         // Not of a private network, but a machine's all the same; a version
         // such as 10.0.0.6 is none.
         (in_address && parts[0] != 127);
}

// Where accounts keep files and follow the training of models.
bool IsOfAccount(std::string_view host) {
  return host.find("mlflow") != host.npos ||
         Words().account_ends.HasEndOf("." + std::string(host));
}

// What stands behind "scheme://".
bool IsPrivateAddress(std::string_view scheme, std::string_view authority) {
  if (authority.empty() || scheme.empty() || scheme == "file") return false;
  if (scheme != "http" && scheme != "https") return true;  // s3, gs, hdfs, ...
  if (authority.find('@') != authority.npos) return true;
  const std::size_t colon = authority.find(':');
  const std::string_view host = authority.substr(0, colon);
  if (host == "localhost" || host == "127.0.0.1") return false;
  return colon != authority.npos || host.find('.') == host.npos ||
         IsPrivateHost(host, true) || IsOfAccount(host);
}

}  // namespace

std::string_view FindAddress(std::string_view text) {
  constexpr std::string_view kMark = "://";
  for (std::size_t at = text.find(kMark); at != text.npos;
       at = text.find(kMark, at + 1)) {
    std::size_t begin = at;
    while (begin > 0 && (IsLetter(text[begin - 1]) ||
                         IsDigit(text[begin - 1]) || text[begin - 1] == '+')) {
      --begin;
    }
    const std::size_t start = at + kMark.size();
    const std::size_t end = EndOf(text, start, [](char c) {
      return IsHostByte(c) || c == '_' || c == ':' || c == '@' || c == '%';
    });
    if (IsPrivateAddress(text.substr(begin, at - begin),
                         text.substr(start, end - start))) {
      return text.substr(begin, EndOf(text, end, IsPathByte) - begin);
    }
  }
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = EndOf(text, at, IsHostByte);
    const std::string_view host = text.substr(at, end - at);
    if (host.size() > 6 && IsPrivateHost(host, false)) return host;
    at = end + 1;
  }
  return {};
}

}  // namespace onnx_tag::edit
