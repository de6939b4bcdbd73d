import { readFile } from 'node:fs/promises';
import { HubError, messageOf } from '#core';
import type { Environment } from './expand-variables.ts';

/** Variables whose value can also come from a file, which `<NAME>_FILE` names. */
const names = ['REDIS_PASSWORD', 'QDRANT_API_KEY'];

/**
 * Adds the values of secret files to the environment, trimmed. Throws HUB_CONFIG_INVALID if a file cannot be read or
 * is empty, or if the variable is also set directly.
 */
export async function readSecretFiles(env: Environment): Promise<Environment> {
  const found: Record<string, string> = {};
  for (const name of names) {
    const file = env[`${name}_FILE`];
    if (!file) continue;
    if (env[name])
      throw new HubError(
        'HUB_CONFIG_INVALID',
        `${name}_FILE: ${name} is set as well. Remove one of them`,
      );
    found[name] = await readSecret(`${name}_FILE`, file);
  }
  return { ...env, ...found };
}

async function readSecret(setting: string, file: string): Promise<string> {
  let text: string;
  try {
    text = (await readFile(file, 'utf8')).trim();
  } catch (error) {
    throw new HubError(
      'HUB_CONFIG_INVALID',
      `${setting}: ${JSON.stringify(file)} cannot be read (${messageOf(error)})`,
      { cause: error },
    );
  }
  if (text === '')
    throw new HubError('HUB_CONFIG_INVALID', `${setting}: ${JSON.stringify(file)} is empty`);
  return text;
}
