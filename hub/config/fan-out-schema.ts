import { z } from 'zod';
import { describeKeys, matching, secondsBetween, text } from './schema-parts.ts';

/** Name of a fan-out tool on `/mcp`. */
export const fanOutName = matching(
  /^[a-zA-Z0-9][\w-]{0,63}$/,
  'the name of a fan-out tool has 1 to 64 letters, digits, "_" and "-", and starts with a letter or digit',
);

/** Maximum number of tools that one fan-out tool calls. */
const maxTools = 20;
/** Maximum timeout in seconds, below the time limit of calls to built-in servers. */
const maxSeconds = 540;

export const fanOutSchema = describeKeys(
  z.strictObject({
    tools: z.array(text.min(1)).min(1).max(maxTools),
    merge: z.enum(['concat', 'first', 'race']).default('concat'),
    timeout: secondsBetween(1, maxSeconds).default(30),
    description: text.min(1).exactOptional(),
  }),
  {
    tools:
      'Tools that are called with the same arguments, by their names on /mcp, such as "github_search".',
    merge:
      '"concat": calls all at once, and joins the results. "first": one after the other, until one succeeds. "race": all at once; the first that succeeds counts, and the others are cancelled.',
    timeout: 'Seconds after which a tool that has not answered counts as failed.',
    description:
      'Description of the tool for clients. Default: the names of the tools, or their number if a rule of "policy" denies something or there are "profiles", and the description of the first.',
  },
);
