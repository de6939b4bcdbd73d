/** The config file that `agenthub init` writes: one active server, and commented examples. */
export const starterConfig = (format: 'json' | 'yaml') => (format === 'json' ? json : yaml);

const json = `{
  // The MCP servers of this hub, each in a container of its own. The hub reads this file again when it changes.
  // "agenthub check" tells what is wrong with it, "agenthub add <package>" writes entries into it.
  "servers": {
    // It remembers entities and what connects them. Nothing more is said, so it has no network, sees no folder of
    // this machine, and writes only to a volume of its own. "auto_start": with the hub, not at the first call.
    "memory": {
      "package": "@modelcontextprotocol/server-memory@2026.8.31",
      "auto_start": true,
    },

    // A server that works on a folder of this machine: read-only without ":rw".
    // "files": {
    //   "package": "@modelcontextprotocol/server-filesystem@2026.8.31",
    //   "args": ["/notes"],
    //   "mounts": ["~/notes:/notes:rw"],
    // },

    // A package from PyPI, with access to the network.
    // "fetch": {
    //   "package": "uvx:mcp-server-fetch",
    //   "network": "bridge",
    // },

    // An image, with a secret: of the environment or of .env, so that it does not stand in this file.
    // "github": {
    //   "image": "ghcr.io/github/github-mcp-server:v1.0.0",
    //   "env": { "GITHUB_PERSONAL_ACCESS_TOKEN": "\${GITHUB_TOKEN}" },
    //   "network": "bridge",
    // },

    // A server that runs elsewhere.
    // "docs": {
    //   "url": "https://mcp.example.com/mcp",
    //   "headers": { "Authorization": "Bearer \${DOCS_TOKEN}" },
    // },
  },
}
`;

const yaml = `# The MCP servers of this hub, each in a container of its own. The hub reads this file again when it changes.
# "agenthub check" tells what is wrong with it, "agenthub add <package>" writes entries into it.
servers:
  # It remembers entities and what connects them. Nothing more is said, so it has no network, sees no folder of
  # this machine, and writes only to a volume of its own. auto_start: with the hub, not at the first call.
  memory:
    package: "@modelcontextprotocol/server-memory@2026.8.31"
    auto_start: true

  # A server that works on a folder of this machine: read-only without ":rw".
  # files:
  #   package: "@modelcontextprotocol/server-filesystem@2026.8.31"
  #   args: [/notes]
  #   mounts: ["~/notes:/notes:rw"]

  # A package from PyPI, with access to the network.
  # fetch:
  #   package: uvx:mcp-server-fetch
  #   network: bridge

  # An image, with a secret: of the environment or of .env, so that it does not stand in this file.
  # github:
  #   image: ghcr.io/github/github-mcp-server:v1.0.0
  #   env: { GITHUB_PERSONAL_ACCESS_TOKEN: "\${GITHUB_TOKEN}" }
  #   network: bridge

  # A server that runs elsewhere.
  # docs:
  #   url: https://mcp.example.com/mcp
  #   headers: { Authorization: "Bearer \${DOCS_TOKEN}" }
`;
