#include "app/cli/parser.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>

#include "base/parse_number.h"
#include "base/text.h"
#include "onnx_tag/error.h"

namespace onnx_tag::cli {
namespace {

// For `--name=`, CLI11 would take the next word as the value.
Words WithEmptyValues(const Words& words) {
  Words result;
  bool options = true;
  for (const std::string& word : words) {
    options = options && word != "--";
    if (options && word.starts_with("--") && word.size() > 3 &&
        word.find('=') == word.size() - 1) {
      result.push_back(word.substr(0, word.size() - 1));
      result.emplace_back();
    } else {
      result.push_back(word);
    }
  }
  return result;
}

}  // namespace

std::size_t Choose(std::string_view what, std::string_view word,
                   Choices words) {
  const auto at = std::find(words.begin(), words.end(), word);
  if (at != words.end()) {
    return static_cast<std::size_t>(at - words.begin());
  }
  Fail(ErrorKind::kUsage, "unknown {} '{}'{}", what, word,
       Ours{DidYouMean(word, words, "\n  valid values: " + Join(words))});
}

Parser::Parser(std::string name)
    : app_(std::make_unique<CLI::App>("", std::move(name))) {
  app_->allow_extras();
  // On Windows CLI11 would take the name of a node, /layer/MatMul, for an
  // option.
  app_->allow_windows_style_options(false);
  Group("Terminal");
  AddRow("-h,--help", "print this help").option =
      app_->set_help_flag("-h,--help");
  Group("");
}

Parser::~Parser() = default;

OptionRow& Parser::AddRow(std::string_view names, std::string help) {
  OptionRow row;
  for (std::string_view name : Split(names, ',')) {
    if (name.starts_with('!')) name.remove_prefix(1);
    row.names.emplace_back(name);
  }
  row.help = std::move(help);
  row.group = group_;
  row.argument = !row.names.front().starts_with('-');
  return rows_.emplace_back(std::move(row));
}

OptionRow& Parser::Add(const RowText& text) {
  OptionRow& row = AddRow(text.names, text.help);
  row.value = text.value;
  row.required = text.required;
  // CLI11 reads every value as text; `take` converts it, so that we write all
  // error messages ourselves.
  row.option = app_->add_option(std::string(text.names));
  row.option->expected(1)->type_name(row.value)->required(row.required);
  return row;
}

const Words& Parser::Given(const OptionRow& row) {
  return row.option->results();
}

void Parser::Row(const RowText& text, bool& value) {
  AddRow(text.names, text.help).option =
      app_->add_flag(std::string(text.names), value);
}

void Parser::Row(const RowText& text, std::string& value) {
  Add(text).take = [&value](const OptionRow& own) {
    value = Given(own).front();
    if (value.empty() && (own.value == "FILE" || own.value == "DIR")) {
      Fail(ErrorKind::kUsage, "{}: the {} name is empty", own.names.front(),
           own.value == "DIR" ? "folder" : "file");
    }
  };
}

void Parser::Several(const RowText& text,
                     std::function<void(const Words&)> take) {
  OptionRow& row = Add(text);
  row.repeats = true;
  row.option->expected(1, CLI::detail::expected_max_vector_size)
      ->allow_extra_args();
  row.take = [take = std::move(take)](const OptionRow& own) {
    take(Given(own));
  };
}

void Parser::Row(const RowText& text, Words& values) {
  Several(text, [&values](const Words& words) { values = words; });
}

void Parser::Joined(const RowText& text, std::string& value) {
  Several(text, [&value](const Words& words) {
    for (const std::string& word : words) {
      value += (value.empty() ? "" : " ") + word;
    }
  });
}

void Parser::Each(const RowText& text, Words& values) {
  Row(text, values);
  rows_.back()
      .option->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->allow_extra_args(false);
}

std::size_t Parser::Count(std::string_view name) const {
  const CLI::Option* const option =
      app_->get_option_no_throw(std::string(name));
  return option == nullptr ? 0 : option->count();
}

void Parser::FailOnUnknown(const std::string& word) const {
  if (!word.starts_with('-')) {
    Fail(ErrorKind::kUsage, "unexpected argument '{}'\n  see {} --help", word,
         app_->get_name());
  }
  const std::string name = word.substr(0, word.find('='));
  std::vector<std::string_view> known;
  for (const OptionRow& row : rows_) {
    for (const std::string& one : row.names) {
      if (one.starts_with("--")) known.push_back(one);
    }
  }
  Fail(
      ErrorKind::kUsage, "unknown option '{}'{}", name,
      Ours{DidYouMean(name, known, "\n  see " + app_->get_name() + " --help")});
}

// The name of the first required option or argument that is missing.
std::string Parser::MissingWord() const {
  for (const OptionRow& row : rows_) {
    if (!row.required || row.option->count() > 0) continue;
    const std::string& name = row.names.back();
    if (!row.argument) return name;
    if (name == "EXPR") return "expression";
    if (name == "NODE") return "node";
    if (name == "SHELL") return "shell";
    if (name == "B" || name == "TO") return "second model (" + name + ")";
    return name == "PROFILE" ? "profile" : "model";
  }
  return "model";
}

void Parser::Read(Words words) {
  words = WithEmptyValues(words);
  // CLI11 expects the words in reverse order.
  std::reverse(words.begin(), words.end());
  try {
    app_->parse(words);
  } catch (const CLI::CallForHelp&) {
    throw HelpWanted();
  } catch (const CLI::RequiredError&) {
    Fail(ErrorKind::kUsage, "no {} given\n  see {} --help", MissingWord(),
         app_->get_name());
  } catch (const CLI::ArgumentMismatch& error) {
    // "--output: 1 required FILE missing", or a value given twice.
    const std::string_view what = error.what();
    const std::string_view option = what.substr(0, what.find(':'));
    if (what.ends_with("missing")) {
      Fail(ErrorKind::kUsage, "{} needs a value", option);
    }
    Fail(ErrorKind::kUsage, "{} may be given only once", option);
  } catch (const CLI::ParseError& error) {
    Fail(ErrorKind::kUsage, "{}", error.what());
  }
  for (const std::string& unknown : app_->remaining()) {
    // "--" ends the options; it is not an argument.
    if (unknown != "--") FailOnUnknown(unknown);
  }
  std::ptrdiff_t streams = 0;
  for (const OptionRow& row : rows_) {
    const Words given = Given(row);
    if (row.argument) streams += std::count(given.begin(), given.end(), "-");
    // A flag and its opposite.
    if (row.value.empty() && !row.argument && row.names.size() > 1 &&
        std::count(given.begin(), given.end(), "true") > 0 &&
        std::count(given.begin(), given.end(), "false") > 0) {
      Fail(ErrorKind::kUsage, "use only one of {}", Join(row.names, " and "));
    }
  }
  if (streams > 1) {
    Fail(ErrorKind::kUsage,
         "standard input can be read only once\n  give - for one input only");
  }
  for (const OptionRow& row : rows_) {
    if (row.take && row.option->count() > 0) row.take(row);
  }
}

double ParsePercent(std::string_view option, const std::string& word) {
  const std::optional<double> percent = ParseAllAsDouble(word);
  if (!percent || !std::isfinite(*percent) || *percent < 0 || *percent > 100) {
    Fail(ErrorKind::kUsage, "{}: '{}' is not a percentage from 0 to 100",
         option, word);
  }
  return *percent;
}

std::uint64_t ParseCount(std::string_view option, const std::string& word) {
  const auto count = ParseWhole<std::uint64_t>(word);
  if (!count) {
    Fail(ErrorKind::kUsage, "{}: '{}' is not a number", option, word);
  }
  return *count;
}

std::uint64_t ParseBytes(std::string_view option, const std::string& word) {
  const std::size_t digits =
      std::min(word.find_first_not_of("0123456789."), word.size());
  std::string unit = word.substr(digits);
  std::erase(unit, ' ');
  double factor = unit.empty() || unit == "B" ? 1 : 0;
  double decimal = 1;
  double binary = 1;
  for (const char letter : std::string_view("KMGT")) {
    decimal *= 1000;
    binary *= 1024;
    const std::string name(
        1, letter == 'K' && unit.starts_with('k') ? 'k' : letter);
    if (unit == name || unit == name + "B") factor = decimal;
    if (unit == letter + std::string("i") ||
        unit == letter + std::string("iB")) {
      factor = binary;
    }
  }
  const std::optional<double> number = ParseAllAsDouble(word.substr(0, digits));
  if (!number || factor == 0 || *number <= 0 || *number * factor > 9e18) {
    Fail(ErrorKind::kUsage,
         "{}: '{}' is not a size: 500MB, 2GB, 1.5GiB or a number of bytes",
         option, word);
  }
  return static_cast<std::uint64_t>(*number * factor);
}

}  // namespace onnx_tag::cli
