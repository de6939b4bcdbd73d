import { setTimeout as delay } from 'node:timers/promises';
import {
  type BaseModelConfig,
  ContextWindowOverflowError,
  type JSONValue,
  type Message,
  Model,
  type ModelStreamEvent,
  type StreamOptions,
} from '@strands-agents/sdk';
import { resultText } from './conversation.ts';
import { HubFailure, type HubLink, contextFull } from './hub-link.ts';
import type { Usage } from './types.ts';

/** Delays in ms before the retries of a request that failed with a retryable error. */
const retryMs = [1_000, 2_000, 4_000];
/** Maximum length of an answer in tokens. */
const maxTokens = 4_096;
const cutNote = '[The answer was cut off at its maximum length.]';

type Options = {
  readonly link: HubLink;
  readonly model: string | undefined;
  /** Aborted when the turn is cancelled. */
  readonly signal: AbortSignal;
};

/**
 * Makes the hub's models usable by the agent runtime: sends sampling/createMessage requests (MCP 2025-11-25) to the
 * hub.
 */
export class HubModel extends Model<BaseModelConfig> {
  readonly #options: Options;
  readonly usage: Usage = { input_tokens: 0, output_tokens: 0, model_calls: 0 };
  /** Name of the model that answered last. */
  answeredBy: string | undefined;
  /** Error of the last request, if it failed. Stored here because the runtime wraps errors. */
  failure: HubFailure | undefined;
  /** Characters per token of the last request; undefined if the hub does not report its tokens. */
  charsPerToken: number | undefined;
  /** Called with the name of each tool that the model calls, before the runtime looks for it. */
  calling: ((name: string) => void) | undefined;

  constructor(options: Options) {
    super();
    this.#options = options;
  }

  override updateConfig(): void {}

  override getConfig(): BaseModelConfig {
    return { modelId: this.#options.model ?? 'default' };
  }

  /** Resolves with the model's answer to a prompt without tools, as text. */
  async ask(system: string, text: string): Promise<string> {
    const messages = [{ role: 'user', content: [{ type: 'text', text }] }];
    const content = await this.#complete({ systemPrompt: system, messages, tools: [] });
    return content.flatMap(block => (block.type === 'text' ? [block.text] : [])).join('\n');
  }

  override async *stream(
    messages: Message[],
    options?: StreamOptions,
  ): AsyncIterable<ModelStreamEvent> {
    const { systemPrompt, toolSpecs = [], toolChoice } = options ?? {};
    const content = await this.#complete({
      ...(typeof systemPrompt === 'string' && { systemPrompt }),
      messages: messages.map(written),
      tools: toolSpecs.map(({ name, description, inputSchema }) => ({
        name,
        description,
        inputSchema: inputSchema ?? { type: 'object' },
      })),
      ...(toolSpecs.length > 0 && {
        toolChoice: { mode: toolChoice && 'any' in toolChoice ? 'required' : 'auto' },
      }),
    });
    for (const block of content) if (block.type === 'tool_use') this.calling?.(block.name);
    yield { type: 'modelMessageStartEvent', role: 'assistant' };
    for (const block of content) {
      if (block.type === 'text') {
        yield { type: 'modelContentBlockStartEvent' };
        yield {
          type: 'modelContentBlockDeltaEvent',
          delta: { type: 'textDelta', text: block.text },
        };
      } else {
        const { id: toolUseId, name, input } = block;
        yield {
          type: 'modelContentBlockStartEvent',
          start: { type: 'toolUseStart', name, toolUseId },
        };
        yield {
          type: 'modelContentBlockDeltaEvent',
          delta: { type: 'toolUseInputDelta', input: JSON.stringify(input) },
        };
      }
      yield { type: 'modelContentBlockStopEvent' };
    }
    // The stop reason depends on the content only: after an answer with tool calls the turn continues.
    const stopReason = content.some(({ type }) => type === 'tool_use') ? 'toolUse' : 'endTurn';
    yield { type: 'modelMessageStopEvent', stopReason };
  }

  async #complete(params: { [key: string]: unknown }): Promise<readonly AnswerBlock[]> {
    const { link, model, signal } = this.#options;
    const request = {
      ...params,
      maxTokens,
      ...(model !== undefined && { modelPreferences: { hints: [{ name: model }] } }),
    };
    for (let attempt = 0; ; attempt++) {
      this.failure = undefined;
      try {
        const answer = await link.complete(request, signal);
        this.usage.model_calls++;
        this.answeredBy = answer.model;
        const used = answer._meta?.['agenthub/usage'];
        const inputTokens = numberAt(used, 'input_tokens');
        this.usage.input_tokens += inputTokens;
        if (inputTokens > 0) this.charsPerToken = JSON.stringify(params).length / inputTokens;
        this.usage.output_tokens += numberAt(used, 'output_tokens');
        const blocks = [answer.content].flat().flatMap(readBlock);
        const isCut = answer['stopReason'] === 'maxTokens';
        return isCut ? [...blocks, { type: 'text', text: cutNote }] : blocks;
      } catch (error) {
        if (!(error instanceof HubFailure)) throw error;
        this.failure = error;
        // The runtime then shortens results of tools or drops the oldest messages, and asks again.
        if (error.code === contextFull) throw new ContextWindowOverflowError(error.message);
        const pause = retryMs[attempt];
        if (!error.isRetryable || pause === undefined) throw error;
        await delay(pause, undefined, { signal });
      }
    }
  }
}

type AnswerBlock =
  | { readonly type: 'text'; readonly text: string }
  | {
      readonly type: 'tool_use';
      readonly id: string;
      readonly name: string;
      readonly input: JSONValue;
    };

function numberAt(value: unknown, key: string): number {
  if (typeof value !== 'object' || value === null) return 0;
  const found: unknown = Reflect.get(value, key);
  return typeof found === 'number' ? found : 0;
}

function readBlock(block: {
  readonly type: string;
  readonly [key: string]: unknown;
}): readonly AnswerBlock[] {
  const { type, text, id, name, input } = block;
  if (type === 'text' && typeof text === 'string' && text !== '') return [{ type, text }];
  if (type === 'tool_use' && typeof id === 'string' && typeof name === 'string')
    return [{ type, id, name: plainName(name), input: (input ?? {}) as JSONValue }]; // Parsed from JSON.
  return [];
}

/**
 * Returns a name of a tool, but another one for `__proto__`: the runtime counts calls in an object by these names, and
 * would count that one on the prototype of all objects, after which it never answers again.
 */
const plainName = (name: string) => (name === '__proto__' ? '_proto_' : name);

/** Converts a message of the agent runtime to a sampling message of MCP. */
function written({ role, content }: Message) {
  return {
    role,
    content: content.flatMap((block): readonly object[] => {
      if (block.type === 'textBlock')
        return block.text === '' ? [] : [{ type: 'text', text: block.text }];
      if (block.type === 'toolUseBlock')
        return [{ type: 'tool_use', id: block.toolUseId, name: block.name, input: block.input }];
      if (block.type !== 'toolResultBlock') return [];
      return [
        {
          type: 'tool_result',
          toolUseId: block.toolUseId,
          content: [{ type: 'text', text: resultText(block) }],
          isError: block.status === 'error',
        },
      ];
    }),
  };
}
