import { z } from 'zod';
import { describeKeys, listOf, namesRule, shortName, tag, text } from './schema-parts.ts';

export const profileName = shortName('the name of a profile');

const names = z.union([text.min(1), z.array(text.min(1))], namesRule);
const tags = z.union([tag, z.array(tag)], namesRule);

const findSchema = z.union(
  [
    z.boolean(),
    describeKeys(z.strictObject({ pinned: names.exactOptional() }), {
      pinned: 'Tools that are listed as well, by their names on /mcp, or patterns.',
    }),
  ],
  'write true, or {"pinned": [...]} with the tools that are listed as well',
);

export const profileSchema = describeKeys(
  z.strictObject({
    tags: tags.exactOptional(),
    servers: names.exactOptional(),
    tools: names.exactOptional(),
    find: findSchema.exactOptional(),
  }),
  {
    tags: 'Shows servers with one of these tags, and everything that they offer.',
    servers:
      'Shows these servers, and everything that they offer. Names, or patterns with "*". The hub\'s own servers are shown only if they are named.',
    tools:
      'Shows these tools too, by their names on /mcp, such as "files_read_file", or patterns. Names after "!" are hidden, also those of shown servers. A profile that only hides tools shows all others.',
    find: 'Find mode: the client lists find_tools, call_tool and the tools in "pinned" only, and finds the others. true, or {"pinned": ["files_read_file", "git_*"]} with names or patterns. Default: all tools are listed.',
  },
);

/** A filtered view of the servers and their tools. Without lists, it shows all of them. */
export type ProfileConfig = {
  readonly name: string;
  readonly tags: readonly string[];
  /** Names and patterns of servers. */
  readonly servers: readonly string[];
  /** Names and patterns of tools on `/mcp`. */
  readonly tools: readonly string[];
  /** Names and patterns of tools on `/mcp` that are hidden. */
  readonly hiddenTools: readonly string[];
  /** Set in find mode: clients list only these tools of servers, by names and patterns, and search for the others. */
  readonly find?: { readonly pinned: readonly string[] };
};

type WrittenProfiles = Readonly<Record<string, z.output<typeof profileSchema>>>;

/** Normalizes the profiles of a file. */
export const readProfiles = (written: WrittenProfiles): readonly ProfileConfig[] =>
  Object.entries(written).map(([name, { tags, servers, tools, find = false }]) => {
    const all = listOf(tools);
    return {
      name,
      tags: listOf(tags),
      servers: listOf(servers),
      tools: all.filter(tool => !tool.startsWith('!')),
      hiddenTools: all.filter(tool => tool.startsWith('!')).map(tool => tool.slice(1)),
      ...(find !== false && { find: { pinned: find === true ? [] : listOf(find.pinned) } }),
    };
  });
