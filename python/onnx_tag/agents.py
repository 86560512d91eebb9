"""`python -m onnx_tag mcp`: answers questions about models for agents, by the Model Context Protocol.

A tool is a command that only reads. Its arguments become words of that command's line, and its result is what --json
prints.
"""
from __future__ import annotations

import json
import subprocess
from typing import Any, Dict, List, NamedTuple, Optional, Tuple

from . import program
from ._version import __version__
from .errors import TagsError

DESCRIPTION = """Answers an agent's questions about models on standard input, by the Model Context Protocol.
It only reads."""
EXAMPLES = """an agent's configuration:
  {"mcpServers": {"onnx-tag": {"command": "python", "args": ["-m", "onnx_tag", "mcp"]}}}

needs Python 3.10 or later: pip install onnx-tag[mcp]
"""
_LONGEST = 100_000                                          # an agent pays for every byte that it reads


class Argument(NamedTuple):
    name: str
    type: str                                               # of JSON
    option: str                                             # "": a word without an option, which is required
    help: str


class Tool(NamedTuple):
    name: str                                               # of the command
    help: str
    arguments: Tuple[Argument, ...]


def _model(what: str = "path of an ONNX file or of its sidecar", name: str = "model") -> Argument:
    return Argument(name, "string", "", what)


TOOLS = (
    Tool("show", "The modules of an ONNX model as a tree, with nodes, parameters, bytes and FLOPs.", (
        _model(), Argument("module", "string", "--module", "only this module and those below it; may contain * and **"),
        Argument("depth", "integer", "--depth", "levels of the tree"))),
    Tool("explain", "The module that made a node, the evidence for it and the alternatives.", (
        _model(), Argument("node", "string", "", "a node's name, or #17, name=..., output=..."))),
    Tool("query", "The nodes that match a query such as 'type=attention and layer=0', "
         "'under=encoder.layer.3 and op=MatMul' "
         "or 'confidence<high'.", (_model(), Argument("expression", "string", "", "the query"))),
    Tool("select", "The nodes that match a query, in the format of another tool.", (
        _model(), Argument("expression", "string", "", "the query"),
        Argument("tool", "string", "--for", "names, ort-quant, layer-ann, npi, ...; a wrong one is answered with all"),
        Argument("exclude", "boolean", "--exclude", "convert all other nodes"),
        Argument("precision", "string", "--precision", "float32 or float16"),
        Argument("skip_unaddressable", "boolean", "--skip-unaddressable", "omit nodes that the tool cannot find"))),
    Tool("weights", "The parameter that each initializer of a model holds, and how it was changed.", (
        _model("path of an ONNX file"),)),
    Tool("diff", "The modules in which two models differ.", (_model(), _model("the same of the other model", "other"))),
)
_TYPES: Dict[str, type] = {"string": str, "integer": int, "boolean": bool}


class Answer(NamedTuple):
    texts: List[str]
    value: Optional[Dict[str, Any]]                         # the whole answer; None: it is cut, or no object
    is_error: bool


def words_for(name: str, arguments: Dict[str, Any]) -> List[str]:
    """The command line of a tool. An option and its value are one word, and no other word may look like an option:
    nothing
    else can be asked for. Raises TagsError."""
    tool = next((tool for tool in TOOLS if tool.name == name), None)
    if tool is None:
        raise TagsError(f"no tool {name[:100]!r}")
    known = {argument.name: argument for argument in tool.arguments}
    for key, value in arguments.items():
        if key not in known:
            raise TagsError(f"{name!r} has no argument {key[:100]!r}")
        kind = known[key].type
        if type(value) is not _TYPES[kind] or "\0" in str(value):
            raise TagsError(f"{key!r} must be a {kind}")
    words = [name]
    for argument in tool.arguments:
        value = arguments.get(argument.name)
        if argument.option in ("", "--for") and value is None:
            raise TagsError(f"{name!r} needs the argument {argument.name!r}")
        if argument.option == "" and (not value or str(value).startswith("-")):
            raise TagsError(f"{argument.name!r} cannot be {str(value)[:100]!r}")
        if value is None or value is False:
            continue
        words.append(argument.option if value is True else f"{argument.option}={value}" if argument.option
                     else str(value))
    return [*words, "--json"]


def call(name: str, arguments: Dict[str, Any]) -> Answer:
    words = words_for(name, arguments)
    try:
        done = subprocess.run([program.find(), *words], stdin=subprocess.DEVNULL, capture_output=True, check=False)
    except (OSError, ValueError) as error:
        return Answer([f"onnx-tag cannot be run: {error}"], None, True)
    text = done.stdout.decode("utf-8", "replace")
    if not text:
        said = done.stderr.decode("utf-8", "replace").strip()
        return Answer([said or "nothing matches, or the tool cannot use the selection"], None, done.returncode != 0)
    if len(text) > _LONGEST:
        return Answer([text[:_LONGEST], f"cut: these are the first {_LONGEST} of {len(text)} characters; ask for less, "
                       "with a module, a depth or a narrower query"], None, False)
    try:
        value = json.loads(text)
    except ValueError:
        value = None
    return Answer([text], value if isinstance(value, dict) else None, False)


def schema_of(tool: Tool) -> Dict[str, Any]:
    return {"type": "object", "additionalProperties": False,
            "properties": {argument.name: {"type": argument.type, "description": argument.help}
                           for argument in tool.arguments},
            "required": [argument.name for argument in tool.arguments if argument.option in ("", "--for")]}


def add_parser(commands: Any, formatter: Any) -> None:
    commands.add_parser("mcp", help="answer an agent's questions on standard input", description=DESCRIPTION,
                        epilog=EXAMPLES, formatter_class=formatter)


def run() -> int:
    try:
        import anyio
        from mcp import types
        from mcp.server.lowlevel import Server
        from mcp.server.stdio import stdio_server
        from mcp.shared.exceptions import MCPError
    except ImportError as error:
        raise TagsError("mcp needs the package mcp, version 2 or later, and Python 3.10: pip install onnx-tag[mcp] "
                        f"({error})") from None
    program.find()

    async def list_tools(_context: Any, _params: Any) -> Any:
        return types.ListToolsResult(tools=[types.Tool(
            name=tool.name, description=tool.help, input_schema=schema_of(tool),
            annotations=types.ToolAnnotations(read_only_hint=True)) for tool in TOOLS])

    async def call_tool(_context: Any, params: Any) -> Any:
        try:
            answer = await anyio.to_thread.run_sync(call, params.name, dict(params.arguments or {}))
        except TagsError as error:
            raise MCPError(types.INVALID_PARAMS, str(error)) from None
        return types.CallToolResult(content=[types.TextContent(type="text", text=text) for text in answer.texts],
                                    structured_content=answer.value, is_error=answer.is_error)

    server: Any = Server("onnx-tag", version=__version__, on_list_tools=list_tools, on_call_tool=call_tool)

    async def serve() -> None:
        async with stdio_server() as (reader, writer):
            await server.run(reader, writer, server.create_initialization_options())

    try:
        anyio.run(serve)
    except KeyboardInterrupt:
        return 130
    return 0
