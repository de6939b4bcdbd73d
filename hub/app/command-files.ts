import type { CliNeeds } from '#cli';
import { createConfigEditor, readConfig } from '#config';
import { systemClock } from '#core';
import type { Setup } from './setup.ts';

/** The files of the hub that commands read and change while no hub runs. */
export function createCommandFiles(
  { paths, secrets, settingsWith, readOptions, findShipped, loadConfig }: Setup,
  version: string,
): Omit<CliNeeds['files'], 'findDataFolders'> {
  return {
    loadConfig,
    findConfigFile: async () => (await settingsWith({})).serversFile,
    findDotenv: async () => (await paths.layout()).dotenvFile,
    async editConfig() {
      const { writeWhole } = await import('#store');
      return createConfigEditor({ readOptions, writeWhole });
    },
    async openTokens(warn) {
      const { openStoredClients } = await import('./wire-clients.ts');
      const { serversFile } = await settingsWith({});
      const shipped = await findShipped({});
      // The whole config: tokens that are not in it count as revoked.
      const reading = await readConfig(serversFile, { ...(await readOptions()), ...shipped });
      if (reading.error) throw reading.error;
      const settings = await settingsWith({}, reading.config);
      return await openStoredClients(reading.config, {
        settings,
        clock: systemClock,
        audit: { hubVersion: version, warn },
      });
    },
    openSecrets: secrets.open,
    async recordChange(change, warn) {
      const { recordStored } = await import('./wire-clients.ts');
      const { serversFile } = await settingsWith({});
      // Without a valid config the defaults of the audit log apply.
      const { config } = await readConfig(serversFile, await readOptions());
      await recordStored(change, {
        config: config ?? {},
        settings: await settingsWith({}),
        clock: systemClock,
        audit: { hubVersion: version, warn },
      });
    },
  };
}
