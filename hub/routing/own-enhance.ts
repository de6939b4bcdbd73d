import { HubError, isObject } from '#core';
import { RpcError, encodeResult, rawText, rpcCodes, valueOf } from '#jsonrpc';
import type { ListKind } from '#servers';
import type { Call } from './call.ts';
import { throwIfCancelled } from './cancellation.ts';
import { clientNameOf } from './client-name.ts';
import { completeResult } from './dress.ts';
import { ownPromptName, ownToolName } from './own-items.ts';
import type { ImprovedPrompt, PromptSource, PromptStep } from './prompt-source.ts';
import { type Reply, hubReply } from './reply.ts';
import { whileImproving } from './steps/improve.ts';

/**
 * Answers for the hub's own tool or prompt; undefined where the name is of none that is offered. Throws
 * HUB_REQUEST_INVALID where the prompt to be improved is missing.
 */
export function answerOwn(
  kind: ListKind,
  name: string,
  call: Call,
  source: PromptSource | undefined,
): Promise<Reply> | undefined {
  if (!source?.isOffered) return undefined;
  if (kind === 'tool' && name === ownToolName) return callTool(call, source);
  if (kind === 'prompt' && name === ownPromptName) return getPrompt(call, source);
  return undefined;
}

async function callTool(call: Call, source: PromptSource): Promise<Reply> {
  if (call.era === 'legacy' && call.params.has('task'))
    throw new RpcError(
      rpcCodes.methodNotFound,
      'HUB_REQUEST_INVALID',
      `"params.task": ${ownToolName} makes no tasks. Leave "task" out`,
    );
  const given = promptOf(call);
  // A model that reads what is wrong can call again; an error of the protocol it may not be shown.
  if (given.wrong !== undefined) return refuse(call, given.wrong);
  const improved = await improve(call, given.prompt, source);
  return answer(call, {
    content: [{ type: 'text', text: improved.prompt }],
    structuredContent: describe(improved),
  });
}

async function getPrompt(call: Call, source: PromptSource): Promise<Reply> {
  const given = promptOf(call);
  if (given.wrong !== undefined) throw new HubError('HUB_REQUEST_INVALID', given.wrong);
  const improved = await improve(call, given.prompt, source);
  const { enhanced, model, reason } = improved;
  return answer(call, {
    description: enhanced ? `improved by ${model}` : `as it came: ${reason}`,
    messages: [{ role: 'user', content: { type: 'text', text: improved.prompt } }],
  });
}

const refuse = (call: Call, why: string): Reply => ({
  ...answer(call, { content: [{ type: 'text', text: why }], isError: true }),
  outcome: 'tool_error',
});

const answer = ({ id, era }: Call, result: object) =>
  hubReply(encodeResult(id, era === 'modern' ? completeResult(result) : JSON.stringify(result)));

type Given =
  | { readonly prompt: string; readonly wrong?: undefined }
  | { readonly wrong: string; readonly prompt?: undefined };

function promptOf({ request, params }: Call): Given {
  const given: unknown = valueOf(request.bytes, params.get('arguments')) ?? {};
  if (!isObject(given)) return { wrong: 'arguments: write an object: {"prompt": "..."}' };
  const other = Object.keys(given).find(key => key !== 'prompt');
  if (other !== undefined) return { wrong: `${other}: is no argument; "prompt" is the only one` };
  const { prompt } = given;
  if (prompt === undefined) return { wrong: 'prompt: is missing: write a string' };
  if (typeof prompt !== 'string') return { wrong: 'prompt: write a string' };
  return prompt.trim() === '' ? { wrong: 'prompt: must not be empty' } : { prompt };
}

async function improve(call: Call, prompt: string, source: PromptSource): Promise<ImprovedPrompt> {
  const client = clientNameOf(call);
  const improved = await whileImproving(call, signal =>
    source.enhance({ prompt, client }, signal, progressOf(call)),
  );
  throwIfCancelled(call);
  return improved;
}

/** So many characters of a model are told of at once. */
const stepLength = 200;

/** Tells the client how far a model is, where it wants to know. Each notification counts one further. */
function progressOf({ request, meta, exchange }: Call): (step: PromptStep) => void {
  const span = meta?.get('progressToken');
  if (!span) return () => {};
  const token = rawText(request.bytes, span);
  let progress = 0;
  let written = 0;
  let toldOf = 0;
  return ({ step, model, text = '', message }) => {
    written = step === 'text' ? written + text.length : 0;
    if (step === 'text' && written - toldOf < stepLength) return;
    toldOf = written;
    const said =
      step === 'text'
        ? `${model} has written ${written} characters`
        : step === 'failed'
          ? `${model} gave nothing: ${message}`
          : `${model} works on it`;
    exchange.related(
      Buffer.from(
        `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":${token},"progress":${++progress},"message":${JSON.stringify(said)}}}`,
      ),
    );
  };
}

/** What became of a prompt, as the schema of the tool's output has it. */
function describe(improved: ImprovedPrompt): object {
  const { ageMs, tookMs, prompt, enhanced, source, client, rule } = improved;
  const { model, similarity, reason } = improved;
  return {
    prompt,
    enhanced,
    source,
    client,
    rule,
    ...(model !== undefined && { model }),
    ...(similarity !== undefined && { similarity }),
    ...(ageMs !== undefined && { age_ms: ageMs }),
    ...(reason !== undefined && { reason }),
    took_ms: tookMs,
  };
}
