import type { ServeOptions } from '#cli';
import { type Config, checkTags, readConfig, withTags } from '#config';
import { systemClock } from '#core';
import { createLocalOllama } from './local-ollama.ts';
import { secretsLeftBy } from './secrets-left.ts';
import type { Setup } from './setup.ts';
import type { ConfigFiles } from './wire-config.ts';

/**
 * Opens the config files for the start of a hub. With tags, only servers with one of the tags are used. Rejects with
 * HubError.
 */
export async function openConfigFiles(
  options: ServeOptions,
  { paths, secrets, settingsWith, readOptions, findShipped }: Setup,
): Promise<ConfigFiles> {
  const { tags } = options;
  const withOllama = createLocalOllama({ clock: systemClock });
  const { configFile, rulesFile } = await paths.layout();
  const file = options.configFile ?? configFile;
  let whole: Config | undefined;
  const shipped = await findShipped(options);
  const read = async () => {
    const reading = await readConfig(file, { ...(await readOptions()), ...shipped });
    if (reading.error) return reading;
    whole = reading.config;
    if (options.isTrial) return { ...reading, config: { ...reading.config, servers: [] } };
    return tags ? { ...reading, config: withTags(reading.config, tags) } : reading;
  };
  const first = await read();
  if (first.error) throw first.error;
  // Only at the start: a later config may have no server with a tag.
  if (whole && tags) checkTags(whole, tags);
  return {
    file,
    usualRulesFile: rulesFile,
    first,
    read,
    readOptions,
    settings: async () => {
      const settings = await settingsWith(options, whole);
      return options.isTrial ? settings : await withOllama(settings);
    },
    servers: () => whole?.servers ?? [],
    listSecrets: async () => await (await secrets.open()).list(whole?.secretUses ?? []),
    secretsLeftBy: server => secretsLeftBy(server, whole?.secretUses, secrets.open),
    tags,
    ...(shipped && { shipped }),
  };
}
