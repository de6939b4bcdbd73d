import { isObject } from '#core';
import type { Fault } from './ollama-faults.ts';
import { type DoubleModel, tokensOf } from './ollama-models.ts';

/** Reply of a model, and the fault with which it is sent. */
export type Reply = {
  readonly text: string;
  /** Tool calls, sent after the text. */
  readonly toolCalls?: readonly ReplyCall[];
  /** Chunks in which the text is streamed. Default: its words. */
  readonly pieces?: readonly string[];
  readonly thinking?: string;
  readonly doneReason?: 'stop' | 'length';
  /** False: leave out the fields that Ollama may omit, such as counts, durations and `done_reason`. */
  readonly hasCounts?: boolean;
  /** Fault with which this answer is sent. */
  readonly fault?: Fault;
};

type ReplyCall = {
  /** Id of the call, which Ollama sends since 0.24. */
  readonly id?: string;
  readonly name: string;
  readonly arguments: object;
};

/** Body of a request to Ollama. */
export type Asked = { readonly [key: string]: unknown };

/** Returns the reply of a model, cut at `num_predict` tokens; undefined if the prompt does not fit the context. */
export async function tellOf(
  asked: Asked,
  model: DoubleModel,
  prompt: string,
  world: {
    readonly reply: (asked: Asked) => Reply | Promise<Reply>;
    readonly promptTokenMs?: number;
  },
) {
  const { promptTokenMs } = world;
  const options = isObject(asked['options']) ? asked['options'] : {};
  const window = Number(options['num_ctx'] ?? model.contextLength);
  if (asked['truncate'] === false && tokensOf(prompt) > window) return undefined;
  const reply = await world.reply(asked);
  const { text, thinking = '', doneReason = 'stop', hasCounts = true } = reply;
  const most = Number(options['num_predict'] ?? -1);
  const isCut = most >= 0 && tokensOf(text) > most;
  const kept = isCut ? piecesOf(text).slice(0, most).join('') : text;
  return {
    text: kept,
    pieces: reply.pieces ?? piecesOf(kept),
    toolCalls: isCut ? [] : (reply.toolCalls ?? []),
    thinking,
    fault: reply.fault,
    figures: (isLoad: boolean) =>
      hasCounts
        ? {
            done_reason: isCut ? 'length' : doneReason,
            total_duration: 174_560_334,
            load_duration: isLoad ? 101_397_084 : 1_397_084,
            prompt_eval_count: tokensOf(prompt),
            prompt_eval_duration:
              promptTokenMs === undefined
                ? 13_074_791
                : Math.round(promptTokenMs * tokensOf(prompt) * 1e6),
            eval_count: tokensOf(kept),
            eval_duration: 52_479_709,
          }
        : {},
  };
}

/** Splits a text into words with their trailing space, like tokens in a stream. */
export const piecesOf = (text: string): readonly string[] =>
  text === '' ? [] : text.split(/(?<=\s)/);

/** Returns the text of a message of the history. */
export const contentOf = (message: unknown): string =>
  isObject(message) ? String(message['content']) : '';
