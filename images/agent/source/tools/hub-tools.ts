import { readFile, readdir } from 'node:fs/promises';
import path from 'node:path';
import type { JSONValue } from '@strands-agents/sdk';
import { z } from 'zod';
import type { HubLink, ToolResult } from '../hub-link.ts';
import type { AgentTool, ToolOutput } from '../types.ts';
import { defineTool } from './tool.ts';
import { ToolError, inWorkspace, workspace } from './workspace.ts';

const maxNameChars = 64;

/** Converts the name of a tool to one that the agent runtime accepts. */
const usableName = (name: string) => name.replaceAll(/[^\w-]/g, '_').slice(0, maxNameChars);
/** Returns a key for comparing names: the agent runtime treats `-` and `_` in names of tools as equal. */
export const keyOf = (name: string) => name.replaceAll('-', '_');

/** Lists the tools of the hub that the agent may use, without tools whose name another tool of the agent has. */
export async function listHubTools(
  link: HubLink,
  own: readonly AgentTool[],
  signal: AbortSignal,
): Promise<readonly AgentTool[]> {
  const taken = new Set(own.map(({ name }) => keyOf(name)));
  const tools: AgentTool[] = [];
  for (const { name, description, inputSchema } of await link.tools(signal)) {
    const shown = usableName(name);
    if (taken.has(keyOf(shown))) continue;
    taken.add(keyOf(shown));
    // The schema is JSON, because it was parsed from a JSON-RPC response.
    const schema = inputSchema as AgentTool['inputSchema'];
    tools.push({ ...hubTool(link, name, description, schema), name: shown });
  }
  return tools;
}

/** Creates a tool of the agent that calls a tool of the hub. */
export const hubTool = (
  link: HubLink,
  name: string,
  description = '',
  inputSchema: AgentTool['inputSchema'] = { type: 'object' },
): AgentTool => ({
  name,
  description,
  inputSchema,
  call: async (input, ending) => outputOf(await link.call(name, input, ending)),
});

/** Creates the tool `use_agent`, which sends a message to another agent through the hub. */
export const createUseAgent = (link: HubLink, agents: readonly string[]): AgentTool =>
  defineTool(
    'use_agent',
    `Sends a message to another agent and returns its answer. Agents: ${agents.join(', ')}.`,
    z.strictObject({ agent_id: z.enum(agents), message: z.string().min(1) }),
    async (input, signal) => outputOf(await link.call('use_agent', input, signal)),
  );

function outputOf({ content, structuredContent, isError = false }: ToolResult): ToolOutput {
  const texts = content.map(part =>
    part.type === 'text' && typeof part['text'] === 'string'
      ? part['text']
      : `[${part.type} of the tool, which is not text]`,
  );
  const text = texts.length > 0 ? texts.join('\n') : JSON.stringify(structuredContent ?? '');
  return { text, isError };
}

const loadedSchema = z.strictObject({
  name: z.string().regex(/^[a-z][a-z0-9_]{0,62}$/),
  description: z.string(),
  parameters: z.record(z.string(), z.string()),
});

/**
 * Creates the tool `load_tool`, which makes a tool of a Python file in /workspace/tools. The first line of the file is
 * a comment with JSON: name, description, and parameters with a description each. `run` runs a command line with a
 * text on its stdin. `isTaken`: true for names of the agent's own tools, which would be there twice.
 */
export function createLoadTool(
  run: (command: string, input: string, signal: AbortSignal) => Promise<ToolOutput>,
  isTaken: (name: string) => boolean,
  added: (tool: AgentTool) => void,
): AgentTool {
  return defineTool(
    'load_tool',
    `Makes a tool of a Python file in ${workspace}/tools, from the next message on. Its first line is a comment with JSON: # {"name": "...", "description": "...", "parameters": {"text": "what it is"}}. It reads its input as JSON from stdin and prints its result.`,
    z.strictObject({ file: z.string().regex(/^[\w-]+\.py$/) }),
    async ({ file }) => {
      const folder = await inWorkspace('tools');
      const real = await inWorkspace(path.join(folder, file));
      const text = await readFile(real, 'utf8').catch(async () => {
        const names = await readdir(folder).catch(() => []);
        throw new ToolError(
          `file: ${file} is not in ${workspace}/tools, which contains: ${names.join(', ') || 'nothing'}`,
        );
      });
      const [, json = ''] = /^#\s*(\{.*\})/.exec(text) ?? [];
      const { data, error } = loadedSchema.safeParse(tryParse(json));
      if (!data)
        throw new ToolError(
          `${file}: its first line: ${error.issues[0]?.message}. Write # and JSON with name, description and parameters`,
        );
      const { name, description, parameters } = data;
      if (isTaken(name))
        throw new ToolError(
          `${file}: name: an agent has a tool ${name} of its own. Choose another name`,
        );
      const properties: { [key: string]: JSONValue } = Object.fromEntries(
        Object.entries(parameters).map(([key, what]) => [key, { description: what }]),
      );
      added({
        name,
        description,
        inputSchema: { type: 'object', properties },
        call: (input, signal) => run(`python3 '${real}'`, JSON.stringify(input ?? {}), signal),
      });
      return `the tool ${name} can be used from the next message on`;
    },
  );
}

function tryParse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
