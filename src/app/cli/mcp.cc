// `onnx-tag mcp`: answers questions about models for agents, by the Model
// Context Protocol: one JSON-RPC message on each line of standard input and
// output.
//
// A tool is a command that only reads. Its arguments become words of that
// command's line, and its result is what --json prints. Revision 2026-07-28 has
// no handshake: each request names the revision, and results have more members.
#include <algorithm>
#include <array>

#include "app/cli/command_table.h"
#include "app/commands/commands.h"
#include "base/text.h"
#include "file/io/system_calls.h"
#include "file/json/reader.h"
#include "file/json/writer.h"
#include "onnx_tag/error.h"

namespace onnx_tag::cli {
namespace {

constexpr std::string_view kNewRevision = "2026-07-28";
constexpr std::array<std::string_view, 4> kOldRevisions = {
    "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"};
constexpr std::string_view kRevisionKey =
    "io.modelcontextprotocol/protocolVersion";
constexpr std::size_t kLongestLine = 1 << 20;
// An agent pays for every byte that it reads.
constexpr std::size_t kLongestText = 100'000;

struct Argument {
  std::string_view name;
  std::string_view type;    // of JSON
  std::string_view option;  // "": a word without an option, which is required
  std::string help;
};

// src/data/commands.txt says which commands are tools.
struct Tool {
  std::string_view name;  // of the command
  std::string_view help;
  std::vector<Argument> arguments;
};

const std::vector<Tool>& Tools() {
  static const std::vector<Tool> tools = {
#include "generated/tool_rows.inc"
  };
  return tools;
}

// An answer with an error of JSON-RPC.
struct Refusal {
  int code;
  std::string why;
};
constexpr int kNotJson = -32700, kNotRequest = -32600, kNoMethod = -32601,
              kBadArguments = -32602;

struct Request {
  std::string id;  // as it was written; "": a notification
  std::string method;
  std::string params = "{}";
  bool is_new = false;  // of the new revision
};

// The text of a member; "" if there is none.
std::string MemberOf(std::string_view object, std::string_view name) {
  std::string found;
  json::Reader reader(object);
  reader.ForEachMember([&](std::string_view key) {
    if (key == name) found = reader.Skip();
  });
  return found;
}

std::string StringMemberOf(std::string_view object, std::string_view name) {
  const std::string text = MemberOf(object, name);
  return text.empty() ? text : json::Reader(text).String();
}

// Anything but a message of JSON-RPC 2.0 is refused.
Request ReadRequest(std::string_view line) {
  using json::Kind;
  Request request;
  std::string version;
  bool is_message = true;
  json::Reader reader(line);
  reader.ForEachMember([&](std::string_view key) {
    const Kind kind = reader.Peek();
    if (key == "id") {
      is_message &= kind == Kind::kString || kind == Kind::kNumber;
      request.id = reader.Skip();
    } else if (key == "params") {
      is_message &= kind == Kind::kObject;
      request.params = reader.Skip();
    } else if (kind == Kind::kString && key == "method") {
      request.method = reader.String();
    } else if (kind == Kind::kString && key == "jsonrpc") {
      version = reader.String();
    }
  });
  if (!is_message || version != "2.0" || request.method.empty()) {
    throw Refusal{kNotRequest, "no request of JSON-RPC 2.0"};
  }
  const std::string meta = MemberOf(request.params, "_meta");
  request.is_new = !meta.empty() && !MemberOf(meta, kRevisionKey).empty();
  return request;
}

// The words of the tool's command line. An option and its value are one word,
// and no other word may look like an option: nothing else can be asked for.
Words WordsFor(const Tool& tool, std::string_view arguments) {
  Words words = {std::string(tool.name)};
  std::vector<std::string> given(tool.arguments.size());
  json::Reader reader(arguments);
  reader.ForEachMember([&](std::string_view key) {
    const Argument* const at = FindNamed(tool.arguments, key);
    if (at == nullptr) {
      throw Refusal{kBadArguments,
                    Message("'{}' has no argument '{}'", tool.name, key)};
    }
    std::string word;
    if (at->type == "boolean") {
      word = reader.Bool() ? std::string(at->option) : "";
    } else if (at->type == "integer") {
      word = fmt::format("{}={}", at->option, reader.Count());
    } else {
      word = at->option.empty()
                 ? reader.String()
                 : fmt::format("{}={}", at->option, reader.String());
    }
    if (at->option.empty() && (word.empty() || word.starts_with('-'))) {
      throw Refusal{kBadArguments,
                    Message("'{}' cannot be '{}'", key, Short{word, 100})};
    }
    given[static_cast<std::size_t>(at - tool.arguments.data())] = word;
  });
  for (std::size_t i = 0; i < given.size(); ++i) {
    if (given[i].empty() && tool.arguments[i].option.empty()) {
      throw Refusal{kBadArguments, Message("'{}' needs the argument '{}'",
                                           tool.name, tool.arguments[i].name)};
    }
    if (!given[i].empty()) words.push_back(given[i]);
  }
  words.push_back("--json");
  return words;
}

// What the command prints; the rest is counted.
struct Answer {
  std::string text;
  std::size_t size = 0;
  bool is_error = false;
};

Answer RunTool(const Words& words, Terminal& terminal) {
  Answer answer;
  try {
    const Invocation invocation = ParseArgs(words);
    const Result result = invocation.run(terminal);
    Render(result, invocation.format, false, [&](std::string_view piece) {
      answer.size += piece.size();
      if (answer.text.size() <= kLongestText) answer.text += piece;
    });
    if (answer.size == 0) {
      answer.text = "nothing matches, or the tool cannot use the selection";
      answer.is_error = result.exit_code != ExitCode::kOk;
    }
  } catch (const std::exception& error) {
    answer.text = ErrorText(error);
    answer.is_error = true;
  }
  return answer;
}

class Server {
 public:
  explicit Server(Terminal& terminal) : terminal_(terminal) {}

  void Serve() {
    std::string pending;
    std::string buffer(1 << 16, '\0');
    bool too_long = false;
    for (;;) {
      const std::ptrdiff_t count =
          io::ReadSome(0, buffer.data(), buffer.size());
      if (count <= 0) return;
      pending.append(buffer, 0, static_cast<std::size_t>(count));
      std::size_t start = 0;
      for (std::size_t end; (end = pending.find('\n', start)) != pending.npos;
           start = end + 1) {
        if (!too_long) Take(Trim(pending.substr(start, end - start)));
        too_long = false;
      }
      pending.erase(0, start);
      if (pending.size() > kLongestLine) {
        if (!too_long) Refuse("null", {kNotRequest, "the line is too long"});
        too_long = true;
        pending.clear();
      }
    }
  }

 private:
  static std::string_view Trim(std::string_view line) {
    while (!line.empty() && (line.back() == '\r' || line.back() == ' ')) {
      line.remove_suffix(1);
    }
    return line;
  }

  void Take(std::string_view line) {
    if (line.empty()) return;
    Request request;
    try {
      request = ReadRequest(line);
    } catch (const Refusal& refusal) {
      return Refuse("null", refusal);
    } catch (const Error& error) {
      return Refuse("null", {kNotJson, error.what()});
    }
    if (request.id.empty()) return;
    try {
      JsonWriter json(JsonWriter::Spaces::kNone);
      json.BeginObject().Key("jsonrpc").String("2.0");
      json.Key("id").Raw(request.id).Key("result").BeginObject();
      AddResult(request, json);
      json.EndObject().EndObject();
      Send(json);
    } catch (const Refusal& refusal) {
      Refuse(request.id, refusal);
    } catch (const Error& error) {
      Refuse(request.id, {kBadArguments, error.what()});
    }
  }

  void AddResult(const Request& request, JsonWriter& json) {
    if (request.method == "initialize") {
      const std::string wanted =
          StringMemberOf(request.params, "protocolVersion");
      const bool known = std::find(kOldRevisions.begin(), kOldRevisions.end(),
                                   wanted) != kOldRevisions.end();
      json.Key("protocolVersion")
          .String(known ? std::string_view(wanted) : kOldRevisions.front());
      AddServer(json);
    } else if (request.method == "server/discover") {
      json.Key("supportedVersions").BeginArray().String(kNewRevision);
      json.EndArray();
      AddServer(json);
      AddCaching(json);
    } else if (request.method == "tools/list") {
      AddTools(json);
      if (request.is_new) AddCaching(json);
    } else if (request.method == "tools/call") {
      AddCall(request, json);
      if (request.is_new) json.Key("resultType").String("complete");
    } else if (request.method != "ping") {
      throw Refusal{kNoMethod,
                    Message("no method '{}'", Short{request.method, 100})};
    }
  }

  static void AddServer(JsonWriter& json) {
    json.Key("capabilities").Raw(R"({"tools":{}})");
    json.Key("serverInfo").BeginObject().Key("name").String("onnx-tag");
    json.Key("version").String(ToolVersion()).EndObject();
  }

  static void AddCaching(JsonWriter& json) {
    json.Key("resultType").String("complete");
    json.Key("ttlMs").Number(0).Key("cacheScope").String("private");
  }

  static void AddTools(JsonWriter& json) {
    json.Key("tools").BeginArray();
    for (const Tool& tool : Tools()) {
      json.BeginObject().Key("name").String(tool.name);
      json.Key("description").String(tool.help);
      json.Key("inputSchema").BeginObject().Key("type").String("object");
      json.Key("properties").BeginObject();
      std::vector<std::string_view> required;
      for (const Argument& argument : tool.arguments) {
        json.Key(argument.name).BeginObject();
        json.Key("type").String(argument.type);
        json.Key("description").String(argument.help).EndObject();
        if (argument.option.empty() || argument.option == "--for") {
          required.push_back(argument.name);
        }
      }
      json.EndObject().Key("required").Strings(required);
      json.Key("additionalProperties").Bool(false).EndObject();
      json.Key("annotations").Raw(R"({"readOnlyHint":true})").EndObject();
    }
    json.EndArray();
  }

  void AddCall(const Request& request, JsonWriter& json) {
    const std::string name = StringMemberOf(request.params, "name");
    const Tool* const tool = FindNamed(Tools(), name);
    if (tool == nullptr) {
      throw Refusal{kBadArguments, Message("no tool '{}'", Short{name, 100})};
    }
    const std::string arguments = MemberOf(request.params, "arguments");
    const Answer answer = RunTool(
        WordsFor(*tool, arguments.empty() ? "{}" : arguments), terminal_);
    const bool cut = answer.text.size() > kLongestText;
    json.Key("content").BeginArray();
    json.BeginObject().Key("type").String("text").Key("text").String(
        cut ? answer.text.substr(0, kLongestText) : answer.text);
    json.EndObject();
    if (cut) {
      json.BeginObject().Key("type").String("text").Key("text").String(
          Message("cut: these are the first {} of {} bytes; ask for less, with "
                  "a module, a depth or a narrower query",
                  kLongestText, answer.size));
      json.EndObject();
    }
    json.EndArray();
    if (!cut && answer.text.starts_with('{')) {
      std::string value = answer.text;
      std::replace(value.begin(), value.end(), '\n', ' ');
      json.Key("structuredContent").Raw(value);
    }
    json.Key("isError").Bool(answer.is_error);
  }

  void Refuse(std::string_view id, const Refusal& refusal) {
    JsonWriter json(JsonWriter::Spaces::kNone);
    json.BeginObject().Key("jsonrpc").String("2.0").Key("id").Raw(id);
    json.Key("error").BeginObject().Key("code").Number(refusal.code);
    json.Key("message").String(refusal.why).EndObject().EndObject();
    Send(json);
  }

  void Send(JsonWriter& json) {
    terminal_.Out(json.Take() + "\n");
    terminal_.Flush();
  }

  // Its notes go to standard error; a tool's result is rendered, not printed.
  Terminal& terminal_;
};

}  // namespace

Result RunMcp(const McpOptions&, Terminal& terminal) {
  Server(terminal).Serve();
  return {};
}

}  // namespace onnx_tag::cli
