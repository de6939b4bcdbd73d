import { resolve } from 'node:path';
import { HubError } from '#core';
import type { Config } from '../config.ts';
import type { Difference } from '../diff.ts';
import { type ReadText, readText } from '../files.ts';

/** The new text of a file, and the config that results from it. */
export type Edited = { readonly text: string; readonly config: Config };

/** True if an edit changes only this server, and no other server or key that refers to its YAML anchors. */
export function affectsOnly(
  { added, removed, changed, naming, hub }: Difference,
  name: string,
): boolean {
  const names = [...added, ...removed, ...changed.map(({ after }) => after)];
  return !naming && hub.length === 0 && names.every(server => server.name === name);
}

export const withText =
  (file: string, text: string): ReadText =>
  async path =>
    path === resolve(file) ? text : await readText(path);

export function serverUnknown(file: string, name: string): HubError {
  const message = `${file}: it has no server ${JSON.stringify(name)}`;
  return new HubError('HUB_SERVER_UNKNOWN', message, { data: { server: name } });
}

export const uneditable = (file: string) =>
  new HubError(
    'HUB_CONFIG_CONFLICT',
    `${file}: its syntax (anchors, aliases or unusual YAML) does not allow changing one server without other parts. Edit it by hand`,
  );
