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
    const invalid = (why: string, options = {}) =>
      new HubError('HUB_CONFIG_INVALID', `${name}_FILE: ${why}`, options);
    if (env[name]) throw invalid(`${name} is set as well. Remove one of them`);
    const text = await readFile(file, 'utf8').catch((cause: unknown) => {
      throw invalid(`${JSON.stringify(file)} cannot be read (${messageOf(cause)})`, { cause });
    });
    found[name] = text.trim();
    if (found[name] === '') throw invalid(`${JSON.stringify(file)} is empty`);
  }
  return { ...env, ...found };
}
