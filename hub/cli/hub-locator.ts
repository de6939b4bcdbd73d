import { type LoadOptions, readConfig, readSettings, serversFileOf } from '#config';
import { HubError, addressOf } from '#core';
import type { KeyNeeds } from './commands/key.ts';
import type { HubNeeds } from './hub-client.ts';
import { type HubOwner, createOwner } from './owner/owner.ts';

export type HubLocatorOptions = {
  readonly env: NodeJS.ProcessEnv;
  /** Installation folder of this hub. */
  readonly root: string;
  /** Text of `.env` in the working folder. */
  readonly readDotenv: () => Promise<string>;
  readonly readOptions: () => Promise<LoadOptions>;
};

/** Creates a function that finds the hub to call: from environment, `.env` and config file, or at a given URL. */
export function createHubLocator({
  env,
  root,
  readDotenv,
  readOptions,
}: HubLocatorOptions): Pick<HubNeeds, 'findHub'> & Pick<KeyNeeds, 'findOwnerKey'> {
  async function readSetup(): Promise<{
    readonly settings: ReturnType<typeof readSettings>;
    readonly owner: HubOwner;
  }> {
    const dotenv = await readDotenv();
    const reading = await readConfig(serversFileOf(env, dotenv), await readOptions());
    // Calling a hub must work without a valid config file.
    const settings = readSettings(env, dotenv, reading.config);
    return { settings, owner: createOwner({ ...settings, env, root }) };
  }

  return {
    async findHub(url) {
      const { settings, owner } = await readSetup();
      const { token } = settings;
      if (url !== undefined) return { url, token, ownerAccess: owner.accessTo(url, true) };
      const address = addressOf({ ...settings, isSecure: settings.tls !== undefined });
      const { ROUTER_HOST: named, ROUTER_TOKEN: given } = env;
      if (given && !named && URL.parse(address)?.hostname !== 'localhost')
        throw new HubError(
          'HUB_USAGE',
          `ROUTER_HOST: a file in this folder says that the hub is at ${address}, but ROUTER_TOKEN is from your environment. A folder must not decide where your token is sent: add --url ${address} if that is your hub`,
        );
      return { url: address, token, ownerAccess: owner.accessTo(address, false) };
    },
    findOwnerKey: async signal => await (await readSetup()).owner.findKey(signal),
  };
}
