import type { ConfigEditor } from '#config';
import { HubError } from '#core';
import type { CheckNeeds, Checked } from './commands/check.ts';

export type FileNeeds = CheckNeeds & {
  /** The config file that the settings name, whether it is there or not. */
  readonly findConfigFile: () => Promise<string>;
  /** Changes the servers of config files, where no hub runs that would do it. */
  readonly editConfig: () => Promise<ConfigEditor>;
};

/** What the settings' config says, to be changed. Throws HubError, with the way to a file where there is none. */
export async function loadForEdit({ loadConfig }: FileNeeds): Promise<Checked> {
  try {
    const checked = await loadConfig(undefined);
    if (checked.insteadOf === undefined) return checked;
  } catch (error) {
    if (!(error instanceof HubError) || error.code !== 'HUB_CONFIG_MISSING') throw error;
  }
  throw new HubError(
    'HUB_CONFIG_MISSING',
    'no hub runs here, and there is no config file to change. Write one with "agenthub init", or start a hub with "agenthub serve"',
  );
}
