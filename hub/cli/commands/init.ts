import { mkdir, open, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { HubError } from '#core';
import { type Command, configOption, jsonOption } from '../command.ts';
import { textOf, usageError } from '../values.ts';

const yamlFile = 'hub.yaml';

/** `agenthub init`: writes a starter config if there is none. */
export const init: Command = {
  name: 'init',
  summary: 'Write a commented starter config. An existing file is never changed.',
  options: {
    yaml: { help: `YAML, in ${yamlFile}.` },
    ...configOption('The file to write: .json or .yaml.'),
    ...jsonOption,
  },
  details: ['--json prints {"file"}.'],
  examples: [
    ['init', 'Write configs/mcp-servers.json'],
    ['init --yaml', `Write ${yamlFile}`],
  ],
  async run({ values, isJson, needs, out, json, screen }) {
    const usual = await needs.findConfigFile();
    const named = textOf(values, 'config');
    const file = named ?? (values['yaml'] === true ? yamlFile : usual);
    const isYaml = /\.ya?ml$/i.test(file);
    if (values['yaml'] === true && !isYaml)
      throw usageError(
        `--yaml: ${JSON.stringify(file)} is not the name of a YAML file. Write a name that ends in .yaml for --config, or omit --yaml`,
      );
    if (!/\.(?:jsonc?|ya?ml)$/i.test(file))
      throw usageError(
        `--config: ${JSON.stringify(file)} is not allowed: the name must end in .json, .jsonc, .yaml or .yml`,
      );
    await writeNew(file, isYaml ? starterYaml : starterJson);
    if (isJson) return json({ file });
    out(`${screen.paint('green', 'wrote')} ${file}`);
    out(`Start the hub with: agenthub serve${file === usual ? '' : ` --config ${file}`}`);
    return 0;
  },
};

/** Throws HUB_CONFIG_CONFLICT if the file exists, and HUB_CONFIG_UNWRITABLE. */
async function writeNew(file: string, text: string): Promise<void> {
  const { unwritable } = await import('#config');
  try {
    await mkdir(dirname(file), { recursive: true });
    await using handle = await open(file, 'wx');
    try {
      await handle.writeFile(text);
    } catch (error) {
      // A partly written file would block the next attempt.
      await rm(file, { force: true });
      throw error;
    }
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EEXIST')
      throw new HubError(
        'HUB_CONFIG_CONFLICT',
        `${file} already exists and was not changed. Check it with "agenthub check", or write another file with --config`,
        { cause: error },
      );
    throw unwritable(file, error);
  }
}

// The starter config: one active server, and commented examples.

const starterJson = `{
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

const starterYaml = `# The MCP servers of this hub, each in its own container. The hub reloads this file when it changes.
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
