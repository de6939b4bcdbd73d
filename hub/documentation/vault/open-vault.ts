import { readFile } from 'node:fs/promises';
import type { ObsidianConfig } from '#config';
import { type Clock, HubError, messageOf } from '#core';
import type { Principal } from '#policy';
import type { Repositories } from '#repositories';
import type { VaultChoice } from './choose-vault.ts';
import { openFolderVault } from './folder-vault.ts';
import { createPinnedHttps } from './pinned-https.ts';
import { openRestVault } from './rest-vault.ts';
import type { NoteVault } from './vault-types.ts';

type Needs = {
  readonly clock: Clock;
  readonly repositories: Pick<Repositories, 'openFolder'>;
};

/** Principal for a vault of the config: the owner chose it, so runs may write there. */
const ownerOfConfig: Principal = { kind: 'local', name: 'config', grants: { administer: true } };

/** Opens the vault of a run. `target`: folder of the notes, which must be writable; undefined if nothing is written. */
export async function openVault(
  choice: VaultChoice,
  {
    principal,
    ...options
  }: {
    readonly isForced: boolean;
    readonly target: string | undefined;
    readonly principal: Principal;
  },
  { clock, repositories }: Needs,
  signal: AbortSignal,
): Promise<NoteVault> {
  if (choice.kind === 'obsidian') return await openPlugin(choice.obsidian, clock, signal);
  const opener = choice.isNamed ? principal : ownerOfConfig;
  await using opened = new AsyncDisposableStack();
  const folder = opened.use(await repositories.openFolder(choice.place, opener, signal));
  const vault = await openFolderVault(folder, options, signal);
  opened.move();
  return vault;
}

async function openPlugin(
  { url, key, keyFault, certificate, fingerprint }: ObsidianConfig,
  clock: Clock,
  signal: AbortSignal,
): Promise<NoteVault> {
  if (key === undefined)
    throw new HubError(
      'HUB_VAULT_UNREACHABLE',
      `documentation.obsidian.key: ${keyFault ?? 'is not set'}`,
    );
  const origin = new URL(url);
  const client = createPinnedHttps(
    origin,
    {
      fingerprint,
      certificate: certificate === undefined ? undefined : await readPem(certificate),
    },
    { clock },
  );
  try {
    return await openRestVault({ origin, key }, client, signal);
  } catch (error) {
    client.close();
    throw error;
  }
}

async function readPem(path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    throw new HubError(
      'HUB_VAULT_UNREACHABLE',
      `documentation.obsidian.certificate: cannot be read: ${messageOf(error)}. Save the certificate of the plugin there, or set "fingerprint"`,
      { cause: error },
    );
  }
}
