import { type Edit, type Span, elementsOf, membersOf, splice, stringAt } from '#rpc';
import type { ListKind, Server } from '#servers';
import { type Call, needWanted } from './call.ts';
import { clientNameOf } from './client-name.ts';
import type { MethodNeeds } from './method.ts';
import type { PromptSource } from './prompt-source.ts';
import { relay } from './relay.ts';
import { readAnswer } from './send.ts';

/** More texts of one call are passed on as they are. */
const maxTexts = 16;
/** The messages of a prompt that are looked at. */
const maxMessages = 100;

/** Where a call goes, and what the thing it asks for is called on the endpoint of all servers. */
export type Destination = { readonly server: Server; readonly publicName: string };

/**
 * Passes a request on. Where the rule of its client says so, the prompts in it are improved before (arguments of
 * a tool), or those in its answer after (what a prompt says for the user): their strings are replaced in the
 * bytes, and all else stays. What cannot be improved goes on as it came, within the time of the rule.
 */
export function relayBetter(
  kind: ListKind,
  call: Call,
  edits: readonly Edit[],
  { server, publicName }: Destination,
  needs: MethodNeeds,
): Promise<Buffer> {
  const source = needs.prompts;
  const named = source?.named;
  if (!named) return relay(call, edits, server, needs);
  const client = clientNameOf(call);
  if (kind === 'prompt' && named.improves(publicName, client))
    return relay(call, edits, server, needs).then(bytes => withBetterMessages(call, bytes, source));
  const names = kind === 'tool' ? named.argumentsOf(publicName, client) : undefined;
  // What a client answers to a server goes to the call that it asked in.
  if (!names || isAnswering(call, server)) return relay(call, edits, server, needs);
  const given = membersOf(call.request.bytes, call.params.get('arguments'));
  const spans = names.flatMap(name => given?.get(name) ?? []);
  return betterTexts(call, call.request.bytes, spans, source).then(better =>
    relay(call, [...edits, ...better], server, needs),
  );
}

/** The same for the endpoint of one server, which has its own names for things. */
export function relayBetterAtOne(call: Call, server: Server, needs: MethodNeeds): Promise<Buffer> {
  const { method, bytes } = call.request;
  const kind = method === 'tools/call' ? 'tool' : method === 'prompts/get' ? 'prompt' : undefined;
  const name = kind && stringAt(bytes, call.params.get('name'));
  const entry =
    kind && needs.catalog.list(kind).find(one => one.server === server && one.name === name);
  return kind && entry ? relayBetter(kind, call, [], entry, needs) : relay(call, [], server, needs);
}

/** Whether the request goes on with a call that a server with sessions works on already. */
const isAnswering = ({ era, params }: Call, { running }: Server) =>
  era === 'modern' && params.has('requestState') && running?.introduction.era === 'legacy';

async function withBetterMessages(
  call: Call,
  bytes: Buffer,
  source: PromptSource,
): Promise<Buffer> {
  const { failed, payload } = readAnswer(bytes);
  const messages = failed ? undefined : membersOf(bytes, payload)?.get('messages');
  const spans = elementsOf(bytes, messages, maxMessages).flatMap(message => {
    const members = membersOf(bytes, message);
    if (stringAt(bytes, members?.get('role')) !== 'user') return [];
    const content = membersOf(bytes, members?.get('content'));
    return stringAt(bytes, content?.get('type')) === 'text' ? (content?.get('text') ?? []) : [];
  });
  const edits = await betterTexts(call, bytes, spans, source);
  return edits.length === 0 ? bytes : splice(bytes, edits);
}

/** The edits by which the strings in these spans are better. Throws HUB_CALL_CANCELLED where nobody waits any more. */
async function betterTexts(
  call: Call,
  bytes: Buffer,
  spans: readonly Span[],
  source: PromptSource,
): Promise<readonly Edit[]> {
  const client = clientNameOf(call);
  const texts = spans.slice(0, maxTexts).flatMap(span => {
    const prompt = stringAt(bytes, span);
    return prompt === undefined ? [] : [{ span, prompt }];
  });
  if (texts.length === 0) return [];
  const improved = await whileImproving(call, signal =>
    Promise.all(
      texts.map(async ({ span, prompt }) => ({
        span,
        ...(await source.enhance({ prompt, client }, signal)),
      })),
    ),
  );
  needWanted(call);
  return improved
    .filter(({ enhanced }) => enhanced)
    .map(({ span, prompt }) => ({ span, text: JSON.stringify(prompt) }));
}

/** Has a call wait for work that its client can have given up. Throws HUB_CALL_CANCELLED where it does. */
export async function whileImproving<T>(
  call: Call,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  needWanted(call);
  const ended = new AbortController();
  call.flight = { cancel: reason => ended.abort(reason) };
  try {
    return await work(ended.signal);
  } catch (error) {
    needWanted(call);
    throw error;
  } finally {
    call.flight = undefined;
  }
}
