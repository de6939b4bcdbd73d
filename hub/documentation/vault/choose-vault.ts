import { isAbsolute } from 'node:path';
import type { DocumentationConfig, ObsidianConfig } from '#config';
import { HubError } from '#core';

/** The vault for a request. `isNamed`: the request names its folder, so its caller must have access to it. */
export type VaultChoice =
  | { readonly kind: 'folder'; readonly place: string; readonly isNamed: boolean }
  | {
      readonly kind: 'obsidian';
      readonly place: string;
      readonly isNamed: false;
      readonly obsidian: ObsidianConfig;
    };

/** Returns the vault that the request names, or that of the config. Throws HUB_VAULT_UNKNOWN. */
export function chooseVault(
  wanted: string | undefined,
  { vault, obsidian }: Pick<DocumentationConfig, 'vault' | 'obsidian'>,
): VaultChoice {
  if (wanted !== undefined && wanted !== 'obsidian') return folder(wanted, true);
  if (wanted === undefined && vault !== undefined) return folder(vault, false);
  if (obsidian) return { kind: 'obsidian', place: obsidian.url, isNamed: false, obsidian };
  throw new HubError(
    'HUB_VAULT_UNKNOWN',
    wanted === 'obsidian'
      ? 'vault: "obsidian" means the Local REST API plugin, but the config has no "documentation.obsidian". Set its key and its certificate there (docs/documentation.md)'
      : 'vault: is missing, and the config has neither "documentation.vault" nor "documentation.obsidian". Name the folder of an Obsidian vault',
  );
}

function folder(place: string, isNamed: boolean): VaultChoice {
  if (isAbsolute(place)) return { kind: 'folder', place, isNamed };
  throw new HubError(
    'HUB_VAULT_UNKNOWN',
    `vault: ${JSON.stringify(place.slice(0, 200))} is not an absolute path. Write it in full, such as /home/me/notes, or "obsidian" for the plugin`,
  );
}
