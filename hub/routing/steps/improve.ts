import type { Event } from '#core';
import {
  type Edit,
  type Span,
  elementsOf,
  membersOf,
  readAnswer,
  splice,
  stringAt,
  whole,
} from '#jsonrpc';
import { isStateless, keepsSessions } from '#mcp';
import { type Call, type Reply, type ResolvedCall, type Step } from '../call.ts';
import type { Catalog } from '../catalog.ts';
import { clientNameOf } from '../client-identity.ts';
import { throwIfCancelled, whileCancellable } from '../session.ts';
import type { KeptImprovements } from './kept-improvements.ts';

export type ImprovedPrompt = {
  /** The improved prompt, or the original. */
  readonly prompt: string;
  readonly enhanced: boolean;
  /** Source of the prompt: `model`, `l1`, `l2`, `fallback`, `unchanged` or `disabled`. */
  readonly source: string;
  readonly client: string;
  /** The client whose rule applied, or `default`. */
  readonly rule: string;
  readonly model?: string;
  readonly similarity?: number;
  readonly ageMs?: number;
  /** The reason if the prompt is unchanged, or if no cache was used. */
  readonly reason?: string;
  readonly tookMs: number;
};

/** Progress of an improvement: a model starts, writes text, or returned nothing. */
export type PromptStep = {
  readonly step: string;
  readonly model: string;
  readonly text?: string;
  readonly message?: string;
};

/** The prompt improver, as used by calls. */
export interface PromptSource {
  /** True if the hub offers prompt improvement to clients: an Ollama server is configured, and a rule uses it. */
  readonly isOffered: boolean;
  readonly changed: Event<void>;
  /** Rules that name tools or servers' prompts; undefined if no rule does, which is the usual case. */
  readonly named: NamedByRules | undefined;
  /** Returns the improved prompt, or the original with the reason. Rejects only if the signal is aborted. */
  enhance(
    request: { readonly prompt: string; readonly client: string | undefined },
    signal: AbortSignal,
    tell?: (step: PromptStep) => void,
  ): Promise<ImprovedPrompt>;
}

/** Rules for calls, by names on the endpoint of all servers. */
export interface NamedByRules {
  /** Returns the names of the arguments of a tool that are prompts, by the rule of the client. */
  argumentsOf(tool: string, client: string | undefined): readonly string[] | undefined;
  /** True if the user messages of a server's prompt are improved for the client. */
  improves(prompt: string, client: string | undefined): boolean;
}

/** Maximum number of texts that are improved in one call. Further texts are forwarded unchanged. */
const maxTexts = 16;
/** Maximum number of messages of a prompt that are read. */
const maxMessages = 100;

const kinds: ReadonlyMap<string, 'tool' | 'prompt'> = new Map([
  ['tools/call', 'tool'],
  ['prompts/get', 'prompt'],
]);

type ImproveNeeds = {
  readonly source: PromptSource | undefined;
  readonly catalog: Pick<Catalog, 'findAt'>;
  /** Keeps improvements for calls that a person has to approve. Absent: the hub keeps no approvals. */
  readonly kept: KeptImprovements | undefined;
};

/**
 * Creates the step that improves the prompts in the arguments of a tool, or in the user messages of a server's prompt,
 * if the rule of the client says so and within its time. Undefined if the hub improves no prompts.
 */
export function createImproveStep({ source, catalog, kept }: ImproveNeeds): Step | undefined {
  if (!source) return undefined;

  /** Returns the item's name on the endpoint of all servers. */
  function publicNameOf({ call, server, name }: ResolvedCall, kind: 'tool' | 'prompt') {
    if (call.session.endpoint === 'all') return name;
    return server && name !== undefined
      ? catalog.findAt(server, kind, name)?.publicName
      : undefined;
  }

  return (resolved, next) => {
    const { call, server, edits } = resolved;
    const { named } = source;
    const kind = named && server && kinds.get(call.request.method);
    const publicName = kind && publicNameOf(resolved, kind);
    if (!named || publicName === undefined) return next(resolved);
    const client = clientNameOf(call);
    if (kind === 'prompt' && named.improves(publicName, client))
      return Promise.resolve(next(resolved)).then(reply => withBetterMessages(call, reply, source));
    const names = kind === 'tool' ? named.argumentsOf(publicName, client) : undefined;
    // A request with the client's answers continues a call that was already improved.
    if (!names) return next(resolved);
    const given = membersOf(call.request.bytes, call.params.get('arguments'));
    const spans = names.flatMap(name => given?.get(name) ?? []);
    const texts = textsIn(call.request.bytes, spans);
    const shown = resolved.confirmed && kept?.find(resolved);
    if (shown) return next({ ...resolved, edits: [...edits, ...editsOf(texts, shown)] });
    if (isAnswering(resolved)) return next(resolved);
    const improve = async (): Promise<Reply> => {
      const better = await betterTexts(call, texts, source);
      if (resolved.confirmed) kept?.keep(resolved, better);
      return await next({ ...resolved, edits: [...edits, ...editsOf(texts, better)] });
    };
    return improve();
  };
}

/** True if the request continues a call at a server with sessions. */
const isAnswering = ({ call, server }: ResolvedCall) =>
  isStateless(call) &&
  call.params.has('requestState') &&
  keepsSessions(server?.running?.serverInfo);

async function withBetterMessages(call: Call, reply: Reply, source: PromptSource): Promise<Reply> {
  const bytes = whole(reply.bytes);
  const { failed, payload } = readAnswer(bytes);
  const messages = failed ? undefined : membersOf(bytes, payload)?.get('messages');
  const spans = elementsOf(bytes, messages, maxMessages).flatMap(message => {
    const members = membersOf(bytes, message);
    if (stringAt(bytes, members?.get('role')) !== 'user') return [];
    const content = membersOf(bytes, members?.get('content'));
    return stringAt(bytes, content?.get('type')) === 'text' ? (content?.get('text') ?? []) : [];
  });
  const texts = textsIn(bytes, spans);
  const edits = editsOf(texts, await betterTexts(call, texts, source));
  return edits.length === 0 ? reply : { ...reply, bytes: splice(bytes, edits) };
}

type PromptText = { readonly span: Span; readonly prompt: string };

/** Reads the strings in these spans. Other values are ignored. */
const textsIn = (bytes: Buffer, spans: readonly Span[]): readonly PromptText[] =>
  spans.slice(0, maxTexts).flatMap(span => {
    const prompt = stringAt(bytes, span);
    return prompt === undefined ? [] : [{ span, prompt }];
  });

const editsOf = (
  texts: readonly PromptText[],
  better: ReadonlyMap<string, string>,
): readonly Edit[] =>
  texts.flatMap(({ span, prompt }) => {
    const text = better.get(prompt);
    return text === undefined ? [] : [{ span, text: JSON.stringify(text) }];
  });

/** Maps original texts to improved texts, without texts that stay the same. Throws HUB_CALL_CANCELLED. */
async function betterTexts(
  call: Call,
  texts: readonly PromptText[],
  source: PromptSource,
): Promise<ReadonlyMap<string, string>> {
  if (texts.length === 0) return new Map();
  const client = clientNameOf(call);
  const prompts = [...new Set(texts.map(({ prompt }) => prompt))];
  const improved = await whileCancellable(call, signal =>
    Promise.all(
      prompts.map(async prompt => {
        const { enhanced, prompt: better } = await source.enhance({ prompt, client }, signal);
        return enhanced ? [[prompt, better] as const] : [];
      }),
    ),
  );
  throwIfCancelled(call);
  return new Map(improved.flat());
}
