import type { JsonObject } from '#core';
import { ModelFailure } from '../failure.ts';
import type { ChatAnswer, ChatRequest } from './chat-types.ts';

/** What a model answered to a chat, as its server reports it. */
type ModelOutput = {
  readonly text: string;
  /** Calls of tools. A missing or repeated id is replaced. */
  readonly calls: readonly {
    readonly id: string | undefined;
    readonly name: string;
    readonly input: JsonObject;
  }[];
  /** True if the token limit was reached. */
  readonly isCut: boolean;
  readonly isThoughtOnly: boolean;
  /** True if a content filter removed the answer. */
  readonly isFiltered?: boolean;
};

/**
 * Returns the blocks of an answer. Calls are left out if the token limit was reached: arguments may be missing. Throws
 * ModelFailure if the answer is empty, or lacks a call that the request demands.
 */
export function chatAnswerOf(
  output: ModelOutput,
  { toolChoice, tools, maxTokens, allowsEmpty }: ChatRequest,
  model: string,
  newId: () => string,
): Pick<ChatAnswer, 'content' | 'stopReason' | 'isThoughtOnly'> {
  const { text, isCut, isThoughtOnly, isFiltered = false } = output;
  const ids = new Set<string>();
  const calls = (isCut ? [] : output.calls).map(({ id: given = '', name, input }) => {
    if (name === '')
      throw new ModelFailure('malformed', `${model} called a tool without naming it`, { model });
    const id = given === '' || ids.has(given) ? newId() : given;
    ids.add(id);
    return { type: 'tool_use' as const, id, name, input };
  });
  const content = [...(text === '' ? [] : [{ type: 'text' as const, text }]), ...calls];
  const isEmpty = content.length === 0;
  if (isEmpty && isFiltered) {
    const message = `${model} answers nothing: its content filter forbids it`;
    throw new ModelFailure('refused', message, { model });
  }
  if (isEmpty && allowsEmpty !== true)
    throw isCut ? cutOffEarly(model, maxTokens) : emptyAnswer(model, isThoughtOnly);
  if (toolChoice === 'required' && tools.length > 0 && calls.length === 0 && !isCut)
    throw new ModelFailure('refused', `${model} called no tool, although it had to`, { model });
  return {
    content,
    stopReason: isCut ? 'maxTokens' : calls.length > 0 ? 'toolUse' : 'endTurn',
    ...(isEmpty && isThoughtOnly && { isThoughtOnly: true as const }),
  };
}

/** Returns the failure of an answer that reached its token limit before it had a text or a complete call. */
const cutOffEarly = (model: string, maxTokens: number | undefined): ModelFailure =>
  new ModelFailure(
    'refused',
    `${model} used up its ${maxTokens === undefined ? '' : `${maxTokens} `}tokens before it said anything whole. Allow more output`,
    { model },
  );

/** Returns the failure of an answer without text and calls. */
export const emptyAnswer = (model: string, isThoughtOnly: boolean): ModelFailure =>
  isThoughtOnly
    ? new ModelFailure('thinking_only', `${model} answered with thoughts only`, { model })
    : new ModelFailure('empty', `${model} gave an empty answer`, { model });
