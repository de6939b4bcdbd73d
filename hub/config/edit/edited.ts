import { resolve } from 'node:path';
import { HubError, isObject } from '#core';
import type { Config } from '../config.ts';
import type { Difference } from '../diff.ts';
import { type ReadText, readText } from '../files.ts';
import type { LoadOptions } from '../mount-guard.ts';
import { forms } from '../merge.ts';
import { pathText } from '../problem.ts';

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

/** An edit of the entry of a server, and the text of the file. */
export type EntryEdit = { readonly file: string; readonly text: string; readonly name: string };

export type EditNeeds = {
  /** Reads the current environment, to validate the edited config. */
  readonly readOptions: () => Promise<LoadOptions>;
};

export const withText =
  (file: string, text: string): ReadText =>
  async path =>
    path === resolve(file) ? text : await readText(path);

/**
 * Returns the error for an edit of a server after which the config would be invalid. Problems of the new entry have no
 * line, as it is not in the file. Other problems have their line in the current file, whose error is `before`.
 */
export function refusedEdit(name: string, after: HubError, before: HubError | undefined): HubError {
  const places = forms.map(form => pathText([form, name]));
  const isOwn = ({ path }: { readonly path: string }) =>
    places.some(place => path.startsWith(place) && /^($|[.[])/.test(path.slice(place.length)));
  const own = problemsIn(after)
    .filter(isOwn)
    .map(({ path, message }) => ({ path, message: message.slice(message.indexOf(`${path}: `)) }));
  const others = problemsIn(before ?? after).filter(problem => !isOwn(problem));
  const problems = [...own, ...others];
  if (problems.length === 0) return after;
  return new HubError(after.code, problems.map(({ message }) => message).join('\n'), {
    data: { problems },
  });
}

function problemsIn({ data: { problems } }: HubError) {
  return (Array.isArray(problems) ? problems : []).flatMap((problem: unknown) => {
    const { path, message } = isObject(problem) ? problem : {};
    return typeof path === 'string' && typeof message === 'string' ? [{ path, message }] : [];
  });
}

export function serverUnknown(file: string, name: string): HubError {
  const message = `${file}: it has no server ${JSON.stringify(name)}`;
  return new HubError('HUB_SERVER_UNKNOWN', message, { data: { server: name } });
}

export const uneditable = (file: string) =>
  new HubError(
    'HUB_CONFIG_CONFLICT',
    `${file}: its syntax (anchors, aliases or unusual YAML) does not allow changing one server without other parts. Edit it by hand`,
  );
