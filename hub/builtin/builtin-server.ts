import {
  type Event,
  type JsonObject,
  HubError,
  firstProblems,
  shortened,
  shown,
  typeInWords,
} from '#core';
import type { Principal } from '#policy';
import type { ListKind } from '#servers';
import type { ElicitationAnswer, ElicitationQuestion } from '#upstream';
import { z } from 'zod';

/** Maximum time in ms that a call waits for work that goes on without it. Less than the timeout of calls (`server.ts`). */
export const maxWaitMs = 9 * 60_000;

/** An MCP server in the hub's process. It is listed, called, limited, observed and shown like any other. */
export interface BuiltinServer {
  readonly name: string;
  readonly description: string;
  /** Returns the current tools. `changed` fires with the kind of a list that changes. */
  readonly tools: () => readonly BuiltinTool[];
  readonly prompts: () => readonly BuiltinPrompt[];
  readonly resources: readonly BuiltinResource[];
  readonly changed: Event<ListKind>;
  /** True if clients may call some of its tools as tasks. */
  readonly hasTasks?: boolean;
}

/** The caller of a request, and the means to report back to it. */
export type BuiltinContext = {
  readonly principal: Principal | undefined;
  /** Name in the client's `clientInfo`. */
  readonly client: string | undefined;
  /** Aborted when the client cancels the request, or at its timeout. */
  readonly signal: AbortSignal;
  /** Sends a progress notification if the client requested progress. */
  readonly progress: (message: string) => void;
  /**
   * Asks the client's user. Resolves with undefined if the client cannot. Do not catch its rejection, and change
   * nothing before it: the call of a stateless client ends here, and is repeated with the answer.
   */
  readonly elicit: (question: ElicitationQuestion) => Promise<ElicitationAnswer | undefined>;
};

export type BuiltinItem = {
  readonly name: string;
  /** Name on the endpoint of all servers. Default: derived from the names of the server and the item. */
  readonly publicName?: string;
  /** Definition of the item in lists, as JSON text. */
  readonly description: string;
};

export type BuiltinTool = BuiltinItem & {
  /** Public names of the tools that this tool calls. The tool is listed only if the client may see one of them. */
  readonly calls?: readonly string[];
  /** `administer`: the tool is hidden from principals without that grant. */
  readonly scope: 'call' | 'administer';
  /** Calls the tool. Rejects with HubError, which the client gets as a tool error. */
  readonly call: (args: unknown, context: BuiltinContext) => Promise<ToolResult | ForeignResult>;
  /** Starts the tool as a task. Rejects with HubError. Absent: the tool cannot be called as a task. */
  readonly begin?: (args: unknown, context: BuiltinContext) => Promise<BuiltinTask>;
};

export type ToolResult = {
  readonly text: string;
  readonly structured: JsonObject;
  /** True if the tool failed. The text gives the reason. */
  readonly isError?: boolean;
};

/** Returns a result whose text is the JSON of its structured content. */
export const structuredResult = (structured: JsonObject): ToolResult => ({
  text: JSON.stringify(structured),
  structured,
});

/** Annotations of a tool that changes nothing. */
export const readOnly = { readOnlyHint: true, openWorldHint: false };

/** A result with content blocks from other tools. */
export type ForeignResult = {
  readonly content: readonly JsonObject[];
  readonly structuredContent?: JsonObject;
  readonly isError?: boolean;
  readonly _meta?: JsonObject;
};

/** Work of a tool that continues after its call was answered with a task. */
export type BuiltinTask = {
  readonly id: string;
  /** Returns the current activity in words for people. */
  readonly doing: () => string | undefined;
  /** Fires when `doing` may have changed. */
  readonly changed: Event<unknown>;
  /** Rejects with HubError if the task failed, and with HUB_CALL_CANCELLED if it was cancelled. */
  readonly result: Promise<ToolResult>;
  readonly cancel: () => Promise<unknown>;
};

export type BuiltinPrompt = BuiltinItem & {
  /** Returns the prompt. Rejects with HubError. */
  readonly get: (args: unknown, context: BuiltinContext) => Promise<PromptResult>;
};

type PromptResult = { readonly description: string; readonly text: string };

export type BuiltinResource = {
  readonly uri: string;
  /** Definition of the resource in lists, as JSON text. */
  readonly description: string;
  readonly mimeType: string;
  readonly read: () => string | Promise<string>;
  /** Calls `changed` when the content of the resource has changed, until disposed. */
  readonly watch: (changed: () => void) => Disposable;
};

type Definition<Args> = Pick<BuiltinItem, 'name' | 'publicName'> & {
  readonly title: string;
  readonly description: string;
  readonly args: z.ZodType<Args>;
};

/** Defines a tool. Its handler gets parsed and validated arguments. */
export function defineTool<Args>({
  args: schema,
  handler,
  begin,
  annotations,
  outputSchema,
  scope,
  ...tool
}: Definition<Args> &
  Pick<BuiltinTool, 'scope'> & {
    readonly annotations: object;
    readonly outputSchema?: object;
    readonly handler: (args: Args, context: BuiltinContext) => Promise<ToolResult>;
    readonly begin?: (args: Args, context: BuiltinContext) => Promise<BuiltinTask>;
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
      ...(begin && { execution: { taskSupport: 'optional' } }),
    }),
    call: async (given, context) => await handler(parseArguments(schema, given), context),
    ...(begin && {
      begin: async (given: unknown, context: BuiltinContext) =>
        await begin(parseArguments(schema, given), context),
    }),
  };
}

/** Defines a prompt. Its handler gets parsed and validated arguments. */
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

export function describeArguments(schema: z.ZodType): object {
  const { $schema: _, ...described } = z.toJSONSchema(schema, { io: 'input' });
  return described;
}

/** Parses the arguments of a call. Throws HUB_REQUEST_INVALID, which names each field, its value and the remedy. */
export function parseArguments<Args>(schema: z.ZodType<Args>, given: unknown): Args {
  const parsed = schema.safeParse(given ?? {}, { reportInput: true });
  if (parsed.success) return parsed.data;
  const known = schema instanceof z.ZodObject ? Object.keys(schema.shape) : [];
  const problems = parsed.error.issues.map(issue => describeIssue(issue, known));
  throw new HubError('HUB_REQUEST_INVALID', firstProblems(problems).join('; '));
}

function describeIssue(issue: z.core.$ZodIssue, known: readonly string[]): string {
  const field = issue.path.join('.') || 'arguments';
  if (issue.code === 'unrecognized_keys') {
    const [key = ''] = issue.keys;
    const allowed = known.map(name => JSON.stringify(name));
    const remedy =
      allowed.length === 1
        ? `${allowed[0]} is the only one`
        : allowed.length === 0
          ? 'leave it out, as there are none'
          : `the arguments are ${allowed.join(' and ')}`;
    return `${shortened(key)}: is not an argument; ${remedy}`;
  }
  if (issue.code === 'invalid_type') {
    const remedy = `write ${typeInWords(issue.expected)}`;
    return issue.input === undefined
      ? `${field}: is missing: ${remedy}`
      : `${field}: ${remedy}, not ${shown(issue.input)}`;
  }
  if (issue.code === 'too_small' && issue.origin === 'string') return `${field}: must not be empty`;
  if (issue.code === 'too_big' && issue.origin === 'string')
    return `${field}: ${shown(issue.input)} is too long: write at most ${issue.maximum} characters`;
  if (issue.code === 'too_small')
    return `${field}: ${shown(issue.input)} is too small: write ${issue.minimum} or more`;
  if (issue.code === 'too_big')
    return `${field}: ${shown(issue.input)} is too large: write ${issue.maximum} or less`;
  return `${field}: ${issue.message}`;
}
