import type { JSONValue } from '@strands-agents/sdk';
import { z } from 'zod';
import type { AgentTool, ToolOutput } from '../types.ts';
import { ToolError } from './workspace.ts';

/** Creates a tool that validates its input. The ToolError for invalid input names the wrong member and the schema. */
export function defineTool<T extends z.ZodObject>(
  name: string,
  description: string,
  schema: T,
  work: (input: z.output<T>, signal: AbortSignal) => Promise<string | ToolOutput>,
): AgentTool {
  return {
    name,
    description,
    inputSchema: z.toJSONSchema(schema) as { readonly [key: string]: JSONValue }, // A JSON schema is JSON.
    async call(input, signal) {
      const { data, error } = schema.safeParse(input);
      if (!data) {
        const [issue] = error?.issues ?? [];
        const member = issue?.path.join('.') ?? '';
        throw new ToolError(
          `${name}: ${member === '' ? 'the input' : member}: ${issue?.message}. It takes ${JSON.stringify(z.toJSONSchema(schema).properties)}`,
        );
      }
      const output = await work(data, signal);
      return typeof output === 'string' ? { text: output } : output;
    },
  };
}

/** Runs the calls of these tools one after another, in their order: the runtime makes the calls of an answer at once. */
export function inTurns(tools: readonly AgentTool[]): readonly AgentTool[] {
  let last: Promise<unknown> = Promise.resolve();
  return tools.map(tool => ({
    ...tool,
    call(input, signal) {
      const output = last.then(async () => {
        signal.throwIfAborted();
        return await tool.call(input, signal);
      });
      last = output.catch(() => undefined); // The caller gets the error.
      return output;
    },
  }));
}
