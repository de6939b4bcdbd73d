/** Names of the two tools of find mode. No server's tool gets these names (`reservedNames`). */
export const findToolName = 'find_tools';
export const callToolName = 'call_tool';

/** Number of tools that a search returns, by default and at most. */
export const foundTools = { usual: 5, most: 20 } as const;

const findTool = {
  name: findToolName,
  title: 'Find tools',
  description: `Find tools for a step of your task. Far more tools are available than are listed here: search before you conclude that something cannot be done. Describe one action and its object in a few words, without names or values of this task: "create a GitHub issue", "read an Excel file", "route between two places". Returns the best matches, each with its description and inputSchema. Run one with ${callToolName}. If none fits, search again with other words; search separately for each step.`,
  inputSchema: {
    type: 'object',
    properties: {
      query: {
        type: 'string',
        description: 'What the tool should do, such as "search files by content".',
      },
      limit: {
        type: 'integer',
        minimum: 1,
        maximum: foundTools.most,
        default: foundTools.usual,
        description: 'The most tools to return.',
      },
    },
    required: ['query'],
  },
  annotations: { readOnlyHint: true, idempotentHint: true, openWorldHint: false },
};

const callTool = {
  name: callToolName,
  title: 'Call a found tool',
  description: `Run a tool that ${findToolName} returned, and get its result. "name" is the name as returned, and "arguments" is an object that fits the tool's inputSchema. Example: {"name": "files_read_file", "arguments": {"path": "notes.md"}}.`,
  inputSchema: {
    type: 'object',
    properties: {
      name: { type: 'string', description: `The name of the tool, as ${findToolName} returns it.` },
      arguments: {
        type: 'object',
        description: 'The arguments of the tool, by its inputSchema. {} if it takes none.',
        additionalProperties: true,
      },
    },
    required: ['name', 'arguments'],
  },
};

/** Definitions of `find_tools` and `call_tool` for lists, as JSON. */
export const ownTools: readonly string[] = [findTool, callTool].map(tool => JSON.stringify(tool));

const bytesByName = new Map(
  [findTool, callTool].map(tool => [tool.name, Buffer.from(JSON.stringify(tool))] as const),
);

/** Returns the definition of one of the two tools; undefined for every other name. */
export const describeOwnTool = (name: string): Buffer | undefined => bytesByName.get(name);
