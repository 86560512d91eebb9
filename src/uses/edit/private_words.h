// What makes a text private: paths of files, frames of tracebacks, addresses of
// people and machines, names of users. Each search is linear in the text.
#ifndef ONNX_TAG_USES_EDIT_PRIVATE_WORDS_H_
#define ONNX_TAG_USES_EDIT_PRIVATE_WORDS_H_

#include <functional>
#include <set>
#include <string>
#include <string_view>

namespace onnx_tag::edit {

// Calls `use` with each absolute path in `text`, as far as it needs no
// quotation marks. Scopes such as `/encoder/layer.0` are not paths of files.
void ForEachPath(std::string_view text,
                 const std::function<void(const std::string& path)>& use);

// The first of them; "" if there is none.
std::string FindPath(std::string_view text);

// The owner of the home folder that `path` is in, in small letters; "" if it is
// in none.
std::string UserOf(std::string_view path);

// The first word of `text` that is one of `users`, in whatever letters: "Ann"
// is "ann". Accounts of machines, and names as short as words, say nothing
// about a person.
std::string_view FindUser(std::string_view text,
                          const std::set<std::string>& users);

// The first frame of a traceback of Python or torch in `text`, or "".
std::string_view FindFrame(std::string_view text);

// The first e-mail address, or "".
std::string_view FindEmail(std::string_view text);

// The first address of a machine that is not public: a bucket, a file server, a
// page where training is tracked, a host of a private network; or "".
std::string_view FindAddress(std::string_view text);

}  // namespace onnx_tag::edit

#endif  // ONNX_TAG_USES_EDIT_PRIVATE_WORDS_H_
