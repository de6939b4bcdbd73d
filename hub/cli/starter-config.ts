/** The config file that `agenthub init` writes: one active server, and commented examples. */
export const starterConfig = (format: 'json' | 'yaml') => (format === 'json' ? json : yaml);

const json = `{
  // The MCP servers of this hub, each in its own container. The hub reloads this file when it changes.
  // "agenthub check" validates it, and "agenthub add <package>" adds entries to it.
  "servers": {
    // Stores entities and relations. Without further settings it has no network access, sees no folder of
    // this machine, and writes only to its own volume. "auto_start": start with the hub, not at the first call.
    "memory": {
      "package": "@modelcontextprotocol/server-memory@2026.8.31",
      "auto_start": true,
    },

    // A server that works on a folder of this machine. Without ":rw", the folder is read-only.
    // "files": {
    //   "package": "@modelcontextprotocol/server-filesystem@2026.8.31",
    //   "args": ["/notes"],
    //   "mounts": ["~/notes:/notes:rw"],
    // },

    // A PyPI package, with network access.
    // "fetch": {
    //   "package": "uvx:mcp-server-fetch",
    //   "network": "bridge",
    // },

    // An image, with a secret from the environment or .env, so that it is not in this file.
    // "github": {
    //   "image": "ghcr.io/github/github-mcp-server:v1.0.0",
    //   "env": { "GITHUB_PERSONAL_ACCESS_TOKEN": "\${GITHUB_TOKEN}" },
    //   "network": "bridge",
    // },

    // A remote server.
    // "docs": {
    //   "url": "https://mcp.example.com/mcp",
    //   "headers": { "Authorization": "Bearer \${DOCS_TOKEN}" },
    // },
  },
}
`;

const yaml = `# The MCP servers of this hub, each in its own container. The hub reloads this file when it changes.
# "agenthub check" validates it, and "agenthub add <package>" adds entries to it.
servers:
  # Stores entities and relations. Without further settings it has no network access, sees no folder of
  # this machine, and writes only to its own volume. auto_start: start with the hub, not at the first call.
  memory:
    package: "@modelcontextprotocol/server-memory@2026.8.31"
    auto_start: true

  # A server that works on a folder of this machine. Without ":rw", the folder is read-only.
  # files:
  #   package: "@modelcontextprotocol/server-filesystem@2026.8.31"
  #   args: [/notes]
  #   mounts: ["~/notes:/notes:rw"]

  # A PyPI package, with network access.
  # fetch:
  #   package: uvx:mcp-server-fetch
  #   network: bridge

  # An image, with a secret from the environment or .env, so that it is not in this file.
  # github:
  #   image: ghcr.io/github/github-mcp-server:v1.0.0
  #   env: { GITHUB_PERSONAL_ACCESS_TOKEN: "\${GITHUB_TOKEN}" }
  #   network: bridge

  # A remote server.
  # docs:
  #   url: https://mcp.example.com/mcp
  #   headers: { Authorization: "Bearer \${DOCS_TOKEN}" }
`;
