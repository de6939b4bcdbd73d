import { mkdir } from 'node:fs/promises';
import { dirname } from 'node:path';
import { unwritable, writeNew } from '#config';
import { HubError, shellWord } from '#core';
import { readAsset } from '../assets.ts';
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
    ['init', 'Write the config file of this folder or of your hub'],
    ['init --yaml', `Write ${yamlFile}`],
  ],
  async run({ values, isJson, needs, out, json, screen }) {
    const usual = await needs.files.findConfigFile();
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
    await writeStarter(file, await readAsset(isYaml ? 'starter.yaml' : 'starter.jsonc'));
    if (isJson) return json({ file });
    out(`${screen.paint('green', 'wrote')} ${file}`);
    out(
      `Start the hub with: agenthub serve${[usual, yamlFile].includes(file) ? '' : ` --config ${shellWord(file)}`}`,
    );
    return 0;
  },
};

/**
 * Writes the starter config, readable only by this user, because it may later contain keys. Throws HUB_CONFIG_CONFLICT
 * if the file exists, and HUB_CONFIG_UNWRITABLE.
 */
async function writeStarter(file: string, text: string): Promise<void> {
  try {
    await mkdir(dirname(file), { recursive: true });
    if (await writeNew(file, text, 0o600)) return;
  } catch (error) {
    throw unwritable(file, error);
  }
  throw new HubError(
    'HUB_CONFIG_CONFLICT',
    `${file} already exists and was not changed. Check it with "agenthub check", or write another file with --config`,
  );
}
