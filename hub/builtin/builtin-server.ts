import type { Event, JsonObject } from '#core';
import type { Principal } from '#policy';
import type { ListKind } from '#servers';
import type { z } from 'zod';
import { describeArguments, parseArguments } from './arguments.ts';

/** An MCP server in this process: listed, called, limited, observed and shown like any other. */
export interface BuiltinServer {
  readonly name: string;
  readonly description: string;
  /** What is offered now; `changed` fires with the list that differs. */
  readonly tools: () => readonly BuiltinTool[];
  readonly prompts: () => readonly BuiltinPrompt[];
  readonly resources: readonly BuiltinResource[];
  readonly changed: Event<ListKind>;
}

/** Who made a request, and how its handler reports back. */
export type BuiltinContext = {
  readonly principal: Principal | undefined;
  /** The name that the client gave itself. */
  readonly client: string | undefined;
  /** Aborted when the client cancels the request, or when its time is up. */
  readonly signal: AbortSignal;
  /** Sends a progress notification if the client asked for them. */
  readonly progress: (message: string) => void;
};

export type BuiltinItem = {
  readonly name: string;
  /** Name on the endpoint of all servers. Default: made from the names of server and item, as for any server. */
  readonly publicName?: string;
  /** The item as a list has it, as JSON text. */
  readonly description: string;
};

export type BuiltinTool = BuiltinItem & {
  /** `administer`: to principals without that grant, the tool does not exist. */
  readonly scope: 'call' | 'administer';
  /** Rejects with HubError, which the client gets as a tool error. */
  readonly call: (args: unknown, context: BuiltinContext) => Promise<ToolResult>;
};

export type ToolResult = { readonly text: string; readonly structured: JsonObject };

export type BuiltinPrompt = BuiltinItem & {
  /** Rejects with HubError. */
  readonly get: (args: unknown, context: BuiltinContext) => Promise<PromptResult>;
};

export type PromptResult = { readonly description: string; readonly text: string };

export type BuiltinResource = {
  readonly uri: string;
  /** The resource as a list has it, as JSON text. */
  readonly description: string;
  readonly mimeType: string;
  readonly read: () => string;
  /** Calls `changed` when `read` returns something else, until disposed. */
  readonly watch: (changed: () => void) => Disposable;
};

type Definition<Args> = Pick<BuiltinItem, 'name' | 'publicName'> & {
  readonly title: string;
  readonly description: string;
  readonly args: z.ZodType<Args>;
};

/** A tool whose handler gets checked arguments. */
export function defineTool<Args>({
  args: schema,
  handler,
  annotations,
  outputSchema,
  scope,
  ...tool
}: Definition<Args> &
  Pick<BuiltinTool, 'scope'> & {
    readonly annotations: object;
    readonly outputSchema?: object;
    readonly handler: (args: Args, context: BuiltinContext) => Promise<ToolResult>;
  }): BuiltinTool {
  const { name, title, description } = tool;
  const inputSchema = describeArguments(schema);
  return {
    ...tool,
    scope,
    description: JSON.stringify({
      name,
      title,
      description,
      inputSchema,
      outputSchema,
      annotations: { title, ...annotations },
    }),
    call: async (given, context) => await handler(parseArguments(schema, given), context),
  };
}

/** A prompt whose handler gets checked arguments. */
export function definePrompt<Args>({
  args: schema,
  handler,
  arguments: described,
  ...prompt
}: Definition<Args> & {
  readonly arguments: readonly object[];
  readonly handler: (args: Args, context: BuiltinContext) => Promise<PromptResult>;
}): BuiltinPrompt {
  const { name, title, description } = prompt;
  return {
    ...prompt,
    description: JSON.stringify({ name, title, description, arguments: described }),
    get: async (given, context) => await handler(parseArguments(schema, given), context),
  };
}
