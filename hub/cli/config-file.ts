import type { ConfigEditor } from '#config';
import { HubError } from '#core';
import type { CheckNeeds, Checked } from './commands/check.ts';

export type FileNeeds = CheckNeeds & {
  /** Path of the config file from the settings. The file may not exist. */
  readonly findConfigFile: () => Promise<string>;
  /** Creates an editor for config files, used if no hub runs that could make the change. */
  readonly editConfig: () => Promise<ConfigEditor>;
};

/** Loads the config to edit it. Throws HubError, with a hint how to create the file, if it does not exist. */
export async function loadForEdit({ loadConfig }: FileNeeds): Promise<Checked> {
  try {
    const checked = await loadConfig(undefined);
    if (checked.insteadOf === undefined) return checked;
  } catch (error) {
    if (!(error instanceof HubError) || error.code !== 'HUB_CONFIG_MISSING') throw error;
  }
  throw new HubError(
    'HUB_CONFIG_MISSING',
    'no hub is running, and there is no config file to change. Create one with "agenthub init", or start a hub with "agenthub serve"',
  );
}
