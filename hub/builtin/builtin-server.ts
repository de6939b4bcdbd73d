import { type Event, type JsonObject, HubError, shown, typeInWords } from '#core';
import type { Principal } from '#policy';
import type { ListKind } from '#servers';
import type { ElicitationAnswer, ElicitationQuestion } from '#upstream';
import { z } from 'zod';

/** An MCP server in this process: listed, called, limited, observed and shown like any other. */
export interface BuiltinServer {
  readonly name: string;
  readonly description: string;
  /** What is offered now; `changed` fires with the list that differs. */
  readonly tools: () => readonly BuiltinTool[];
  readonly prompts: () => readonly BuiltinPrompt[];
  readonly resources: readonly BuiltinResource[];
  readonly changed: Event<ListKind>;
  /** Whether tools of it can be called as tasks. */
  readonly hasTasks?: boolean;
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
  /**
   * Asks the user of the client, and resolves with undefined if the client cannot. Rejections must not be caught, and
   * nothing may be done before: the call of a stateless client ends here, and begins again with the answer.
   */
  readonly elicit: (question: ElicitationQuestion) => Promise<ElicitationAnswer | undefined>;
};

export type BuiltinItem = {
  readonly name: string;
  /** Name on the endpoint of all servers. Default: made from the names of server and item, as for any server. */
  readonly publicName?: string;
  /** The item as a list has it, as JSON text. */
  readonly description: string;
};

export type BuiltinTool = BuiltinItem & {
  /** Public names of the tools that it calls. It is listed only for clients for which one of them is listed. */
  readonly calls?: readonly string[];
  /** `administer`: to principals without that grant, the tool does not exist. */
  readonly scope: 'call' | 'administer';
  /** Rejects with HubError, which the client gets as a tool error. */
  readonly call: (args: unknown, context: BuiltinContext) => Promise<ToolResult | ForeignResult>;
  /** Begins the work as a task. Rejects with HubError. Absent: the tool makes no tasks. */
  readonly begin?: (args: unknown, context: BuiltinContext) => Promise<BuiltinTask>;
};

export type ToolResult = {
  readonly text: string;
  readonly structured: JsonObject;
  /** The text says why the tool failed. */
  readonly isError?: boolean;
};

/** A result whose text is its JSON. */
export const structuredResult = (structured: JsonObject): ToolResult => ({
  text: JSON.stringify(structured),
  structured,
});

/** A result with the content blocks of other tools. */
export type ForeignResult = {
  readonly content: readonly JsonObject[];
  readonly structuredContent?: JsonObject;
  readonly isError?: boolean;
  readonly _meta?: JsonObject;
};

/** Work of a tool that goes on after its call was answered. */
export type BuiltinTask = {
  readonly id: string;
  /** What it does now, for people. */
  readonly doing: () => string | undefined;
  /** Fires when `doing` may have changed. */
  readonly changed: Event<unknown>;
  /** Rejects with HubError if it failed, with HUB_CALL_CANCELLED if it was cancelled. */
  readonly result: Promise<ToolResult>;
  readonly cancel: () => Promise<unknown>;
};

export type BuiltinPrompt = BuiltinItem & {
  /** Rejects with HubError. */
  readonly get: (args: unknown, context: BuiltinContext) => Promise<PromptResult>;
};

type PromptResult = { readonly description: string; readonly text: string };

export type BuiltinResource = {
  readonly uri: string;
  /** The resource as a list has it, as JSON text. */
  readonly description: string;
  readonly mimeType: string;
  readonly read: () => string | Promise<string>;
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

export function describeArguments(schema: z.ZodType): object {
  const { $schema: _, ...described } = z.toJSONSchema(schema, { io: 'input' });
  return described;
}

/** Checks the arguments of a call. Throws HUB_REQUEST_INVALID, which names each field, its value and the remedy. */
export function parseArguments<Args>(schema: z.ZodType<Args>, given: unknown): Args {
  const parsed = schema.safeParse(given ?? {}, { reportInput: true });
  if (parsed.success) return parsed.data;
  const known = schema instanceof z.ZodObject ? Object.keys(schema.shape) : [];
  const problems = parsed.error.issues.map(issue => describeIssue(issue, known));
  throw new HubError('HUB_REQUEST_INVALID', problems.join('; '));
}

function describeIssue(issue: z.core.$ZodIssue, known: readonly string[]): string {
  const field = issue.path.join('.') || 'arguments';
  if (issue.code === 'unrecognized_keys') {
    const [key] = issue.keys;
    const allowed = known.map(name => JSON.stringify(name));
    const remedy =
      allowed.length === 1
        ? `${allowed[0]} is the only one`
        : allowed.length === 0
          ? 'leave it out, as there are none'
          : `the arguments are ${allowed.join(' and ')}`;
    return `${key}: is not an argument; ${remedy}`;
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
