#include <unistd.h>

#include "app/cli/app.h"
#include "file/io/signals.h"
#include "file/io/system_calls.h"

int main(int argc, char** argv) {
  onnx_tag::InstallSignalHandlers();
  onnx_tag::io::PrepareStandardStreams();
  return onnx_tag::cli::Run(onnx_tag::io::Arguments(argc, argv), STDOUT_FILENO,
                            STDERR_FILENO);
}
