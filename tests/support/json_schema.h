// As much of JSON Schema as docs/reference/schemas/sidecar.schema.json uses:
// what a document breaks is told, with its place. A keyword it does not know is
// a failure, so that the schema cannot say more than is checked.
#pragma once

#include <nlohmann/json.hpp>
#include <regex>
#include <string>
#include <vector>

namespace onnx_tag::test {

class JsonSchema {
 public:
  explicit JsonSchema(nlohmann::json schema) : root_(std::move(schema)) {}

  // Empty where `document` is as the schema says.
  std::vector<std::string> Violations(const nlohmann::json& document) const {
    std::vector<std::string> found;
    Check(root_, document, "", found);
    return found;
  }

 private:
  using Json = nlohmann::json;
  using Found = std::vector<std::string>;

  static bool HasType(const Json& value, const std::string& type) {
    return (type == "object" && value.is_object()) ||
           (type == "array" && value.is_array()) ||
           (type == "string" && value.is_string()) ||
           (type == "integer" && value.is_number_integer()) ||
           (type == "number" && value.is_number()) ||
           (type == "boolean" && value.is_boolean()) ||
           (type == "null" && value.is_null());
  }

  bool Fits(const Json& schema, const Json& value) const {
    Found found;
    Check(schema, value, "", found);
    return found.empty();
  }

  void CheckObject(const Json& schema, const Json& value, const std::string& at,
                   Found& found) const {
    for (const auto& [key, member] : value.items()) {
      const std::string place = at + "/" + key;
      if (schema.contains("propertyNames") &&
          !Fits(schema["propertyNames"], key)) {
        found.push_back(place + ": name");
      }
      if (schema.contains("properties") && schema["properties"].contains(key)) {
        Check(schema["properties"][key], member, place, found);
      } else if (schema.contains("additionalProperties")) {
        const Json& more = schema["additionalProperties"];
        if (more.is_boolean()) {
          if (!more.get<bool>()) found.push_back(place + ": unknown");
        } else {
          Check(more, member, place, found);
        }
      }
    }
  }

  void Check(const Json& schema, const Json& value, const std::string& at,
             Found& found) const {
    for (const auto& [word, rule] : schema.items()) {
      bool good = true;
      if (word == "$ref") {
        const std::string pointer = rule.get<std::string>().substr(1);
        Check(root_.at(Json::json_pointer(pointer)), value, at, found);
      } else if (word == "type") {
        const Json types = rule.is_array() ? rule : Json::array({rule});
        good = false;
        for (const Json& type : types) good |= HasType(value, type);
      } else if (word == "const") {
        good = value == rule;
      } else if (word == "enum") {
        good = std::find(rule.begin(), rule.end(), value) != rule.end();
      } else if (word == "pattern") {
        good = !value.is_string() ||
               std::regex_search(value.get<std::string>(),
                                 std::regex(rule.get<std::string>()));
      } else if (word == "minLength") {
        good = !value.is_string() ||
               value.get<std::string>().size() >= rule.get<std::size_t>();
      } else if (word == "minimum") {
        good = !value.is_number() || value >= rule;
      } else if (word == "maximum") {
        good = !value.is_number() || value <= rule;
      } else if (word == "minItems") {
        good = !value.is_array() || value.size() >= rule.get<std::size_t>();
      } else if (word == "minProperties") {
        good = !value.is_object() || value.size() >= rule.get<std::size_t>();
      } else if (word == "maxItems") {
        good = !value.is_array() || value.size() <= rule.get<std::size_t>();
      } else if (word == "items") {
        for (std::size_t i = 0; value.is_array() && i < value.size(); ++i) {
          Check(rule, value[i], at + "/" + std::to_string(i), found);
        }
      } else if (word == "required") {
        for (const Json& key : rule) {
          if (value.is_object() && !value.contains(key.get<std::string>())) {
            found.push_back(at + ": no " + key.get<std::string>());
          }
        }
      } else if (word == "anyOf") {
        good = std::any_of(rule.begin(), rule.end(),
                           [&](const Json& one) { return Fits(one, value); });
      } else if (word == "if") {
        const char* const then = Fits(rule, value) ? "then" : "else";
        Check(schema[then], value, at, found);
      } else if (word == "properties" || word == "additionalProperties" ||
                 word == "propertyNames" || word == "then" || word == "else" ||
                 word == "description" || word == "title" || word == "$defs" ||
                 word == "$schema" || word == "$id") {
        // Seen to in CheckObject(), or said to people.
      } else {
        found.push_back("the schema says " + word + ", which is not checked");
      }
      if (!good) found.push_back(at + ": " + word + " " + rule.dump());
    }
    if (value.is_object()) CheckObject(schema, value, at, found);
  }

  Json root_;
};

}  // namespace onnx_tag::test
