import { mkdir, open, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { HubError } from '#core';
import type { Command } from '../command.ts';
import type { FileNeeds } from '../config-file.ts';
import { starterConfig } from '../starter-config.ts';
import { asJson, jsonOption, textOf } from '../values.ts';

const yamlFile = 'hub.yaml';

/** `agenthub init`: writes a starter config if there is none. */
export function createInit({ findConfigFile }: Pick<FileNeeds, 'findConfigFile'>): Command {
  return {
    name: 'init',
    summary: 'Write a commented starter config. An existing file is never changed.',
    options: {
      yaml: { type: 'boolean', help: `YAML, in ${yamlFile}.` },
      config: {
        type: 'string',
        placeholder: 'file',
        completion: 'file',
        help: 'The file to write: .json or .yaml. Default: MCP_SERVERS_CONFIG, or configs/mcp-servers.json.',
      },
      ...jsonOption,
    },
    details: ['--json prints {"file"}.'],
    examples: [
      ['init', 'Write configs/mcp-servers.json'],
      ['init --yaml', `Write ${yamlFile}`],
    ],
    async run(values, { out, screen }) {
      const usual = await findConfigFile();
      const named = textOf(values, 'config');
      const file = named ?? (values['yaml'] === true ? yamlFile : usual);
      const isYaml = /\.ya?ml$/i.test(file);
      if (values['yaml'] === true && !isYaml)
        throw new HubError(
          'HUB_USAGE',
          `--yaml: ${JSON.stringify(file)} is not the name of a YAML file. Write a name that ends in .yaml for --config, or omit --yaml`,
        );
      if (!/\.(?:jsonc?|ya?ml)$/i.test(file))
        throw new HubError(
          'HUB_USAGE',
          `--config: ${JSON.stringify(file)} is not allowed: the name must end in .json, .jsonc, .yaml or .yml`,
        );
      await writeNew(file, starterConfig(isYaml ? 'yaml' : 'json'));
      if (values['json'] === true) {
        out(asJson({ file }));
        return 0;
      }
      out(`${screen.paint('green', 'wrote')} ${file}`);
      out(`Start the hub with: agenthub serve${file === usual ? '' : ` --config ${file}`}`);
      return 0;
    },
  };
}

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
