"""An MCP server with one tool."""

from mcp.server.fastmcp import FastMCP

server = FastMCP("hello")


@server.tool()
def hello(name: str) -> str:
    """Greets someone by name."""
    return f"Hello, {name}!"


server.run()
