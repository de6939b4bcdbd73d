import { inheritedServer } from '../extends.ts';
import { diffConfigs } from '../diff.ts';
import { formatOf, misnamed } from '../files.ts';
import { readConfig } from '../load.ts';
import type { LoadOptions } from '../mount-guard.ts';
import type { ToolSettings } from '../policy.ts';
import { valueOf } from '../source-map.ts';
import { type Edited, affectsOnly, serverUnknown, uneditable, withText } from './edited.ts';
import { withNameList } from './name-list.ts';

/** The lists under `tools` that decide which tools a server offers. */
export type ToolLists = {
  readonly allow?: readonly string[];
  readonly deny?: readonly string[];
};

/** Returns the new lists for the current ones. A list that is absent in the result stays unchanged. */
export type NextTools = (current: ToolSettings | undefined) => ToolLists;

type ToolChange = {
  readonly file: string;
  readonly text: string;
  readonly name: string;
  readonly next: NextTools;
};

/** Computes the text with new lists under `tools` of a server, and the config that results from it. */
export async function prepareTools(
  { file, text, name, next }: ToolChange,
  needs: { readonly readOptions: () => Promise<LoadOptions> },
): Promise<Edited> {
  const format = formatOf(file);
  if (!format) throw misnamed(file);
  const options = await needs.readOptions();
  const before = await readConfig(file, { ...options, readText: withText(file, text) });
  if (before.error) throw before.error;
  const server = before.config.servers.find(one => one.name === name);
  if (!server) throw serverUnknown(file, name);
  const inherited = await inheritedServer(file, name, {
    ...options,
    readText: withText(file, text),
  });
  const wanted = next(server.tools);
  let edited = text;
  for (const key of ['allow', 'deny'] as const) {
    const names = wanted[key];
    if (names === undefined) continue;
    const isInherited = valueOf(valueOf(inherited, 'tools'), key) !== undefined;
    const written = await withNameList(edited, format, { server: name, key, names, isInherited });
    if (written === undefined) throw uneditable(file);
    edited = written;
  }
  const after = await readConfig(file, { ...options, readText: withText(file, edited) });
  if (after.error) throw after.error;
  const tools = after.config.servers.find(one => one.name === name)?.tools;
  const isAsWanted = (['allow', 'deny'] as const).every(key =>
    sameNames(tools?.[key] ?? [], wanted[key] ?? server.tools?.[key] ?? []),
  );
  if (!isAsWanted || !affectsOnly(diffConfigs(before.config, after.config), name))
    throw uneditable(file);
  return { text: edited, config: after.config };
}

const sameNames = (some: readonly string[], others: readonly string[]) =>
  some.every(name => others.includes(name)) && others.every(name => some.includes(name));
