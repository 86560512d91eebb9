#include "commands/report/write_page.h"

#include "commands/report/report_page.h"
#include "commands/write/pending_outputs.h"
#include "io/folder.h"
#include "io/paths.h"

namespace onnx_tag {

std::string_view WritePage(const std::string& path, std::string_view page,
                           const Inputs& inputs, bool force, bool make_folder,
                           Terminal& terminal) {
  const MappedFile nothing = MappedFile::FromBytes("", path);
  WriteOptions write;
  write.force = force;
  PendingOutputs outputs(nothing, inputs, write, terminal);
  outputs.AddDocument(path, ReportHead(),
                      [&](wire::Rewrite::Sink& sink) { sink.Write(page); });
  outputs.Judge();
  if (make_folder) MakeFolders(ParentFolder(path));
  outputs.Write();
  outputs.Commit();
  return outputs.FateOf(path) == PendingOutputs::Fate::kUnchanged ? "unchanged"
                                                                  : "wrote";
}

}  // namespace onnx_tag
