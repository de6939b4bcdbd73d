import { isObject } from '#core';
import type { Fault } from './ollama-faults.ts';
import { type DoubleModel, tokensOf } from './ollama-models.ts';

/** What a model says. */
export type Reply = {
  readonly text: string;
  /** Called after the text. */
  readonly toolCalls?: readonly ReplyCall[];
  /** The text as it comes; by default word by word. */
  readonly pieces?: readonly string[];
  readonly thinking?: string;
  readonly doneReason?: 'stop' | 'length';
  /** False leaves out all that Ollama may leave out: counts, durations and the reason. */
  readonly hasCounts?: boolean;
  /** What goes wrong with this answer. */
  readonly fault?: Fault;
};

type ReplyCall = {
  /** Ollama gives one since 0.24. */
  readonly id?: string;
  readonly name: string;
  readonly arguments: object;
};

/** What is asked of it. */
export type Asked = { readonly [key: string]: unknown };

/** What the model says, cut where num_predict says so; undefined where the prompt does not fit. */
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

/** Words with the space after them, as tokens come. */
export const piecesOf = (text: string): readonly string[] =>
  text === '' ? [] : text.split(/(?<=\s)/);

/** The text of a message. */
export const contentOf = (message: unknown): string =>
  isObject(message) ? String(message['content']) : '';
