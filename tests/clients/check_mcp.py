#!/usr/bin/env python3
"""Does the official client of the Model Context Protocol understand `python -m onnx_tag mcp`, in both revisions?

    check_mcp.py BINARY MODEL

Lists and calls every tool, compares the answers with what the commands print, and sends hostile arguments. Prints a line for
each revision; exit 1 if a check fails.
"""
from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import time
from typing import Any, Dict, List

from mcp import Client, MCPError
from mcp.client.stdio import StdioServerParameters, stdio_client

BINARY, MODEL = sys.argv[1:3]
ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../python")
SERVER = StdioServerParameters(command=sys.executable, args=["-m", "onnx_tag", "mcp"],
                               env={**os.environ, "PYTHONPATH": ROOT, "ONNX_TAG_PROGRAM": os.path.abspath(BINARY)})
NODE = "name=/encoder/layer.0/attention/self/Softmax"
CALLS: Dict[str, Dict[str, Any]] = {
    "show": {"model": MODEL, "depth": 2, "module": "encoder"},
    "explain": {"model": MODEL, "node": NODE},
    "query": {"model": MODEL, "expression": "type=attention and layer=0"},
    "select": {"model": MODEL, "expression": "op=Softmax", "tool": "npi"},
    "weights": {"model": MODEL},
    "diff": {"model": MODEL, "other": MODEL},
}
WORDS: Dict[str, List[str]] = {
    "show": [MODEL, "--depth=2", "--module=encoder"], "explain": [MODEL, NODE],
    "query": [MODEL, "type=attention and layer=0"], "select": [MODEL, "op=Softmax", "--for=npi"], "weights": [MODEL],
    "diff": [MODEL, MODEL],
}
# An option as a word, an option in a value, an argument that no tool has, wrong types, no argument, no file.
HOSTILE: List[tuple[str, Dict[str, Any]]] = [
    ("weights", {"model": "--rename"}), ("weights", {"model": MODEL, "rename": True}), ("query", {"model": MODEL}),
    ("show", {"model": MODEL, "depth": "-o"}), ("show", {"model": [MODEL]}), ("show", {"model": "/no/such/file.onnx"}),
    ("show", {"model": "-"}), ("select", {"model": MODEL, "expression": "op=Softmax", "tool": "npi --force"}),
    ("query", {"model": MODEL, "expression": "op=((("}), ("tag", {"model": MODEL}), ("", {}),
]


async def check(mode: str) -> str:
    async with Client(stdio_client(SERVER), mode=mode) as client:
        version = client.protocol_version
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert set(tools) == set(CALLS), f"lists {sorted(tools)}"
        assert all(tool.annotations is not None and tool.annotations.read_only_hint for tool in tools.values())
        for name, arguments in CALLS.items():
            result = await client.call_tool(name, arguments)
            want = subprocess.run([BINARY, name, *WORDS[name], "--json"], capture_output=True, text=True).stdout
            text = result.content[0].text
            assert not result.is_error, f"{name}: {text[:200]}"
            if len(result.content) == 1:
                assert result.structured_content == json.loads(want), f"{name}: differs from the command"
            else:
                assert want.startswith(text) and "cut" in result.content[1].text, f"{name}: cut in another way"
        for name, arguments in HOSTILE:
            try:
                result = await client.call_tool(name, arguments)
                assert result.is_error, f"{name} {arguments}: answered {result.content[0].text[:100]}"
            except MCPError as error:
                assert error.code in (-32602, -32601), error
        began, count = time.monotonic(), 100
        for _ in range(count):
            await client.call_tool("query", CALLS["query"])
        rate = count / (time.monotonic() - began)
    return f"{version}: {len(CALLS)} tools called, {len(HOSTILE)} hostile calls refused, {rate:.0f} requests a second"


def main() -> int:
    failed = 0
    for mode in ("legacy", "auto"):
        try:
            print(f"PASS {mode} {asyncio.run(check(mode))}", flush=True)
        except Exception as error:                  # whatever the client throws is its answer
            failed += 1
            print(f"FAIL {mode}: {type(error).__name__}: {error}"[:600], flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
