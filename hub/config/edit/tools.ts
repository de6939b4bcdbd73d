import { inheritedServer } from '../extends.ts';
import { diffConfigs } from '../diff.ts';
import { requireFormat } from '../files.ts';
import { loadConfig } from '../load.ts';
import type { ToolSettings } from '../policy.ts';
import { valueOf } from '../source-map.ts';
import {
  type EditNeeds,
  type Edited,
  type EntryEdit,
  affectsOnly,
  serverUnknown,
  uneditable,
  withText,
} from './edited.ts';
import { withNameList } from './name-list.ts';

/** The lists under `tools` that decide which tools a server offers. */
export type ToolLists = Pick<ToolSettings, 'allow' | 'deny'>;

/** Returns the new lists for the current ones. A list that is absent in the result stays unchanged. */
export type NextTools = (current: ToolSettings | undefined) => ToolLists;

/** Computes the text with new lists under `tools` of a server, and the config that results from it. */
export async function prepareTools(
  { file, text, name, next }: EntryEdit & { readonly next: NextTools },
  needs: EditNeeds,
): Promise<Edited> {
  const format = requireFormat(file);
  const options = await needs.readOptions();
  const current = { ...options, readText: withText(file, text) };
  const before = await loadConfig(file, current);
  const server = before.servers.find(one => one.name === name);
  if (!server) throw serverUnknown(file, name);
  const inherited = await inheritedServer(file, name, current);
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
  const config = await loadConfig(file, { ...options, readText: withText(file, edited) });
  const tools = config.servers.find(one => one.name === name)?.tools;
  const isAsWanted = (['allow', 'deny'] as const).every(key =>
    sameNames(tools?.[key] ?? [], wanted[key] ?? server.tools?.[key] ?? []),
  );
  if (!isAsWanted || !affectsOnly(diffConfigs(before, config), name)) throw uneditable(file);
  return { text: edited, config };
}

const sameNames = (some: readonly string[], others: readonly string[]) =>
  some.every(name => others.includes(name)) && others.every(name => some.includes(name));
